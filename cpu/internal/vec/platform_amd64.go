//go:build amd64 && !noasm

package vec

import (
	"math"

	"github.com/tokendraw/tokendraw/internal/half"

	"golang.org/x/sys/cpu"
)

//go:generate sh -c "cd ../../_asm && go run . -variant avx2 -pkg vec -out ../internal/vec/avx2_amd64.s -stubs ../internal/vec/avx2_amd64.go"
//go:generate sh -c "cd ../../_asm && go run . -variant avx512 -pkg vec -out ../internal/vec/avx512_amd64.s -stubs ../internal/vec/avx512_amd64.go"
//go:generate sh -c "sha256sum ../../_asm/*.go ../../_asm/go.mod ../../_asm/go.sum avx*_amd64.go avx*_amd64.s > amd64.sha256"

// What is left at the end of a slice and does not fill a turn of an assembly
// loop: where an element may be written twice, the last turn reaches back; sums
// of weights take a padded vector; the rest is plain Go.

// avx2 is for 256-bit vectors, with the conversion of 16-bit floats (F16C).
var avx2 = Funcs{
	Name: "avx2",
	MaximaF32: func(dst, x []float32) (float32, bool) {
		blocks := len(x) / Block
		if blocks == 0 {
			return maximaF32Generic(dst, x)
		}
		_ = dst[:blocks*Lanes]
		lo, nans := maximaF32BlocksAVX2(&dst[0], &x[0], blocks)
		return lo, nans != 0
	},
	MaximaF16:  maximaF16AVX2,
	MaximaBF16: maximaBF16AVX2,
	ConvertF16: func(dst []float32, x []uint16) {
		n := len(x) &^ 31
		if n > 0 {
			_ = dst[:len(x)]
			convertF16StepsAVX2(&dst[0], &x[0], n)
			if n < len(x) {
				n = len(x) - 32
				convertF16StepsAVX2(&dst[n], &x[n], 32)
			}
			return
		}
		convertF16Generic(dst, x)
	},
	ConvertBF16: func(dst []float32, x []uint16) {
		n := len(x) &^ 31
		if n > 0 {
			_ = dst[:len(x)]
			convertBF16StepsAVX2(&dst[0], &x[0], n)
			if n < len(x) {
				n = len(x) - 32
				convertBF16StepsAVX2(&dst[n], &x[n], 32)
			}
			return
		}
		convertBF16Generic(dst, x)
	},
	CountGE: func(x []float32, lo float32) int {
		n, count := len(x)&^31, 0
		if n > 0 {
			count = countGEStepsAVX2(&x[0], n, lo)
		}
		return count + countGEGeneric(x[n:], lo)
	},
	Gather: func(z []float32, id []uint32, x []float32, first uint32, lo, hi float32) int {
		n, count := len(x)&^31, 0
		if n > 0 {
			_, _ = z[:n], id[:n]
			count = gatherStepsAVX2(&z[0], &id[0], &x[0], n, first, lo, hi)
		}
		if n == len(x) {
			return count
		}
		return count + gatherGeneric(z[count:], id[count:], x[n:], first+uint32(n), lo, hi)
	},
	Mass: func(x []float32, m, c float32) uint64 {
		total := uint64(0)
		for len(x) >= 8 {
			n := min(len(x)&^7, 8<<13)
			total += massStepsAVX2(&x[0], n, -m, c)
			x = x[n:]
		}
		if len(x) > 0 {
			rest := padded8(x)
			total += massStepsAVX2(&rest[0], 8, -m, c)
		}
		return total
	},
	MassLight: func(x []float32, m, c float32) uint64 {
		total := uint64(0)
		for len(x) >= 8 {
			n := min(len(x)&^7, 8<<13)
			total += massLightStepsAVX2(&x[0], n, -m, c)
			x = x[n:]
		}
		if len(x) > 0 {
			rest := padded8(x)
			total += massLightStepsAVX2(&rest[0], 8, -m, c)
		}
		return total
	},
	Weigh: func(y []float32, w []uint64, x []float32, m, c float32) {
		n := len(x) &^ 7
		if n > 0 {
			_, _ = y[:len(x)], w[:len(x)]
			weighStepsAVX2(&y[0], &w[0], &x[0], n, -m, c)
			if n < len(x) {
				n = len(x) - 8
				weighStepsAVX2(&y[n], &w[n], &x[n], 8, -m, c)
			}
			return
		}
		rest := padded8(x)
		var restY [8]float32
		var restW [8]uint64
		weighStepsAVX2(&restY[0], &restW[0], &rest[0], 8, -m, c)
		copy(y[:len(x)], restY[:])
		copy(w[:len(x)], restW[:])
	},
	Digits: func(d []uint32, x []float32, top float32, shift, last uint32) {
		n := len(x) &^ 31
		if n > 0 {
			_ = d[:len(x)]
			digitsStepsAVX2(&d[0], &x[0], n, Key(top), shift, last)
			if n < len(x) {
				n = len(x) - 32
				digitsStepsAVX2(&d[n], &x[n], 32, Key(top), shift, last)
			}
			return
		}
		digitsGeneric(d, x, top, shift, last)
	},
}

// avx512 is for 512-bit vectors (F, BW, DQ and VL).
var avx512 = Funcs{
	Name: "avx512",
	MaximaF32: func(dst, x []float32) (float32, bool) {
		blocks := len(x) / Block
		if blocks == 0 {
			return maximaF32Generic(dst, x)
		}
		_ = dst[:blocks*Lanes]
		lo, nans := maximaF32BlocksAVX512(&dst[0], &x[0], blocks)
		return lo, nans != 0
	},
	// Wider vectors of 16-bit integers have half as many units to run on.
	MaximaF16:  maximaF16AVX2,
	MaximaBF16: maximaBF16AVX2,
	ConvertF16: func(dst []float32, x []uint16) {
		n := len(x) &^ 63
		if n > 0 {
			_ = dst[:len(x)]
			convertF16StepsAVX512(&dst[0], &x[0], n)
			if n < len(x) {
				n = len(x) - 64
				convertF16StepsAVX512(&dst[n], &x[n], 64)
			}
			return
		}
		convertF16Generic(dst, x)
	},
	ConvertBF16: func(dst []float32, x []uint16) {
		n := len(x) &^ 63
		if n > 0 {
			_ = dst[:len(x)]
			convertBF16StepsAVX512(&dst[0], &x[0], n)
			if n < len(x) {
				n = len(x) - 64
				convertBF16StepsAVX512(&dst[n], &x[n], 64)
			}
			return
		}
		convertBF16Generic(dst, x)
	},
	CountGE: func(x []float32, lo float32) int {
		n, count := len(x)&^63, 0
		if n > 0 {
			count = countGEStepsAVX512(&x[0], n, lo)
		}
		return count + countGEGeneric(x[n:], lo)
	},
	Gather: func(z []float32, id []uint32, x []float32, first uint32, lo, hi float32) int {
		n, count := len(x)&^63, 0
		if n > 0 {
			_, _ = z[:n], id[:n]
			count = gatherStepsAVX512(&z[0], &id[0], &x[0], n, first, lo, hi)
		}
		if n == len(x) {
			return count
		}
		return count + gatherGeneric(z[count:], id[count:], x[n:], first+uint32(n), lo, hi)
	},
	Mass: func(x []float32, m, c float32) uint64 {
		total := uint64(0)
		for len(x) >= 16 {
			n := min(len(x)&^15, 16<<13)
			total += massStepsAVX512(&x[0], n, -m, c)
			x = x[n:]
		}
		if len(x) > 0 {
			rest := padded16(x)
			total += massStepsAVX512(&rest[0], 16, -m, c)
		}
		return total
	},
	MassLight: func(x []float32, m, c float32) uint64 {
		total := uint64(0)
		for len(x) >= 16 {
			n := min(len(x)&^15, 16<<13)
			total += massLightStepsAVX512(&x[0], n, -m, c)
			x = x[n:]
		}
		if len(x) > 0 {
			rest := padded16(x)
			total += massLightStepsAVX512(&rest[0], 16, -m, c)
		}
		return total
	},
	Weigh: func(y []float32, w []uint64, x []float32, m, c float32) {
		n := len(x) &^ 15
		if n > 0 {
			_, _ = y[:len(x)], w[:len(x)]
			weighStepsAVX512(&y[0], &w[0], &x[0], n, -m, c)
			if n < len(x) {
				n = len(x) - 16
				weighStepsAVX512(&y[n], &w[n], &x[n], 16, -m, c)
			}
			return
		}
		rest := padded16(x)
		var restY [16]float32
		var restW [16]uint64
		weighStepsAVX512(&restY[0], &restW[0], &rest[0], 16, -m, c)
		copy(y[:len(x)], restY[:])
		copy(w[:len(x)], restW[:])
	},
	Digits: func(d []uint32, x []float32, top float32, shift, last uint32) {
		n := len(x) &^ 63
		if n > 0 {
			_ = d[:len(x)]
			digitsStepsAVX512(&d[0], &x[0], n, Key(top), shift, last)
			if n < len(x) {
				n = len(x) - 64
				digitsStepsAVX512(&d[n], &x[n], 64, Key(top), shift, last)
			}
			return
		}
		digitsGeneric(d, x, top, shift, last)
	},
}

func platform() []*Funcs {
	var v []*Funcs
	if cpu.X86.HasAVX2 && cpu.X86.HasPOPCNT && hasF16C() {
		if cpu.X86.HasAVX512F && cpu.X86.HasAVX512BW && cpu.X86.HasAVX512DQ && cpu.X86.HasAVX512VL {
			v = append(v, &avx512)
		}
		v = append(v, &avx2)
	}
	if len(v) > 0 {
		readMax = readMaxAVX2
		if v[0] == &avx512 {
			readMax = readMaxAVX512
		}
	}
	return v
}

func maximaF16AVX2(dst []float32, x []uint16) (float32, bool) {
	blocks := len(x) / Block
	if blocks == 0 {
		return maximaF16Generic(dst, x)
	}
	_ = dst[:blocks*Lanes]
	top, far, near := maximaF16BlocksAVX2(&dst[0], &x[0], blocks)
	return half.Float16(lowest(far, near)), top > 0x7c00 || far > 0xfc00
}

func maximaBF16AVX2(dst []float32, x []uint16) (float32, bool) {
	blocks := len(x) / Block
	if blocks == 0 {
		return maximaBF16Generic(dst, x)
	}
	_ = dst[:blocks*Lanes]
	top, far, near := maximaBF16BlocksAVX2(&dst[0], &x[0], blocks)
	return half.BFloat16(lowest(far, near)), top > 0x7f80 || far > 0xff80
}

// lowest returns the bits of the lowest of several 16-bit floats, given the
// largest and the smallest of their bits as integers.
func lowest(far, near uint16) uint16 {
	if far&0x8000 != 0 {
		return far
	}
	return near
}

func readMaxAVX2(x []float32) float32 {
	n := len(x) &^ 63
	top := readMaxGeneric(x[n:])
	if n > 0 {
		top = max(top, readMaxStepsAVX2(&x[0], n))
	}
	return top
}

func readMaxAVX512(x []float32) float32 {
	n := len(x) &^ 127
	top := readMaxGeneric(x[n:])
	if n > 0 {
		top = max(top, readMaxStepsAVX512(&x[0], n))
	}
	return top
}

// padded8 and padded16 return a vector of scores that starts with x; the
// others weigh nothing. Plain Go takes longer for one weight than the vector
// functions for one of these.

func padded8(x []float32) (v [8]float32) {
	for i := copy(v[:], x); i < len(v); i++ {
		v[i] = float32(math.Inf(-1))
	}
	return v
}

func padded16(x []float32) (v [16]float32) {
	for i := copy(v[:], x); i < len(v); i++ {
		v[i] = float32(math.Inf(-1))
	}
	return v
}
