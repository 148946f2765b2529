package vec

import (
	"math"

	"github.com/tokendraw/tokendraw/internal/half"
)

// generic is the variant in plain Go. It is also what the others use for the
// ends of slices that do not fill a vector.
var generic = Funcs{
	Name:        "generic",
	MaximaF32:   maximaF32Generic,
	MaximaF16:   maximaF16Generic,
	MaximaBF16:  maximaBF16Generic,
	ConvertF16:  convertF16Generic,
	ConvertBF16: convertBF16Generic,
	CountGE:     countGEGeneric,
	Gather:      gatherGeneric,
	Mass:        massGeneric,
	MassLight:   massGeneric,
	Weigh:       weighGeneric,
	Digits:      digitsGeneric,
}

// The polynomial of SPEC.md, section 3: constants that are float32 exactly.
const (
	c1 = 2907269.0 / (1 << 22)  // 0x3f317214
	c2 = 2015131.0 / (1 << 23)  // 0x3e75fcd8
	c3 = 14900483.0 / (1 << 28) // 0x3d635d03
	c4 = 5192589.0 / (1 << 29)  // 0x3c1e771a
	c5 = 5676893.0 / (1 << 32)  // 0x3aad3eba
)

const (
	log2E = 1.44269502162933349609375 // the float32 nearest to log2(e)

	// Adding and subtracting it rounds a float32 in [-2^22, 2^22] to the
	// nearest integer, ties to even.
	toInteger = 0x1.8p23

	// The same for a float64 in [0, 1] and multiples of 2^-36.
	toUnit = 0x1.8p16

	// Unit is one: weights are integers in units of 2^-36.
	unit = 0x1p36
)

// Scale returns c for a temperature above 0: log2(e)/temperature, at most the
// largest float32.
func Scale(temperature float32) float32 {
	return min(float32(log2E)/temperature, math.MaxFloat32)
}

// Exponent returns t, the binary logarithm of a score's weight, in [-40, 0].
func Exponent(z, m, c float32) float32 {
	t := float32(float32(z-m) * c)
	if !(t > -40) {
		t = -40
	}
	return t
}

// Weight returns a score's weight as float32. Each conversion to float32
// keeps the compiler from fusing a product into a sum.
func Weight(z, m, c float32) float32 {
	t := Exponent(z, m, c)
	shifted := float32(t + toInteger)
	n := float32(shifted - toInteger)
	f := float32(t - n)
	p := float32(c5*f) + c4
	p = float32(p*f) + c3
	p = float32(p*f) + c2
	p = float32(p*f) + c1
	p = float32(p*f) + 1
	// The low bits of shifted are n; in the exponent's place they scale p.
	return math.Float32frombits(math.Float32bits(p) + math.Float32bits(shifted)<<23)
}

// Units returns a weight in units of 2^-36, rounded to even.
func Units(y float32) uint64 {
	return uint64(((float64(y) + toUnit) - toUnit) * unit)
}

// Key returns a number that orders scores as floats do: Key(a) < Key(b) if
// a < b. -0 and +0 have one key.
func Key(z float32) int32 {
	b := int32(math.Float32bits(z + 0))
	return b ^ (b >> 31 & math.MaxInt32)
}

// FromKey returns the score of a key.
func FromKey(k int32) float32 {
	return math.Float32frombits(uint32(k ^ (k >> 31 & math.MaxInt32)))
}

// Keys of the infinities: what lies outside is NaN.
const (
	keyInf    = 0x7f800000
	keyNegInf = -0x7f800001
)

// rawKey is Key without joining the zeros.
func rawKey(bits uint32) int32 {
	b := int32(bits)
	return b ^ (b >> 31 & math.MaxInt32)
}

// The maxima compare integers, not floats: for those the compiler emits
// conditional moves, and a branch here would be mispredicted often.

func maximaF32Generic(dst, x []float32) (float32, bool) {
	lo, hi := int32(math.MaxInt32), int32(math.MinInt32)
	for ; len(x) >= Block; x, dst = x[Block:], dst[Lanes:] {
		for lane := range Lanes {
			top := int32(math.MinInt32)
			for i := lane; i < Block; i += Lanes {
				k := rawKey(math.Float32bits(x[:Block][i]))
				top = max(top, k)
				lo = min(lo, k)
			}
			hi = max(hi, top)
			dst[lane] = FromKey(top)
		}
	}
	return FromKey(lo), hi > keyInf || lo < keyNegInf
}

func maximaF16Generic(dst []float32, x []uint16) (float32, bool) {
	return maxima16Generic(dst, x, false)
}

func maximaBF16Generic(dst []float32, x []uint16) (float32, bool) {
	return maxima16Generic(dst, x, true)
}

// Calling the conversion through a variable would move the block to the heap.
func maxima16Generic(dst []float32, x []uint16, bf bool) (float32, bool) {
	var block [Block]float32
	lo, nan := float32(math.Inf(1)), false
	for ; len(x) >= Block; x, dst = x[Block:], dst[Lanes:] {
		if bf {
			convertBF16Generic(block[:], x[:Block])
		} else {
			convertF16Generic(block[:], x[:Block])
		}
		blockLo, blockNaN := maximaF32Generic(dst[:Lanes], block[:])
		lo, nan = min(lo, blockLo), nan || blockNaN
	}
	return lo, nan
}

func convertF16Generic(dst []float32, x []uint16) {
	for i, h := range x {
		dst[i] = half.Float16(h)
	}
}

func convertBF16Generic(dst []float32, x []uint16) {
	for i, h := range x {
		dst[i] = half.BFloat16(h)
	}
}

func countGEGeneric(x []float32, lo float32) int {
	n := 0
	for _, z := range x {
		if z >= lo {
			n++
		}
	}
	return n
}

func gatherGeneric(z []float32, id []uint32, x []float32, first uint32, lo, hi float32) int {
	n := 0
	for i, v := range x {
		if v >= lo && v <= hi {
			z[n], id[n] = v, first+uint32(i)
			n++
		}
	}
	return n
}

func massGeneric(x []float32, m, c float32) uint64 {
	total := uint64(0)
	for len(x) > 0 {
		// 2^16 weights of at most 1 add up exactly in float64.
		part := x[:min(len(x), 1<<16)]
		x = x[len(part):]
		sum := 0.0
		for _, z := range part {
			sum += (float64(Weight(z, m, c)) + toUnit) - toUnit
		}
		total += uint64(sum * unit)
	}
	return total
}

func weighGeneric(y []float32, w []uint64, x []float32, m, c float32) {
	for i, z := range x {
		y[i] = Weight(z, m, c)
		w[i] = Units(y[i])
	}
}

func digitsGeneric(d []uint32, x []float32, top float32, shift, last uint32) {
	hi := Key(top)
	for i, z := range x {
		d[i] = min(uint32(hi-Key(z))>>shift, last)
	}
}
