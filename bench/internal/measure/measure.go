// Package measure compares samplers side by side: on each case all of them
// take turns, round after round, so that what the machine does meanwhile
// happens to all.
package measure

import (
	"math"
	"runtime"
	"slices"
	"time"

	"github.com/tokendraw/tokendraw/bench/internal/record"
)

// Options are the choices of a run.
type Options struct {
	Variants []string      // of tokendraw
	Rounds   int           // of a fast sampler
	Rows     int           // different rows that the rounds of a case of batch 1 go through
	Sample   time.Duration // least length of a sample
	Llama    *Llama        // nil without llama.cpp
}

// A sampler whose call takes longer than slow takes part in every fifth round
// only. If 5 does not divide Rows these go through all rows still.
const (
	slow      = 2 * time.Millisecond
	slowEvery = 5
)

// contestant is one sampler on one case.
type contestant struct {
	line  record.Line
	floor int // the contestant that reads the same memory once
	trash bool
	every int // takes part in rounds that this divides

	// draw makes calls from one of the rows, or from the whole batch, and
	// returns how long they took and how many tokens the last one kept.
	draw func(row, calls int) (time.Duration, int)

	rounds []int     // in which it took part
	times  []float64 // of one call in these, in nanoseconds
	kept   []float64
}

// Run measures one case.
func Run(c *Case, o *Options) ([]record.Line, error) {
	if c.Group != record.Batch {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	}
	list, err := contestants(c, o)
	if err != nil {
		return nil, err
	}
	for i := range list {
		x := &list[i]
		took := x.typical()
		x.line.Reps = max(1, min(1000, int(o.Sample/max(took, 1))))
		x.every = 1
		if took > slow {
			x.every = slowEvery
		}
	}
	for round := range o.Rounds {
		for turn := range list {
			// Whoever follows the same one in every round would find the
			// caches as that one leaves them.
			x := &list[(turn*stride(len(list), round)+round)%len(list)]
			if round%x.every == 0 {
				x.sample(round, round%o.Rows)
			}
		}
	}
	var lines []record.Line
	for i := range list {
		lines = append(lines, list[i].result(list))
	}
	return lines, nil
}

// typical returns about what one call takes, the least of a few, since the
// first ones allocate and any may be interrupted.
func (x *contestant) typical() time.Duration {
	least, start := time.Duration(math.MaxInt64), time.Now()
	for i := 0; i < 2 || i < 20 && time.Since(start) < 5*slow; i++ {
		took, _ := x.draw(0, 1)
		least = min(least, took)
	}
	return least
}

// stride returns a step that visits all of n places, another one each round.
func stride(n, round int) int {
	for s := 1 + round%n; ; s++ {
		if gcd(s, n) == 1 {
			return s
		}
	}
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// sample takes one sample. Garbage is collected before and after, so that no
// one pays for another's.
func (x *contestant) sample(round, row int) {
	if x.trash {
		runtime.GC()
		defer runtime.GC()
	}
	x.draw(row, 1) // the row into the caches
	took, kept := x.draw(row, x.line.Reps)
	x.rounds = append(x.rounds, round)
	x.times = append(x.times, float64(took)/float64(x.line.Reps))
	x.kept = append(x.kept, float64(kept))
}

// result fills in the line.
func (x *contestant) result(list []contestant) record.Line {
	l := x.line
	l.Rounds = len(x.times)
	l.P10, l.Median, l.P90 = quantile(x.times, 0.1), quantile(x.times, 0.5), quantile(x.times, 0.9)
	l.PerRow = l.Median / float64(l.Batch)
	l.Kept = quantile(x.kept, 0.5)
	least := &list[x.floor]
	var ratios []float64
	for i, round := range x.rounds {
		if at, ok := slices.BinarySearch(least.rounds, round); ok {
			ratios = append(ratios, x.times[i]/least.times[at])
		}
	}
	l.ToFloor = quantile(ratios, 0.5)
	return l
}

// quantile returns the q-quantile of x, between neighbours by proportion.
func quantile(x []float64, q float64) float64 {
	if len(x) == 0 {
		return 0
	}
	s := slices.Clone(x)
	slices.Sort(s)
	at := q * float64(len(s)-1)
	i := min(int(at), len(s)-1)
	j := min(i+1, len(s)-1)
	return s[i] + (at-float64(i))*(s[j]-s[i])
}
