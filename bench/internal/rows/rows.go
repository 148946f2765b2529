// Package rows makes the logits that the benchmarks draw from. All are
// functions of a kind, a vocabulary and the row's number, so that every run and
// every competitor sees the same.
package rows

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"

	"github.com/tokendraw/tokendraw"
	"github.com/tokendraw/tokendraw/captured"
	"github.com/tokendraw/tokendraw/internal/half"
	"github.com/tokendraw/tokendraw/internal/tensorfile"
	"github.com/x448/float16"
)

// Kind names what the logits of a row are like.
type Kind string

// The kinds. N(s) is a normal number of standard deviation s, drawn anew for
// every token.
const (
	// Captured is a row of a real model, of another kind of text than the row
	// before. Of the model's 49152 tokens a smaller vocabulary has the first. A
	// larger one has all of them, followed by copies: token t of copy j = 1, 2,
	// ... is a token of the row, in a random order, lowered by 4*j, plus N(0.1).
	// The head is the model's; the copies have about 2% of the mass.
	Captured Kind = "captured"

	// LM is N(2.5), with the log-probabilities of a Zipf distribution on top of
	// it: 256 tokens in random places have 16 - ln(r) instead, r = 1 ... 256.
	// At temperature 1 they have 95% of the mass.
	LM Kind = "lm"

	// Peaked is N(2.5), and one token in a random place is 12 above the rest.
	Peaked Kind = "peaked"

	// Flat is N(1): at temperature 0.8, 0.95 of the mass takes 65% of the
	// tokens.
	Flat Kind = "flat"

	// Half is 1 for a random half of the tokens and 0 for the others: a plateau
	// of tens of thousands of equal scores.
	Half Kind = "half"

	// Equal is 0 for all tokens.
	Equal Kind = "equal"
)

// Kinds are all kinds.
var Kinds = []Kind{Captured, LM, Peaked, Flat, Half, Equal}

// Row returns logits [vocab] of a kind.
func Row(kind Kind, vocab, row int) []float32 {
	r := rand.New(rand.NewPCG(uint64(vocab), uint64(row)))
	x := make([]float32, vocab)
	normal := func(s float64) {
		for i := range x {
			x[i] = float32(s * r.NormFloat64())
		}
	}
	switch kind {
	case Captured:
		return capturedRow(r, x, row)
	case LM:
		normal(2.5)
		for i, t := range r.Perm(vocab)[:min(256, vocab)] {
			x[t] = float32(16 - math.Log(float64(i+1)))
		}
	case Peaked:
		normal(2.5)
		top := x[0]
		for _, z := range x {
			top = max(top, z)
		}
		x[r.IntN(vocab)] = top + 12
	case Flat:
		normal(1)
	case Half:
		for i, t := range r.Perm(vocab) {
			x[t] = float32(i & 1)
		}
	case Equal:
	default:
		panic("no such kind of row: " + string(kind))
	}
	return x
}

// capturedRow fills x with a captured row, shortened or lengthened.
func capturedRow(r *rand.Rand, x []float32, row int) []float32 {
	t := tensor()
	// The file has eight rows of a kind of text after each other. Every ninth
	// row is of the next kind, and 9 has no divisor in common with 64.
	at := row * 9 % t.Rows
	bits := t.U16[at*t.Cols:][:t.Cols]
	var order []int
	for i := range x {
		j, at := i/t.Cols, i%t.Cols
		if j == 0 {
			x[i] = half.Float16(bits[at])
			continue
		}
		if at == 0 {
			order = r.Perm(t.Cols)
		}
		x[i] = half.Float16(bits[order[at]]) - 4*float32(j) + float32(0.1*r.NormFloat64())
	}
	return x
}

var tensor = sync.OnceValue(func() *tensorfile.Tensor {
	t, err := tensorfile.Read(bytes.NewReader(captured.Bytes()), tensorfile.Options{})
	if err != nil {
		panic(fmt.Sprintf("captured logits: %v", err))
	}
	return t
})

// Stack returns the rows first, first+1, ... of a kind as a matrix. 16-bit
// elements are the float32 ones rounded to nearest, ties to even.
func Stack(kind Kind, vocab, first, rows int, dtype tokendraw.DType) tokendraw.Logits {
	l := tokendraw.Logits{Rows: rows, Vocab: vocab}
	for i := range rows {
		x := Row(kind, vocab, first+i)
		switch dtype {
		case tokendraw.Float32:
			l.F32 = append(l.F32, x...)
		case tokendraw.Float16:
			for _, z := range x {
				l.F16 = append(l.F16, float16.Fromfloat32(z).Bits())
			}
		case tokendraw.BFloat16:
			for _, z := range x {
				l.BF16 = append(l.BF16, toBFloat16(z))
			}
		}
	}
	return l
}

// toBFloat16 rounds a number that is not NaN.
func toBFloat16(z float32) uint16 {
	b := math.Float32bits(z)
	return uint16((b + 0x7fff + b>>16&1) >> 16)
}
