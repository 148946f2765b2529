// Package chisq is the chi-squared test of goodness of fit.
//
// gonum.org/v1/gonum has the tail in stat/distuv. For integer degrees of freedom
// it is a finite sum, and the module is 19 MB with 21 requirements.
package chisq

import (
	"cmp"
	"math"
	"slices"
)

// Least is the smallest expected count of a cell. Smaller ones are pooled.
const Least = 5

// Result is the outcome of a test.
type Result struct {
	Statistic float64
	Cells     int     // after pooling; the degrees of freedom are one less
	P         float64 // probability of a statistic at least as large
}

// Test compares counts with probabilities, which add up to 1. A count where the
// probability is 0 makes P 0.
func Test(counts []int, prob []float64) Result {
	n := 0
	for _, c := range counts {
		n += c
	}
	type cell struct{ seen, want float64 }
	cells := make([]cell, 0, len(counts))
	for i, p := range prob {
		if p == 0 && counts[i] > 0 {
			return Result{Statistic: math.Inf(1)}
		}
		if p > 0 {
			cells = append(cells, cell{float64(counts[i]), p * float64(n)})
		}
	}
	slices.SortFunc(cells, func(a, b cell) int { return cmp.Compare(a.want, b.want) })

	// From the smallest on, cells join until they are large enough. What is
	// left over joins the last.
	var pooled []cell
	var pool cell
	for _, c := range cells {
		pool.seen, pool.want = pool.seen+c.seen, pool.want+c.want
		if pool.want >= Least {
			pooled, pool = append(pooled, pool), cell{}
		}
	}
	if last := len(pooled) - 1; last >= 0 {
		pooled[last].seen += pool.seen
		pooled[last].want += pool.want
	}
	r := Result{Cells: len(pooled), P: 1}
	for _, c := range pooled {
		r.Statistic += (c.seen - c.want) * (c.seen - c.want) / c.want
	}
	if r.Cells > 1 {
		r.P = Tail(r.Statistic, r.Cells-1)
	}
	return r
}

// Tail returns the probability that a chi-squared variable with df >= 1 degrees
// of freedom is at least x (Abramowitz and Stegun, 26.4.4 and 26.4.5).
func Tail(x float64, df int) float64 {
	h := x / 2
	switch {
	case h <= 0:
		return 1
	case math.IsInf(h, 1):
		return 0
	}
	// The terms are h^a * exp(-h) / Gamma(a+1) for a = 0, 1, ... or, where df is
	// odd, a = 1/2, 3/2, ... below df/2.
	sum, a := 0.0, 0.0
	if df%2 == 1 {
		sum, a = math.Erfc(math.Sqrt(h)), 0.5
	}
	for ; a < float64(df)/2; a++ {
		lgamma, _ := math.Lgamma(a + 1)
		sum += math.Exp(a*math.Log(h) - h - lgamma)
	}
	return min(sum, 1)
}
