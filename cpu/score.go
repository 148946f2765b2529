package cpu

import (
	"math"
	"math/bits"

	"github.com/tokendraw/tokendraw"
)

// load makes the row's scores, SPEC.md section 1, and folds them. Where the
// request changes nothing, the scores are the logits and are read in place.
func (w *worker) load(l *tokendraw.Logits, i int, req *tokendraw.Request) tokendraw.Status {
	w.row = rowOf(l, i)
	w.inf = false
	status := tokendraw.OK
	changed := len(req.LogitBias) > 0 || req.AllowedTokens != nil || req.Bitmask != nil || req.Penalized()
	if w.fold() {
		status = tokendraw.NaN
		w.copyRow()
		for i, z := range w.score {
			if z != z {
				w.score[i] = negInf
			}
		}
	}
	if changed {
		w.copyRow()
		w.bias(req.LogitBias)
		w.bitmask(req.Bitmask)
		w.allow(req.AllowedTokens)
		w.penalize(req)
	}
	if changed || status == tokendraw.NaN {
		w.fold()
	}
	if w.m > math.MaxFloat32 {
		// Only the +Inf are candidates, all of weight 1. Zeros are too.
		w.copyRow()
		for i, z := range w.score {
			if z == w.m {
				w.score[i] = 0
			} else {
				w.score[i] = negInf
			}
		}
		w.inf = true
		w.fold()
	}
	if w.m == negInf {
		return tokendraw.NoCandidate
	}
	return status
}

// copyRow makes the row at hand a float32 copy that may be changed.
func (w *worker) copyRow() {
	if w.row.f32 != nil && &w.row.f32[0] == &w.score[0] {
		return
	}
	w.score = w.score[:w.row.n]
	w.convert(w.score, &w.row, 0, w.row.n)
	w.row = source{n: w.row.n, f32: w.score}
}

// put stores a changed score. An infinite logit that met an infinite
// adjustment is a NaN, which counts as -Inf.
func (w *worker) put(token int32, z float32) {
	if z != z {
		z = negInf
	}
	w.score[token] = z
}

func (w *worker) bias(list []tokendraw.Bias) {
	for _, b := range list {
		w.put(b.Token, w.score[b.Token]+b.Value)
	}
}

// bitmask forbids the tokens whose bits are not set.
func (w *worker) bitmask(words []uint32) {
	if words == nil {
		return
	}
	z := w.score
	for ; len(z) > 0; z = z[min(32, len(z)):] {
		word := uint32(0)
		if len(words) > 0 {
			word, words = words[0], words[1:]
		}
		forbidden := ^word
		if len(z) < 32 {
			forbidden &= 1<<len(z) - 1
		}
		for ; forbidden != 0; forbidden &= forbidden - 1 {
			z[bits.TrailingZeros32(forbidden)] = negInf
		}
	}
}

// allow forbids the tokens that are not listed.
func (w *worker) allow(ids []int32) {
	if ids == nil {
		return
	}
	for _, t := range ids {
		w.z[t] = w.score[t]
	}
	for i := range w.score {
		w.score[i] = negInf
	}
	for _, t := range ids {
		w.score[t] = w.z[t]
	}
}

// penalize applies the three penalties to the tokens of the request's text.
func (w *worker) penalize(req *tokendraw.Request) {
	if !req.Penalized() {
		return
	}
	// Twice the count in the output, plus 1 until the token has been seen to.
	// Occurrences are fewer than 2^31, so this fits.
	count := w.id
	for _, t := range req.PromptTokens {
		count[t] = 1
	}
	for _, t := range req.OutputTokens {
		count[t] = 1
	}
	for _, t := range req.Counts {
		count[t.Token] = 1
	}
	for _, t := range req.OutputTokens {
		count[t] += 2
	}
	for _, t := range req.Counts {
		count[t.Token] += 2 * uint32(t.Output)
	}
	for _, t := range req.PromptTokens {
		w.penalizeToken(req, t)
	}
	for _, t := range req.OutputTokens {
		w.penalizeToken(req, t)
	}
	for _, t := range req.Counts {
		w.penalizeToken(req, t.Token)
	}
}

func (w *worker) penalizeToken(req *tokendraw.Request, token int32) {
	count := w.id[token]
	if count&1 == 0 {
		return // seen to before
	}
	w.id[token] = 0
	z := w.score[token]
	if req.RepetitionOn() {
		if z > 0 {
			z = z / req.RepetitionPenalty
		} else {
			z = z * req.RepetitionPenalty
		}
	}
	// The conversions keep the products from being fused into the differences.
	if n := count >> 1; n > 0 {
		if req.FrequencyPenalty != 0 {
			z -= float32(float32(n) * req.FrequencyPenalty)
		}
		z -= req.PresencePenalty
	}
	w.put(token, z)
}
