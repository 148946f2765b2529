package tokendraw

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
)

// Wire is the JSON form of a request's parameters. A nil field was not given
// and is off: unlike in [Params], an explicit 0 is a value, so a top_p of 0 is
// an error and a temperature of 0 is greedy.
//
// Field names are vLLM's, of which OpenAI's are a subset. UnmarshalJSON also
// takes temp, repeat_penalty and sampling_seed; a name that is unknown, given
// twice or given in two spellings is an error. A null counts as not given.
type Wire struct {
	Temperature       *float32          `json:"temperature,omitempty"` // 1 if not given
	TopK              *int              `json:"top_k,omitempty"`
	TopP              *float32          `json:"top_p,omitempty"`
	MinP              *float32          `json:"min_p,omitempty"`
	FilterOrder       *FilterOrder      `json:"filter_order,omitempty"`
	RepetitionPenalty *float32          `json:"repetition_penalty,omitempty"`
	PresencePenalty   *float32          `json:"presence_penalty,omitempty"`
	FrequencyPenalty  *float32          `json:"frequency_penalty,omitempty"`
	LogitBias         map[int32]float32 `json:"-"` // {"17": -2.5, "3": "-inf"}
	AllowedTokens     []int32           `json:"allowed_token_ids,omitempty"`
	Bitmask           []uint32          `json:"bitmask,omitempty"`
	PromptTokens      []int32           `json:"prompt_tokens,omitempty"`
	OutputTokens      []int32           `json:"output_tokens,omitempty"`
	Seed              *uint64           `json:"seed,omitempty"`
	Step              *uint64           `json:"step,omitempty"`
	U                 *float64          `json:"u,omitempty"` // [0, 1), instead of a random number
}

// spellings maps every accepted name to the canonical one.
var spellings = map[string]string{
	"temp":           "temperature",
	"repeat_penalty": "repetition_penalty",
	"sampling_seed":  "seed",
}

// fields maps each canonical name to the function that reads its value.
var fields = map[string]func(w *Wire, raw json.RawMessage) error{
	"temperature":        func(w *Wire, raw json.RawMessage) error { return readFloat(&w.Temperature, raw, "finite and >= 0") },
	"top_k":              readTopK,
	"top_p":              func(w *Wire, raw json.RawMessage) error { return readFloat(&w.TopP, raw, "in (0, 1]") },
	"min_p":              func(w *Wire, raw json.RawMessage) error { return readFloat(&w.MinP, raw, "in [0, 1]") },
	"filter_order":       readFilterOrder,
	"repetition_penalty": func(w *Wire, raw json.RawMessage) error { return readFloat(&w.RepetitionPenalty, raw, "finite and > 0") },
	"presence_penalty":   func(w *Wire, raw json.RawMessage) error { return readFloat(&w.PresencePenalty, raw, "finite") },
	"frequency_penalty":  func(w *Wire, raw json.RawMessage) error { return readFloat(&w.FrequencyPenalty, raw, "finite") },
	"logit_bias":         readBias,
	"allowed_token_ids":  func(w *Wire, raw json.RawMessage) error { return readIDs(&w.AllowedTokens, raw) },
	"bitmask":            readBitmask,
	"prompt_tokens":      func(w *Wire, raw json.RawMessage) error { return readIDs(&w.PromptTokens, raw) },
	"output_tokens":      func(w *Wire, raw json.RawMessage) error { return readIDs(&w.OutputTokens, raw) },
	"seed":               func(w *Wire, raw json.RawMessage) error { return readUint64(&w.Seed, raw) },
	"step":               func(w *Wire, raw json.RawMessage) error { return readUint64(&w.Step, raw) },
	"u":                  readU,
}

// Names returns the canonical names of the wire form, sorted.
func Names() []string {
	names := make([]string, 0, len(fields))
	for name := range fields {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// UnmarshalJSON reads one object. Errors are *ParamError with Row -1 for a
// field's name or value, and *SyntaxError otherwise.
func (w *Wire) UnmarshalJSON(data []byte) error {
	*w = Wire{}
	return eachField(data, func(name string, raw json.RawMessage) error {
		return w.Set(name, raw)
	})
}

// Set reads one field from JSON text. Name may be any accepted spelling.
// Setting a field twice is an error.
func (w *Wire) Set(name string, raw json.RawMessage) error {
	canonical := name
	if s, ok := spellings[name]; ok {
		canonical = s
	}
	read, ok := fields[canonical]
	if !ok {
		return &ParamError{Row: -1, Field: quoteName(name), Want: "a known parameter name", Got: "an unknown one"}
	}
	if w.has(canonical) {
		return &ParamError{Row: -1, Field: canonical, Want: "given once", Got: "a second value (" + name + ")"}
	}
	if string(raw) == "null" {
		return nil
	}
	if err := read(w, raw); err != nil {
		var want wantError
		if errors.As(err, &want) {
			return &ParamError{Row: -1, Field: canonical, Want: want.want, Got: want.got(raw)}
		}
		return err
	}
	return nil
}

// has reports whether the field of a canonical name was given.
func (w *Wire) has(name string) bool {
	switch name {
	case "temperature":
		return w.Temperature != nil
	case "top_k":
		return w.TopK != nil
	case "top_p":
		return w.TopP != nil
	case "min_p":
		return w.MinP != nil
	case "filter_order":
		return w.FilterOrder != nil
	case "repetition_penalty":
		return w.RepetitionPenalty != nil
	case "presence_penalty":
		return w.PresencePenalty != nil
	case "frequency_penalty":
		return w.FrequencyPenalty != nil
	case "logit_bias":
		return w.LogitBias != nil
	case "allowed_token_ids":
		return w.AllowedTokens != nil
	case "bitmask":
		return w.Bitmask != nil
	case "prompt_tokens":
		return w.PromptTokens != nil
	case "output_tokens":
		return w.OutputTokens != nil
	case "seed":
		return w.Seed != nil
	case "step":
		return w.Step != nil
	case "u":
		return w.U != nil
	}
	return false
}

// Request returns the request that the fields describe, or a *ParamError. Ids
// are checked against a vocabulary by Request.Check.
func (w *Wire) Request() (Request, error) {
	r := Request{Params: Params{Temperature: 1}}
	set(&r.Temperature, w.Temperature)
	set(&r.TopK, w.TopK)
	set(&r.TopP, w.TopP)
	set(&r.MinP, w.MinP)
	set(&r.FilterOrder, w.FilterOrder)
	set(&r.RepetitionPenalty, w.RepetitionPenalty)
	set(&r.PresencePenalty, w.PresencePenalty)
	set(&r.FrequencyPenalty, w.FrequencyPenalty)
	set(&r.Seed, w.Seed)
	set(&r.Step, w.Step)
	if len(w.LogitBias) > 0 {
		r.LogitBias = SortedBias(w.LogitBias)
	}
	r.AllowedTokens = w.AllowedTokens
	r.Bitmask = w.Bitmask
	r.PromptTokens = w.PromptTokens
	r.OutputTokens = w.OutputTokens

	// 0 means "left out" to Params, so an explicit 0 is caught here.
	if w.TopP != nil && *w.TopP == 0 {
		return Request{}, paramError("top_p", "in (0, 1]", 0)
	}
	if w.RepetitionPenalty != nil && *w.RepetitionPenalty == 0 {
		return Request{}, paramError("repetition_penalty", "finite and > 0", 0)
	}
	if w.U != nil {
		u, err := UniformBits(*w.U)
		if err != nil {
			return Request{}, err
		}
		r.U = &u
	}
	// Ids have no upper end yet: any vocabulary is at most MaxVocab.
	return r, r.Check(MaxVocab)
}

// ParseRequests reads parameters for rows rows: one object for all of them, or
// an array with one object a row. It returns one request a row.
//
// Errors are *ParamError, with the row where the text is an array, and
// *SyntaxError.
func ParseRequests(data []byte, rows int) ([]Request, error) {
	if trimmed := bytes.TrimLeft(data, " \t\r\n"); len(trimmed) == 0 || trimmed[0] != '[' {
		one, err := parseRequest(data)
		if err != nil {
			return nil, err
		}
		all := make([]Request, rows)
		for i := range all {
			all[i] = one
		}
		return all, nil
	}
	if !json.Valid(data) {
		return nil, syntaxError(data)
	}
	var list []json.RawMessage
	if err := json.Unmarshal(data, &list); err != nil {
		return nil, &SyntaxError{Detail: err.Error()}
	}
	all := make([]Request, 0, len(list))
	for row, raw := range list {
		r, err := parseRequest(raw)
		if err != nil {
			var param *ParamError
			if errors.As(err, &param) {
				param.Row = row
			}
			return nil, err
		}
		all = append(all, r)
	}
	if len(all) != rows {
		return nil, &ShapeError{What: "parameter objects", Want: strconv.Itoa(rows) + ", one a row", Got: len(all)}
	}
	return all, nil
}

func parseRequest(data []byte) (Request, error) {
	var w Wire
	if err := w.UnmarshalJSON(data); err != nil {
		return Request{}, err
	}
	return w.Request()
}

// eachField calls f for each member of the JSON object in data, in order,
// doubled names included.
func eachField(data []byte, f func(name string, raw json.RawMessage) error) error {
	if !json.Valid(data) {
		return syntaxError(data)
	}
	d := json.NewDecoder(bytes.NewReader(data))
	if tok, err := d.Token(); err != nil || tok != json.Delim('{') {
		return &SyntaxError{Offset: d.InputOffset(), Detail: "want an object of parameters, got " + short(data)}
	}
	for d.More() {
		tok, err := d.Token()
		if err != nil {
			return &SyntaxError{Offset: d.InputOffset(), Detail: err.Error()}
		}
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			return &SyntaxError{Offset: d.InputOffset(), Detail: err.Error()}
		}
		if err := f(tok.(string), raw); err != nil {
			return err
		}
	}
	return nil
}

// syntaxError says where and why data is not one JSON value.
func syntaxError(data []byte) error {
	var v any
	err := json.Unmarshal(data, &v)
	var s *json.SyntaxError
	switch {
	case errors.As(err, &s):
		return &SyntaxError{Offset: s.Offset, Detail: s.Error()}
	case err != nil:
		return &SyntaxError{Detail: err.Error()}
	}
	return &SyntaxError{Detail: io.ErrUnexpectedEOF.Error()}
}

// wantError is what a reader returns for a value of the wrong type or size.
type wantError struct {
	want string
	note string // what became of the value, or ""
}

func (e wantError) Error() string { return "must be " + e.want }

func (e wantError) got(raw json.RawMessage) string {
	if e.note != "" {
		return short(raw) + " (" + e.note + ")"
	}
	return short(raw)
}

// readFloat reads a number, rounded once to the nearest float32. A value that
// float32 cannot tell from infinity or zero is refused.
func readFloat(dst **float32, raw json.RawMessage, want string) error {
	x, err := parseFloat(raw, want)
	if err != nil {
		return err
	}
	*dst = &x
	return nil
}

func parseFloat(raw json.RawMessage, want string) (float32, error) {
	if !isNumber(raw) {
		return 0, wantError{want: "a number " + want}
	}
	x, err := strconv.ParseFloat(string(raw), 32)
	if err != nil {
		return 0, wantError{want, "too large for float32"}
	}
	if x == 0 && bytes.ContainsAny(mantissa(raw), "123456789") {
		return 0, wantError{want, "too small for float32"}
	}
	return float32(x), nil
}

// mantissa returns the part of a number before its exponent.
func mantissa(raw []byte) []byte {
	if i := bytes.IndexAny(raw, "eE"); i >= 0 {
		return raw[:i]
	}
	return raw
}

func isNumber(raw json.RawMessage) bool {
	return len(raw) > 0 && (raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9')
}

// isInteger reports whether raw is a JSON number without fraction or exponent.
func isInteger(raw json.RawMessage) bool {
	return isNumber(raw) && !bytes.ContainsAny(raw, ".eE")
}

func readTopK(w *Wire, raw json.RawMessage) error {
	want := wantError{want: "an integer >= -1"}
	if !isInteger(raw) {
		return want
	}
	k, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil || k > math.MaxInt32 {
		if raw[0] == '-' {
			return want
		}
		k = math.MaxInt32 // every k from the vocabulary on means the same
	}
	n := int(max(k, math.MinInt32))
	w.TopK = &n
	return nil
}

func readFilterOrder(w *Wire, raw json.RawMessage) error {
	var o FilterOrder
	switch string(raw) {
	case `"joint"`:
		o = Joint
	case `"top_k_first"`:
		o = TopKFirst
	default:
		return wantError{want: `"joint" or "top_k_first"`}
	}
	w.FilterOrder = &o
	return nil
}

func readUint64(dst **uint64, raw json.RawMessage) error {
	want := wantError{want: "an integer in [0, 18446744073709551615]"}
	if !isInteger(raw) {
		return want
	}
	x, err := strconv.ParseUint(string(raw), 10, 64)
	if err != nil {
		if allZero := len(bytes.Trim(raw, "-0")) == 0; !allZero {
			return want
		}
	}
	*dst = &x
	return nil
}

func readU(w *Wire, raw json.RawMessage) error {
	want := wantError{want: "a number in [0, 1)"}
	if !isNumber(raw) {
		return want
	}
	u, err := strconv.ParseFloat(string(raw), 64)
	if err != nil {
		return want
	}
	w.U = &u
	return nil
}

func readBias(w *Wire, raw json.RawMessage) error {
	bias := make(map[int32]float32)
	if raw[0] != '{' {
		return wantError{want: "an object of ids and values"}
	}
	err := eachField(raw, func(name string, value json.RawMessage) error {
		id, err := strconv.ParseInt(name, 10, 32)
		if err != nil || strconv.FormatInt(id, 10) != name {
			return &ParamError{Row: -1, Field: "logit_bias", Want: fmt.Sprintf("ids in [0, %d)", MaxVocab), Got: quoteName(name)}
		}
		if _, twice := bias[int32(id)]; twice {
			return &ParamError{Row: -1, Field: "logit_bias", Want: "given once an id", Got: "id " + name + " twice"}
		}
		x := float32(math.Inf(-1))
		if string(value) != `"-inf"` {
			if x, err = parseFloat(value, `(finite, or "-inf")`); err != nil {
				var want wantError
				errors.As(err, &want)
				return &ParamError{Row: -1, Field: "logit_bias", Want: want.want, Got: want.got(value) + " for id " + name}
			}
		}
		bias[int32(id)] = x
		return nil
	})
	if err != nil {
		return err
	}
	w.LogitBias = bias
	return nil
}

func readIDs(dst *[]int32, raw json.RawMessage) error {
	ids, err := readIntegers[int32](raw, math.MinInt32, math.MaxInt32, fmt.Sprintf("a list of ids in [0, %d)", MaxVocab))
	*dst = ids
	return err
}

func readBitmask(w *Wire, raw json.RawMessage) (err error) {
	w.Bitmask, err = readIntegers[uint32](raw, 0, math.MaxUint32, "a list of integers in [0, 4294967295]")
	return err
}

// readIntegers reads an array of integers in [lo, hi]. The result is not nil.
func readIntegers[T int32 | uint32](raw json.RawMessage, lo, hi int64, want string) ([]T, error) {
	var list []json.RawMessage
	if raw[0] != '[' || json.Unmarshal(raw, &list) != nil {
		return nil, wantError{want: want}
	}
	out := make([]T, 0, len(list))
	for _, item := range list {
		x, err := strconv.ParseInt(string(item), 10, 64)
		if !isInteger(item) || err != nil || x < lo || x > hi {
			return nil, wantError{want, "at " + short(item)}
		}
		out = append(out, T(x))
	}
	return out, nil
}

func set[T any](dst *T, src *T) {
	if src != nil {
		*dst = *src
	}
}

// short returns JSON text for a message, cut after 40 bytes.
func short(raw []byte) string {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		return "nothing"
	}
	if len(raw) > 40 {
		return strconv.QuoteToGraphic(string(raw[:40])) + "..."
	}
	return string(raw)
}

// quoteName returns a name for a message: as it is where it is plain.
func quoteName(name string) string {
	for _, c := range name {
		if c != '_' && c != '-' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			return strconv.Quote(name)
		}
	}
	if name == "" || len(name) > 64 {
		return strconv.Quote(name)
	}
	return name
}
