package generate

import (
	"fmt"
	"strings"

	"github.com/tokendraw/tokendraw/vectors/internal/schema"
)

// paramLines returns what spec 9 refuses, and what it accepts and how.
func paramLines() (lines []any) {
	n := map[string]int{}
	add := func(p schema.Params) {
		n[p.Kind]++
		p.Name = fmt.Sprintf("%s/%d", p.Kind, n[p.Kind])
		lines = append(lines, p)
	}
	// refuse adds texts for one row of 4 logits.
	refuse := func(kind, field, about string, texts ...string) {
		for _, text := range texts {
			add(schema.Params{Kind: kind, About: about, Rows: 1, Vocab: 4, JSON: text, Refused: &schema.Refused{Field: field}})
		}
	}
	value := func(name string, values ...string) (texts []string) {
		for _, v := range values {
			texts = append(texts, fmt.Sprintf("{%q: %s}", name, v))
		}
		return texts
	}
	const v = "param-validation"
	wrong := []string{`"nan"`, `"1"`, `true`, `[]`, `{}`, `[1]`, `""`} // types
	huge := []string{`1e39`, `-1e39`, `1e400`, `3.4028236e38`}
	tiny := []string{`1e-46`, `1e-400`, `0.000000000000000000000000000000000000000000000001`}
	for _, f := range []struct {
		name string
		out  []string
	}{
		{"temperature", []string{`-1`, `-1e-30`, `-0.0001`}},
		{"top_p", []string{`0`, `0.0`, `-0.5`, `1.5`, `1.0000001`, `2`}},
		{"min_p", []string{`-0.1`, `1.0000001`, `1.1`, `2`}},
		{"repetition_penalty", []string{`0`, `-1`, `-0.5`}},
		{"presence_penalty", nil},
		{"frequency_penalty", nil},
	} {
		refuse(v, f.name, "outside its interval", value(f.name, f.out...)...)
		refuse(v, f.name, "of another JSON type", value(f.name, wrong...)...)
		refuse(v, f.name, "not finite as a float32", value(f.name, huge...)...)
		refuse(v, f.name, "not 0, but 0 as a float32", value(f.name, tiny...)...)
	}
	refuse(v, "top_k", "outside its interval", value("top_k", `-2`, `-100`, `-99999999999999999999`)...)
	refuse(v, "top_k", "not written as an integer", value("top_k", append(wrong, `1.5`, `2.0`, `1e1`, `-1.0`)...)...)
	refuse(v, "filter_order", "another name or type", value("filter_order", `"top_p_first"`, `"Joint"`, `""`, `1`, `true`, `[]`)...)
	for _, f := range []string{"seed", "step"} {
		refuse(v, f, "outside [0, 2^64)", value(f, `-1`, `18446744073709551616`, `100000000000000000000`, `-9223372036854775809`)...)
		refuse(v, f, "not written as an integer", value(f, append(wrong, `1.5`, `1.0`, `1e3`, `"100"`)...)...)
	}
	refuse(v, "u", "outside [0, 1)", value("u", `1`, `1.5`, `-0.1`, `1e400`, `"0.5"`, `[]`, `true`)...)
	refuse(v, "", "not JSON", ``, ` `, `{`, `{"temperature": NaN}`, `{"temperature": Infinity}`, `{"temperature": .5}`, `{"temperature": +1}`, `{"temperature": 01}`, `{"top_k": 0x10}`, `{temperature: 1}`, `{"temperature": 1,}`, `{"temperature": 1} {}`, `[{"temperature": 1}`, `{"temperature": 1}x`)
	refuse(v, "", "not an object or a list of objects", `1`, `"x"`, `null`, `[1]`, `[null]`, `[[]]`, `true`)
	for _, name := range []string{"topp", "Temperature", "TOP_P", "max_tokens", "nucleus", ""} {
		refuse(v, name, "an unknown name", fmt.Sprintf(`{%q: 1}`, name))
	}
	for _, name := range []string{"mirostat", "mirostat_tau", "typical_p", "xtc_probability", "dry_multiplier", "top_a", "tfs_z", "top_n_sigma"} {
		refuse("mirostat-typical-minp-xtc-dry", name, "what is not supported is refused, not passed over", fmt.Sprintf(`{%q: 1}`, name))
	}
	refuse(v, "temperature", "given twice", `{"temperature": 1, "temperature": 1}`, `{"temperature": 1, "temp": 1}`, `{"temp": 1, "top_k": 2, "temp": 2}`)
	refuse(v, "repetition_penalty", "given twice", `{"repetition_penalty": 1, "repeat_penalty": 1}`)
	refuse(v, "seed", "given twice", `{"sampling_seed": 1, "seed": 2}`)

	refuse("bias-range", "logit_bias", "an id outside the row", value("logit_bias", `{"4": 1}`, `{"-1": 1}`, `{"200001": 5.0}`, `{"0": 1, "2147483648": 1}`)...)
	refuse("bias-range", "logit_bias", "a key that is not an id", value("logit_bias", `{"x7": 5}`, `{"1.0": 5}`, `{"01": 5}`, `{"": 5}`, `{" 1": 5}`, `{"+1": 5}`, `{"1e0": 5}`)...)
	refuse("bias-range", "logit_bias", "a value that is neither finite nor \"-inf\"", value("logit_bias", `{"1": "inf"}`, `{"1": "nan"}`, `{"1": 1e39}`, `{"1": -1e39}`, `{"1": null}`, `{"1": false}`, `{"1": "1"}`, `{"1": 1e-60}`)...)
	refuse("bias-range", "logit_bias", "an id twice", value("logit_bias", `{"1": 1, "1": 1}`)...)
	refuse("bias-range", "logit_bias", "another JSON type", value("logit_bias", `[]`, `[[1, 2]]`, `1`, `"x"`)...)
	refuse("mask-alignment", "allowed_token_ids", "no id, an id outside the row, or another type", value("allowed_token_ids", `[]`, `[4]`, `[0, -1]`, `[1, 2147483648]`, `[1.0]`, `["1"]`, `1`, `{}`, `[null]`)...)
	refuse("mask-alignment", "bitmask", "not a list of 32-bit words", value("bitmask", `[-1]`, `[4294967296]`, `[1.5]`, `["1"]`, `1`, `"ff"`, `{}`)...)
	refuse("penalty-semantics", "prompt_tokens", "an id outside the row, or another type", value("prompt_tokens", `[4]`, `[0, 1, -1]`, `[1.5]`, `"x"`, `{}`, `[[1, 2]]`)...)
	refuse("penalty-semantics", "output_tokens", "an id outside the row, or another type", value("output_tokens", `[4]`, `[0, 1, -1]`, `[1.5]`, `"x"`, `{}`, `[[1, 2]]`)...)

	// Lists: the row is named.
	row := func(kind, field, about string, rows, at int, text string) {
		r := &schema.Refused{Field: field}
		if at >= 0 {
			r.Row = &at
		}
		add(schema.Params{Kind: kind, About: about, Rows: rows, Vocab: 4, JSON: text, Refused: r})
	}
	row(v, "top_p", "the row of the wrong value is named", 3, 2, `[{}, {"top_p": 1}, {"top_p": 1.5}]`)
	row(v, "seed", "the row of the wrong type is named", 2, 1, `[{"seed": 1}, {"seed": "1"}]`)
	row("bias-range", "logit_bias", "the row of the wrong id is named", 3, 1, `[{}, {"logit_bias": {"4": 5}}, {}]`)
	row("mask-alignment", "allowed_token_ids", "the row of the empty list is named", 2, 0, `[{"allowed_token_ids": []}, {}]`)
	row("mask-alignment", "", "fewer objects than rows", 4, -1, `[{}, {}, {}]`)
	row("mask-alignment", "", "more objects than rows", 4, -1, `[{}, {}, {}, {}, {}]`)
	row("empty-batch", "", "an object and no row", 0, -1, `[{}]`)

	// Requests that JSON cannot say.
	bits := func(field string, r schema.Request) {
		add(schema.Params{Kind: v, About: "refused as a request", Rows: 1, Vocab: 4, Request: &r, Refused: &schema.Refused{Field: field}})
	}
	for _, b := range []string{"7fc00000", "ffc00000", "7f800001", "7f800000", "ff800000", "bf800000", "80000001"} {
		bits("temperature", schema.Request{Temperature: b})
		bits("top_p", schema.Request{TopP: b})
		bits("min_p", schema.Request{MinP: b})
		bits("repetition_penalty", schema.Request{RepetitionPenalty: b})
	}
	for _, b := range []string{"7fc00000", "7f800001", "7f800000", "ff800000"} {
		bits("presence_penalty", schema.Request{PresencePenalty: b})
		bits("frequency_penalty", schema.Request{FrequencyPenalty: b})
	}
	bits("top_p", schema.Request{TopP: "3f800001"})
	bits("min_p", schema.Request{MinP: "3f800001"})
	bits("top_k", schema.Request{TopK: -2})
	for _, b := range []string{"7fc00000", "7f800000", "ffc00000"} {
		bits("logit_bias", schema.Request{LogitBias: []schema.BiasOf{{Token: 1, Bits: b}}})
	}
	bits("logit_bias", schema.Request{LogitBias: []schema.BiasOf{{Token: 2, Bits: hex32(1)}, {Token: 1, Bits: hex32(1)}}})
	bits("logit_bias", schema.Request{LogitBias: []schema.BiasOf{{Token: 2, Bits: hex32(1)}, {Token: 2, Bits: hex32(1)}}})
	bits("logit_bias", schema.Request{LogitBias: []schema.BiasOf{{Token: 4, Bits: hex32(1)}}})
	bits("logit_bias", schema.Request{LogitBias: []schema.BiasOf{{Token: -1, Bits: hex32(1)}}})
	bits("allowed_token_ids", schema.Request{AllowedTokens: []int32{}})
	bits("allowed_token_ids", schema.Request{AllowedTokens: []int32{4}})
	bits("prompt_tokens", schema.Request{PromptTokens: []schema.CountOf{{Token: 4, Times: 1}}})
	bits("output_tokens", schema.Request{OutputTokens: []schema.CountOf{{Token: -1, Times: 1}}})
	bits("counts", schema.Request{Counts: []schema.CountOf{{Token: 4, Times: 1}}})
	bits("counts", schema.Request{Counts: []schema.CountOf{{Token: 0, Times: -1}}})
	bits("counts", schema.Request{Counts: []schema.CountOf{{Token: 0, Times: 1 << 30}, {Token: 1, Times: 1 << 30}}})
	bits("counts", schema.Request{Counts: []schema.CountOf{{Token: 0, Times: 1<<31 - 1}}, OutputTokens: []schema.CountOf{{Token: 0, Times: 1}}})

	// Accepted texts and their meaning.
	accept := func(about, text string, want ...schema.Request) {
		add(schema.Params{Kind: v, About: about, Rows: len(want), Vocab: 4, JSON: text, Want: want})
	}
	one := hex32(1)
	t1 := func(r schema.Request) schema.Request {
		if r.Temperature == "" {
			r.Temperature = one
		}
		return r
	}
	accept("absent is off: temperature 1", `{}`, t1(schema.Request{}))
	accept("null is absent", `{"temperature": null, "top_p": null, "seed": null, "logit_bias": null, "u": null}`, t1(schema.Request{}))
	accept("0 is greedy", `{"temperature": 0}`, schema.Request{Temperature: hex32(0)})
	accept("white space and order do not matter", " {\n\t\"top_k\" : 3 ,\r\n \"temperature\" : 0.5 } ", schema.Request{Temperature: hex32(0.5), TopK: 3})
	accept("other spellings", `{"temp": 0.25, "repeat_penalty": 1.5, "sampling_seed": 9}`, schema.Request{Temperature: hex32(0.25), RepetitionPenalty: hex32(1.5), Seed: "0000000000000009"})
	for _, d := range []struct {
		text string
		bits string
	}{
		{"0.1", "3dcccccd"}, {"0.8", "3f4ccccd"}, {"1e-39", "000ae398"}, {"1e-45", "00000001"}, {"3.4028235e38", "7f7fffff"}, {"3.40282356e38", "7f7fffff"},
		{"1.1754942e-38", "007fffff"}, {"16777217", "4b800000"}, {"16777219", "4b800002"}, {"16777217.0000000000001", "4b800001"},
		{"1.00000005960464477539062500001", "3f800001"}, {"1.000000059604644775390625", "3f800000"}, {"0.99999997", "3f7fffff"},
		{"100E-2", one}, {"0.1e1", one}, {strings.Repeat("9", 38), "7e967699"},
	} {
		accept("decimal text is rounded once", fmt.Sprintf(`{"temperature": %s}`, d.text), schema.Request{Temperature: d.bits})
	}
	accept("0.99999999 is 1 as a float32, and then off", `{"top_p": 0.99999999}`, t1(schema.Request{TopP: one}))
	accept("the ends of the intervals", `[{"top_p": 1, "min_p": 0, "top_k": -1}, {"top_p": 1e-45, "min_p": 1, "top_k": 0}, {"repetition_penalty": 1e-45, "presence_penalty": -3.4e38}, {"frequency_penalty": 3.4e38, "step": 18446744073709551615}]`,
		t1(schema.Request{TopP: one, TopK: -1}), t1(schema.Request{TopP: "00000001", MinP: one}), t1(schema.Request{RepetitionPenalty: "00000001", PresencePenalty: hex32(-3.4e38)}), t1(schema.Request{FrequencyPenalty: hex32(3.4e38), Step: "ffffffffffffffff"}))
	accept("seeds of 64 bits", `[{"seed": 9223372036854775808}, {"seed": 18446744073709551615}, {"seed": 0}, {"seed": 9007199254740993}]`,
		t1(schema.Request{Seed: "8000000000000000"}), t1(schema.Request{Seed: "ffffffffffffffff"}), t1(schema.Request{}), t1(schema.Request{Seed: "0020000000000001"}))
	accept("a large top_k", `{"top_k": 2147483647}`, t1(schema.Request{TopK: 1<<31 - 1}))
	accept("one object for all rows", `{"top_k": 2}`, t1(schema.Request{TopK: 2}))
	accept("bias by id, in any order", `{"logit_bias": {"3": "-inf", "0": -2.5, "1": 0}}`,
		t1(schema.Request{LogitBias: []schema.BiasOf{{Token: 0, Bits: hex32(-2.5)}, {Token: 1, Bits: hex32(0)}, {Token: 3, Bits: hex32(-inf)}}}))
	empty, words := "", "ffffffff00000001"
	accept("lists", `[{"allowed_token_ids": [3, 0, 3]}, {"bitmask": [4294967295, 1]}, {"bitmask": []}, {"prompt_tokens": [1, 1, 0], "output_tokens": [2]}, {"prompt_tokens": [], "output_tokens": []}]`,
		t1(schema.Request{AllowedTokens: []int32{3, 0, 3}}), t1(schema.Request{Bitmask: &words}), t1(schema.Request{Bitmask: &empty}),
		t1(schema.Request{PromptTokens: []schema.CountOf{{Token: 1, Times: 2}, {Token: 0, Times: 1}}, OutputTokens: []schema.CountOf{{Token: 2, Times: 1}}}), t1(schema.Request{}))
	accept("filter orders", `[{"filter_order": "joint"}, {"filter_order": "top_k_first"}]`, t1(schema.Request{}), t1(schema.Request{FilterOrder: "top_k_first"}))
	accept("u is floor(u * 2^64)", `[{"u": 0}, {"u": 0.5}, {"u": 0.1}, {"u": 0.9999999999999999}, {"u": 1e-300}]`,
		t1(schema.Request{U: "0000000000000000"}), t1(schema.Request{U: "8000000000000000"}), t1(schema.Request{U: "1999999999999a00"}), t1(schema.Request{U: "fffffffffffff800"}), t1(schema.Request{U: "0000000000000000"}))
	add(schema.Params{Kind: "empty-batch", About: "no object and no row", Rows: 0, Vocab: 4, JSON: `[]`})
	add(schema.Params{Kind: "empty-batch", About: "one object and no row", Rows: 0, Vocab: 4, JSON: `{"top_k": 2}`})
	return lines
}
