// Package backendtest is the conformance suite: what every backend must pass.
// It judges a [tokendraw.Sampler] by package oracle, bit for bit, and by a
// float64 softmax, statistically. A backend's test is a few lines:
//
//	func TestConformance(t *testing.T) {
//		backendtest.Run(t, "mine", func(t testing.TB) tokendraw.Sampler { return mine.New() })
//	}
//
// A failure names its case, and the flag -backendtest.case=NAME runs that case
// alone. With -short there are fewer cases.
package backendtest

import (
	"flag"
	"testing"

	"github.com/tokendraw/tokendraw"
)

var only = flag.String("backendtest.case", "", "run this case of the conformance suite alone")

// Part names a part of the suite, which is also the name of its subtest.
type Part string

// The parts.
const (
	Vectors      Part = "vectors"      // the golden cases of package vectors
	Equal        Part = "equal"        // generated batches, against the oracle
	Named        Part = "named"        // batches that a backend once got wrong
	Captured     Part = "captured"     // rows of a language model, against the oracle
	Invariance   Part = "invariance"   // order, subset, padding, dtype, history of the sampler
	Requests     Part = "requests"     // rows are not requests
	Distribution Part = "distribution" // chi-squared against float64 probabilities
	Errors       Part = "errors"       // refusals, and that they write nothing
	Concurrency  Part = "concurrency"  // shared and separate samplers
)

// An Option says what a backend cannot do, or does differently.
type Option func(*suite)

// Without skips a part, for the reason given.
func Without(p Part, reason string) Option {
	return func(s *suite) { s.skip[p] = reason }
}

// MaxVocab leaves out rows of more than n logits.
func MaxVocab(n int) Option {
	return func(s *suite) { s.maxVocab = n }
}

// InexactLogProb accepts log-probabilities and probabilities within the
// tolerances of spec 8. Without it they must be the oracle's, which takes the
// logarithm in float64, to the bit.
func InexactLogProb() Option {
	return func(s *suite) { s.inexact = true }
}

// Some runs about one in n of the generated cases: for further runs of one
// backend in another configuration.
func Some(n int) Option {
	return func(s *suite) { s.every = n }
}

// Run runs the suite as a subtest of t. Open returns a new sampler; the suite
// closes it. It is called many times, on the test's goroutine.
func Run(t *testing.T, name string, open func(t testing.TB) tokendraw.Sampler, opts ...Option) {
	t.Helper()
	s := &suite{open: open, skip: map[Part]string{}, maxVocab: tokendraw.MaxVocab, every: 1}
	for _, o := range opts {
		o(s)
	}
	t.Run(name, func(t *testing.T) {
		s.part(t, Vectors, s.vectors)
		s.part(t, Named, s.named)
		s.part(t, Equal, s.equal)
		s.part(t, Captured, s.captured)
		s.part(t, Invariance, s.invariance)
		s.part(t, Requests, s.requests)
		s.part(t, Distribution, s.distribution)
		s.part(t, Errors, s.errors)
		s.part(t, Concurrency, s.concurrency)
	})
}

type suite struct {
	open     func(t testing.TB) tokendraw.Sampler
	skip     map[Part]string
	maxVocab int
	inexact  bool
	every    int
}

func (s *suite) part(t *testing.T, p Part, run func(t *testing.T)) {
	t.Run(string(p), func(t *testing.T) {
		if reason, ok := s.skip[p]; ok {
			t.Skip(reason)
		}
		run(t)
	})
}

// sampler opens a sampler that is closed with the test.
func (s *suite) sampler(t testing.TB) tokendraw.Sampler {
	x := s.open(t)
	t.Cleanup(func() {
		if err := x.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return x
}

// chosen reports whether case i is one of Some. The ones chosen are not in
// step with anything that repeats from case to case.
func (s *suite) chosen(i int) bool { return i%s.every == i/s.every%s.every }

// names returns the names of the generated cases that this run is to try.
func (s *suite) names() []string {
	if *only != "" {
		return []string{*only}
	}
	var list []string
	for _, c := range classes {
		n := c.count
		if testing.Short() {
			n = c.short
		}
		for i := 0; i < n; i++ {
			if s.chosen(i) && c.most() <= s.maxVocab {
				list = append(list, caseName(c.name, i))
			}
		}
	}
	return list
}
