package oracle_test

import (
	"flag"
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"

	"github.com/tokendraw/tokendraw/oracle"
)

// The bounds that SPEC.md, section 3, states.
const (
	maxPoly    = 1.727e-7 // of Exp2 against 2^t, relative
	maxPerUnit = 1.4e-7   // of 2^t, per unit of |t|, for t against its real value
)

// With -exhaustive every float32 is tried, in some 20 seconds of two cores:
//
//	go test -run Exp2Everywhere -v ./oracle -exhaustive
var exhaustive = flag.Bool("exhaustive", false, "try every float32 in the test of the bound")

// found is what a scan of consecutive t saw.
type found struct {
	worst   float64 // relative error
	at      float32
	falling int    // neighbours where the larger t has the smaller result
	deepest uint32 // by how many units in the last place, at most
	lowest  float32
}

func (a *found) add(b found) {
	if b.worst > a.worst {
		a.worst, a.at = b.worst, b.at
	}
	a.falling += b.falling
	a.deepest = max(a.deepest, b.deepest)
	a.lowest = min(a.lowest, b.lowest)
}

// scan compares Exp2 with 2^t for t(i), ascending, i in [from, to].
func scan(from, to int, t func(i int) float32) (f found) {
	f.lowest = 1
	last := float32(0)
	for i := from; i <= to; i++ {
		x := t(i)
		y := oracle.Exp2(x)
		want := math.Exp2(float64(x))
		if e := math.Abs(float64(y)-want) / want; e > f.worst {
			f.worst, f.at = e, x
		}
		if y < last {
			f.falling++
			f.deepest = max(f.deepest, math.Float32bits(last)-math.Float32bits(y))
		}
		last = y
		f.lowest = min(f.lowest, y)
	}
	return f
}

// parallel scans [0, n] in overlapping pieces.
func parallel(n int, t func(i int) float32) (f found) {
	f.lowest = 1
	const piece = 1 << 20
	var wg sync.WaitGroup
	var mu sync.Mutex
	limit := make(chan struct{}, runtime.GOMAXPROCS(0))
	for from := 0; from < n; from += piece {
		limit <- struct{}{}
		wg.Go(func() {
			g := scan(from, min(from+piece, n), t)
			mu.Lock()
			f.add(g)
			mu.Unlock()
			<-limit
		})
	}
	wg.Wait()
	return f
}

// Exp2 on every t that the specification can meet. From -1/2 down, float32
// values are multiples of 2^-24, so their fractions f are too, and the result
// depends on n by its exponent alone: t in [-3/2, -1/2] has all of them.
// Above, f is t.
func TestExp2Everywhere(t *testing.T) {
	grid := parallel(1<<24, func(i int) float32 { return -1.5 + float32(i)/(1<<24) })
	t.Logf("t in [-3/2, -1/2]: relative error up to %.5g at t = %v; %d falling neighbours", grid.worst, grid.at, grid.falling)
	if grid.worst > maxPoly {
		t.Errorf("relative error %v at t = %v", grid.worst, grid.at)
	}
	if grid.falling != 0 {
		t.Errorf("%d neighbours on the grid fall", grid.falling)
	}
	for n := float32(-40); n < 0; n++ {
		for _, f := range []float32{-0.5, -0.25, -1.0 / 1024, 0, 1.0 / 1024, 0.25, 0.5} {
			if n+f < -40 || n+f > 0 {
				continue
			}
			if a, b := oracle.Exp2(n+f), oracle.Exp2(f-1); math.Abs(float64(f)) != 0.5 && float64(a) != math.Ldexp(float64(b), int(n)+1) {
				t.Errorf("Exp2(%v) = %v is not Exp2(%v) = %v but for the exponent", n+f, a, f-1, b)
			}
		}
	}

	// t in (-1/2, -2^-26], 25 octaves of 2^23 values each, by their bits.
	first := math.Float32bits(-0.5)
	last := math.Float32bits(-1.0 / (1 << 26))
	n, step := int(first-last), 17
	if *exhaustive {
		step = 1
	}
	fine := parallel(n/step, func(i int) float32 { return math.Float32frombits(first - uint32(i*step)) })
	t.Logf("t in [-1/2, -2^-26], every %d.: relative error up to %.5g at t = %v; %d falling neighbours of %d", step, fine.worst, fine.at, fine.falling, n/step)
	if fine.worst > maxPoly {
		t.Errorf("relative error %v at t = %v", fine.worst, fine.at)
	}
	if fine.falling > 100_000 || fine.deepest > 1 {
		t.Errorf("%d neighbours fall, by up to %d units in the last place", fine.falling, fine.deepest)
	}
	// So a threshold on the result up to this one is a threshold on t.
	if half := oracle.Exp2(-0.5); fine.lowest < half {
		t.Errorf("Exp2 reaches %v, below Exp2(-1/2) = %v", fine.lowest, half)
	}
	// From 2^-26 up, P is 1 and 2^t is above 1 - 2^-26: 1.04e-8.
	for b := last; b >= 1<<31; b -= 1 << 12 {
		if x := math.Float32frombits(b); oracle.Exp2(x) != 1 {
			t.Errorf("Exp2(%v) = %v, want 1", x, oracle.Exp2(x))
		}
	}
}

// Weights against float64's exp of the quotient, all roundings included.
func TestWeightBound(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 1))
	worst := 0.0 // of the bound
	for range 1_000_000 {
		temperature := float32(math.Exp(rng.NormFloat64() * 10))
		m := float32(rng.NormFloat64() * math.Exp(rng.NormFloat64()))
		z := m - temperature*rng.Float32()*28
		if z > m {
			continue
		}
		_, w := oracle.Weight(z, m, oracle.Scale(temperature))
		real := (float64(z) - float64(m)) / float64(temperature) * math.Log2E
		if real < -40 {
			continue
		}
		want := math.Exp2(real + 36)
		bound := want*(1.8e-7+maxPerUnit*-real) + 0.5
		worst = max(worst, math.Abs(float64(w)-want)/bound)
	}
	t.Logf("largest error: %.3f of the stated bound", worst)
	if worst > 1 {
		t.Errorf("error is %v times the stated bound", worst)
	}
}

// The ends of section 3.
func TestWeightEnds(t *testing.T) {
	inf := float32(math.Inf(1))
	for _, c := range []struct {
		z, m, temperature float32
		y                 float32
		w                 uint64
	}{
		{5, 5, 1, 1, 1 << 36},
		{inf, inf, 1, 1, 1 << 36},
		{3e38, inf, 3e38, 1.0 / (1 << 40), 0},
		{-inf, 5, 3e38, 1.0 / (1 << 40), 0},
		{-1e6, 5, 1, 1.0 / (1 << 40), 0},
		{-3e38, 3e38, 3e38, 1.0 / (1 << 40), 0},
		{-3e38, 0, 3e38, float32(math.Exp2(-math.Log2E)), 0x5e2d58d8e},
	} {
		y, w := oracle.Weight(c.z, c.m, oracle.Scale(c.temperature))
		if math.Abs(float64(y-c.y)) > 2e-7*float64(c.y) {
			t.Errorf("Weight(%v, %v) at %v: y = %v, want %v", c.z, c.m, c.temperature, y, c.y)
		}
		if math.Abs(float64(w)-float64(c.w)) > 2e-6*float64(c.w) {
			t.Errorf("Weight(%v, %v) at %v: w = %#x, want %#x", c.z, c.m, c.temperature, w, c.w)
		}
	}
	for _, c := range []struct {
		temperature float32
		bits        uint32
	}{
		{1, 0x3fb8aa3b}, {1e-39, 0x7f7fffff}, {math.SmallestNonzeroFloat32, 0x7f7fffff},
		{math.MaxFloat32, 0x002e2a8f},
	} {
		if got := math.Float32bits(oracle.Scale(c.temperature)); got != c.bits {
			t.Errorf("Scale(%v) = %#x, want %#x", c.temperature, got, c.bits)
		}
	}
}

// Section 11: the two-level split gives w, and float32 and float64 hold the
// sums that it says they hold.
func TestExactSums(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 1))
	for range 2000 {
		near := rng.Float32() * 40 // sums of large ones reach the limits
		if rng.IntN(2) == 0 {
			near = 0
		}
		var sumH, sumL float32
		var whole float64
		var sum, low int64
		for i := range 128 {
			y, w := oracle.Weight(-near*rng.Float32(), 0, oracle.Scale(1))
			const a, b = 48, 1.5 / (1 << 13)
			h := (y + a) - a
			l := ((y - h) + b) - b
			if got := math.Ldexp(float64(h), 36) + math.Ldexp(float64(l), 36); got != float64(w) {
				t.Fatalf("y = %v splits into %v and %v, which is %v of %v", y, h, l, got, w)
			}
			if i < 64 {
				sumH += h
				sum += int64(math.Ldexp(float64(h), 36))
			}
			sumL += l
			low += int64(math.Ldexp(float64(l), 36))
			whole += float64(w)
		}
		if math.Ldexp(float64(sumH), 36) != float64(sum) || math.Ldexp(float64(sumL), 36) != float64(low) {
			t.Fatalf("sums %v and %v, want %v and %v", sumH, sumL, sum, low)
		}
	}
	if x := float64(uint64(1<<17-1) * oracle.One); x+float64(oracle.One-1) != float64(1<<53-1) {
		t.Error("float64 does not hold a sum of 2^17 weights")
	}
}
