// Package peers holds what a Go program would draw tokens with today: what
// people write, the order of work of llama.cpp in Go, and the sampler of
// Ollama.
//
// They agree with tokendraw on what a setting means as far as they can; where
// they differ, their documentation says so. None of them cares for ties, NaN or
// rounding, which is part of why they are simpler.
package peers

import (
	"github.com/ollama/ollama/sample"
	"github.com/tokendraw/tokendraw"
)

// Peer is another sampler, set up for one setting.
type Peer interface {
	// Draw draws one token. u in [0, 1) is the random number, for a peer that
	// lets one choose. It returns the token and how many tokens were kept; 0
	// means that the peer does not tell.
	Draw(logits []float32, u float64) (token int32, kept int)
}

// Names are the names of the peers, in the order of the tables.
var Names = []string{"sort", "heap", "llama order", "ollama"}

// New returns a peer, or nil if it has nothing of its own for the setting. No
// peer knows of bias, masks or penalties.
func New(name string, req *tokendraw.Request, vocab int) Peer {
	if req.LogitBias != nil || req.Bitmask != nil || req.AllowedTokens != nil || req.Penalized() {
		return nil
	}
	switch name {
	case "sort":
		return &sortAll{params: req.Params, pairs: make([]pair, vocab), p: make([]float64, vocab)}
	case "heap":
		if req.TopK <= 0 || req.Greedy() {
			return nil // without top_k it would sort, as sort does
		}
		return &heapFirst{params: req.Params, heap: make([]pair, 0, min(req.TopK, vocab)), p: make([]float64, vocab)}
	case "llama order":
		if req.TopK > 0 && req.TopPOn() && req.FilterOrder == tokendraw.Joint {
			return nil // its top_p is always a share of what top_k left
		}
		return newLlamaOrder(req.Params, vocab)
	case "ollama":
		if req.TopK > 0 && req.TopPOn() && req.FilterOrder == tokendraw.Joint {
			return nil // the same
		}
		topP := req.TopP
		if topP == 1 {
			topP = 0 // off
		}
		s, err := sample.NewSampler(req.Temperature, max(0, req.TopK), topP, req.MinP, 1)
		if err != nil {
			return nil // a setting that it does not take
		}
		return &ollama{s}
	}
	panic("no such peer: " + name)
}

// ollama is github.com/ollama/ollama/sample as released. It draws its own
// random numbers and does not say how many tokens it kept.
type ollama struct{ s sample.Sampler }

func (o *ollama) Draw(logits []float32, _ float64) (int32, int) {
	token, err := o.s.Sample(logits)
	if err != nil {
		panic(err)
	}
	return token, 0
}

// pair is a candidate.
type pair struct {
	id int32
	z  float32
}
