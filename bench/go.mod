module github.com/tokendraw/tokendraw/bench

go 1.26.0

require (
	github.com/klauspost/cpuid/v2 v2.4.2
	github.com/ollama/ollama v0.24.0
	github.com/tokendraw/tokendraw v0.0.0
	github.com/x448/float16 v0.8.4
)

require golang.org/x/sys v0.44.0 // indirect

replace github.com/tokendraw/tokendraw => ../

// The release's two sampler files, without the C++ that its module needs; see
// third_party/ollama/README.md.
replace github.com/ollama/ollama => ./third_party/ollama
