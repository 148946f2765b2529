module github.com/tokendraw/tokendraw

go 1.26.0

require (
	github.com/rivo/uniseg v0.4.7
	github.com/rogpeppe/go-internal v1.16.0
	golang.org/x/sys v0.44.0
)

require (
	github.com/x448/float16 v0.8.4 // indirect
	golang.org/x/tools v0.26.0 // indirect
)
