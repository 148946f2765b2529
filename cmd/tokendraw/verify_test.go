package main

import (
	"bufio"
	"bytes"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/tokendraw/tokendraw"
	"github.com/tokendraw/tokendraw/internal/reference"
	"github.com/tokendraw/tokendraw/oracle"
)

// wrong is the oracle with a fault.
type wrong struct {
	tokendraw.Sampler
	draws   func(b *tokendraw.Batch, d []tokendraw.Draw)
	details func(b *tokendraw.Batch, d []tokendraw.Details)
}

func (w wrong) Sample(b *tokendraw.Batch, d []tokendraw.Draw) error {
	err := w.Sampler.Sample(b, d)
	if w.draws != nil {
		w.draws(b, d)
	}
	return err
}

func (w wrong) Explain(b *tokendraw.Batch, d []tokendraw.Details) error {
	err := w.Sampler.Explain(b, d)
	if w.details != nil {
		w.details(b, d)
	}
	return err
}

// testVerifier returns a verifier of few rows, and its output.
func testVerifier() (*verifier, *bytes.Buffer) {
	var out bytes.Buffer
	c := &context{out: bufio.NewWriter(&out), stderr: io.Discard, notes: &progress{}}
	return &verifier{c: c, seed: 1, draws: 1500, rows: 400, tests: len(distributions)}, &out
}

func TestVerifyFindsFaults(t *testing.T) {
	for _, c := range []struct {
		name  string
		fault wrong
		by    string // the check that must fail
	}{
		{"the next token in one of a thousand rows", wrong{draws: func(b *tokendraw.Batch, d []tokendraw.Draw) {
			for i := range d {
				if b.Requests[0].Seed%97 == 0 && d[i].Token > 0 {
					d[i].Token--
				}
			}
		}}, "comparison"},
		{"the number of kept tokens", wrong{draws: func(_ *tokendraw.Batch, d []tokendraw.Draw) { d[0].Kept++ }}, "comparison"},
		{"a log-probability", wrong{draws: func(_ *tokendraw.Batch, d []tokendraw.Draw) { d[0].LogProb -= 1e-4 }}, "comparison"},
		{"a log-probability that is NaN", wrong{draws: func(_ *tokendraw.Batch, d []tokendraw.Draw) { d[0].LogProb = float32(math.NaN()) }}, "comparison"},
		{"a weight", wrong{details: func(_ *tokendraw.Batch, d []tokendraw.Details) {
			if n := len(d[0].Tokens); n > 100 {
				d[0].Tokens[n-1].Weight ^= 1
			}
		}}, "comparison"},
		{"the mass", wrong{details: func(_ *tokendraw.Batch, d []tokendraw.Details) { d[0].Mass++ }}, "comparison"},
		{"a draw in ten is the best token", wrong{draws: func(b *tokendraw.Batch, d []tokendraw.Draw) {
			row := b.Logits.AppendRow(nil, 0)
			best := reference.Of(row, &b.Requests[0]).Order[0]
			for i := 0; i < len(d); i += 10 {
				d[i].Token = best
			}
		}}, "chi-squared"},
		{"a token without probability", wrong{draws: func(_ *tokendraw.Batch, d []tokendraw.Draw) { d[0].Token = 5 }}, "chi-squared"},
	} {
		c.fault.Sampler = oracle.New()
		s := []subject{{backend: "wrong", sampler: c.fault}}
		v, out := testVerifier()
		if c.by == "comparison" {
			v.comparison(s)
		} else {
			v.distributions(s)
		}
		if !v.failed || !strings.HasPrefix(out.String(), "FAILED "+c.by) {
			t.Errorf("%s: not found by %s: %s", c.name, c.by, out)
		}
	}
}

func TestVerifyPassesTheOracle(t *testing.T) {
	v, out := testVerifier()
	s := []subject{{backend: "same", sampler: oracle.New()}}
	v.comparison(s)
	v.distributions(s)
	if v.failed {
		t.Error(out)
	}
}

// The generator makes what the checks need: every kind of row and parameter.
func TestGeneratedRequestsAreAllowed(t *testing.T) {
	g := newGenerator(3)
	statuses := map[tokendraw.Status]int{}
	greedy, filtered := 0, 0
	for range 300 {
		b := g.batch(5, 1+g.IntN(300))
		details := make([]tokendraw.Details, 5)
		if err := oracle.New().Explain(&b, details); err != nil {
			t.Fatal(err)
		}
		for _, d := range details {
			statuses[d.Status]++
			if d.Greedy {
				greedy++
			} else if int(d.Kept) < d.Candidates {
				filtered++
			}
		}
	}
	if statuses[tokendraw.OK] < 500 || statuses[tokendraw.NaN] < 50 || statuses[tokendraw.NoCandidate] < 5 || greedy < 50 || filtered < 300 {
		t.Errorf("statuses %v, greedy %d, filtered %d", statuses, greedy, filtered)
	}
}

func TestShortFloat16(t *testing.T) {
	for _, c := range []struct {
		x    float32
		want uint16
	}{
		{0, 0}, {1, 0x3c00}, {-2, 0xc000}, {65504, 0x7bff}, {65536, 0x7c00}, {float32(math.Inf(-1)), 0xfc00},
		{0x1p-14, 0x0400}, {0x1p-15, 0}, {1.0009765625, 0x3c01}, {float32(math.NaN()), 0x7e00},
	} {
		if got := shortFloat16(c.x); got != c.want {
			t.Errorf("%v: %#x, want %#x", c.x, got, c.want)
		}
	}
}
