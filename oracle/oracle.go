// Package oracle is the slow, obvious sampler that judges the others: one
// function per section of SPEC.md, every row sorted whole, every sum taken in
// integers. It shares no code with a backend beyond package tokendraw, down to
// its own Philox, so that a fault in one shows against the other.
//
// It is meant for tests and for reading. Package cpu draws the same tokens
// faster.
package oracle

import (
	"math"
	"math/bits"
	"slices"
	"sync/atomic"

	"github.com/tokendraw/tokendraw"
)

// One is the weight of the best token of a row, 2^36 (spec 3).
const One uint64 = 1 << 36

// Row draws one token from one row. The logits are the raw ones, exact as
// float32, and are not changed; step is the row's own step, which for a
// request of several rows is not Request.Step. The request must have passed
// Request.Check for len(logits).
func Row(logits []float32, req *tokendraw.Request, step uint64) tokendraw.Details {
	return explain(logits, req, step, nil)
}

// explain is Row with memory for the kept tokens.
func explain(logits []float32, req *tokendraw.Request, step uint64, tokens []tokendraw.TokenProb) tokendraw.Details {
	z, nan := Scores(logits, req)
	order := Order(z)
	if len(order) == 0 {
		return noCandidate(tokens)
	}
	if req.Greedy() {
		return greedy(z, order, nan, tokens)
	}
	y, w := Weights(z, order, req.Temperature)
	k := Kept(y, w, &req.Params)
	j := Draw(w[:k.N], Uniform(req, step))
	return result(z, order, w, k, j, nan, tokens)
}

// Scores returns the scores of spec 1 and whether a logit was NaN. A token
// that cannot be drawn has the score -Inf.
func Scores(logits []float32, req *tokendraw.Request) (z []float32, nan bool) {
	inf := float32(math.Inf(+1))
	z = slices.Clone(logits)

	for i := range z {
		if z[i] != z[i] {
			z[i], nan = -inf, true
		}
	}
	for _, b := range req.LogitBias {
		z[b.Token] += b.Value
	}
	if req.AllowedTokens != nil {
		allowed := make([]bool, len(z))
		for _, t := range req.AllowedTokens {
			allowed[t] = true
		}
		for i := range z {
			if !allowed[i] {
				z[i] = -inf
			}
		}
	}
	if req.Bitmask != nil {
		for i := range z {
			if i/32 >= len(req.Bitmask) || req.Bitmask[i/32]>>(i%32)&1 == 0 {
				z[i] = -inf
			}
		}
	}
	seen, count := history(len(z), req)
	for i := range z {
		if seen[i] && req.RepetitionOn() {
			if z[i] > 0 {
				z[i] /= req.RepetitionPenalty
			} else {
				z[i] *= req.RepetitionPenalty
			}
		}
		if count[i] > 0 && req.FrequencyPenalty != 0 {
			// The conversion keeps the product from being fused with the
			// subtraction: each is rounded.
			z[i] -= float32(float32(count[i]) * req.FrequencyPenalty)
		}
		if count[i] > 0 && req.PresencePenalty != 0 {
			z[i] -= req.PresencePenalty
		}
	}
	for i := range z {
		if z[i] != z[i] { // +Inf met -Inf above
			z[i] = -inf
		}
		z[i] += 0.0 // -0 becomes +0
	}
	return z, nan
}

// history returns which tokens occur in the request's text and how often each
// occurs in its output.
func history(vocab int, req *tokendraw.Request) (seen []bool, count []int64) {
	seen = make([]bool, vocab)
	count = make([]int64, vocab)
	for _, t := range req.PromptTokens {
		seen[t] = true
	}
	for _, t := range req.OutputTokens {
		seen[t] = true
		count[t]++
	}
	for _, c := range req.Counts {
		seen[c.Token] = true
		count[c.Token] += int64(c.Output)
	}
	return seen, count
}

// greedy is spec 2: the first token of the order.
func greedy(z []float32, order []int32, nan bool, tokens []tokendraw.TokenProb) tokendraw.Details {
	best := order[0]
	n := len(order)
	return tokendraw.Details{
		Draw:       tokendraw.Draw{Token: best, Status: status(nan), Kept: 1},
		Greedy:     true,
		Candidates: n,
		TopK:       n, MinP: n, TopP: n,
		Total: One, Mass: One,
		Tokens: append(tokens[:0], tokendraw.TokenProb{Token: best, Score: z[best], Weight: One, Prob: 1}),
	}
}

// The constants of spec 3, all float32.
var (
	log2e = math.Float32frombits(0x3fb8aa3b)

	c1 = math.Float32frombits(0x3f317214)
	c2 = math.Float32frombits(0x3e75fcd8)
	c3 = math.Float32frombits(0x3d635d03)
	c4 = math.Float32frombits(0x3c1e771a)
	c5 = math.Float32frombits(0x3aad3eba)
)

// Scale returns c of spec 3, by which differences of scores are multiplied,
// for a temperature > 0.
func Scale(temperature float32) float32 {
	return min(log2e/temperature, math.MaxFloat32)
}

// Exponent returns t of spec 3: the base-2 logarithm, in [-40, 0], of the
// weight of score z beside the maximum m. It may not be NaN, and m is finite
// or +Inf.
func Exponent(z, m, c float32) float32 {
	if m > math.MaxFloat32 {
		if z > math.MaxFloat32 {
			return 0
		}
		return -40
	}
	d := z - m
	return max(d*c, -40)
}

// Exp2 returns P * 2^n of spec 3, close to 2^t, for t in [-40, 0]. Each
// conversion to float32 keeps a product from being fused with the addition
// that follows it.
func Exp2(t float32) float32 {
	const magic = 3 << 22 // 1.5 * 2^23: the sum has no fraction bits
	n := (t + magic) - magic
	f := t - n
	p := float32(c5*f) + c4
	p = float32(p*f) + c3
	p = float32(p*f) + c2
	p = float32(p*f) + c1
	p = float32(p*f) + 1
	return float32(math.Ldexp(float64(p), int(n)))
}

// Weight returns the weight of score z beside the maximum m as a float32, y,
// and as an integer, w, with c = Scale(temperature) (spec 3). z may be -Inf; m
// is finite or +Inf.
func Weight(z, m, c float32) (y float32, w uint64) {
	y = Exp2(Exponent(z, m, c))
	return y, uint64(math.RoundToEven(math.Ldexp(float64(y), 36)))
}

// Weights returns the weights of the candidates in their order. The first
// candidate has the highest score.
func Weights(z []float32, order []int32, temperature float32) (y []float32, w []uint64) {
	c := Scale(temperature)
	y = make([]float32, len(order))
	w = make([]uint64, len(order))
	for i, token := range order {
		y[i], w[i] = Weight(z[token], z[order[0]], c)
	}
	return y, w
}

// Order returns the candidates by score descending, then id ascending (spec
// 4): the tokens of score +Inf if there are any, else those above -Inf.
func Order(z []float32) []int32 {
	least := float32(-math.MaxFloat32)
	if slices.Contains(z, float32(math.Inf(+1))) {
		least = float32(math.Inf(+1))
	}
	// One number per candidate: the score's bits, mapped so that a higher
	// score is a smaller number, above the id.
	keys := make([]uint64, 0, len(z))
	for i, x := range z {
		if x >= least {
			b := math.Float32bits(x)
			if b>>31 == 0 {
				b = ^b & 0x7fffffff
			}
			keys = append(keys, uint64(b)<<32|uint64(i))
		}
	}
	slices.Sort(keys)
	order := make([]int32, len(keys))
	for i, k := range keys {
		order[i] = int32(uint32(k))
	}
	return order
}

// Counts are the numbers of spec 5.
type Counts struct {
	TopK, MinP, TopP int    // n_k, n_m and n_p
	N                int    // tokens kept, max(1, min(TopK, MinP, TopP))
	Target           uint64 // the mass that top_p asks for; 0 where it is off
	Total            uint64 // mass of all candidates
	Mass             uint64 // mass of the kept tokens
}

// Kept returns how many of the candidates, whose weights come in order, the
// filters leave (spec 5). There must be a candidate.
func Kept(y []float32, w []uint64, p *tokendraw.Params) Counts {
	n := len(w)
	sum := make([]uint64, n+1) // sum[i] is the mass of the first i
	for i := range w {
		sum[i+1] = sum[i] + w[i]
	}
	c := Counts{TopK: p.KLimit(n), MinP: 0, TopP: n, Total: sum[n]}

	for _, x := range y {
		if x >= p.MinP {
			c.MinP++
		}
	}
	if p.TopPOn() {
		base := sum[n]
		if p.FilterOrder == tokendraw.TopKFirst {
			base = sum[c.TopK]
		}
		share := uint64(math.Ldexp(float64(p.TopP), 64)) // p < 1, so it fits
		c.Target, _ = bits.Mul64(base, share)
		c.TopP = 0
		for sum[c.TopP] < c.Target {
			c.TopP++
		}
	}
	c.N = max(1, min(c.TopK, c.MinP, c.TopP))
	c.Mass = sum[c.N]
	return c
}

// Draw returns the place, among kept tokens of weights w, of the one that the
// 64-bit random number u chooses (spec 6). The sum of w must be positive.
func Draw(w []uint64, u uint64) int {
	var mass uint64
	for _, x := range w {
		mass += x
	}
	r, _ := bits.Mul64(u, mass)
	var sum uint64
	for j, x := range w {
		sum += x
		if sum > r {
			return j
		}
	}
	panic("oracle: no mass to draw from")
}

// Philox returns the block that Philox4x32-10 makes of a counter (spec 7).
func Philox(key [2]uint32, ctr [4]uint32) [4]uint32 {
	for range 10 {
		p0 := 0xd2511f53 * uint64(ctr[0])
		p1 := 0xcd9e8d57 * uint64(ctr[2])
		ctr = [4]uint32{
			uint32(p1>>32) ^ ctr[1] ^ key[0], uint32(p1),
			uint32(p0>>32) ^ ctr[3] ^ key[1], uint32(p0),
		}
		key[0] += 0x9e3779b9
		key[1] += 0xbb67ae85
	}
	return ctr
}

// Random returns the 64-bit random number of a seed and a step (spec 7).
func Random(seed, step uint64) uint64 {
	const purpose = 0 // the draw
	x := Philox(
		[2]uint32{uint32(seed), uint32(seed >> 32)},
		[4]uint32{uint32(step), uint32(step >> 32), purpose, 0})
	return uint64(x[0]) | uint64(x[1])<<32
}

// Uniform returns the number that decides a row: the request's own, or the
// random one of its seed and the row's step.
func Uniform(req *tokendraw.Request, step uint64) uint64 {
	if req.U != nil {
		return *req.U
	}
	return Random(req.Seed, step)
}

// result is spec 8 for a drawn token, the one at place j of the order.
func result(z []float32, order []int32, w []uint64, k Counts, j int, nan bool, tokens []tokendraw.TokenProb) tokendraw.Details {
	mass := float64(k.Mass) // exact below 2^53, else rounded
	tokens = tokens[:0]
	for i, token := range order[:k.N] {
		tokens = append(tokens, tokendraw.TokenProb{
			Token: token, Score: z[token], Weight: w[i], Prob: float64(w[i]) / mass,
		})
	}
	return tokendraw.Details{
		Draw: tokendraw.Draw{
			Token:   order[j],
			Status:  status(nan),
			Kept:    int32(k.N),
			LogProb: float32(math.Log(float64(w[j]) / mass)),
		},
		Candidates: len(order),
		TopK:       k.TopK, MinP: k.MinP, TopP: k.TopP,
		Total: k.Total, Mass: k.Mass,
		Tokens: tokens,
	}
}

// noCandidate is spec 8 for a row from which nothing can be drawn.
func noCandidate(tokens []tokendraw.TokenProb) tokendraw.Details {
	return tokendraw.Details{
		Draw:   tokendraw.Draw{Token: -1, Status: tokendraw.NoCandidate},
		Tokens: tokens[:0],
	}
}

func status(nan bool) tokendraw.Status {
	if nan {
		return tokendraw.NaN
	}
	return tokendraw.OK
}

// New returns the sampler. It holds no memory and starts nothing; its methods
// may be called at the same time.
func New() tokendraw.Sampler { return new(sampler) }

type sampler struct{ closed atomic.Bool }

func (s *sampler) Sample(b *tokendraw.Batch, draws []tokendraw.Draw) error {
	var tokens []tokendraw.TokenProb
	return s.rows(b, len(draws), func(row int, logits []float32, step uint64) {
		d := explain(logits, b.Request(row), step, tokens)
		draws[row], tokens = d.Draw, d.Tokens
	})
}

func (s *sampler) Explain(b *tokendraw.Batch, details []tokendraw.Details) error {
	return s.rows(b, len(details), func(row int, logits []float32, step uint64) {
		details[row] = explain(logits, b.Request(row), step, details[row].Tokens)
	})
}

func (s *sampler) Close() error {
	s.closed.Store(true)
	return nil
}

// rows calls f for every row of a batch that fits.
func (s *sampler) rows(b *tokendraw.Batch, results int, f func(row int, logits []float32, step uint64)) error {
	if s.closed.Load() {
		return tokendraw.ErrClosed
	}
	if err := b.Check(results); err != nil {
		return err
	}
	steps, _ := b.Steps(nil, nil)
	var logits []float32
	for row, step := range steps {
		logits = b.Logits.AppendRow(logits[:0], row)
		f(row, logits, step)
	}
	return nil
}
