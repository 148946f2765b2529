module github.com/tokendraw/tokendraw/bench

go 1.26.0

require (
	github.com/klauspost/cpuid/v2 v2.4.2
	github.com/ollama/ollama v0.5.13
	github.com/tokendraw/tokendraw v0.0.0
	github.com/x448/float16 v0.8.4
	gonum.org/v1/plot v0.17.0
)

require (
	codeberg.org/go-fonts/liberation v0.5.0 // indirect
	codeberg.org/go-latex/latex v0.2.0 // indirect
	codeberg.org/go-pdf/fpdf v0.11.1 // indirect
	git.sr.ht/~sbinet/gg v0.7.0 // indirect
	github.com/ajstarks/svgo v0.0.0-20211024235047-1546f124cd8b // indirect
	github.com/emirpasic/gods/v2 v2.0.0-alpha // indirect
	github.com/golang/freetype v0.0.0-20170609003504-e2365dfdc4a0 // indirect
	golang.org/x/exp v0.0.0-20250218142911-aa4b98e5adaa // indirect
	golang.org/x/image v0.30.0 // indirect
	golang.org/x/sys v0.44.0 // indirect
	golang.org/x/text v0.28.0 // indirect
	gonum.org/v1/gonum v0.16.0 // indirect
)

replace github.com/tokendraw/tokendraw => ../
