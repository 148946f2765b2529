package backendtest

import (
	"math"
	"slices"

	"github.com/tokendraw/tokendraw"
)

// regressions are rows that a backend got wrong before it was mended, cut down
// to what matters.
var regressions = []struct {
	name   string
	logits func() []float32
	req    tokendraw.Request
}{
	{"k-th maximum is the largest negative float", func() []float32 {
		z := slices.Repeat([]float32{-math.SmallestNonzeroFloat32}, 1000)
		z[500] = 0
		return z
	}, tokendraw.Request{Params: tokendraw.Params{Temperature: 1, TopK: 2}}},
	{"min_p below the least weight keeps all", func() []float32 {
		return []float32{-1000, 1}
	}, tokendraw.Request{Params: tokendraw.Params{Temperature: 1, MinP: 9e-13}}},
	{"min_p at the least weight keeps all", func() []float32 {
		return []float32{-1000, 1}
	}, tokendraw.Request{Params: tokendraw.Params{Temperature: 1, MinP: 0x1p-40}}},
	{"min_p where a difference overflows", func() []float32 {
		z := slices.Repeat([]float32{3e38, -3e38}, 5000)
		return z
	}, tokendraw.Request{Params: tokendraw.Params{Temperature: 3e38, MinP: 0.1}}},
}
