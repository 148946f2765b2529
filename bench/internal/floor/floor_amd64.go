package floor

import "github.com/klauspost/cpuid/v2"

func init() {
	if cpuid.CPU.Has(cpuid.AVX2) {
		name, read, read16 = "avx2", readAVX2, read16AVX2
	}
}

// maxAVX2 returns the largest of n elements, a multiple of 64 above 0.
//
//go:noescape
func maxAVX2(x *float32, n int) float32

// max16AVX2 is the same for n a multiple of 128.
//
//go:noescape
func max16AVX2(x *int16, n int) int16

func readAVX2(x []float32) float32 {
	n := len(x) &^ 63
	top := readGo(x[n:])
	if n > 0 {
		top = max(top, maxAVX2(&x[0], n))
	}
	return top
}

func read16AVX2(x []int16) int16 {
	n := len(x) &^ 127
	top := read16Go(x[n:])
	if n > 0 {
		top = max(top, max16AVX2(&x[0], n))
	}
	return top
}
