package main

import (
	"math"
	"math/rand/v2"

	"github.com/tokendraw/tokendraw"
)

// generator makes rows and requests on which a wrong sampler has a chance to
// show. It is the same on every machine.
type generator struct{ *rand.Rand }

func newGenerator(seed uint64) generator {
	return generator{rand.New(rand.NewPCG(seed, 0x76657269667900))}
}

// one returns one of the values.
func one[T any](g generator, list ...T) T { return list[g.IntN(len(list))] }

func (g generator) chance(n int) bool { return g.IntN(n) == 0 }

// row fills in a row of logits.
func (g generator) row(x []float32) {
	scale := one(g, 0.1, 1, 2, 4, 10)
	for i := range x {
		x[i] = float32(scale * g.NormFloat64())
	}
	inf := float32(math.Inf(1))
	switch g.IntN(9) {
	case 0: // few different values: ties everywhere
		for i := range x {
			x[i] = float32(math.Round(float64(x[i])))
		}
	case 1: // one value
		for i := range x {
			x[i] = x[0]
		}
	case 2: // one token that has nearly all
		x[g.IntN(len(x))] = 20
	case 3: // most are forbidden
		for i := range x {
			if !g.chance(10) {
				x[i] = -inf
			}
		}
	case 4:
		for range 1 + g.IntN(3) {
			x[g.IntN(len(x))] = float32(math.NaN())
		}
	case 5:
		x[g.IntN(len(x))] = inf
		x[g.IntN(len(x))] = inf
	case 6: // a slope, as sorted rows have
		for i := range x {
			x[i] = -float32(i) / 64
		}
	}
}

// logits makes a matrix of one of the three element types, with a stride.
func (g generator) logits(rows, vocab int) tokendraw.Logits {
	l := tokendraw.Logits{Rows: rows, Vocab: vocab, Stride: vocab + one(g, 0, 0, 1, 7)}
	n := (rows-1)*l.Stride + vocab
	all := make([]float32, n)
	for i := range rows {
		g.row(all[i*l.Stride:][:vocab])
	}
	switch g.IntN(3) {
	case 0:
		l.F32 = all
	case 1:
		l.BF16 = make([]uint16, n)
		for i, x := range all {
			l.BF16[i] = uint16(math.Float32bits(x) >> 16)
		}
	case 2:
		l.F16 = make([]uint16, n)
		for i, x := range all {
			l.F16[i] = shortFloat16(x)
		}
	}
	return l
}

// shortFloat16 returns a float16 near x: rounded towards zero, with 0 for what
// is small. That is good enough to make rows of.
func shortFloat16(x float32) uint16 {
	b := math.Float32bits(x)
	sign := uint16(b >> 16 & 0x8000)
	switch magnitude := b &^ (1 << 31); {
	case magnitude > 0x7f800000: // NaN
		return sign | 0x7e00
	case magnitude >= 0x47800000: // 65536 and more
		return sign | 0x7c00
	case magnitude < 0x38800000: // below 2^-14
		return sign
	default:
		return sign | uint16((magnitude-0x38000000)>>13)
	}
}

// request makes a request for rows of the given vocabulary.
func (g generator) request(vocab int) tokendraw.Request {
	r := tokendraw.Request{Seed: g.Uint64(), Step: one(g, 0, g.Uint64())}
	r.Temperature = one(g, float32(1), 0.8, 0.3, 1.5, 0, 1e-30, float32(g.ExpFloat64()))
	if g.chance(2) {
		r.TopK = one(g, 1, 2, 40, 50, 1000, 1+g.IntN(vocab), vocab+1)
	}
	if g.chance(2) {
		r.TopP = one(g, 0.9, 0.95, 0.5, 0.999, 1e-9, 1-g.Float32())
	}
	if g.chance(3) {
		r.MinP = one(g, 0.05, 0.1, 1, 1e-6, g.Float32())
	}
	r.FilterOrder = tokendraw.FilterOrder(g.IntN(2))

	ids := func(n int) (list []int32) {
		for range n {
			list = append(list, int32(g.IntN(vocab)))
		}
		return list
	}
	if g.chance(4) {
		r.RepetitionPenalty = one(g, float32(1.1), 1.3, 0.5)
		r.PresencePenalty = one(g, float32(0), 0.5, -1)
		r.FrequencyPenalty = one(g, float32(0), 0.25, -0.1)
		r.PromptTokens, r.OutputTokens = ids(g.IntN(20)), ids(g.IntN(20))
	}
	if g.chance(6) {
		bias := make(map[int32]float32)
		for _, id := range ids(1 + g.IntN(5)) {
			bias[id] = one(g, float32(math.Inf(-1)), -2, 5)
		}
		r.LogitBias = tokendraw.SortedBias(bias)
	}
	if g.chance(8) {
		r.AllowedTokens = ids(1 + g.IntN(50))
	}
	if g.chance(8) {
		r.Bitmask = make([]uint32, (vocab+31)/32)
		for i := range r.Bitmask {
			r.Bitmask[i] = g.Uint32()
		}
	}
	return r
}
