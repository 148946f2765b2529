package tokendraw_test

import (
	"errors"
	"math"
	"reflect"
	"slices"
	"testing"

	. "github.com/tokendraw/tokendraw"
)

func TestParamsCheck(t *testing.T) {
	const most = math.MaxFloat32
	tiny := float32(math.SmallestNonzeroFloat32)
	below1, above1 := math.Nextafter32(1, 0), math.Nextafter32(1, 2)
	negZero := float32(math.Copysign(0, -1))

	for _, p := range []Params{
		{},
		{Temperature: negZero}, {Temperature: tiny}, {Temperature: most},
		{TopK: -1}, {TopK: 1}, {TopK: math.MaxInt},
		{TopP: tiny}, {TopP: below1}, {TopP: 1},
		{MinP: tiny}, {MinP: 1},
		{FilterOrder: TopKFirst},
		{RepetitionPenalty: tiny}, {RepetitionPenalty: most},
		{PresencePenalty: -most}, {PresencePenalty: most},
		{FrequencyPenalty: -most}, {FrequencyPenalty: most},
	} {
		if err := p.Check(); err != nil {
			t.Errorf("%+v: %v", p, err)
		}
	}
	for _, c := range []struct {
		p    Params
		want string
	}{
		{Params{Temperature: -tiny}, "temperature must be finite and >= 0, got -1e-45"},
		{Params{Temperature: posInf}, "temperature must be finite and >= 0, got +Inf"},
		{Params{Temperature: nan}, "temperature must be finite and >= 0, got NaN"},
		{Params{TopK: -2}, "top_k must be >= -1, got -2"},
		{Params{TopP: -tiny}, "top_p must be in (0, 1], got -1e-45"},
		{Params{TopP: above1}, "top_p must be in (0, 1], got 1.0000001"},
		{Params{TopP: nan}, "top_p must be in (0, 1], got NaN"},
		{Params{MinP: -tiny}, "min_p must be in [0, 1], got -1e-45"},
		{Params{MinP: above1}, "min_p must be in [0, 1], got 1.0000001"},
		{Params{MinP: nan}, "min_p must be in [0, 1], got NaN"},
		{Params{FilterOrder: 2}, "filter_order must be joint or top_k_first, got FilterOrder(2)"},
		{Params{RepetitionPenalty: -tiny}, "repetition_penalty must be finite and > 0, got -1e-45"},
		{Params{RepetitionPenalty: posInf}, "repetition_penalty must be finite and > 0, got +Inf"},
		{Params{RepetitionPenalty: nan}, "repetition_penalty must be finite and > 0, got NaN"},
		{Params{PresencePenalty: negInf}, "presence_penalty must be finite, got -Inf"},
		{Params{PresencePenalty: nan}, "presence_penalty must be finite, got NaN"},
		{Params{FrequencyPenalty: posInf}, "frequency_penalty must be finite, got +Inf"},
		{Params{FrequencyPenalty: nan}, "frequency_penalty must be finite, got NaN"},
	} {
		checkParamError(t, c.p.Check(), -1, c.want)
		checkParamError(t, (&Request{Params: c.p}).Check(8), -1, c.want)
	}
}

// checkParamError tests type, row and text of an error.
func checkParamError(t *testing.T, err error, row int, want string) {
	t.Helper()
	var param *ParamError
	if !errors.As(err, &param) || param.Row != row || err.Error() != want {
		t.Errorf("got %T %v\nwant %s", err, err, want)
	}
}

func TestRequestCheck(t *testing.T) {
	const vocab = 100
	for _, r := range []Request{
		{LogitBias: []Bias{{0, 1}, {1, negInf}, {99, -math.MaxFloat32}}},
		{LogitBias: []Bias{}},
		{AllowedTokens: []int32{99, 0, 99}},
		{Bitmask: []uint32{}}, // allows nothing: a row without candidate is no error
		{Bitmask: make([]uint32, 1000)},
		{PromptTokens: []int32{0, 99, 99}, OutputTokens: []int32{99}},
		{Counts: []TokenCount{{0, 0}, {99, 1}, {99, 2}}},
		{Counts: []TokenCount{{0, math.MaxInt32 - 1}}, OutputTokens: []int32{0}},
		{U: ptr(uint64(math.MaxUint64)), Seed: math.MaxUint64, Step: math.MaxUint64},
	} {
		if err := r.Check(vocab); err != nil {
			t.Errorf("%+v: %v", r, err)
		}
	}
	for _, c := range []struct {
		r    Request
		want string
	}{
		{Request{LogitBias: []Bias{{-1, 0}}}, "logit_bias must be ids in [0, 100), got -1"},
		{Request{LogitBias: []Bias{{100, 0}}}, "logit_bias must be ids in [0, 100), got 100"},
		{Request{LogitBias: []Bias{{5, nan}}}, "logit_bias must be finite or -inf, got NaN for id 5"},
		{Request{LogitBias: []Bias{{5, posInf}}}, "logit_bias must be finite or -inf, got +Inf for id 5"},
		{Request{LogitBias: []Bias{{5, 0}, {5, 1}}}, "logit_bias must be in strictly ascending order of ids, got id 5 after 5"},
		{Request{LogitBias: []Bias{{5, 0}, {4, 1}}}, "logit_bias must be in strictly ascending order of ids, got id 4 after 5"},
		{Request{AllowedTokens: []int32{}}, "allowed_token_ids must be a list of at least one id, got none"},
		{Request{AllowedTokens: []int32{1, -1}}, "allowed_token_ids must be ids in [0, 100), got -1"},
		{Request{AllowedTokens: []int32{1, 100}}, "allowed_token_ids must be ids in [0, 100), got 100"},
		{Request{PromptTokens: []int32{math.MinInt32}}, "prompt_tokens must be ids in [0, 100), got -2147483648"},
		{Request{PromptTokens: []int32{100}}, "prompt_tokens must be ids in [0, 100), got 100"},
		{Request{OutputTokens: []int32{math.MaxInt32}}, "output_tokens must be ids in [0, 100), got 2147483647"},
		{Request{Counts: []TokenCount{{100, 1}}}, "counts must be ids in [0, 100), got 100"},
		{Request{Counts: []TokenCount{{-1, 1}}}, "counts must be ids in [0, 100), got -1"},
		{Request{Counts: []TokenCount{{1, -1}}}, "counts must be >= 0, got -1 for id 1"},
		{Request{Counts: []TokenCount{{1, math.MaxInt32}, {2, 1}}}, "counts must be fewer than 2^31 output tokens in all, got 2147483648"},
		{Request{Counts: []TokenCount{{1, math.MaxInt32}}, OutputTokens: []int32{0}}, "counts must be fewer than 2^31 output tokens in all, got 2147483648"},
	} {
		checkParamError(t, c.r.Check(vocab), -1, c.want)
	}
}

func TestParamsPredicates(t *testing.T) {
	for _, c := range []struct {
		p                    Params
		greedy, topP, repeat bool
		kLimit               int // of 10
	}{
		{Params{}, true, false, false, 10},
		{Params{Temperature: 1, TopP: 1, RepetitionPenalty: 1, TopK: -1}, false, false, false, 10},
		{Params{Temperature: 1, TopK: 1}, true, false, false, 1},
		{Params{Temperature: 1e-45, TopK: 9, TopP: 0.5, RepetitionPenalty: 0.5}, false, true, true, 9},
		{Params{Temperature: 1, TopK: 11}, false, false, false, 10},
	} {
		if got := c.p.Greedy(); got != c.greedy {
			t.Errorf("%+v: Greedy %v", c.p, got)
		}
		if got := c.p.TopPOn(); got != c.topP {
			t.Errorf("%+v: TopPOn %v", c.p, got)
		}
		if got := c.p.RepetitionOn(); got != c.repeat {
			t.Errorf("%+v: RepetitionOn %v", c.p, got)
		}
		if got := c.p.KLimit(10); got != c.kLimit {
			t.Errorf("%+v: KLimit(10) = %d", c.p, got)
		}
	}
	text := Request{OutputTokens: []int32{1}}
	if text.Penalized() {
		t.Error("a text alone is penalized")
	}
	for _, p := range []Params{{RepetitionPenalty: 2}, {PresencePenalty: 1}, {FrequencyPenalty: -1}} {
		if (&Request{Params: p}).Penalized() {
			t.Errorf("%+v: penalized without a text", p)
		}
		for _, r := range []Request{
			{Params: p, PromptTokens: []int32{1}}, {Params: p, OutputTokens: []int32{1}}, {Params: p, Counts: []TokenCount{{1, 0}}},
		} {
			if !r.Penalized() {
				t.Errorf("%+v: not penalized", r)
			}
		}
	}
}

func TestSortedBias(t *testing.T) {
	if got := SortedBias(nil); len(got) != 0 {
		t.Errorf("nil: %v", got)
	}
	got := SortedBias(map[int32]float32{7: 1, 0: negInf, 12: -3})
	if want := []Bias{{0, negInf}, {7, 1}, {12, -3}}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestHistory(t *testing.T) {
	var h History
	if got := h.Counts(); len(got) != 0 {
		t.Errorf("zero value: %v", got)
	}
	h.Reset()
	h.AddPrompt(5, 5, 9)
	h.AddOutput(9)
	h.AddOutput(2, 9)
	h.AddPrompt(2)
	if got, want := h.Counts(), []TokenCount{{5, 0}, {9, 2}, {2, 1}}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	h.Reset()
	if got := h.Counts(); len(got) != 0 {
		t.Errorf("after Reset: %v", got)
	}
	h.AddOutput(9)
	if got, want := h.Counts(), []TokenCount{{9, 1}}; !reflect.DeepEqual(got, want) {
		t.Errorf("after Reset and AddOutput(9): %v, want %v", got, want)
	}
}

func TestUniformBits(t *testing.T) {
	for _, c := range []struct {
		u    float64
		want uint64
	}{
		{0, 0},
		{math.Copysign(0, -1), 0},
		{math.SmallestNonzeroFloat64, 0},
		{0x1p-64, 1},
		{0x1.8p-64, 1},
		{0.5, 1 << 63},
		{0.1, 0x1999999999999a00},
		{math.Nextafter(1, 0), math.MaxUint64 - 1<<11 + 1},
	} {
		if got, err := UniformBits(c.u); err != nil || got != c.want {
			t.Errorf("UniformBits(%v) = %#x, %v, want %#x", c.u, got, err, c.want)
		}
	}
	for _, u := range []float64{1, -0x1p-70, math.Inf(1), math.Inf(-1), math.NaN(), 2} {
		got, err := UniformBits(u)
		var param *ParamError
		if got != 0 || !errors.As(err, &param) || param.Field != "u" || param.Row != -1 {
			t.Errorf("UniformBits(%v) = %d, %v", u, got, err)
		}
	}
}

func TestErrorText(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{&ParamError{Row: 3, Field: "top_p", Want: "in (0, 1]", Got: "1.5"}, "row 3: top_p must be in (0, 1], got 1.5"},
		{&ParamError{Row: -1, Field: "top_p", Want: "in (0, 1]", Got: "1.5"}, "top_p must be in (0, 1], got 1.5"},
		{&ShapeError{What: "logits vocab", Want: "in [1, 2097152]", Got: 0}, "logits vocab must be in [1, 2097152], got 0"},
		{&SyntaxError{Offset: 7, Detail: "want a value"}, "parameters: byte 7: want a value"},
	} {
		if got := c.err.Error(); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}
