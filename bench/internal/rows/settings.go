package rows

import (
	"math/rand/v2"

	"github.com/tokendraw/tokendraw"
)

// Setting is a named set of parameters.
type Setting string

// The settings, as a reader of the tables sees them.
const (
	Greedy   Setting = "greedy"
	MinP     Setting = "min_p .05"              // T 1
	TopKP    Setting = "k 40, p .95, k first"   // T .8
	Joint    Setting = "k 40, p .95, joint"     // T .8
	TopP     Setting = "p .95"                  // T .8
	Plain    Setting = "no filter"              // T 1
	TopK1000 Setting = "k 1000, p .95, k first" // T .8
	HalfK    Setting = "k = V/2"                // T 1
	Adjusted Setting = "k 40, p .95, adjusted"  // T .8, k first; see Request
)

// Request returns the request of a setting. Adjusted has a bias on 64 tokens, a
// bitmask that allows three quarters of the vocabulary and, for penalties of all
// three kinds, 256 tokens of prompt and 256 of output.
func (s Setting) Request(vocab int) tokendraw.Request {
	p := tokendraw.Params{Temperature: 0.8}
	switch s {
	case Greedy:
		p.Temperature = 0
	case MinP:
		p.Temperature, p.MinP = 1, 0.05
	case TopKP, Adjusted:
		p.TopK, p.TopP, p.FilterOrder = 40, 0.95, tokendraw.TopKFirst
	case Joint:
		p.TopK, p.TopP = 40, 0.95
	case TopP:
		p.TopP = 0.95
	case Plain:
		p.Temperature = 1
	case TopK1000:
		p.TopK, p.TopP, p.FilterOrder = 1000, 0.95, tokendraw.TopKFirst
	case HalfK:
		p.Temperature, p.TopK = 1, vocab/2
	default:
		panic("no such setting: " + string(s))
	}
	req := tokendraw.Request{Params: p, Seed: 20261201}
	if s == Adjusted {
		adjust(&req, vocab)
	}
	return req
}

func adjust(req *tokendraw.Request, vocab int) {
	r := rand.New(rand.NewPCG(3, uint64(vocab)))
	bias := make(map[int32]float32)
	for range 64 {
		bias[int32(r.IntN(vocab))] = float32(2 * r.NormFloat64())
	}
	req.LogitBias = tokendraw.SortedBias(bias)
	req.Bitmask = make([]uint32, (vocab+31)/32)
	for i := range req.Bitmask {
		req.Bitmask[i] = r.Uint32() | r.Uint32()
	}
	req.RepetitionPenalty, req.PresencePenalty, req.FrequencyPenalty = 1.1, 0.2, 0.1
	var h tokendraw.History
	for range 256 {
		h.AddPrompt(int32(r.IntN(vocab)))
		h.AddOutput(int32(r.IntN(vocab)))
	}
	req.Counts = h.Counts()
}
