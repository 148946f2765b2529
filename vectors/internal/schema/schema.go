// Package schema is the form of the files of vectors/, which vectors/README.md
// describes, and what their rows and requests expand to.
package schema

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"strconv"

	"github.com/tokendraw/tokendraw"
)

// Draw is a line of draws.jsonl.
type Draw struct {
	Name       string    `json:"name"`
	Kind       string    `json:"kind"`
	About      string    `json:"about"`
	DType      string    `json:"dtype"`
	Vocab      int       `json:"vocab"`
	Stride     int       `json:"stride,omitzero"`
	Rows       []Row     `json:"rows"`
	Requests   []Request `json:"requests"`
	RowRequest []int32   `json:"row_request,omitzero"`
	Want       []Want    `json:"want"`
}

// Row is a row of logits: exactly one of the forms, then what Set overwrites.
type Row struct {
	Bits    string     `json:"bits,omitzero"`
	Cycle   string     `json:"cycle,omitzero"`
	Ramp    *Ramp      `json:"ramp,omitzero"`
	Uniform *Uniform   `json:"uniform,omitzero"`
	Bell    *Bell      `json:"bell,omitzero"`
	Same    *int       `json:"same,omitzero"`
	Set     []Override `json:"set,omitzero"`
	Digest  string     `json:"digest,omitzero"` // absent with Same alone
}

// Ramp is the logit (Start + Step*id) / 2^Shift.
type Ramp struct {
	Start int64 `json:"start"`
	Step  int64 `json:"step"`
	Shift int   `json:"shift"`
}

// Uniform is the logit (Lo + mix(Seed, id) mod (Hi-Lo+1)) / 2^Shift.
type Uniform struct {
	Seed  uint64 `json:"seed"`
	Lo    int64  `json:"lo"`
	Hi    int64  `json:"hi"`
	Shift int    `json:"shift"`
}

// Bell is the logit floor((b - 131072) / 2^Drop) / 2^Shift, with b the sum of
// the four 16-bit parts of mix(Seed, id).
type Bell struct {
	Seed  uint64 `json:"seed"`
	Drop  int    `json:"drop"`
	Shift int    `json:"shift"`
}

// Override puts the element Bits at the ids First to Last.
type Override struct {
	First int    `json:"first"`
	Last  int    `json:"last"`
	Bits  string `json:"bits"`
}

// Request holds parameters by their bits. An absent one is off.
type Request struct {
	Temperature       string    `json:"temperature,omitzero"`
	TopK              int       `json:"top_k,omitzero"`
	TopP              string    `json:"top_p,omitzero"`
	MinP              string    `json:"min_p,omitzero"`
	FilterOrder       string    `json:"filter_order,omitzero"`
	RepetitionPenalty string    `json:"repetition_penalty,omitzero"`
	PresencePenalty   string    `json:"presence_penalty,omitzero"`
	FrequencyPenalty  string    `json:"frequency_penalty,omitzero"`
	LogitBias         []BiasOf  `json:"logit_bias,omitzero"`
	AllowedTokens     []int32   `json:"allowed_token_ids,omitzero"`
	Bitmask           *string   `json:"bitmask,omitzero"`
	PromptTokens      []CountOf `json:"prompt_tokens,omitzero"`
	OutputTokens      []CountOf `json:"output_tokens,omitzero"`
	Counts            []CountOf `json:"counts,omitzero"`
	Seed              string    `json:"seed,omitzero"`
	Step              string    `json:"step,omitzero"`
	U                 string    `json:"u,omitzero"`
}

// BiasOf is a bias of one token.
type BiasOf struct {
	Token int32  `json:"id"`
	Bits  string `json:"bits"`
}

// CountOf is a token and a number of occurrences.
type CountOf struct {
	Token int32 `json:"id"`
	Times int32 `json:"times"`
}

// Want is what a row must give.
type Want struct {
	Token      int32      `json:"token"`
	Status     string     `json:"status"`
	Kept       int32      `json:"kept"`
	LogProb    float32    `json:"logprob"`
	Greedy     bool       `json:"greedy"`
	Candidates int        `json:"candidates"`
	TopK       int        `json:"n_k"`
	MinP       int        `json:"n_m"`
	TopP       int        `json:"n_p"`
	Total      string     `json:"total"`
	Mass       string     `json:"mass"`
	Tokens     []KeptFrom `json:"tokens"`
	Digest     string     `json:"digest"`
}

// KeptFrom is one kept token.
type KeptFrom struct {
	Token  int32  `json:"id"`
	Score  string `json:"score"`
	Weight string `json:"weight"`
}

// Params is a line of params.jsonl.
type Params struct {
	Name    string    `json:"name"`
	Kind    string    `json:"kind"`
	About   string    `json:"about"`
	Rows    int       `json:"rows"`
	Vocab   int       `json:"vocab"`
	JSON    string    `json:"json,omitzero"`
	Request *Request  `json:"request,omitzero"`
	Refused *Refused  `json:"refused,omitzero"`
	Want    []Request `json:"want,omitzero"`
}

// Refused says what a refusal must name.
type Refused struct {
	Field string `json:"field"`
	Row   *int   `json:"row,omitzero"`
}

// Philox is a line of philox.jsonl.
type Philox struct {
	Source  string `json:"source"`
	Key     string `json:"key,omitzero"`
	Counter string `json:"counter,omitzero"`
	Result  string `json:"result,omitzero"`
	Seed    string `json:"seed,omitzero"`
	Step    string `json:"step,omitzero"`
	U       string `json:"u,omitzero"`
}

// Weights is a line of weights.jsonl.
type Weights struct {
	Temperature string `json:"temperature"`
	C           string `json:"c"`
	M           string `json:"m"`
	Z           string `json:"z"`
	Y           string `json:"y"`
	W           string `json:"w"`
}

// Formats is a line of formats.jsonl.
type Formats struct {
	DType string `json:"dtype"`
	From  string `json:"from"`
	To    string `json:"to"`
}

// Mix is the hash of the generated rows: the finaliser of SplitMix64 (Steele,
// Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA
// 2014) on seed*0x9e3779b97f4a7c15 + id.
func Mix(seed, id uint64) uint64 {
	h := seed*0x9e3779b97f4a7c15 + id
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}

// ParseDType is the reverse of DType.String.
func ParseDType(name string) (tokendraw.DType, error) {
	for _, d := range []tokendraw.DType{tokendraw.Float32, tokendraw.Float16, tokendraw.BFloat16} {
		if d.String() == name {
			return d, nil
		}
	}
	return 0, fmt.Errorf("dtype %q is not known", name)
}

// digits is the number of hexadecimal digits of an element.
func digits(d tokendraw.DType) int {
	if d == tokendraw.Float32 {
		return 8
	}
	return 4
}

// Hex reads a list of numbers of the given number of hexadecimal digits each.
func Hex(s string, digits int) ([]uint64, error) {
	if len(s)%digits != 0 {
		return nil, fmt.Errorf("%d hexadecimal digits, want a multiple of %d", len(s), digits)
	}
	list := make([]uint64, 0, len(s)/digits)
	for ; s != ""; s = s[digits:] {
		x, err := strconv.ParseUint(s[:digits], 16, 64)
		if err != nil {
			return nil, err
		}
		list = append(list, x)
	}
	return list, nil
}

// Hex1 reads one number.
func Hex1(s string, digits int) (uint64, error) {
	list, err := Hex(s, digits)
	if err == nil && len(list) != 1 {
		err = fmt.Errorf("%d numbers, want 1", len(list))
	}
	if err != nil {
		return 0, err
	}
	return list[0], nil
}

// Bits returns the bits of an element that has exactly the value k / 2^shift.
func Bits(d tokendraw.DType, k int64, shift int) (uint32, error) {
	x := math.Ldexp(float64(k), -shift)
	y := float32(x)
	b := math.Float32bits(y)
	if float64(y) != x {
		return 0, fmt.Errorf("%d / 2^%d is not a float32", k, shift)
	}
	switch d {
	case tokendraw.BFloat16:
		if b&0xffff != 0 {
			return 0, fmt.Errorf("%v is not a bfloat16", x)
		}
		return b >> 16, nil
	case tokendraw.Float16:
		e := int(b>>23&0xff) - 127
		if x != 0 && (e < -14 || e > 15 || b&0x1fff != 0) {
			return 0, fmt.Errorf("%v is not a normal float16", x)
		}
		if x == 0 {
			return b >> 16, nil
		}
		return b>>16&0x8000 | uint32(e+15)<<10 | b>>13&0x3ff, nil
	}
	return b, nil
}

// Copy reports whether the row is another one without a change.
func (r *Row) Copy() bool { return r.Same != nil && len(r.Set) == 0 }

// Elements returns the bits of a row's elements. Rows are those before it.
func (r *Row) Elements(d tokendraw.DType, vocab int, rows [][]uint32) ([]uint32, error) {
	out := make([]uint32, vocab)
	number := func(f func(id int) (k int64, shift int)) error {
		for id := range out {
			k, shift := f(id)
			b, err := Bits(d, k, shift)
			if err != nil {
				return fmt.Errorf("id %d: %w", id, err)
			}
			out[id] = b
		}
		return nil
	}
	var err error
	switch {
	case r.Bits != "" || r.Cycle != "":
		var list []uint64
		if list, err = Hex(r.Bits+r.Cycle, digits(d)); err != nil {
			return nil, err
		}
		if len(list) == 0 || r.Bits != "" && (len(list) != vocab || r.Cycle != "") {
			return nil, fmt.Errorf("%d elements, want %d", len(list), vocab)
		}
		for id := range out {
			out[id] = uint32(list[id%len(list)])
		}
	case r.Ramp != nil:
		err = number(func(id int) (int64, int) { return r.Ramp.Start + r.Ramp.Step*int64(id), r.Ramp.Shift })
	case r.Uniform != nil:
		g := r.Uniform
		if g.Hi < g.Lo {
			return nil, errors.New("uniform: hi is below lo")
		}
		err = number(func(id int) (int64, int) {
			return g.Lo + int64(Mix(g.Seed, uint64(id))%uint64(g.Hi-g.Lo+1)), g.Shift
		})
	case r.Bell != nil:
		g := r.Bell
		if g.Drop < 0 || g.Drop > 17 {
			return nil, errors.New("bell: drop is not in [0, 17]")
		}
		err = number(func(id int) (int64, int) {
			h := Mix(g.Seed, uint64(id))
			b := int64(h&0xffff + h>>16&0xffff + h>>32&0xffff + h>>48)
			return (b - 131072) >> g.Drop, g.Shift // an arithmetic shift: floor
		})
	case r.Same != nil:
		if *r.Same < 0 || *r.Same >= len(rows) {
			return nil, fmt.Errorf("same as row %d, which does not come before", *r.Same)
		}
		copy(out, rows[*r.Same])
	default:
		return nil, errors.New("row has no form")
	}
	if err != nil {
		return nil, err
	}
	for _, o := range r.Set {
		b, err := Hex1(o.Bits, digits(d))
		if err != nil {
			return nil, err
		}
		if o.First < 0 || o.Last >= vocab {
			return nil, fmt.Errorf("set: ids %d to %d are not in [0, %d)", o.First, o.Last, vocab)
		}
		for id := o.First; id <= o.Last; id++ {
			out[id] = uint32(b)
		}
	}
	return out, nil
}

// DigestElements is FNV-1a, 64 bits, over the elements, lowest byte first.
func DigestElements(d tokendraw.DType, elements []uint32) string {
	h := fnv.New64a()
	var buf [4]byte
	for _, b := range elements {
		binary.LittleEndian.PutUint32(buf[:], b)
		h.Write(buf[:digits(d)/2])
	}
	return hex.EncodeToString(h.Sum(nil))
}

// DigestKept is FNV-1a, 64 bits, over id, score bits (4 bytes each) and weight
// (8 bytes) of the kept tokens in order, lowest byte first.
func DigestKept(tokens []tokendraw.TokenProb) uint64 {
	h := fnv.New64a()
	var buf [16]byte
	for _, t := range tokens {
		binary.LittleEndian.PutUint32(buf[0:], uint32(t.Token))
		binary.LittleEndian.PutUint32(buf[4:], math.Float32bits(t.Score))
		binary.LittleEndian.PutUint64(buf[8:], t.Weight)
		h.Write(buf[:])
	}
	return h.Sum64()
}

// Batch returns the input that a case describes, in memory of its own.
// Elements between the rows of a padded matrix have all bits set.
func (c *Draw) Batch() (*tokendraw.Batch, error) {
	d, err := ParseDType(c.DType)
	if err != nil {
		return nil, err
	}
	if c.Vocab < 1 || c.Vocab > tokendraw.MaxVocab {
		return nil, fmt.Errorf("vocab %d is not in [1, %d]", c.Vocab, tokendraw.MaxVocab)
	}
	if c.Stride != 0 && c.Stride < c.Vocab {
		return nil, fmt.Errorf("stride %d is below the vocab", c.Stride)
	}
	b := &tokendraw.Batch{
		Logits:     tokendraw.Logits{Rows: len(c.Rows), Vocab: c.Vocab, Stride: c.Stride},
		Requests:   make([]tokendraw.Request, 0, len(c.Requests)),
		RowRequest: c.RowRequest,
	}
	all := make([]uint32, len(c.Rows)*b.Logits.RowStride())
	for i := range all {
		all[i] = math.MaxUint32
	}
	var rows [][]uint32
	for i := range c.Rows {
		row, err := c.Rows[i].Elements(d, c.Vocab, rows)
		if err != nil {
			return nil, fmt.Errorf("row %d: %w", i, err)
		}
		if c.Rows[i].Copy() {
			// the other row's digest was right
		} else if got := DigestElements(d, row); got != c.Rows[i].Digest {
			return nil, fmt.Errorf("row %d: digest of the elements is %s, want %s", i, got, c.Rows[i].Digest)
		}
		copy(all[i*b.Logits.RowStride():], row)
		rows = append(rows, row)
	}
	switch d {
	case tokendraw.Float32:
		b.Logits.F32 = make([]float32, len(all))
		for i, x := range all {
			b.Logits.F32[i] = math.Float32frombits(x)
		}
	case tokendraw.Float16:
		b.Logits.F16 = narrow(all)
	case tokendraw.BFloat16:
		b.Logits.BF16 = narrow(all)
	}
	for i := range c.Requests {
		r, err := c.Requests[i].Expand()
		if err != nil {
			return nil, fmt.Errorf("request %d: %w", i, err)
		}
		b.Requests = append(b.Requests, r)
	}
	return b, nil
}

func narrow(list []uint32) []uint16 {
	out := make([]uint16, len(list))
	for i, x := range list {
		out[i] = uint16(x)
	}
	return out
}

// Expand returns the request. It does not check the parameters.
func (r *Request) Expand() (tokendraw.Request, error) {
	out := tokendraw.Request{Params: tokendraw.Params{Temperature: 1, TopK: r.TopK}}
	var failed error
	number := func(field, s string, digits int) uint64 {
		x, err := Hex1(s, digits)
		if err != nil && failed == nil {
			failed = fmt.Errorf("%s: %w", field, err)
		}
		return x
	}
	float := func(field, s string, dst *float32) {
		if s != "" {
			*dst = math.Float32frombits(uint32(number(field, s, 8)))
		}
	}
	float("temperature", r.Temperature, &out.Temperature)
	float("top_p", r.TopP, &out.TopP)
	float("min_p", r.MinP, &out.MinP)
	float("repetition_penalty", r.RepetitionPenalty, &out.RepetitionPenalty)
	float("presence_penalty", r.PresencePenalty, &out.PresencePenalty)
	float("frequency_penalty", r.FrequencyPenalty, &out.FrequencyPenalty)
	switch r.FilterOrder {
	case "", "joint":
	case "top_k_first":
		out.FilterOrder = tokendraw.TopKFirst
	default:
		return out, fmt.Errorf("filter_order %q is not known", r.FilterOrder)
	}
	for _, b := range r.LogitBias {
		out.LogitBias = append(out.LogitBias, tokendraw.Bias{
			Token: b.Token, Value: math.Float32frombits(uint32(number("logit_bias", b.Bits, 8))),
		})
	}
	out.AllowedTokens = r.AllowedTokens
	if r.Bitmask != nil {
		words, err := Hex(*r.Bitmask, 8)
		if err != nil {
			return out, fmt.Errorf("bitmask: %w", err)
		}
		out.Bitmask = make([]uint32, len(words))
		for i, x := range words {
			out.Bitmask[i] = uint32(x)
		}
	}
	repeat := func(runs []CountOf) (list []int32) {
		for _, run := range runs {
			for range run.Times {
				list = append(list, run.Token)
			}
		}
		return list
	}
	out.PromptTokens = repeat(r.PromptTokens)
	out.OutputTokens = repeat(r.OutputTokens)
	for _, c := range r.Counts {
		out.Counts = append(out.Counts, tokendraw.TokenCount{Token: c.Token, Output: c.Times})
	}
	if r.Seed != "" {
		out.Seed = number("seed", r.Seed, 16)
	}
	if r.Step != "" {
		out.Step = number("step", r.Step, 16)
	}
	if r.U != "" {
		u := number("u", r.U, 16)
		out.U = &u
	}
	return out, failed
}

// MaxListed is how many kept tokens a case lists at most.
const MaxListed = 6

// WantOf writes down what a row gave.
func WantOf(d *tokendraw.Details) Want {
	w := Want{
		Token: d.Token, Status: d.Status.String(), Kept: d.Kept, LogProb: d.LogProb,
		Greedy: d.Greedy, Candidates: d.Candidates, TopK: d.TopK, MinP: d.MinP, TopP: d.TopP,
		Total: fmt.Sprintf("%016x", d.Total), Mass: fmt.Sprintf("%016x", d.Mass),
		Tokens: []KeptFrom{},
		Digest: fmt.Sprintf("%016x", DigestKept(d.Tokens)),
	}
	for _, t := range d.Tokens[:min(len(d.Tokens), MaxListed)] {
		w.Tokens = append(w.Tokens, KeptFrom{t.Token, fmt.Sprintf("%08x", math.Float32bits(t.Score)), fmt.Sprintf("%010x", t.Weight)})
	}
	return w
}

// Expand returns the details, with the listed tokens only, and the digest of
// all of them.
func (w *Want) Expand() (d tokendraw.Details, digest uint64, err error) {
	d = tokendraw.Details{
		Draw:   tokendraw.Draw{Token: w.Token, Kept: w.Kept, LogProb: w.LogProb},
		Greedy: w.Greedy, Candidates: w.Candidates, TopK: w.TopK, MinP: w.MinP, TopP: w.TopP,
	}
	for s := tokendraw.OK; ; s++ {
		if s > tokendraw.InvalidParams {
			return d, 0, fmt.Errorf("status %q is not known", w.Status)
		}
		if s.String() == w.Status {
			d.Status = s
			break
		}
	}
	if d.Total, err = Hex1(w.Total, 16); err != nil {
		return d, 0, fmt.Errorf("total: %w", err)
	}
	if d.Mass, err = Hex1(w.Mass, 16); err != nil {
		return d, 0, fmt.Errorf("mass: %w", err)
	}
	if digest, err = Hex1(w.Digest, 16); err != nil {
		return d, 0, fmt.Errorf("digest: %w", err)
	}
	for _, t := range w.Tokens {
		score, err := Hex1(t.Score, 8)
		if err != nil {
			return d, 0, fmt.Errorf("score: %w", err)
		}
		weight, err := Hex1(t.Weight, 10)
		if err != nil {
			return d, 0, fmt.Errorf("weight: %w", err)
		}
		d.Tokens = append(d.Tokens, tokendraw.TokenProb{
			Token: t.Token, Score: math.Float32frombits(uint32(score)), Weight: weight, Prob: float64(weight) / float64(d.Mass),
		})
	}
	return d, digest, nil
}
