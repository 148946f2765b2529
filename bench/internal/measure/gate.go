package measure

import (
	"fmt"
	"math"

	"github.com/tokendraw/tokendraw"
	"github.com/tokendraw/tokendraw/bench/internal/rows"
	"github.com/tokendraw/tokendraw/cpu"
	"github.com/tokendraw/tokendraw/oracle"
)

// Gate draws from rows of a case with every variant of tokendraw, one worker
// and two, and compares with the oracle, which sorts everything. It returns the
// number of draws compared and the first difference.
func Gate(c *Case, o *Options, perCase int) (draws int, err error) {
	n := min(perCase, max(c.Batch, o.Rows))
	for _, dtype := range c.DTypes {
		l := rows.Stack(c.Kind, c.Vocab, 0, n, dtype)
		small := *c
		small.Batch = n
		b := tokendraw.Batch{Logits: l, Requests: requests(&small)}
		want := make([]tokendraw.Draw, n)
		for i := range want {
			b.Requests[i].Step = 1
			want[i] = oracle.Row(l.AppendRow(nil, i), &b.Requests[i], 1).Draw
		}
		for _, variant := range o.Variants {
			for _, workers := range []int{1, 2} {
				s, err := cpu.New(cpu.Config{Workers: workers, Variant: variant})
				if err != nil {
					return draws, err
				}
				got := make([]tokendraw.Draw, n)
				if err := s.Sample(&b, got); err != nil {
					return draws, err
				}
				for i := range got {
					draws++
					if !same(got[i], want[i]) {
						return draws, fmt.Errorf("%s, %d workers, %s rows, V = %d, %s, %s, row %d: drew %+v, the oracle %+v",
							variant, workers, c.Kind, c.Vocab, dtype, c.Setting, i, got[i], want[i])
					}
				}
			}
		}
	}
	return draws, nil
}

// same compares two draws; log-probabilities agree within 1e-5.
func same(a, b tokendraw.Draw) bool {
	if math.Abs(float64(a.LogProb)-float64(b.LogProb)) > 1e-5 {
		return false
	}
	a.LogProb = b.LogProb
	return a == b
}
