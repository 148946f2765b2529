package backendtest

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/tokendraw/tokendraw"
	"github.com/tokendraw/tokendraw/oracle"
)

// A shrinker makes a failing row smaller while it still fails.
type shrinker struct {
	s      *suite
	x      tokendraw.Sampler
	logits []float32
	req    tokendraw.Request
	what   string // the mismatch of the smallest so far
	left   int    // tries left
	out    results
}

// fails reports whether the sampler gets a row of its own wrong.
func (k *shrinker) fails(logits []float32, req *tokendraw.Request) bool {
	if k.left--; k.left < 0 || len(logits) == 0 || req.Check(len(logits)) != nil {
		return false
	}
	b := one(logits, *req)
	m := k.s.try(k.x, &b, judge(&b), &k.out)
	if m == nil {
		return false
	}
	k.what = m.what
	return true
}

func one(logits []float32, req tokendraw.Request) tokendraw.Batch {
	return tokendraw.Batch{
		Logits:   tokendraw.Logits{F32: logits, Rows: 1, Vocab: len(logits)},
		Requests: []tokendraw.Request{req},
	}
}

// shrink returns a report of the smallest row found that still fails, or a
// note that the row does not fail alone as float32.
func (s *suite) shrink(x tokendraw.Sampler, logits []float32, req tokendraw.Request, step uint64) string {
	k := &shrinker{s: s, x: x, logits: slices.Clone(logits), req: cloneRequest(&req), left: 2000}
	k.req.Step = step
	if !k.fails(k.logits, &k.req) {
		return "alone, as float32, in a new sampler, the row is drawn correctly"
	}
	for before := -1; before != k.left && k.left > 0; {
		before = k.left
		if !k.params() && !k.shorter() && !k.simpler() {
			break
		}
	}
	k.left = 1
	k.fails(k.logits, &k.req)
	return k.report()
}

// params drops parameters one at a time.
func (k *shrinker) params() (any bool) {
	var zero uint64
	for _, drop := range []func(r *tokendraw.Request){
		func(r *tokendraw.Request) { r.LogitBias = nil },
		func(r *tokendraw.Request) { r.LogitBias = r.LogitBias[:len(r.LogitBias)/2] },
		func(r *tokendraw.Request) { r.LogitBias = r.LogitBias[len(r.LogitBias)/2:] },
		func(r *tokendraw.Request) { r.AllowedTokens = nil },
		func(r *tokendraw.Request) { r.AllowedTokens = r.AllowedTokens[:len(r.AllowedTokens)/2] },
		func(r *tokendraw.Request) { r.Bitmask = nil },
		func(r *tokendraw.Request) { r.Bitmask = r.Bitmask[:len(r.Bitmask)/2] },
		func(r *tokendraw.Request) { r.PromptTokens = nil },
		func(r *tokendraw.Request) { r.PromptTokens = r.PromptTokens[:len(r.PromptTokens)/2] },
		func(r *tokendraw.Request) { r.OutputTokens = nil },
		func(r *tokendraw.Request) { r.OutputTokens = r.OutputTokens[:len(r.OutputTokens)/2] },
		func(r *tokendraw.Request) { r.Counts = nil },
		func(r *tokendraw.Request) { r.Counts = r.Counts[:len(r.Counts)/2] },
		func(r *tokendraw.Request) { r.Counts = r.Counts[len(r.Counts)/2:] },
		func(r *tokendraw.Request) { r.RepetitionPenalty = 0 },
		func(r *tokendraw.Request) { r.FrequencyPenalty = 0 },
		func(r *tokendraw.Request) { r.PresencePenalty = 0 },
		func(r *tokendraw.Request) { r.TopP = 0 },
		func(r *tokendraw.Request) { r.MinP = 0 },
		func(r *tokendraw.Request) { r.TopK = 0 },
		func(r *tokendraw.Request) { r.TopK = min(r.TopK, 2) },
		func(r *tokendraw.Request) { r.FilterOrder = 0 },
		func(r *tokendraw.Request) { r.Temperature = 1 },
		func(r *tokendraw.Request) { r.U = &zero },
		func(r *tokendraw.Request) { r.Seed, r.Step = 0, 0 },
	} {
		req := cloneRequest(&k.req)
		drop(&req)
		if describeRequest(&req) != describeRequest(&k.req) && k.fails(k.logits, &req) {
			k.req, any = req, true
		}
	}
	return any
}

// shorter cuts pieces out of the row, and what names them out of the request.
func (k *shrinker) shorter() (any bool) {
	for size := len(k.logits) / 2; size > 0 && k.left > 0; size /= 2 {
		for at := len(k.logits) - size; at >= 0 && k.left > 0; at -= size {
			if at+size > len(k.logits) {
				continue
			}
			logits := slices.Delete(slices.Clone(k.logits), at, at+size)
			req := cut(&k.req, int32(at), int32(size))
			if k.fails(logits, &req) {
				k.logits, k.req, any = logits, req, true
			}
		}
	}
	return any
}

// cut removes n ids from one on.
func cut(r *tokendraw.Request, at, n int32) tokendraw.Request {
	c := cloneRequest(r)
	moved := func(id int32) int32 {
		switch {
		case id < at:
			return id
		case id < at+n:
			return -1
		}
		return id - n
	}
	ids := func(list []int32) []int32 {
		out := list[:0]
		for _, id := range list {
			if id = moved(id); id >= 0 {
				out = append(out, id)
			}
		}
		return out
	}
	c.AllowedTokens, c.PromptTokens, c.OutputTokens = ids(c.AllowedTokens), ids(c.PromptTokens), ids(c.OutputTokens)
	counts := c.Counts[:0]
	for _, x := range c.Counts {
		if x.Token = moved(x.Token); x.Token >= 0 {
			counts = append(counts, x)
		}
	}
	c.Counts = counts
	bias := c.LogitBias[:0]
	for _, x := range c.LogitBias {
		if x.Token = moved(x.Token); x.Token >= 0 {
			bias = append(bias, x)
		}
	}
	c.LogitBias = bias
	return c
}

// simpler overwrites pieces of the row with their first logit, or with -inf.
func (k *shrinker) simpler() (any bool) {
	for size := len(k.logits); size > 1 && k.left > 0; size /= 2 {
		for at := 0; at < len(k.logits) && k.left > 0; at += size {
			part := k.logits[at:min(at+size, len(k.logits))]
			if slices.Min(part) == slices.Max(part) {
				continue
			}
			for _, x := range []float32{part[0], slices.Max(part)} {
				logits := slices.Clone(k.logits)
				for i := range part {
					logits[at+i] = x
				}
				if x == x && k.fails(logits, &k.req) {
					k.logits, any = logits, true
					break
				}
			}
		}
	}
	return any
}

func (k *shrinker) report() string {
	var b strings.Builder
	fmt.Fprintf(&b, "smallest: %s\n\tvocab %d, %s\n\tlogits", k.what, len(k.logits), describeRequest(&k.req))
	runs := 0
	for i := 0; i < len(k.logits); {
		n := 1
		for i+n < len(k.logits) && math.Float32bits(k.logits[i+n]) == math.Float32bits(k.logits[i]) {
			n++
		}
		if runs++; runs > 40 {
			fmt.Fprintf(&b, " and %d more", len(k.logits)-i)
			break
		}
		fmt.Fprintf(&b, " %dx%v(%#08x)", n, k.logits[i], math.Float32bits(k.logits[i]))
		i += n
	}
	want := oracle.Row(k.logits, &k.req, k.req.Step)
	fmt.Fprintf(&b, "\n\toracle: %+v, candidates %d, n_k %d, n_m %d, n_p %d, total %#x, mass %#x",
		want.Draw, want.Candidates, want.TopK, want.MinP, want.TopP, want.Total, want.Mass)
	bt := one(k.logits, k.req)
	got := make([]tokendraw.Details, 1)
	func() {
		defer func() { _ = recover() }()
		if k.x.Explain(&bt, got) == nil {
			g := &got[0]
			fmt.Fprintf(&b, "\n\tExplain: %+v, candidates %d, n_k %d, n_m %d, n_p %d, total %#x, mass %#x",
				g.Draw, g.Candidates, g.TopK, g.MinP, g.TopP, g.Total, g.Mass)
			if digest(g.Tokens) != digest(want.Tokens) {
				fmt.Fprintf(&b, "\n\tExplain: %s", difference(want.Tokens, g.Tokens))
			}
		}
	}()
	return b.String()
}
