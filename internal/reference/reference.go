// Package reference computes a row's distribution as a textbook would: in
// float64, with math.Exp, dividing by the temperature. It shares nothing with
// the specification's arithmetic, so that it can say whether that arithmetic
// is a softmax. It agrees with a conforming sampler within bounds that it
// states, not bit for bit.
package reference

import (
	"math"
	"sort"

	"github.com/tokendraw/tokendraw"
)

// Distribution is what one row draws from.
type Distribution struct {
	Prob       []float64 // probability by token id; all 0 where there is no candidate
	Order      []int32   // the kept tokens, score descending, id ascending
	Candidates int       // tokens that had a chance before the filters
	NaN        bool      // a logit was NaN

	// A conforming sampler's probabilities are within Prob*Rel + Abs of these,
	// and it keeps the same tokens, unless Unsure: then the edge of a filter
	// is so close to a token that float32 scores may fall on its other side.
	Rel, Abs float64
	Unsure   bool
}

const (
	inf32 = math.MaxFloat32 * (1 + 1.0/(1<<25)) // from here a float32 is infinite
	ulp   = 1.0 / (1 << 24)                     // relative error of one float32 operation
)

// Of returns the distribution of a row of raw logits for a request that passed
// Check. A greedy request gives one token the probability 1.
func Of(logits []float32, req *tokendraw.Request) Distribution {
	d := Distribution{Prob: make([]float64, len(logits))}
	z, slop := d.scores(logits, req)
	order := candidates(z)
	d.Candidates = len(order)
	if len(order) == 0 {
		return d
	}
	best := order[0]
	if req.Temperature == 0 || req.TopK == 1 {
		d.Prob[best] = 1
		d.Order = order[:1]
		d.Unsure = closeCut(z, slop, order, 1)
		return d
	}

	// Softmax, up to its denominator; e is 1 for the best token.
	T := float64(req.Temperature)
	e := make([]float64, len(order))
	total := 0.0
	for i, t := range order {
		gap := z[best] - z[t] // NaN if both are +Inf
		if z[t] == z[best] {
			gap = 0
		}
		e[i] = math.Exp(-gap / T)
		total += e[i]
		d.Rel = max(d.Rel, relative(gap, slop[t]+slop[best], T))
	}
	d.Rel *= 2 // of a weight and of the sum that it is divided by
	d.Abs = float64(len(order)) / (1 << 36)
	tolerance := d.Rel + d.Abs

	k := len(order)
	if req.TopK > 0 {
		k = min(k, req.TopK)
	}
	n := k
	if req.MinP > 0 {
		m := 0
		for _, x := range e {
			if x >= float64(req.MinP) {
				m++
			}
			if x != 1 && math.Abs(x/float64(req.MinP)-1) <= tolerance {
				d.Unsure = true
			}
			if req.MinP <= 0x1p-40 && x < 0x1p-40 {
				d.Unsure = true // to min_p, the specification's weights end there
			}
		}
		n = min(n, m)
	}
	if p := float64(req.TopP); p > 0 && p < 1 {
		base := total
		if req.FilterOrder == tokendraw.TopKFirst {
			base = 0
			for _, x := range e[:k] {
				base += x
			}
		}
		sum, m := 0.0, 0
		for m < len(e) && sum < p*base {
			sum += e[m]
			m++
		}
		if m > 0 {
			over, under := sum-p*base, p*base-(sum-e[m-1])
			d.Unsure = d.Unsure || min(over, under) <= tolerance*base
		}
		n = min(n, m)
	}
	n = max(n, 1)
	d.Unsure = d.Unsure || closeCut(z, slop, order, n)

	mass := 0.0
	for _, x := range e[:n] {
		mass += x
	}
	for i, t := range order[:n] {
		d.Prob[t] = e[i] / mass
	}
	d.Order = order[:n]
	return d
}

// relative bounds the relative error of a weight, float32 against float64.
func relative(gap, slop, temperature float64) float64 {
	t := gap / temperature * math.Log2E
	// Where the difference or the scale leaves the range of float32, the
	// specification saturates.
	if gap > math.MaxFloat32 && t < 41 || temperature < 4.3e-39 && gap > 0 && gap*math.MaxFloat32 < 41 {
		return math.Inf(+1)
	}
	if t > 41 {
		return 0 // both weights are as good as 0
	}
	perBit := 1.4e-7
	if temperature > 1e38 {
		perBit = 3e-7 // the scale is subnormal
	}
	return 1.8e-7 + perBit*t + math.Expm1(slop/temperature)
}

// scores returns bias, mask and penalties applied in float64, and for each
// token a bound on what float32 roundings could change.
func (d *Distribution) scores(logits []float32, req *tokendraw.Request) (z, slop []float64) {
	z = make([]float64, len(logits))
	slop = make([]float64, len(logits))
	apply := func(i int, f func(x float64) float64) {
		y := f(z[i])
		if math.Abs(y) >= inf32 {
			y = math.Copysign(math.Inf(+1), y)
		}
		if y != z[i] && !math.IsInf(y, 0) { // else exact
			slop[i] += 2 * ulp * max(math.Abs(y), math.Abs(z[i]))
		}
		z[i] = y
	}

	for i, x := range logits {
		z[i] = float64(x)
		if math.IsNaN(z[i]) {
			d.NaN = true
			z[i] = math.Inf(-1)
		}
	}
	for _, b := range req.LogitBias {
		apply(int(b.Token), func(x float64) float64 { return x + float64(b.Value) })
	}

	allowed := func(i int) bool {
		if req.Bitmask != nil && (i>>5 >= len(req.Bitmask) || req.Bitmask[i>>5]&(1<<(i&31)) == 0) {
			return false
		}
		for _, t := range req.AllowedTokens {
			if int(t) == i {
				return true
			}
		}
		return req.AllowedTokens == nil
	}
	for i := range z {
		if !allowed(i) {
			z[i] = math.Inf(-1)
		}
	}

	out := map[int32]float64{} // occurrences in the output, 0 for the prompt
	for _, t := range req.PromptTokens {
		out[t] += 0
	}
	for _, t := range req.OutputTokens {
		out[t]++
	}
	for _, c := range req.Counts {
		out[c.Token] += float64(c.Output)
	}
	for t, n := range out {
		if r := float64(req.RepetitionPenalty); r != 0 {
			slop[t] *= max(r, 1/r)
			apply(int(t), func(x float64) float64 {
				if x > 0 {
					return x / r
				}
				return x * r
			})
		}
		if n > 0 {
			drop := n * float64(req.FrequencyPenalty)
			if math.Abs(drop) >= inf32 {
				drop = math.Copysign(math.Inf(+1), drop)
			} else {
				slop[t] += 2 * ulp * math.Abs(drop)
			}
			apply(int(t), func(x float64) float64 { return x - drop })
			apply(int(t), func(x float64) float64 { return x - float64(req.PresencePenalty) })
		}
	}
	return z, slop
}

// candidates returns the tokens that have a chance, best first.
func candidates(z []float64) []int32 {
	top := math.Inf(-1)
	for _, x := range z {
		if x > top { // a NaN is not
			top = x
		}
	}
	var order []int32
	for i, x := range z {
		if x > math.Inf(-1) && (!math.IsInf(top, +1) || x == top) {
			order = append(order, int32(i))
		}
	}
	sort.SliceStable(order, func(a, b int) bool { return z[order[a]] > z[order[b]] })
	return order
}

// closeCut reports whether float32 roundings of the scores could exchange a
// token among the first n with one behind them.
func closeCut(z, slop []float64, order []int32, n int) bool {
	least, most := math.Inf(+1), math.Inf(-1)
	touched := false
	for _, t := range order[:n] {
		least = min(least, z[t]-slop[t])
	}
	for _, t := range order[n:] {
		most = max(most, z[t]+slop[t])
	}
	if n == len(order) || least > most {
		return false
	}
	for _, t := range order {
		touched = touched || slop[t] != 0 && z[t]+slop[t] >= least && z[t]-slop[t] <= most
	}
	return touched
}
