// Package floor reads memory once and does as little else as a function can
// that looks at every element: the least that any sampler must do.
package floor

// Name says what [Read] and [Read16] are on this machine: "avx2" or "go".
func Name() string { return name }

// Read returns the largest element of x, which must not hold NaN, or -Inf if x
// is empty.
func Read(x []float32) float32 { return read(x) }

// Read16 returns the largest element of x taken as signed integers, or -32768
// if x is empty. That is not the largest of the floats whose bits they are, but
// it reads the same memory.
func Read16(x []int16) int16 { return read16(x) }

var (
	name   = "go"
	read   = readGo
	read16 = read16Go
)
