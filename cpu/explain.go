package cpu

import (
	"math"
	"math/bits"
	"slices"

	"github.com/tokendraw/tokendraw"
	"github.com/tokendraw/tokendraw/cpu/internal/vec"
)

// explain draws one row the straightforward way: it sorts all candidates.
func (w *worker) explain(l *tokendraw.Logits, row int, req *tokendraw.Request, step uint64, d *tokendraw.Details) {
	*d = tokendraw.Details{Tokens: d.Tokens[:0]}
	d.Token, d.Status = -1, w.load(l, row, req)
	if d.Status == tokendraw.NoCandidate {
		return
	}
	n := w.collect(-math.MaxFloat32, w.m, w.row.n)
	d.Candidates = n
	if req.Greedy() {
		d.Greedy, d.Kept, d.Token = true, 1, w.best()
		d.TopK, d.MinP, d.TopP = n, n, n
		d.Total, d.Mass = 1<<36, 1<<36
		d.Tokens = append(d.Tokens, tokendraw.TokenProb{Token: d.Token, Score: w.scoreOf(w.m), Weight: 1 << 36, Prob: 1})
		return
	}

	w.sort(n)
	w.c = vec.Scale(req.Temperature)
	d.Tokens = slices.Grow(d.Tokens, n)[:n]
	d.TopK, d.MinP, d.TopP = req.KLimit(n), n, n
	if req.MinP > 0 {
		d.MinP = 0
	}
	first := uint64(0) // mass of the first TopK
	for from := 0; from < n; from += tile {
		z := w.z[from:min(from+tile, n)]
		w.vec.Weigh(w.y, w.w, z, w.m, w.c)
		if req.MinP > 0 {
			d.MinP += w.vec.CountGE(w.y[:len(z)], req.MinP)
		}
		for i, weight := range w.w[:len(z)] {
			d.Total += weight
			if from+i < d.TopK {
				first += weight
			}
			d.Tokens[from+i] = tokendraw.TokenProb{Token: int32(w.id[from+i]), Score: w.scoreOf(z[i]), Weight: weight}
		}
	}
	if req.TopPOn() {
		base := d.Total
		if req.FilterOrder == tokendraw.TopKFirst {
			base = first
		}
		goal, mass := target(req.TopP, base), uint64(0)
		d.TopP = 0
		for mass < goal {
			mass += d.Tokens[d.TopP].Weight
			d.TopP++
		}
	}

	kept := max(1, min(d.TopK, d.MinP, d.TopP))
	d.Kept, d.Tokens = int32(kept), d.Tokens[:kept]
	for _, t := range d.Tokens {
		d.Mass += t.Weight
	}
	r, _ := bits.Mul64(random(req, step), d.Mass)
	for i := range d.Tokens {
		t := &d.Tokens[i]
		t.Prob = float64(t.Weight) / float64(d.Mass)
		if d.Token < 0 && r < t.Weight {
			d.Token, d.LogProb = t.Token, float32(math.Log(t.Prob))
		}
		r -= t.Weight // wraps around after the token, which no longer matters
	}
}

// scoreOf returns a score as the specification has it: +Inf where load wrote
// 0, and never -0.
func (w *worker) scoreOf(z float32) float32 {
	if w.inf {
		return float32(math.Inf(1))
	}
	return z + 0
}
