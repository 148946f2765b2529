//go:build arm64 && go1.27 && !noasm

package vec

import "github.com/tokendraw/tokendraw/internal/half"

// neon is the variant for the vector unit that every arm64 CPU has. Go's
// assembler knows its float instructions from Go 1.27 on.
var neon = Funcs{
	Name:        "neon",
	MaximaF32:   maximaF32NEON,
	MaximaF16:   maximaF16NEON,
	MaximaBF16:  maximaBF16NEON,
	ConvertF16:  convertF16NEON,
	ConvertBF16: convertBF16NEON,
	CountGE:     countGENEON,
	Gather:      gatherNEON,
	Mass:        massNEON,
	MassLight:   massLightNEON,
	Weigh:       weighNEON,
	Digits:      digitsNEON,
}

func platform() []*Funcs { return []*Funcs{&neon} }

const (
	// step is the number of elements that a turn of an assembly loop takes.
	// The plain Go functions do what is left at the end.
	step = 16

	// massMost is how many weights massSteps and massLightSteps add up in
	// 32-bit lanes: 2^13 in each of four, of at most 2^18 each.
	massMost = 1 << 15
)

// In all functions of the assembly file, n is a multiple of step above 0.

//go:noescape
func maximaF32Blocks(dst, x *float32, blocks int) (lo float32)

// The 16-bit maxima are of bits: top of the signed, far and near the largest
// and the smallest of the unsigned.

//go:noescape
func maximaF16Blocks(dst *float32, x *uint16, blocks int) (top int16, far, near uint16)

//go:noescape
func maximaBF16Blocks(dst *float32, x *uint16, blocks int) (top int16, far, near uint16)

//go:noescape
func convertF16Steps(dst *float32, x *uint16, n int)

//go:noescape
func convertBF16Steps(dst *float32, x *uint16, n int)

//go:noescape
func countGESteps(x *float32, n int, lo float32) int

//go:noescape
func gatherSteps(z *float32, id *uint32, x *float32, n int, first uint32, lo, hi float32) int

//go:noescape
func massSteps(x *float32, n int, m, c float32) uint64

//go:noescape
func massLightSteps(x *float32, n int, m, c float32) uint64

//go:noescape
func weighSteps(y *float32, w *uint64, x *float32, n int, m, c float32)

//go:noescape
func digitsSteps(d *uint32, x *float32, n int, key int32, shift, last uint32)

func maximaF32NEON(dst, x []float32) (float32, bool) {
	blocks := len(x) / Block
	if blocks == 0 {
		return maximaF32Generic(dst, x)
	}
	_ = dst[:blocks*Lanes]
	// The minimum of floats that include a NaN is a NaN here.
	lo := maximaF32Blocks(&dst[0], &x[0], blocks)
	return lo, lo != lo
}

func maximaF16NEON(dst []float32, x []uint16) (float32, bool) {
	blocks := len(x) / Block
	if blocks == 0 {
		return maximaF16Generic(dst, x)
	}
	_ = dst[:blocks*Lanes]
	top, far, near := maximaF16Blocks(&dst[0], &x[0], blocks)
	return half.Float16(lowest(far, near)), top > 0x7c00 || far > 0xfc00
}

func maximaBF16NEON(dst []float32, x []uint16) (float32, bool) {
	blocks := len(x) / Block
	if blocks == 0 {
		return maximaBF16Generic(dst, x)
	}
	_ = dst[:blocks*Lanes]
	top, far, near := maximaBF16Blocks(&dst[0], &x[0], blocks)
	return half.BFloat16(lowest(far, near)), top > 0x7f80 || far > 0xff80
}

// lowest returns the bits of the lowest of several 16-bit floats, given the
// largest and the smallest of their bits. A sign bit makes bits large, and
// among those that have it the largest magnitude is the lowest float.
func lowest(far, near uint16) uint16 {
	if far&0x8000 != 0 {
		return far
	}
	return near
}

func convertF16NEON(dst []float32, x []uint16) {
	n := len(x) &^ (step - 1)
	if n > 0 {
		_ = dst[:n]
		convertF16Steps(&dst[0], &x[0], n)
	}
	convertF16Generic(dst[n:], x[n:])
}

func convertBF16NEON(dst []float32, x []uint16) {
	n := len(x) &^ (step - 1)
	if n > 0 {
		_ = dst[:n]
		convertBF16Steps(&dst[0], &x[0], n)
	}
	convertBF16Generic(dst[n:], x[n:])
}

func countGENEON(x []float32, lo float32) int {
	n := len(x) &^ (step - 1)
	count := 0
	if n > 0 {
		count = countGESteps(&x[0], n, lo)
	}
	return count + countGEGeneric(x[n:], lo)
}

func gatherNEON(z []float32, id []uint32, x []float32, first uint32, lo, hi float32) int {
	n := len(x) &^ (step - 1)
	count := 0
	if n > 0 {
		_, _ = z[:n], id[:n]
		count = gatherSteps(&z[0], &id[0], &x[0], n, first, lo, hi)
	}
	return count + gatherGeneric(z[count:], id[count:], x[n:], first+uint32(n), lo, hi)
}

func massNEON(x []float32, m, c float32) uint64 {
	total := uint64(0)
	for len(x) >= step {
		n := min(len(x), massMost) &^ (step - 1)
		total += massSteps(&x[0], n, m, c)
		x = x[n:]
	}
	return total + massGeneric(x, m, c)
}

func massLightNEON(x []float32, m, c float32) uint64 {
	total := uint64(0)
	for len(x) >= step {
		n := min(len(x), massMost) &^ (step - 1)
		total += massLightSteps(&x[0], n, m, c)
		x = x[n:]
	}
	return total + massGeneric(x, m, c)
}

func weighNEON(y []float32, w []uint64, x []float32, m, c float32) {
	n := len(x) &^ (step - 1)
	if n > 0 {
		_, _ = y[:n], w[:n]
		weighSteps(&y[0], &w[0], &x[0], n, m, c)
	}
	weighGeneric(y[n:], w[n:], x[n:], m, c)
}

func digitsNEON(d []uint32, x []float32, top float32, shift, last uint32) {
	n := len(x) &^ (step - 1)
	if n > 0 {
		_ = d[:n]
		// The vector unit reads the shift from one byte; 32 shifts all out.
		digitsSteps(&d[0], &x[0], n, Key(top), min(shift, 32), last)
	}
	digitsGeneric(d[n:], x[n:], top, shift, last)
}
