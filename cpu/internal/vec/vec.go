// Package vec holds the few vector functions that the CPU backend is made of,
// in plain Go and in assembly. All variants of a function give the same bits.
//
// Scores are float32 without NaN unless a function says otherwise. m is the
// row's maximum and c the scale of SPEC.md, section 3.
package vec

import "os"

const (
	// Block is the number of consecutive logits that Maxima folds at a time.
	Block = 128

	// Lanes is the number of maxima that Maxima makes of a block. Lane i covers
	// the elements i, i+8, i+16, ... of the block.
	Lanes = 8

	// LightBound is the exponent t up to which MassLight may be used: weights
	// 2^t of at most 2^-19 have no part that is a multiple of 2^-18.
	LightBound = -19

	// ZeroBound is the exponent t up to which every weight rounds to 0.
	ZeroBound = -37
)

// Funcs is one variant of the functions.
type Funcs struct {
	// Name is the variant's name: "generic", "avx2", "avx512" or "neon".
	Name string

	// MaximaF32 stores the Lanes maxima of every block of x in dst, which has
	// len(x)/Block*Lanes elements, and returns the lowest element and whether
	// there is a NaN; then lo and dst mean nothing. len(x) is a multiple of
	// Block. A maximum of +0 and -0 may be either.
	MaximaF32 func(dst, x []float32) (lo float32, nan bool)

	// MaximaF16 and MaximaBF16 are the same for the bits of 16-bit floats.
	MaximaF16, MaximaBF16 func(dst []float32, x []uint16) (lo float32, nan bool)

	// ConvertF16 and ConvertBF16 store the values of 16-bit floats in
	// dst[:len(x)]. NaN is allowed and stays NaN.
	ConvertF16, ConvertBF16 func(dst []float32, x []uint16)

	// CountGE returns the number of elements >= lo.
	CountGE func(x []float32, lo float32) int

	// Gather stores the elements with lo <= x[i] <= hi, and first+i, in z and
	// id, in order, and returns their number. z and id have at least len(x)
	// elements; it may write beyond those it returns, never beyond len(x).
	Gather func(z []float32, id []uint32, x []float32, first uint32, lo, hi float32) int

	// Mass returns the sum of the weights of x, exactly. At most 2^21 elements.
	Mass func(x []float32, m, c float32) uint64

	// MassLight is Mass for elements whose exponent t is at most LightBound.
	MassLight func(x []float32, m, c float32) uint64

	// Weigh stores the weights of x: y[i] as float32 and w[i] in units of
	// 2^-36. y and w have at least len(x) elements.
	Weigh func(y []float32, w []uint64, x []float32, m, c float32)

	// Digits stores min((Key(top)-Key(x[i])) >> shift, last) in d, which has at
	// least len(x) elements. No element is above top.
	Digits func(d []uint32, x []float32, top float32, shift, last uint32)
}

// Variants returns the variants that work on this machine, the fastest first
// and the plain Go one last.
func Variants() []*Funcs { return variants }

// Variable is the environment variable that names the variant to use.
const Variable = "TOKENDRAW_CPU"

// ByName returns the variant of that name, or nil if it does not work here.
func ByName(name string) *Funcs {
	for _, v := range variants {
		if v.Name == name {
			return v
		}
	}
	return nil
}

// Default returns the variant that the environment asks for, else the fastest.
// It returns nil if the environment names one that does not work here.
func Default() *Funcs {
	if name := os.Getenv(Variable); name != "" {
		return ByName(name)
	}
	return variants[0]
}

// variants is made once, by the platform's file.
var variants = append(platform(), &generic)
