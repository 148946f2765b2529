package tokendraw_test

import (
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"

	. "github.com/tokendraw/tokendraw"
)

var (
	negInf = float32(math.Inf(-1))
	posInf = float32(math.Inf(1))
	nan    = float32(math.NaN())
)

func ptr[T any](x T) *T { return &x }

func TestParseRequestsAccepts(t *testing.T) {
	for _, c := range []struct {
		text string
		want Request
	}{
		{`{}`, Request{Params: Params{Temperature: 1}}},
		{` { } ` + "\n", Request{Params: Params{Temperature: 1}}},
		{
			`{"temperature": 0.5, "top_k": 40, "top_p": 0.9, "min_p": 0.1, "filter_order": "top_k_first",
			  "repetition_penalty": 1.25, "presence_penalty": -1, "frequency_penalty": 2, "seed": 3, "step": 4}`,
			Request{
				Params: Params{
					Temperature: 0.5, TopK: 40, TopP: 0.9, MinP: 0.1, FilterOrder: TopKFirst,
					RepetitionPenalty: 1.25, PresencePenalty: -1, FrequencyPenalty: 2,
				},
				Seed: 3, Step: 4,
			},
		},
		{`{"temperature": 0}`, Request{}},
		{`{"temp": 2, "repeat_penalty": 3, "sampling_seed": 4}`, Request{Params: Params{Temperature: 2, RepetitionPenalty: 3}, Seed: 4}},
		{`{"temperature": null, "top_k": null, "logit_bias": null, "bitmask": null, "u": null, "filter_order": null, "seed": null, "prompt_tokens": null}`,
			Request{Params: Params{Temperature: 1}}},
		{`{"top_k": 99999999999999999999999}`, Request{Params: Params{Temperature: 1, TopK: math.MaxInt32}}},
		{`{"top_k": 9223372036854775807}`, Request{Params: Params{Temperature: 1, TopK: math.MaxInt32}}},
		{`{"top_k": -1}`, Request{Params: Params{Temperature: 1, TopK: -1}}},
		{`{"seed": 18446744073709551615, "step": 18446744073709551615}`,
			Request{Params: Params{Temperature: 1}, Seed: math.MaxUint64, Step: math.MaxUint64}},
		{`{"logit_bias": {"17": -2.5, "3": "-inf", "0": 1e10}}`,
			Request{Params: Params{Temperature: 1}, LogitBias: []Bias{{0, 1e10}, {3, negInf}, {17, -2.5}}}},
		{`{"logit_bias": {}}`, Request{Params: Params{Temperature: 1}}},
		{`{"allowed_token_ids": [3, 1, 3], "bitmask": [], "prompt_tokens": [], "output_tokens": [5, 5]}`,
			Request{
				Params: Params{Temperature: 1}, AllowedTokens: []int32{3, 1, 3}, Bitmask: []uint32{},
				PromptTokens: []int32{}, OutputTokens: []int32{5, 5},
			}},
		{`{"bitmask": [4294967295, 0]}`, Request{Params: Params{Temperature: 1}, Bitmask: []uint32{math.MaxUint32, 0}}},
		{`{"u": 0.5}`, Request{Params: Params{Temperature: 1}, U: ptr(uint64(1) << 63)}},
		// Rounded once, from the text: by way of float64 it would be a tie that
		// goes to 1.
		{`{"temperature": 1.000000059604644775390626}`, Request{Params: Params{Temperature: math.Nextafter32(1, 2)}}},
		{`{"temperature": 1e-45}`, Request{Params: Params{Temperature: math.SmallestNonzeroFloat32}}},
		{`{"temperature": 0e999999}`, Request{}},
	} {
		got, err := ParseRequests([]byte(c.text), 2)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		if want := []Request{c.want, c.want}; !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\ngot  %+v\nwant %+v", c.text, got, want)
		}
		// The same in an array, with the other row left at its defaults.
		got, err = ParseRequests([]byte(`[{}, `+c.text+`]`), 2)
		if want := []Request{{Params: Params{Temperature: 1}}, c.want}; err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("in an array, %s:\ngot  %+v, %v\nwant %+v", c.text, got, err, want)
		}
	}
}

func TestParseRequestsMessages(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{`{"temperature": "nan"}`, `temperature must be finite and >= 0, got "nan"`},
		{`{"temperature": -0.5}`, `temperature must be finite and >= 0, got -0.5`},
		{`{"temperature": 1e39}`, `temperature must be finite and >= 0, got 1e39 (too large for float32)`},
		{`{"temperature": 1e-60}`, `temperature must be finite and >= 0, got 1e-60 (too small for float32)`},
		{`{"temperature": true}`, `temperature must be finite and >= 0, got true`},
		{`{"top_k": -2}`, `top_k must be an integer >= -1, got -2`},
		{`{"top_k": -99999999999999999999}`, `top_k must be an integer >= -1, got -99999999999999999999`},
		{`{"top_k": 2.0}`, `top_k must be an integer >= -1, got 2.0`},
		{`{"top_k": -0}`, `top_k must be an integer >= -1, got -0`},
		{`{"top_k": "5"}`, `top_k must be an integer >= -1, got "5"`},
		{`{"top_p": 0}`, `top_p must be in (0, 1], got 0`},
		{`{"top_p": 1.5}`, `top_p must be in (0, 1], got 1.5`},
		{`{"top_p": [0.5]}`, `top_p must be in (0, 1], got [0.5]`},
		{`{"min_p": -0.1}`, `min_p must be in [0, 1], got -0.1`},
		{`{"filter_order": "Joint"}`, `filter_order must be "joint" or "top_k_first", got "Joint"`},
		{`{"filter_order": 1}`, `filter_order must be "joint" or "top_k_first", got 1`},
		{`{"repetition_penalty": 0}`, `repetition_penalty must be finite and > 0, got 0`},
		{`{"repeat_penalty": -1}`, `repetition_penalty must be finite and > 0, got -1`},
		{`{"presence_penalty": {}}`, `presence_penalty must be finite, got {}`},
		{`{"frequency_penalty": 1e999}`, `frequency_penalty must be finite, got 1e999 (too large for float32)`},
		{`{"seed": -1}`, `seed must be an integer in [0, 18446744073709551615], got -1`},
		{`{"seed": 18446744073709551616}`, `seed must be an integer in [0, 18446744073709551615], got 18446744073709551616`},
		{`{"step": 1e3}`, `step must be an integer in [0, 18446744073709551615], got 1e3`},
		{`{"u": 1}`, `u must be in [0, 1), got 1`},
		{`{"u": -1e-9}`, `u must be in [0, 1), got -1e-09`},
		{`{"u": "0.5"}`, `u must be in [0, 1), got "0.5"`},
		{`{"logit_bias": [1]}`, `logit_bias must be an object of ids and numbers, got [1]`},
		{`{"logit_bias": {"x7": 5}}`, `logit_bias must be ids in [0, 2097152), got x7`},
		{`{"logit_bias": {"01": 5}}`, `logit_bias must be ids in [0, 2097152), got 01`},
		{`{"logit_bias": {"-1": 5}}`, `logit_bias must be ids in [0, 2097152), got -1`},
		{`{"logit_bias": {"1": 5, "1": 6}}`, `logit_bias must be given once an id, got id 1 twice`},
		{`{"logit_bias": {"1": "nan"}}`, `logit_bias must be finite or "-inf", got "nan" for id 1`},
		{`{"logit_bias": {"1": null}}`, `logit_bias must be finite or "-inf", got null for id 1`},
		{`{"logit_bias": {"1": 1e39}}`, `logit_bias must be finite or "-inf", got 1e39 (too large for float32) for id 1`},
		{`{"allowed_token_ids": []}`, `allowed_token_ids must be a list of at least one id, got none`},
		{`{"allowed_token_ids": 5}`, `allowed_token_ids must be a list of ids in [0, 2097152), got 5`},
		{`{"allowed_token_ids": [0, -1]}`, `allowed_token_ids must be ids in [0, 2097152), got -1`},
		{`{"prompt_tokens": [0, 1.5]}`, `prompt_tokens must be a list of ids in [0, 2097152), got 1.5 at place 1`},
		{`{"output_tokens": [99999999999]}`, `output_tokens must be a list of ids in [0, 2097152), got 99999999999 at place 0`},
		{`{"bitmask": [4294967296]}`, `bitmask must be a list of integers in [0, 4294967295], got 4294967296 at place 0`},
		{`{"bitmask": [-1]}`, `bitmask must be a list of integers in [0, 4294967295], got -1 at place 0`},

		{`{"mirostat": 1}`, `mirostat must be a known parameter, got an unknown name`},
		{`{"TOP_P": 1}`, `TOP_P must be a known parameter, got an unknown name`},
		{`{"a\nb": 1}`, `"a\nb" must be a known parameter, got an unknown name`},
		{`{"": 1}`, `"" must be a known parameter, got an unknown name`},
		{`{"temperature": 1, "temp": 1}`, `temperature must be given once, got a second value (temp)`},
		{`{"top_p": null, "top_p": null}`, `top_p must be given once, got a second value (top_p)`},
		{`{"sampling_seed": null, "seed": 1}`, `seed must be given once, got a second value (seed)`},

		{``, `parameters: byte 0: unexpected end of JSON input`},
		{`{"temperature": NaN}`, `parameters: byte 17: invalid character 'N' looking for beginning of value`},
		{`{} {}`, `parameters: byte 4: invalid character '{' after top-level value`},
		{`null`, `parameters: byte 0: want an object of parameters, got null`},
		{`7`, `parameters: byte 0: want an object of parameters, got 7`},
	} {
		got, err := ParseRequests([]byte(c.text), 1)
		if err == nil || err.Error() != c.want || got != nil {
			t.Errorf("%s:\ngot  %v, %v\nwant %s", c.text, got, err, c.want)
		}
		var param *ParamError
		var syntax *SyntaxError
		if !errors.As(err, &param) && !errors.As(err, &syntax) {
			t.Errorf("%s: error of type %T", c.text, err)
		}
	}
}

func TestParseRequestsRows(t *testing.T) {
	for _, c := range []struct {
		text string
		rows int
		want string
	}{
		{`[{}, {}, {"top_p": 1.5}, {"top_p": 2}]`, 4, `row 2: top_p must be in (0, 1], got 1.5`},
		{`[{}, {"output_tokens": [-1]}]`, 2, `row 1: output_tokens must be ids in [0, 2097152), got -1`},
		{`[{}, {}, {}]`, 4, `parameter objects must be 4, one a row, got 3`},
		{`[{}, {}, {}, {}, {}]`, 4, `parameter objects must be 4, one a row, got 5`},
		{`[{}]`, 0, `parameter objects must be 0, one a row, got 1`},
		{`[{}, []]`, 2, `parameters: byte 5: row 1: want an object of parameters, got []`},
		{`[{},  null]`, 2, `parameters: byte 6: row 1: want an object of parameters, got null`},
		{`[{}, {"a": }]`, 2, `parameters: byte 12: invalid character '}' looking for beginning of value`},
		{`{"top_p": 1.5}`, 0, `top_p must be in (0, 1], got 1.5`},
	} {
		if _, err := ParseRequests([]byte(c.text), c.rows); err == nil || err.Error() != c.want {
			t.Errorf("%s for %d rows:\ngot  %v\nwant %s", c.text, c.rows, err, c.want)
		}
	}
	for _, text := range []string{`[]`, ` [ ] `, `{}`} {
		if got, err := ParseRequests([]byte(text), 0); err != nil || len(got) != 0 {
			t.Errorf("%s for no rows: %v, %v", text, got, err)
		}
	}
}

func TestWireMarshal(t *testing.T) {
	w := Wire{
		Temperature: ptr(float32(0)), TopK: ptr(-1), TopP: ptr(float32(0.9)), MinP: ptr(float32(1e-45)),
		FilterOrder: ptr(TopKFirst), RepetitionPenalty: ptr(float32(1.1)),
		LogitBias: map[int32]float32{17: -2.5, 3: negInf}, Bitmask: []uint32{},
		AllowedTokens: []int32{1}, Seed: ptr(uint64(math.MaxUint64)), U: ptr(0.1),
	}
	got, err := json.Marshal(&w)
	want := `{"temperature":0,"top_k":-1,"top_p":0.9,"min_p":1e-45,"filter_order":"top_k_first","repetition_penalty":1.1,` +
		`"allowed_token_ids":[1],"bitmask":[],"seed":18446744073709551615,"u":0.1,"logit_bias":{"17":-2.5,"3":"-inf"}}`
	if err != nil || string(got) != want {
		t.Errorf("got  %s, %v\nwant %s", got, err, want)
	}
	if got, err := json.Marshal(Wire{}); err != nil || string(got) != `{}` {
		t.Errorf("nothing given: %s, %v", got, err)
	}
	for _, w := range []Wire{
		{Temperature: ptr(nan)}, {TopP: ptr(posInf)}, {LogitBias: map[int32]float32{1: posInf}}, {FilterOrder: ptr(FilterOrder(9))},
	} {
		if got, err := json.Marshal(w); err == nil {
			t.Errorf("%+v: %s, no error", w, got)
		}
	}
}

func TestFilterOrderText(t *testing.T) {
	for _, o := range []FilterOrder{Joint, TopKFirst} {
		text, err := o.MarshalText()
		var back FilterOrder = 7
		if err != nil || back.UnmarshalText(text) != nil || back != o {
			t.Errorf("%v: text %q, %v, back %v", o, text, err, back)
		}
	}
	for _, text := range []string{"", "Joint", "joint ", "FilterOrder(2)"} {
		o := TopKFirst
		if err := o.UnmarshalText([]byte(text)); err == nil || o != TopKFirst {
			t.Errorf("%q is taken for %v", text, o)
		}
	}
}

// FuzzParseRequests checks that no text breaks the parser, that what it
// accepts is fit for a draw, and that it survives being written and read again.
func FuzzParseRequests(f *testing.F) {
	for _, text := range []string{
		`{}`, `[]`, `[{}, {"temp": 0.5}]`, `null`, `{"top_k": -1, "top_p": 0.9, "min_p": 1e-45}`,
		`{"logit_bias": {"17": -2.5, "3": "-inf"}, "filter_order": "top_k_first", "u": 0.25}`,
		`{"allowed_token_ids": [2097151], "bitmask": [], "prompt_tokens": [1], "output_tokens": [1, 1]}`,
		`{"seed": 18446744073709551615, "step": null, "repeat_penalty": 1e-3, "presence_penalty": -0.0}`,
		`{"temperature": 1e39}`, `{"temperature": 1e-50}`, `{"seed": 1, "sampling_seed": null}`, `{"a`, "\xff",
		`{"logit_bias":{"0":1,"00":1}}`, strings.Repeat("[", 200), `{"frequency_penalty": -3.4028236e38}`,
	} {
		f.Add([]byte(text), 1)
	}
	f.Fuzz(func(t *testing.T, data []byte, rows int) {
		rows = min(max(rows, 0), 5)
		got, err := ParseRequests(data, rows)
		if err != nil {
			var param *ParamError
			var shape *ShapeError
			var syntax *SyntaxError
			if got != nil || !errors.As(err, &param) && !errors.As(err, &shape) && !errors.As(err, &syntax) {
				t.Fatalf("%q: %v, error %T %v", data, got, err, err)
			}
			if strings.ContainsAny(err.Error(), "\n\r\x1b") {
				t.Fatalf("%q: the message is not one plain line: %q", data, err)
			}
			return
		}
		if len(got) != rows {
			t.Fatalf("%q: %d requests for %d rows", data, len(got), rows)
		}
		for i := range got {
			if err := got[i].Check(MaxVocab); err != nil {
				t.Fatalf("%q: row %d is accepted, then %v", data, i, err)
			}
		}

		// As a Wire, where it is one object.
		var w Wire
		if json.Unmarshal(data, &w) != nil {
			return
		}
		text, err := json.Marshal(w)
		if err != nil {
			t.Fatalf("%q: %v", data, err)
		}
		var back Wire
		if err := json.Unmarshal(text, &back); err != nil || !reflect.DeepEqual(w, back) {
			t.Fatalf("%q as %s:\n%+v\n%+v, %v", data, text, w, back, err)
		}
		again, err := ParseRequests(text, rows)
		if err != nil || !reflect.DeepEqual(got, again) {
			t.Fatalf("%q as %s:\n%+v\n%+v, %v", data, text, got, again, err)
		}
	})
}

// A number too long to be read rightly is refused, not rounded from a wrong value.
func TestLongNumber(t *testing.T) {
	zeros := strings.Repeat("0", 100000)
	for _, text := range []string{`{"temperature": 0.` + zeros + `1e100000}`, `{"u": 0.` + zeros + `1}`} {
		_, err := ParseRequests([]byte(text), 1)
		var param *ParamError
		if !errors.As(err, &param) {
			t.Errorf("%.20s...: %v, want a *ParamError", text, err)
		}
	}
}
