package tokendraw

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
)

// FilterOrder says what the mass that top_p is a fraction of consists of.
type FilterOrder uint8

// The two filter orders. They differ only where both top_k and top_p act.
const (
	Joint     FilterOrder = iota // all candidates' mass
	TopKFirst                    // the mass of the top_k survivors
)

// String returns the wire name, "joint" or "top_k_first".
func (o FilterOrder) String() string {
	switch o {
	case Joint:
		return "joint"
	case TopKFirst:
		return "top_k_first"
	}
	return "FilterOrder(" + strconv.Itoa(int(o)) + ")"
}

// Params are the sampling parameters of one request. The zero value is greedy.
// Temperature has no default: 0 is greedy also where other fields are set, so
// Params{TopP: 0.95} alone always takes the best token. Every other field left
// 0 is off.
//
// Real-valued parameters are float32: a decimal number means the float32
// nearest to it, on every backend.
type Params struct {
	// Temperature divides the scores. [0, +Inf); 0 is greedy: the highest
	// score, the lowest id among equals.
	Temperature float32

	// TopK keeps exactly the first TopK tokens of the order (score descending,
	// id ascending). >= -1; 0 and -1 are off, 1 is greedy, values above the
	// vocabulary equal it.
	TopK int

	// TopP keeps the shortest prefix of the order whose mass reaches this
	// share. (0, 1]; 1, or the field left 0, is off.
	TopP float32

	// MinP keeps tokens at least MinP times as probable as the best. [0, 1].
	MinP float32

	// FilterOrder is the base of TopP. Without TopK it has no effect.
	FilterOrder FilterOrder

	// RepetitionPenalty divides positive scores and multiplies others of every
	// token in the prompt or the output, once. (0, +Inf); 1, or the field left
	// 0, is off.
	RepetitionPenalty float32

	// PresencePenalty is subtracted once from the score of every token in the
	// output. Finite.
	PresencePenalty float32

	// FrequencyPenalty is subtracted as often as the token occurs in the
	// output. Finite.
	FrequencyPenalty float32
}

// Greedy reports whether the parameters choose the best token without a random
// number: temperature 0 or top_k 1.
func (p *Params) Greedy() bool { return p.Temperature == 0 || p.TopK == 1 }

// KLimit returns how many of n candidates top_k leaves.
func (p *Params) KLimit(n int) int {
	if p.TopK <= 0 {
		return n
	}
	return min(p.TopK, n)
}

// TopPOn reports whether top_p acts.
func (p *Params) TopPOn() bool { return p.TopP != 0 && p.TopP != 1 }

// RepetitionOn reports whether the repetition penalty acts.
func (p *Params) RepetitionOn() bool { return p.RepetitionPenalty != 0 && p.RepetitionPenalty != 1 }

// Bias is added to the logit of one token.
type Bias struct {
	Token int32   // [0, vocab)
	Value float32 // finite, or -Inf to forbid the token
}

// SortedBias returns m as the list that a Request takes, by ascending token.
func SortedBias(m map[int32]float32) []Bias {
	list := make([]Bias, 0, len(m))
	for _, token := range slices.Sorted(maps.Keys(m)) {
		list = append(list, Bias{token, m[token]})
	}
	return list
}

// TokenCount says that a token occurs in a request's text.
type TokenCount struct {
	Token  int32 // [0, vocab)
	Output int32 // occurrences in the output, >= 0; 0 for a token of the prompt alone
}

// History counts the tokens of one request as they come, for Request.Counts.
// The zero value is empty and ready.
type History struct {
	counts []TokenCount
	place  map[int32]int // token -> index in counts
}

// AddPrompt records tokens of the prompt.
func (h *History) AddPrompt(tokens ...int32) {
	for _, t := range tokens {
		h.entry(t)
	}
}

// AddOutput records tokens of the output, one occurrence each.
func (h *History) AddOutput(tokens ...int32) {
	for _, t := range tokens {
		h.entry(t).Output++
	}
}

// Counts returns each token seen once. The slice is valid until the next Add.
func (h *History) Counts() []TokenCount { return h.counts }

// Reset forgets everything and keeps the memory.
func (h *History) Reset() {
	h.counts = h.counts[:0]
	clear(h.place)
}

func (h *History) entry(token int32) *TokenCount {
	if h.place == nil {
		h.place = make(map[int32]int)
	}
	i, ok := h.place[token]
	if !ok {
		i = len(h.counts)
		h.place[token] = i
		h.counts = append(h.counts, TokenCount{Token: token})
	}
	return &h.counts[i]
}

// Request is what a draw depends on besides the logits.
type Request struct {
	Params

	// Seed and Step choose the random number, and nothing else does: rows with
	// the same seed and step use the same one, so give each request a seed of
	// its own. Step belongs to the request and is advanced by the caller, by
	// one for each token drawn.
	Seed, Step uint64

	// U, if set, replaces the random number by the one pointed to. A request
	// with U owns at most one row of a batch.
	U *uint64

	// LogitBias is added to the logits. Tokens strictly ascending; see
	// SortedBias.
	LogitBias []Bias

	// AllowedTokens, if not nil, forbids every token that it does not list. At
	// least one token, in any order.
	AllowedTokens []int32

	// Bitmask, if not nil, forbids every token whose bit is not set: token i is
	// bit i%32, lowest first, of word i/32. It forbids tokens that it does not
	// reach, and bits from the vocabulary on do not count. Where AllowedTokens
	// is set too, a token must be allowed by both.
	Bitmask []uint32

	// PromptTokens, OutputTokens and Counts are the request's text so far, for
	// the penalties. They add up, so a caller fills either the two lists or
	// Counts, which costs no recount at every step.
	PromptTokens, OutputTokens []int32
	Counts                     []TokenCount
}

// UniformBits returns floor(u * 2^64), the 64-bit integer that stands for a
// precomputed uniform number in [0, 1), or a *ParamError.
func UniformBits(u float64) (uint64, error) {
	if !(u >= 0 && u < 1) {
		return 0, paramError("u", wantU, u)
	}
	return uint64(math.Ldexp(u, 64)), nil
}

// Penalized reports whether a penalty acts on the request's text.
func (r *Request) Penalized() bool {
	return (r.RepetitionOn() || r.PresencePenalty != 0 || r.FrequencyPenalty != 0) &&
		(len(r.PromptTokens) > 0 || len(r.OutputTokens) > 0 || len(r.Counts) > 0)
}

// Check reports the first parameter outside its interval as a *ParamError with
// Row -1, or nil.
func (p *Params) Check() error {
	switch {
	case !(p.Temperature >= 0) || isInf(p.Temperature):
		return paramError("temperature", wantTemperature, p.Temperature)
	case p.TopK < -1:
		return paramError("top_k", ">= -1", p.TopK)
	case !(p.TopP >= 0 && p.TopP <= 1): // 0 is the field left out
		return paramError("top_p", wantTopP, p.TopP)
	case !(p.MinP >= 0 && p.MinP <= 1):
		return paramError("min_p", wantMinP, p.MinP)
	case p.FilterOrder > TopKFirst:
		return paramError("filter_order", "joint or top_k_first", p.FilterOrder)
	case !(p.RepetitionPenalty >= 0) || isInf(p.RepetitionPenalty): // 0 is the field left out
		return paramError("repetition_penalty", wantRepetition, p.RepetitionPenalty)
	case isNaN(p.PresencePenalty) || isInf(p.PresencePenalty):
		return paramError("presence_penalty", wantFinite, p.PresencePenalty)
	case isNaN(p.FrequencyPenalty) || isInf(p.FrequencyPenalty):
		return paramError("frequency_penalty", wantFinite, p.FrequencyPenalty)
	}
	return nil
}

// Check reports the first field that does not fit a row of vocab logits as a
// *ParamError with Row -1, or nil.
func (r *Request) Check(vocab int) error {
	if err := r.Params.Check(); err != nil {
		return err
	}
	last := int32(-1)
	for i, b := range r.LogitBias {
		if b.Token < 0 || int(b.Token) >= vocab {
			return idError("logit_bias", b.Token, vocab)
		}
		if isNaN(b.Value) || b.Value > math.MaxFloat32 {
			return paramError("logit_bias", "finite or -inf", fmt.Sprintf("%v for id %d", b.Value, b.Token))
		}
		if i > 0 && b.Token <= last {
			return paramError("logit_bias", "in strictly ascending order of ids", fmt.Sprintf("id %d after %d", b.Token, last))
		}
		last = b.Token
	}
	if r.AllowedTokens != nil && len(r.AllowedTokens) == 0 {
		return paramError("allowed_token_ids", "a list of at least one id", "none")
	}
	if err := checkIDs("allowed_token_ids", r.AllowedTokens, vocab); err != nil {
		return err
	}
	if err := checkIDs("prompt_tokens", r.PromptTokens, vocab); err != nil {
		return err
	}
	if err := checkIDs("output_tokens", r.OutputTokens, vocab); err != nil {
		return err
	}
	occurrences := int64(len(r.OutputTokens))
	for _, c := range r.Counts {
		if c.Token < 0 || int(c.Token) >= vocab {
			return idError("counts", c.Token, vocab)
		}
		if c.Output < 0 {
			return paramError("counts", ">= 0", fmt.Sprintf("%d for id %d", c.Output, c.Token))
		}
		occurrences += int64(c.Output)
	}
	if occurrences > math.MaxInt32 {
		return paramError("counts", "fewer than 2^31 output tokens in all", occurrences)
	}
	return nil
}

func checkIDs(field string, ids []int32, vocab int) error {
	for _, id := range ids {
		// A negative id is a large unsigned number.
		if uint32(id) >= uint32(vocab) {
			return idError(field, id, vocab)
		}
	}
	return nil
}

func idError(field string, id int32, vocab int) error {
	return paramError(field, fmt.Sprintf("ids in [0, %d)", vocab), id)
}

func paramError(field, want string, got any) error {
	return &ParamError{Row: -1, Field: field, Want: want, Got: fmt.Sprint(got)}
}

func isNaN(x float32) bool { return x != x }

func isInf(x float32) bool { return x > math.MaxFloat32 || x < -math.MaxFloat32 }
