package chisq

import (
	"math"
	"testing"
)

// Quantiles from the tables of the chi-squared distribution (NIST/SEMATECH
// e-Handbook of Statistical Methods, 1.3.6.7.4), which have three decimals.
func TestTail(t *testing.T) {
	for _, c := range []struct {
		x    float64
		df   int
		want float64
	}{
		{3.841, 1, 0.05}, {5.991, 2, 0.05}, {7.815, 3, 0.05}, {10.828, 1, 0.001}, {18.307, 10, 0.05},
		{29.588, 10, 0.001}, {67.505, 50, 0.05}, {86.661, 50, 0.001}, {124.342, 100, 0.05}, {149.449, 100, 0.001},
	} {
		if got := Tail(c.x, c.df); math.Abs(got-c.want) > 0.002*c.want {
			t.Errorf("Tail(%v, %d) = %v, want about %v", c.x, c.df, got, c.want)
		}
	}
	for _, df := range []int{1, 2, 7, 1000, 100001} {
		if got := Tail(0, df); got != 1 {
			t.Errorf("Tail(0, %d) = %v", df, got)
		}
		// The median is near df*(1-2/(9*df))^3 (Wilson and Hilferty 1931).
		d := float64(df)
		if got := Tail(d*math.Pow(1-2/(9*d), 3), df); math.Abs(got-0.5) > 0.02 {
			t.Errorf("the median of %d degrees of freedom: %v", df, got)
		}
		if got := Tail(d+12*math.Sqrt(2*d), df); got > 1e-4 {
			t.Errorf("far out, %d degrees of freedom: %v", df, got)
		}
	}
	if got := Tail(math.Inf(1), 3); !(got == 0) {
		t.Errorf("at infinity: %v", got)
	}
}

func TestTest(t *testing.T) {
	for _, c := range []struct {
		name   string
		counts []int
		prob   []float64
		cells  int
		lo, hi float64 // of P
	}{
		{"exact", []int{50, 50}, []float64{0.5, 0.5}, 2, 1, 1},
		{"two sigma and a bit", []int{60, 40}, []float64{0.5, 0.5}, 2, 0.04, 0.05},
		{"wrong", []int{90, 10}, []float64{0.5, 0.5}, 2, 0, 1e-10},
		{"impossible", []int{99, 1}, []float64{1, 0}, 0, 0, 0},
		{"certain", []int{100, 0}, []float64{1, 0}, 1, 1, 1},
		{"pooled", []int{94, 1, 1, 1, 1, 1, 1}, []float64{0.94, 0.01, 0.01, 0.01, 0.01, 0.01, 0.01}, 2, 0.9, 1},
		{"no draws", []int{0, 0}, []float64{0.5, 0.5}, 0, 1, 1},
	} {
		got := Test(c.counts, c.prob)
		if got.Cells != c.cells || !(got.P >= c.lo && got.P <= c.hi) {
			t.Errorf("%s: %+v, want %d cells and P in [%v, %v]", c.name, got, c.cells, c.lo, c.hi)
		}
	}
}
