package main

import (
	"cmp"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/tokendraw/tokendraw"
	"github.com/tokendraw/tokendraw/oracle"
	"github.com/tokendraw/tokendraw/vectors"
)

// Tolerance of spec 8 for probabilities, relative.
const probTolerance = 1e-6

// comparison compares every subject with the oracle on generated rows.
func (v *verifier) comparison(subjects []subject) {
	var others []subject
	for _, s := range subjects {
		if s.backend != "oracle" {
			others = append(others, s)
		}
	}
	if len(others) == 0 {
		return
	}
	// A batch is of one vocabulary, and its number decides what it holds.
	begin := time.Now()
	const together = 8 // rows of a batch
	batches := (v.rows + together - 1) / together
	judge := oracle.New()
	errs := make([]error, len(others))
	var mu sync.Mutex
	logits := 0
	broken := v.each("batches compared", batches, func(i int) error {
		g := newGenerator(v.seed + uint64(i)<<32)
		// Most rows are short, a few are as long as vocabularies are.
		vocab := 1 + g.IntN(one(g, 4, 40, 400, 1500))
		if g.chance(60) {
			vocab = one(g, 4097, 32000, 49152)
		}
		b := g.batch(min(together, v.rows-i*together), vocab)
		want := make([]tokendraw.Details, b.Logits.Rows)
		if err := judge.Explain(&b, want); err != nil {
			return err
		}
		mu.Lock()
		logits += b.Logits.Rows * vocab
		mu.Unlock()
		for k := range others {
			if err := others[k].agrees(&b, want); err != nil {
				mu.Lock()
				errs[k] = cmp.Or(errs[k], err)
				mu.Unlock()
			}
		}
		return nil
	})
	for i, s := range others {
		v.report("comparison", s.backend, s.variant, begin,
			fmt.Sprintf("%s and %s logits, equal to the oracle bit for bit", plural(v.rows, "row"), grouped(logits)), cmp.Or(errs[i], broken))
	}
}

// batch makes a batch. Some requests own several rows.
func (g generator) batch(rows, vocab int) tokendraw.Batch {
	b := tokendraw.Batch{Logits: g.logits(rows, vocab)}
	for range rows {
		b.Requests = append(b.Requests, g.request(vocab))
	}
	if g.chance(2) {
		b.RowRequest = make([]int32, rows)
		for i := range b.RowRequest {
			b.RowRequest[i] = int32(g.IntN(rows))
		}
	}
	return b
}

// agrees draws and explains a batch and compares with what is right.
func (s *subject) agrees(b *tokendraw.Batch, want []tokendraw.Details) error {
	draws := make([]tokendraw.Draw, len(want))
	details := make([]tokendraw.Details, len(want))
	if err := s.sampler.Sample(b, draws); err != nil {
		return err
	}
	if err := s.sampler.Explain(b, details); err != nil {
		return err
	}
	for row := range want {
		err := equalDraws(draws[row], want[row].Draw)
		if err == nil {
			err = equalDetails(&details[row], &want[row])
		}
		if err != nil {
			return fmt.Errorf("row %d of %d, vocab %d %v, %+v: %w", row, len(want), b.Logits.Vocab, b.Logits.DType(), b.Request(row).Params, err)
		}
	}
	return nil
}

func equalDraws(got, want tokendraw.Draw) error {
	if got.Token != want.Token || got.Status != want.Status || got.Kept != want.Kept ||
		!(math.Abs(float64(got.LogProb)-float64(want.LogProb)) <= vectors.LogProbTolerance) {
		return fmt.Errorf("drew %+v, want %+v", got, want)
	}
	return nil
}

func equalDetails(got, want *tokendraw.Details) error {
	if err := equalDraws(got.Draw, want.Draw); err != nil {
		return fmt.Errorf("explained: %w", err)
	}
	if got.Greedy != want.Greedy || got.Candidates != want.Candidates || got.Total != want.Total || got.Mass != want.Mass ||
		got.TopK != want.TopK || got.MinP != want.MinP || got.TopP != want.TopP || len(got.Tokens) != len(want.Tokens) {
		return fmt.Errorf("explained: candidates %d, top_k %d, min_p %d, top_p %d, mass %d of %d, want %d, %d, %d, %d, %d of %d",
			got.Candidates, got.TopK, got.MinP, got.TopP, got.Mass, got.Total,
			want.Candidates, want.TopK, want.MinP, want.TopP, want.Mass, want.Total)
	}
	for i, w := range want.Tokens {
		g := got.Tokens[i]
		if g.Token != w.Token || math.Float32bits(g.Score) != math.Float32bits(w.Score) || g.Weight != w.Weight ||
			!(math.Abs(g.Prob-w.Prob) <= probTolerance*w.Prob) {
			return fmt.Errorf("explained: kept token %d is %+v, want %+v", i, g, w)
		}
	}
	return nil
}
