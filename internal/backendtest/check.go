package backendtest

import (
	"fmt"
	"math"
	"reflect"
	"runtime/debug"
	"slices"
	"time"

	"github.com/tokendraw/tokendraw"
	"github.com/tokendraw/tokendraw/oracle"
)

// expect is what the oracle says of a row. The kept tokens, which may be a
// quarter of a million, are there as a digest.
type expect struct {
	tokendraw.Details // without Tokens
	tokens            int
	digest            uint64
}

func expected(d tokendraw.Details) expect {
	e := expect{Details: d, tokens: len(d.Tokens), digest: digest(d.Tokens)}
	e.Tokens = nil
	return e
}

// digest mixes what is exact of the tokens: all but the probability.
func digest(tokens []tokendraw.TokenProb) uint64 {
	h := uint64(len(tokens))
	mix := func(x uint64) {
		h = (h ^ x) * 0x9e3779b97f4a7c15
		h ^= h >> 29
	}
	for i := range tokens {
		x := &tokens[i]
		mix(uint64(uint32(x.Token))<<32 | uint64(math.Float32bits(x.Score)))
		mix(x.Weight)
	}
	return h
}

// A mismatch is a row that differs. Row is -1 if the whole batch failed.
type mismatch struct {
	row  int
	what string
}

// poison fills results before a call, so that what is left alone shows.
var poison = tokendraw.Draw{Token: -77, Status: 99, Kept: -77, LogProb: 77}

// extra is the number of results beyond the rows, which must stay as they were.
const extra = 3

// results are the outputs of a batch, reused from call to call.
type results struct {
	draws   []tokendraw.Draw
	details []tokendraw.Details
}

// reset returns poisoned results for rows rows and some more. The memory that
// Details.Tokens hold is kept and poisoned.
func (r *results) reset(rows int) {
	r.draws = slices.Grow(r.draws[:0], rows+extra)[:rows+extra]
	r.details = slices.Grow(r.details[:0], rows+extra)[:rows+extra]
	for i := range r.draws {
		r.draws[i] = poison
	}
	for i := range r.details {
		tokens := r.details[i].Tokens[:0]
		if cap(tokens) > 0 {
			tokens = tokens[:1]
			tokens[0] = tokendraw.TokenProb{Token: -77, Weight: 77}
		}
		r.details[i] = tokendraw.Details{
			Draw: poison, Greedy: true, Candidates: -77, TopK: -77, MinP: -77, TopP: -77, Total: 77, Mass: 77, Tokens: tokens,
		}
	}
}

// clean reports whether the results from row from on are as reset left them.
func (r *results) clean(from int) bool {
	for _, d := range r.draws[from:] {
		if d != poison {
			return false
		}
	}
	for _, d := range r.details[from:] {
		if d.Draw != poison || !d.Greedy || d.Candidates != -77 || d.TopK != -77 || d.MinP != -77 || d.TopP != -77 || d.Total != 77 || d.Mass != 77 {
			return false
		}
		if len(d.Tokens) > 1 || len(d.Tokens) == 1 && d.Tokens[0].Token != -77 {
			return false
		}
	}
	return true
}

// snapshot is a copy of a batch that the batch can be compared with.
type snapshot tokendraw.Batch

func snap(b *tokendraw.Batch) *snapshot {
	c := *b
	c.Logits.F32 = slices.Clone(b.Logits.F32)
	c.Logits.F16 = slices.Clone(b.Logits.F16)
	c.Logits.BF16 = slices.Clone(b.Logits.BF16)
	c.RowRequest = slices.Clone(b.RowRequest)
	c.Requests = nil
	for i := range b.Requests {
		c.Requests = append(c.Requests, cloneRequest(&b.Requests[i]))
	}
	return (*snapshot)(&c)
}

func cloneRequest(r *tokendraw.Request) tokendraw.Request {
	c := *r
	if r.U != nil {
		u := *r.U
		c.U = &u
	}
	c.LogitBias = slices.Clone(r.LogitBias)
	c.AllowedTokens = slices.Clone(r.AllowedTokens)
	c.Bitmask = slices.Clone(r.Bitmask)
	c.PromptTokens = slices.Clone(r.PromptTokens)
	c.OutputTokens = slices.Clone(r.OutputTokens)
	c.Counts = slices.Clone(r.Counts)
	return c
}

// changed returns what of b differs from the snapshot, or "".
func (s *snapshot) changed(b *tokendraw.Batch) string {
	l, m := &s.Logits, &b.Logits
	same := len(l.F32) == len(m.F32) && slices.Equal(l.F16, m.F16) && slices.Equal(l.BF16, m.BF16)
	for i := 0; same && i < len(l.F32); i++ {
		same = math.Float32bits(l.F32[i]) == math.Float32bits(m.F32[i])
	}
	switch {
	case !same:
		return "the logits were written to"
	case l.Rows != m.Rows || l.Vocab != m.Vocab || l.Stride != m.Stride:
		return "the logits' shape was changed"
	case !slices.Equal(s.RowRequest, b.RowRequest):
		return "the row map was written to"
	case !slices.EqualFunc(s.Requests, b.Requests, sameRequest):
		return "a request was written to"
	}
	return ""
}

// sameRequest is equality that takes a NaN, which is refused, for itself.
func sameRequest(a, b tokendraw.Request) bool {
	return fmt.Sprint(a.Params) == fmt.Sprint(b.Params) && a.Seed == b.Seed && a.Step == b.Step &&
		(a.U == nil) == (b.U == nil) && (a.U == nil || *a.U == *b.U) &&
		slices.EqualFunc(a.LogitBias, b.LogitBias, func(a, b tokendraw.Bias) bool {
			return a.Token == b.Token && math.Float32bits(a.Value) == math.Float32bits(b.Value)
		}) &&
		slices.Equal(a.AllowedTokens, b.AllowedTokens) && slices.Equal(a.Bitmask, b.Bitmask) &&
		slices.Equal(a.PromptTokens, b.PromptTokens) && slices.Equal(a.OutputTokens, b.OutputTokens) &&
		slices.Equal(a.Counts, b.Counts)
}

// watch panics if what follows does not end: a test's own limit would not say
// which case it was.
func watch(name string) (stop func()) {
	t := time.AfterFunc(4*time.Minute, func() { panic("backendtest: " + name + " does not end") })
	return func() { t.Stop() }
}

// try draws from b both ways and compares with want. A panic on the calling
// goroutine is a mismatch.
func (s *suite) try(x tokendraw.Sampler, b *tokendraw.Batch, want []expect, r *results) (m *mismatch) {
	defer func() {
		if p := recover(); p != nil {
			m = &mismatch{-1, fmt.Sprintf("panic: %v\n%s", p, debug.Stack())}
		}
	}()
	r.reset(b.Logits.Rows)
	if err := x.Sample(b, r.draws); err != nil {
		return &mismatch{-1, "Sample: " + err.Error()}
	}
	if err := x.Explain(b, r.details); err != nil {
		return &mismatch{-1, "Explain: " + err.Error()}
	}
	for i := range want {
		if what := s.draw(&want[i].Draw, &r.draws[i]); what != "" {
			return &mismatch{i, "Sample: " + what}
		}
		if what := s.details(&want[i], &r.details[i]); what != "" {
			return &mismatch{i, "Explain: " + what}
		}
	}
	if !r.clean(len(want)) {
		return &mismatch{-1, "results beyond the last row were written to"}
	}
	return nil
}

func (s *suite) draw(want, got *tokendraw.Draw) string {
	if got.Token == want.Token && got.Status == want.Status && got.Kept == want.Kept && s.logProb(want.LogProb, got.LogProb) {
		return ""
	}
	return fmt.Sprintf("got %+v, want %+v", *got, *want)
}

// logProb compares with the tolerance of spec 8 or, where the backend says that
// it computes like the oracle, exactly.
func (s *suite) logProb(want, got float32) bool {
	return want == got || s.inexact && math.Abs(float64(want)-float64(got)) <= 1e-5
}

func (s *suite) details(want *expect, got *tokendraw.Details) string {
	if what := s.draw(&want.Draw, &got.Draw); what != "" {
		return what
	}
	w, g := want.Details, *got
	g.Tokens, g.LogProb = nil, w.LogProb
	if !reflect.DeepEqual(w, g) {
		return fmt.Sprintf("got %+v, want %+v", g, w)
	}
	if len(got.Tokens) != want.tokens {
		return fmt.Sprintf("got %d tokens, want %d", len(got.Tokens), want.tokens)
	}
	mass := float64(want.Mass)
	for i := range got.Tokens {
		x := &got.Tokens[i]
		p := float64(x.Weight) / mass
		if x.Prob != p && !(s.inexact && math.Abs(x.Prob-p) <= 1e-6*p) {
			return fmt.Sprintf("place %d: %+v, want probability %v", i, *x, p)
		}
	}
	if digest(got.Tokens) != want.digest {
		return "other tokens, scores or weights" // the caller says which
	}
	return ""
}

// difference names the first kept token in which got differs from the oracle.
func difference(want, got []tokendraw.TokenProb) string {
	for i := range min(len(want), len(got)) {
		w, g := want[i], got[i]
		if w.Token != g.Token || w.Weight != g.Weight || math.Float32bits(w.Score) != math.Float32bits(g.Score) {
			return fmt.Sprintf("place %d: got %+v, want %+v", i, g, w)
		}
	}
	return fmt.Sprintf("got %d tokens, want %d", len(got), len(want))
}

// steps returns the step of every row, counted here and not by Batch.Steps.
func steps(b *tokendraw.Batch) []uint64 {
	list := make([]uint64, b.Logits.Rows)
	owned := map[*tokendraw.Request]uint64{}
	for i := range list {
		req := b.Request(i)
		list[i] = req.Step + owned[req]
		owned[req]++
	}
	return list
}

// judge returns what the oracle says of every row of a batch.
func judge(b *tokendraw.Batch) []expect {
	want := make([]expect, b.Logits.Rows)
	var row []float32
	for i, step := range steps(b) {
		row = b.Logits.AppendRow(row[:0], i)
		want[i] = expected(oracle.Row(row, b.Request(i), step))
	}
	return want
}
