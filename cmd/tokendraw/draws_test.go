package main

import (
	"bufio"
	"io"
	"math"
	"testing"

	"github.com/tokendraw/tokendraw"
	"github.com/tokendraw/tokendraw/oracle"
)

// Draws from a row's details are those that the sampler makes at each step.
func TestDrawFromEqualsSample(t *testing.T) {
	c := &context{out: bufio.NewWriter(io.Discard), notes: &progress{}}
	g := newGenerator(11)
	sampler := oracle.New()
	const n = 25
	for i := range 200 {
		vocab := 1 + g.IntN(60)
		logits := g.logits(1, vocab)
		req := g.request(vocab)
		if i%5 == 0 {
			req.Step = math.MaxUint64 - 3 // wraps around
		}
		if i%7 == 0 {
			u := g.Uint64()
			req.U = &u
		}
		b := tokendraw.Batch{Logits: logits, Requests: []tokendraw.Request{req}}
		want := map[int32]int{}
		for range n {
			var draw [1]tokendraw.Draw
			if err := sampler.Sample(&b, draw[:]); err != nil {
				t.Fatal(err)
			}
			if draw[0].Status != tokendraw.NoCandidate {
				want[draw[0].Token]++
			}
			b.Requests[0].Step++
		}
		b.Requests[0].Step -= n
		var details [1]tokendraw.Details
		if err := sampler.Explain(&b, details[:]); err != nil {
			t.Fatal(err)
		}
		got := drawFrom(c, &details[0], &b.Requests[0], n)
		if len(got) != len(want) {
			t.Fatalf("case %d: %v, want %v", i, got, want)
		}
		for k, x := range got {
			if want[x.token] != x.times {
				t.Fatalf("case %d: %v, want %v", i, got, want)
			}
			if k > 0 && (got[k-1].times < x.times || got[k-1].times == x.times && got[k-1].token > x.token) {
				t.Fatalf("case %d: not in order: %v", i, got)
			}
		}
	}
}
