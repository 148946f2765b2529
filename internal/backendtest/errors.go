package backendtest

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/tokendraw/tokendraw"
)

// refusal is a batch that must be refused, made from a good one of four rows
// and 40 logits whose requests are all {temperature 1}. Request 2 is the bad
// one of a parameter error.
type refusal struct {
	name  string
	spoil func(b *tokendraw.Batch)
	field string // of the *ParamError; "" means a *ShapeError
}

func param(name, field string, spoil func(r *tokendraw.Request)) refusal {
	return refusal{name, func(b *tokendraw.Batch) { spoil(&b.Requests[2]) }, field}
}

type request = tokendraw.Request

var refusals = []refusal{
	param("temperature below 0", "temperature", func(r *request) { r.Temperature = -1e-45 }),
	param("temperature nan", "temperature", func(r *request) { r.Temperature = nan }),
	param("temperature +inf", "temperature", func(r *request) { r.Temperature = posInf }),
	param("temperature -inf", "temperature", func(r *request) { r.Temperature = negInf }),
	param("top_k -2", "top_k", func(r *request) { r.TopK = -2 }),
	param("top_k least", "top_k", func(r *request) { r.TopK = math.MinInt }),
	param("top_p above 1", "top_p", func(r *request) { r.TopP = up(1) }),
	param("top_p below 0", "top_p", func(r *request) { r.TopP = -0.5 }),
	param("top_p nan", "top_p", func(r *request) { r.TopP = nan }),
	param("top_p inf", "top_p", func(r *request) { r.TopP = posInf }),
	param("min_p above 1", "min_p", func(r *request) { r.MinP = up(1) }),
	param("min_p below 0", "min_p", func(r *request) { r.MinP = -1e-45 }),
	param("min_p nan", "min_p", func(r *request) { r.MinP = nan }),
	param("filter_order unknown", "filter_order", func(r *request) { r.FilterOrder = 2 }),
	param("repetition_penalty below 0", "repetition_penalty", func(r *request) { r.RepetitionPenalty = -1 }),
	param("repetition_penalty nan", "repetition_penalty", func(r *request) { r.RepetitionPenalty = nan }),
	param("repetition_penalty inf", "repetition_penalty", func(r *request) { r.RepetitionPenalty = posInf }),
	param("presence_penalty nan", "presence_penalty", func(r *request) { r.PresencePenalty = nan }),
	param("presence_penalty inf", "presence_penalty", func(r *request) { r.PresencePenalty = negInf }),
	param("frequency_penalty nan", "frequency_penalty", func(r *request) { r.FrequencyPenalty = nan }),
	param("frequency_penalty inf", "frequency_penalty", func(r *request) { r.FrequencyPenalty = posInf }),
	param("bias id at vocab", "logit_bias", func(r *request) { r.LogitBias = []tokendraw.Bias{{Token: 40}} }),
	param("bias id negative", "logit_bias", func(r *request) { r.LogitBias = []tokendraw.Bias{{Token: -1}} }),
	param("bias nan", "logit_bias", func(r *request) { r.LogitBias = []tokendraw.Bias{{Token: 0, Value: nan}} }),
	param("bias +inf", "logit_bias", func(r *request) { r.LogitBias = []tokendraw.Bias{{Token: 0, Value: posInf}} }),
	param("bias twice", "logit_bias", func(r *request) { r.LogitBias = []tokendraw.Bias{{Token: 3}, {Token: 3}} }),
	param("bias out of order", "logit_bias", func(r *request) { r.LogitBias = []tokendraw.Bias{{Token: 3}, {Token: 2}} }),
	param("allowed empty", "allowed_token_ids", func(r *request) { r.AllowedTokens = []int32{} }),
	param("allowed at vocab", "allowed_token_ids", func(r *request) { r.AllowedTokens = []int32{0, 40} }),
	param("allowed negative", "allowed_token_ids", func(r *request) { r.AllowedTokens = []int32{-1, 0} }),
	param("prompt at vocab", "prompt_tokens", func(r *request) { r.PromptTokens = []int32{40} }),
	param("prompt negative", "prompt_tokens", func(r *request) { r.PromptTokens = []int32{0, math.MinInt32} }),
	param("output at vocab", "output_tokens", func(r *request) { r.OutputTokens = []int32{40} }),
	param("output negative", "output_tokens", func(r *request) { r.OutputTokens = []int32{-1} }),
	param("counts at vocab", "counts", func(r *request) { r.Counts = []tokendraw.TokenCount{{Token: 40}} }),
	param("counts negative id", "counts", func(r *request) { r.Counts = []tokendraw.TokenCount{{Token: -1}} }),
	param("counts negative", "counts", func(r *request) { r.Counts = []tokendraw.TokenCount{{Token: 1, Output: -1}} }),
	param("counts beyond 2^31", "counts", func(r *request) {
		r.Counts = []tokendraw.TokenCount{{Token: 1, Output: math.MaxInt32}, {Token: 2, Output: 1}}
	}),
	param("counts and output beyond 2^31", "counts", func(r *request) {
		r.Counts, r.OutputTokens = []tokendraw.TokenCount{{Token: 1, Output: math.MaxInt32}}, []int32{1}
	}),

	{"rows negative", func(b *tokendraw.Batch) { b.Logits.Rows = -1 }, ""},
	{"rows too many", func(b *tokendraw.Batch) { b.Logits.Rows = math.MaxInt }, ""},
	{"vocab 0", func(b *tokendraw.Batch) { b.Logits.Vocab = 0 }, ""},
	{"vocab negative", func(b *tokendraw.Batch) { b.Logits.Vocab = -1 }, ""},
	{"vocab too large", func(b *tokendraw.Batch) { b.Logits.Vocab = tokendraw.MaxVocab + 1 }, ""},
	{"vocab largest int", func(b *tokendraw.Batch) { b.Logits.Vocab = math.MaxInt }, ""},
	{"stride below vocab", func(b *tokendraw.Batch) { b.Logits.Stride = 39 }, ""},
	{"stride negative", func(b *tokendraw.Batch) { b.Logits.Stride = -40 }, ""},
	{"stride too large", func(b *tokendraw.Batch) { b.Logits.Stride = 41 }, ""},
	{"stride largest int", func(b *tokendraw.Batch) { b.Logits.Stride = math.MaxInt }, ""},
	{"no logits", func(b *tokendraw.Batch) { b.Logits.F32 = nil }, ""},
	{"two types", func(b *tokendraw.Batch) { b.Logits.F16 = make([]uint16, 160) }, ""},
	{"three types", func(b *tokendraw.Batch) { b.Logits.F16, b.Logits.BF16 = make([]uint16, 160), make([]uint16, 160) }, ""},
	{"an element short", func(b *tokendraw.Batch) { b.Logits.F32 = b.Logits.F32[:159] }, ""},
	{"empty logits", func(b *tokendraw.Batch) { b.Logits.F32 = []float32{} }, ""},
	{"map too short", func(b *tokendraw.Batch) { b.RowRequest = []int32{0, 1, 2} }, ""},
	{"map too long", func(b *tokendraw.Batch) { b.RowRequest = []int32{0, 1, 2, 3, 3} }, ""},
	{"map empty", func(b *tokendraw.Batch) { b.RowRequest = []int32{} }, ""},
	{"map beyond the requests", func(b *tokendraw.Batch) { b.RowRequest = []int32{0, 1, 2, 4} }, ""},
	{"map negative", func(b *tokendraw.Batch) { b.RowRequest = []int32{0, -1, 2, 3} }, ""},
	{"no request", func(b *tokendraw.Batch) { b.Requests, b.RowRequest = nil, nil }, ""},
	{"a request short", func(b *tokendraw.Batch) { b.Requests, b.RowRequest = b.Requests[:3], nil }, ""},
	{"a request too many", func(b *tokendraw.Batch) { b.Requests, b.RowRequest = append(b.Requests, request{}), nil }, ""},
}

// good returns the batch that refusals spoil.
func good(mapped bool) tokendraw.Batch {
	b := tokendraw.Batch{Logits: tokendraw.Logits{Rows: 4, Vocab: 40, F32: make([]float32, 160)}}
	for i := range b.Logits.F32 {
		b.Logits.F32[i] = float32(i % 7)
	}
	for i := range 4 {
		b.Requests = append(b.Requests, request{Params: tokendraw.Params{Temperature: 1}, Seed: uint64(i)})
	}
	if mapped {
		b.RowRequest = []int32{1, 2, 0, 2} // request 2 begins at row 1; 3 has none
	}
	return b
}

func (s *suite) errors(t *testing.T) {
	x := s.sampler(t)
	var out results
	fine := func(after string) {
		t.Helper()
		b := good(false)
		if m := s.try(x, &b, judge(&b), &out); m != nil {
			t.Fatalf("after %s: a good batch: %s", after, m.what)
		}
	}
	fine("nothing")

	for _, mapped := range []bool{false, true} {
		for _, r := range refusals {
			b := good(mapped)
			r.spoil(&b)
			row := 2
			if mapped {
				row = 1
			}
			s.refused(t, x, r.name, &b, &out, func(err error) bool {
				var p *tokendraw.ParamError
				var sh *tokendraw.ShapeError
				if r.field == "" {
					return errors.As(err, &sh)
				}
				return errors.As(err, &p) && p.Field == r.field && p.Row == row
			})
			fine(r.name)
		}
	}

	// A request without a row is checked too, and belongs to no row.
	b := good(true)
	b.Requests[3].TopP = 1.5
	s.refused(t, x, "request without a row", &b, &out, func(err error) bool {
		var p *tokendraw.ParamError
		return errors.As(err, &p) && p.Field == "top_p" && p.Row == -1 && p.Got == "1.5"
	})
	// One u cannot serve two rows.
	b = good(true)
	b.Requests[2].U = new(uint64)
	s.refused(t, x, "u of two rows", &b, &out, func(err error) bool {
		var p *tokendraw.ParamError
		return errors.As(err, &p) && p.Field == "u" && p.Row == 1
	})
	s.short(t, x)
	s.empty(t, x)
	fine("all refusals")
	s.closed(t)
}

// refused checks that a batch is refused both ways, with an error that passes,
// and that nothing at all is written.
func (s *suite) refused(t *testing.T, x tokendraw.Sampler, name string, b *tokendraw.Batch, out *results, passes func(err error) bool) {
	t.Helper()
	defer func() {
		if p := recover(); p != nil {
			t.Errorf("%s: panic: %v", name, p)
		}
	}()
	before := snap(b)
	out.reset(4)
	err := x.Sample(b, out.draws)
	if err == nil || !passes(err) {
		t.Errorf("%s: Sample: got error %v", name, err)
	}
	err = x.Explain(b, out.details)
	if err == nil || !passes(err) {
		t.Errorf("%s: Explain: got error %v", name, err)
	}
	if !out.clean(0) {
		t.Errorf("%s: a refused batch wrote results", name)
	}
	if what := before.changed(b); what != "" {
		t.Errorf("%s: %s", name, what)
	}
}

// short gives too little room for the results.
func (s *suite) short(t *testing.T, x tokendraw.Sampler) {
	b := good(false)
	for n := range 4 {
		draws := slices.Repeat([]tokendraw.Draw{poison}, 5)
		details := make([]tokendraw.Details, 5)
		for i := range details {
			details[i].Draw = poison
		}
		var sh *tokendraw.ShapeError
		if err := x.Sample(&b, draws[:n]); !errors.As(err, &sh) {
			t.Errorf("Sample into %d results: got error %v", n, err)
		}
		if err := x.Explain(&b, details[:n]); !errors.As(err, &sh) {
			t.Errorf("Explain into %d results: got error %v", n, err)
		}
		for i := range draws {
			if draws[i] != poison || details[i].Draw != poison {
				t.Errorf("with room for %d rows, row %d was written", n, i)
			}
		}
	}
	var sh *tokendraw.ShapeError
	if err := x.Sample(&b, nil); !errors.As(err, &sh) {
		t.Errorf("Sample into nil: got error %v", err)
	}
	if err := x.Explain(&b, nil); !errors.As(err, &sh) {
		t.Errorf("Explain into nil: got error %v", err)
	}
}

// empty draws from batches without rows, and from masks without words.
func (s *suite) empty(t *testing.T, x tokendraw.Sampler) {
	for i, b := range []tokendraw.Batch{
		{},
		{Logits: tokendraw.Logits{Vocab: 40}},
		{Logits: tokendraw.Logits{Vocab: 40, F16: []uint16{}}, Requests: []request{}},
		{Logits: tokendraw.Logits{Vocab: 40, F32: make([]float32, 40)}, Requests: make([]request, 3), RowRequest: []int32{}},
	} {
		draws := []tokendraw.Draw{poison}
		details := []tokendraw.Details{{Draw: poison}}
		if err := x.Sample(&b, draws); err != nil {
			t.Errorf("zero rows, %d: Sample: %v", i, err)
		}
		if err := x.Explain(&b, details); err != nil {
			t.Errorf("zero rows, %d: Explain: %v", i, err)
		}
		if draws[0] != poison || details[0].Draw != poison {
			t.Errorf("zero rows, %d: a result was written", i)
		}
		if err := x.Sample(&b, nil); err != nil {
			t.Errorf("zero rows, %d: Sample into nil: %v", i, err)
		}
	}
	for _, mask := range [][]uint32{{}, {0}, {0, 0, 0, 7}, {0, 0xffffff00}} {
		b := good(false)
		b.Requests[1].Bitmask = mask
		draws := make([]tokendraw.Draw, 4)
		if err := x.Sample(&b, draws); err != nil {
			t.Fatalf("bitmask %v: %v", mask, err)
		}
		if want := (tokendraw.Draw{Token: -1, Status: tokendraw.NoCandidate}); draws[1] != want || draws[0].Status != tokendraw.OK || draws[2].Status != tokendraw.OK {
			t.Errorf("bitmask %v: got %v", mask, draws)
		}
	}
}

// closed uses a sampler after Close.
func (s *suite) closed(t *testing.T) {
	for _, used := range []bool{false, true} {
		x := s.open(t)
		b := good(false)
		draws := make([]tokendraw.Draw, 4)
		if used {
			if err := x.Sample(&b, draws); err != nil {
				t.Fatal(err)
			}
		}
		if err := x.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
		var out results
		s.refused(t, x, "closed", &b, &out, func(err error) bool { return errors.Is(err, tokendraw.ErrClosed) })
		none := tokendraw.Batch{}
		if err := x.Sample(&none, nil); !errors.Is(err, tokendraw.ErrClosed) {
			t.Errorf("zero rows after Close: got error %v", err)
		}
		if err := x.Close(); err != nil && !errors.Is(err, tokendraw.ErrClosed) {
			t.Errorf("second Close: %v", err)
		}
	}
}
