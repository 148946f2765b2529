package measure

import (
	"testing"
	"time"

	"github.com/tokendraw/tokendraw"
	"github.com/tokendraw/tokendraw/bench/internal/record"
	"github.com/tokendraw/tokendraw/bench/internal/rows"
	"github.com/tokendraw/tokendraw/cpu"
)

// The whole way on small cases: what comes out is complete, whatever the times.
func TestRun(t *testing.T) {
	o := &Options{Variants: cpu.Variants(), Rounds: 6, Rows: 2, Sample: time.Microsecond}
	variants := len(o.Variants)
	all := []tokendraw.DType{tokendraw.Float32, tokendraw.Float16, tokendraw.BFloat16}
	for _, c := range []struct {
		Case
		lines int
	}{
		{Case{record.Single, rows.LM, 1000, 1, float32Only, rows.TopKP}, 1 + variants + 4},
		{Case{record.Single, rows.LM, 1000, 1, float32Only, rows.Joint}, 1 + variants + 2},
		{Case{record.Single, rows.LM, 1000, 1, float32Only, rows.Adjusted}, 1 + variants},
		{Case{record.DTypes, rows.LM, 1000, 1, all, rows.TopP}, 3 * (1 + variants)},
		{Case{record.Batch, rows.LM, 1000, 5, float32Only, rows.Greedy}, 1 + 2*variants},
	} {
		if n, err := Gate(&c.Case, o, 2); err != nil || n == 0 {
			t.Errorf("%+v: gate: %d draws, %v", c.Case, n, err)
		}
		lines, err := Run(&c.Case, o)
		if err != nil {
			t.Fatal(err)
		}
		if len(lines) != c.lines {
			t.Errorf("%+v: %d lines, want %d", c.Case, len(lines), c.lines)
		}
		for _, l := range lines {
			if l.Rounds == 0 || l.Reps == 0 || l.Median <= 0 || l.P10 > l.Median || l.Median > l.P90 || l.ToFloor <= 0 {
				t.Errorf("line without sense: %+v", l)
			}
			if l.Sampler == record.Floor && l.ToFloor != 1 {
				t.Errorf("the floor is %v of itself", l.ToFloor)
			}
		}
	}
}

func TestCasesDiffer(t *testing.T) {
	seen := map[record.Case]bool{}
	for _, c := range Cases() {
		for _, dtype := range c.DTypes {
			key := record.Case{
				Group: c.Group, Rows: string(c.Kind), Vocab: c.Vocab, Batch: c.Batch,
				DType: dtype.String(), Setting: string(c.Setting),
			}
			if seen[key] {
				t.Errorf("%+v is there twice", key)
			}
			seen[key] = true
		}
	}
}

func TestQuantile(t *testing.T) {
	x := []float64{4, 1, 3, 2, 5}
	for _, c := range []struct{ q, want float64 }{{0, 1}, {0.5, 3}, {1, 5}, {0.125, 1.5}} {
		if got := quantile(x, c.q); got != c.want {
			t.Errorf("quantile %v: got %v, want %v", c.q, got, c.want)
		}
	}
	if quantile(nil, 0.5) != 0 {
		t.Error("quantile of nothing")
	}
}

func TestStrideVisitsAll(t *testing.T) {
	for n := 1; n < 20; n++ {
		for round := range 40 {
			seen := map[int]bool{}
			for turn := range n {
				seen[(turn*stride(n, round)+round)%n] = true
			}
			if len(seen) != n {
				t.Errorf("round %d of %d: visits %d", round, n, len(seen))
			}
		}
	}
}
