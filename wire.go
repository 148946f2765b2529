package tokendraw

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Wire is the JSON form of a request's parameters. A nil field was not given
// and is off: unlike in [Params], an explicit 0 is a value, so a top_p of 0 is
// an error and a temperature of 0 is greedy.
//
// Field names are vLLM's, of which OpenAI's are a subset. UnmarshalJSON also
// takes temp, repeat_penalty and sampling_seed; a name that is unknown, given
// twice or given in two spellings is an error. A null counts as not given.
type Wire struct {
	Temperature       *float32          `json:"temperature,omitzero"` // 1 if not given
	TopK              *int              `json:"top_k,omitzero"`
	TopP              *float32          `json:"top_p,omitzero"`
	MinP              *float32          `json:"min_p,omitzero"`
	FilterOrder       *FilterOrder      `json:"filter_order,omitzero"`
	RepetitionPenalty *float32          `json:"repetition_penalty,omitzero"`
	PresencePenalty   *float32          `json:"presence_penalty,omitzero"`
	FrequencyPenalty  *float32          `json:"frequency_penalty,omitzero"`
	LogitBias         map[int32]float32 `json:"-"` // {"17": -2.5, "3": "-inf"}
	AllowedTokens     []int32           `json:"allowed_token_ids,omitzero"`
	Bitmask           []uint32          `json:"bitmask,omitzero"` // empty forbids every token
	PromptTokens      []int32           `json:"prompt_tokens,omitzero"`
	OutputTokens      []int32           `json:"output_tokens,omitzero"`
	Seed              *uint64           `json:"seed,omitzero"`
	Step              *uint64           `json:"step,omitzero"`
	U                 *float64          `json:"u,omitzero"` // [0, 1), instead of a random number
}

// spellings maps the names of others to the canonical ones.
var spellings = map[string]string{
	"temp":           "temperature",
	"repeat_penalty": "repetition_penalty",
	"sampling_seed":  "seed",
}

// What the fields may hold, for messages. Ids have no upper end before the
// vocabulary is known, and no vocabulary exceeds MaxVocab.
const (
	wantTemperature = "finite and >= 0"
	wantTopK        = "an integer >= -1"
	wantTopP        = "in (0, 1]"
	wantMinP        = "in [0, 1]"
	wantOrder       = `"joint" or "top_k_first"`
	wantRepetition  = "finite and > 0"
	wantFinite      = "finite"
	wantBias        = "an object of ids and numbers"
	wantBiasValue   = `finite or "-inf"`
	wantIDs         = "a list of ids in [0, 2097152)"
	wantWords       = "a list of integers in [0, 4294967295]"
	wantUint64      = "an integer in [0, 18446744073709551615]"
	wantU           = "in [0, 1)"
)

// UnmarshalJSON reads one object. Errors are [*ParamError] with Row -1 for a
// field's name or value, and [*SyntaxError] otherwise.
func (w *Wire) UnmarshalJSON(data []byte) error {
	*w = Wire{}
	given := make(map[string]bool)
	return eachMember(data, func(name string, raw json.RawMessage) error {
		canonical := name
		if s, ok := spellings[name]; ok {
			canonical = s
		}
		if given[canonical] {
			return paramError(canonical, "given once", "a second value ("+name+")")
		}
		given[canonical] = true
		return w.read(canonical, raw)
	})
}

// read stores the value of one field. A null leaves it as it is.
func (w *Wire) read(name string, raw json.RawMessage) (err error) {
	if string(raw) == "null" {
		raw = nil
	}
	switch name {
	case "temperature":
		w.Temperature, err = readFloat(name, raw, wantTemperature)
	case "top_k":
		w.TopK, err = readTopK(name, raw)
	case "top_p":
		w.TopP, err = readFloat(name, raw, wantTopP)
	case "min_p":
		w.MinP, err = readFloat(name, raw, wantMinP)
	case "filter_order":
		w.FilterOrder, err = readFilterOrder(name, raw)
	case "repetition_penalty":
		w.RepetitionPenalty, err = readFloat(name, raw, wantRepetition)
	case "presence_penalty":
		w.PresencePenalty, err = readFloat(name, raw, wantFinite)
	case "frequency_penalty":
		w.FrequencyPenalty, err = readFloat(name, raw, wantFinite)
	case "logit_bias":
		w.LogitBias, err = readBias(name, raw)
	case "allowed_token_ids":
		w.AllowedTokens, err = readIntegers[int32](name, raw, math.MinInt32, math.MaxInt32, wantIDs)
	case "bitmask":
		w.Bitmask, err = readIntegers[uint32](name, raw, 0, math.MaxUint32, wantWords)
	case "prompt_tokens":
		w.PromptTokens, err = readIntegers[int32](name, raw, math.MinInt32, math.MaxInt32, wantIDs)
	case "output_tokens":
		w.OutputTokens, err = readIntegers[int32](name, raw, math.MinInt32, math.MaxInt32, wantIDs)
	case "seed":
		w.Seed, err = readUint64(name, raw)
	case "step":
		w.Step, err = readUint64(name, raw)
	case "u":
		w.U, err = readU(name, raw)
	default:
		err = paramError(plainName(name), "a known parameter", "an unknown name")
	}
	return err
}

// MarshalJSON writes the fields that are given, under their canonical names.
// What UnmarshalJSON accepts comes back as it was. NaN and infinities are
// errors, but for a bias of -Inf.
func (w Wire) MarshalJSON() ([]byte, error) {
	type plain Wire // without this method
	out := struct {
		plain
		LogitBias map[int32]any `json:"logit_bias,omitzero"`
	}{plain: plain(w)}
	if w.LogitBias != nil {
		out.LogitBias = make(map[int32]any, len(w.LogitBias))
		for id, x := range w.LogitBias {
			out.LogitBias[id] = x
			if x < -math.MaxFloat32 {
				out.LogitBias[id] = "-inf"
			}
		}
	}
	return json.Marshal(out)
}

// MarshalText returns the wire name.
func (o FilterOrder) MarshalText() ([]byte, error) {
	if o > TopKFirst {
		return nil, paramError("filter_order", wantOrder, o)
	}
	return []byte(o.String()), nil
}

// UnmarshalText accepts the wire names.
func (o *FilterOrder) UnmarshalText(text []byte) error {
	for known := Joint; known <= TopKFirst; known++ {
		if known.String() == string(text) {
			*o = known
			return nil
		}
	}
	return paramError("filter_order", wantOrder, strconv.Quote(string(text)))
}

// Request returns the request that the fields describe, or a [*ParamError]. Ids
// are checked against a vocabulary by [Request.Check].
func (w *Wire) Request() (Request, error) {
	r := Request{
		Params:        Params{Temperature: 1},
		AllowedTokens: w.AllowedTokens,
		Bitmask:       w.Bitmask,
		PromptTokens:  w.PromptTokens,
		OutputTokens:  w.OutputTokens,
	}
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

	// 0 means "left out" to Params, so an explicit 0 is caught here.
	if w.TopP != nil && *w.TopP == 0 {
		return Request{}, paramError("top_p", wantTopP, 0)
	}
	if w.RepetitionPenalty != nil && *w.RepetitionPenalty == 0 {
		return Request{}, paramError("repetition_penalty", wantRepetition, 0)
	}
	if w.U != nil {
		u, err := UniformBits(*w.U)
		if err != nil {
			return Request{}, err
		}
		r.U = &u
	}
	if err := r.Check(MaxVocab); err != nil {
		return Request{}, err
	}
	return r, nil
}

// ParseRequests reads parameters for rows rows: one object for all of them, or
// an array with one object a row. It returns one request a row; requests read
// from one object share their lists.
//
// Errors are [*ParamError], with the row where the text is an array and -1
// where it is one object, [*ShapeError] for an array of another length, and
// [*SyntaxError].
func ParseRequests(data []byte, rows int) ([]Request, error) {
	if !json.Valid(data) {
		return nil, syntaxError(data)
	}
	d := json.NewDecoder(bytes.NewReader(data))
	if tok, err := d.Token(); err != nil || tok != json.Delim('[') {
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
	var all []Request
	for row := 0; d.More(); row++ {
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			return nil, &SyntaxError{Offset: d.InputOffset(), Detail: err.Error()}
		}
		r, err := parseRequest(raw)
		var param *ParamError
		var syntax *SyntaxError
		switch {
		case errors.As(err, &param):
			param.Row = row
			return nil, param
		case errors.As(err, &syntax):
			syntax.Offset += d.InputOffset() - int64(len(raw))
			syntax.Detail = fmt.Sprintf("row %d: %s", row, syntax.Detail)
			return nil, syntax
		case err != nil:
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

// eachMember calls f for each member of the JSON object in data, in order and
// with names that occur twice, which json.Unmarshal would drop.
func eachMember(data []byte, f func(name string, raw json.RawMessage) error) error {
	if !json.Valid(data) {
		return syntaxError(data)
	}
	d := json.NewDecoder(bytes.NewReader(data))
	if tok, err := d.Token(); err != nil || tok != json.Delim('{') {
		return &SyntaxError{Detail: "want an object of parameters, got " + short(data)}
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return &SyntaxError{Offset: d.InputOffset(), Detail: err.Error()}
		}
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			return &SyntaxError{Offset: d.InputOffset(), Detail: err.Error()}
		}
		if err := f(name.(string), raw); err != nil {
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
	if errors.As(err, &s) {
		return &SyntaxError{Offset: s.Offset, Detail: s.Error()}
	}
	return &SyntaxError{Detail: fmt.Sprint(err)}
}

// The readers below take a field's name and JSON text, without space around it
// and nil for a null, for which they return nil.

// readFloat reads a number, rounded once to the nearest float32.
func readFloat(name string, raw json.RawMessage, want string) (*float32, error) {
	if raw == nil {
		return nil, nil
	}
	x, bad := parseFloat(raw)
	if bad != "" {
		return nil, paramError(name, want, bad)
	}
	return &x, nil
}

// longestNumber is the most characters of a decimal number. Package strconv
// misreads exponents of six digits, which only longer texts can make up for.
const longestNumber = 4096

// parseFloat rounds a number to float32. If raw is no number, or one that
// float32 cannot tell from infinity or zero, bad describes it for a message.
func parseFloat(raw json.RawMessage) (x float32, bad string) {
	if !isNumber(raw) {
		return 0, short(raw)
	}
	if len(raw) > longestNumber {
		return 0, short(raw) + " (a number of " + strconv.Itoa(len(raw)) + " characters)"
	}
	y, err := strconv.ParseFloat(string(raw), 32)
	if err != nil {
		return 0, short(raw) + " (too large for float32)"
	}
	mantissa := raw
	if i := bytes.IndexAny(raw, "eE"); i >= 0 {
		mantissa = raw[:i]
	}
	if y == 0 && bytes.ContainsAny(mantissa, "123456789") {
		return 0, short(raw) + " (too small for float32)"
	}
	return float32(y), ""
}

func readTopK(name string, raw json.RawMessage) (*int, error) {
	if raw == nil {
		return nil, nil
	}
	k, err := strconv.ParseInt(string(raw), 10, 64)
	if errors.Is(err, strconv.ErrRange) && raw[0] != '-' {
		k, err = math.MaxInt64, nil
	}
	if err != nil || !isInteger(raw) || k < -1 {
		return nil, paramError(name, wantTopK, short(raw))
	}
	n := int(min(k, math.MaxInt32)) // every k from the vocabulary on means the same
	return &n, nil
}

func readFilterOrder(name string, raw json.RawMessage) (*FilterOrder, error) {
	if raw == nil {
		return nil, nil
	}
	var o FilterOrder
	if raw[0] != '"' || json.Unmarshal(raw, &o) != nil {
		return nil, paramError(name, wantOrder, short(raw))
	}
	return &o, nil
}

func readUint64(name string, raw json.RawMessage) (*uint64, error) {
	if raw == nil {
		return nil, nil
	}
	x, err := strconv.ParseUint(string(raw), 10, 64)
	if err != nil || !isInteger(raw) {
		return nil, paramError(name, wantUint64, short(raw))
	}
	return &x, nil
}

func readU(name string, raw json.RawMessage) (*float64, error) {
	if raw == nil {
		return nil, nil
	}
	u, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || !isNumber(raw) || len(raw) > longestNumber {
		return nil, paramError(name, wantU, short(raw))
	}
	return &u, nil
}

func readBias(name string, raw json.RawMessage) (map[int32]float32, error) {
	if raw == nil {
		return nil, nil
	}
	if raw[0] != '{' {
		return nil, paramError(name, wantBias, short(raw))
	}
	bias := make(map[int32]float32)
	err := eachMember(raw, func(key string, value json.RawMessage) error {
		id, err := strconv.ParseInt(key, 10, 32)
		if err != nil || strconv.FormatInt(id, 10) != key { // "+1", "01"
			return paramError(name, fmt.Sprintf("ids in [0, %d)", MaxVocab), plainName(key))
		}
		if _, twice := bias[int32(id)]; twice {
			return paramError(name, "given once an id", "id "+key+" twice")
		}
		if string(value) == `"-inf"` {
			bias[int32(id)] = float32(math.Inf(-1))
			return nil
		}
		x, bad := parseFloat(value)
		if bad != "" {
			return paramError(name, wantBiasValue, bad+" for id "+key)
		}
		bias[int32(id)] = x
		return nil
	})
	return bias, err
}

// readIntegers reads an array of integers in [lo, hi]. The result is nil only
// for a null.
func readIntegers[T int32 | uint32](name string, raw json.RawMessage, lo, hi int64, want string) ([]T, error) {
	if raw == nil {
		return nil, nil
	}
	var list []json.RawMessage
	if raw[0] != '[' || json.Unmarshal(raw, &list) != nil {
		return nil, paramError(name, want, short(raw))
	}
	out := make([]T, 0, len(list))
	for i, item := range list {
		x, err := strconv.ParseInt(string(item), 10, 64)
		if err != nil || !isInteger(item) || x < lo || x > hi {
			return nil, paramError(name, want, fmt.Sprintf("%s at place %d", short(item), i))
		}
		out = append(out, T(x))
	}
	return out, nil
}

func isNumber(raw json.RawMessage) bool { return raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9' }

// isInteger reports whether raw is a JSON number without fraction or exponent,
// and not -0.
func isInteger(raw json.RawMessage) bool {
	return isNumber(raw) && !bytes.ContainsAny(raw, ".eE") && string(raw) != "-0"
}

func set[T any](dst, src *T) {
	if src != nil {
		*dst = *src
	}
}

// short returns JSON text for a message: in one line, printable, and cut after
// 40 bytes.
func short(raw []byte) string {
	text, cut := strings.TrimSpace(string(raw)), ""
	if len(text) > 40 {
		text, cut = text[:40], "..."
	}
	printable := func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case r == utf8.RuneError || !unicode.IsPrint(r):
			return '?'
		}
		return r
	}
	return strings.Map(printable, text) + cut
}

// plainName returns a name for a message: quoted where it is not plain.
func plainName(name string) string {
	if len(name) > 40 {
		return strconv.Quote(name[:40]) + "..."
	}
	for _, c := range name {
		if c != '_' && c != '-' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			return strconv.Quote(name)
		}
	}
	if name == "" {
		return `""`
	}
	return name
}
