package vec

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tokendraw/tokendraw/internal/half"
)

// The plain Go functions are checked against formulas, and the others against
// the plain Go functions, bit for bit.

var (
	inf     = float32(math.Inf(1))
	negZero = float32(math.Copysign(0, -1))
)

// longest is the longest slice of the tests that go through all lengths. It is
// several turns of the longest loop, and every rest.
const longest = 600

// forVariants runs a test for each variant, the plain Go one too: it has to
// respect the ends of slices as well.
func forVariants(t *testing.T, test func(t *testing.T, v *Funcs)) {
	for _, v := range Variants() {
		t.Run(v.Name, func(t *testing.T) { test(t, v) })
	}
}

func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }

// guard is the number of elements on each side of an output that must keep
// what they held.
const guard = 64

// output is a slice for a function to write to, in the middle of another.
type output[T comparable] struct {
	all    []T
	poison T
}

// newOutput makes an output of n elements that starts at an odd address, as
// far as its type allows. Its capacity reaches into the guard.
func newOutput[T comparable](n, shift int, poison T) *output[T] {
	o := &output[T]{all: make([]T, guard+shift+n+guard), poison: poison}
	for i := range o.all {
		o.all[i] = poison
	}
	return o
}

func floatsOut(n, shift int) *output[float32] { return newOutput(n, shift, float32(-12345.678)) }
func wordsOut(n, shift int) *output[uint32]   { return newOutput(n, shift, uint32(0xdeadbeef)) }
func unitsOut(n, shift int) *output[uint64] {
	return newOutput(n, shift, uint64(0xdeadbeefdeadbeef))
}

// at returns the n elements after the guard and the shift.
func (o *output[T]) at(shift, n int) []T { return o.all[guard+shift:][:n] }

// check fails if anything outside the n elements after the shift was written.
func (o *output[T]) check(t *testing.T, what string, shift, n int) {
	t.Helper()
	for i, v := range o.all {
		if (i < guard+shift || i >= guard+shift+n) && v != o.poison {
			t.Fatalf("%s: element %d was written; the slice has %d", what, i-guard-shift, n)
		}
	}
}

// shifted returns a copy of x that starts shift elements behind the start of
// an allocation and ends where the allocation ends.
func shifted[T any](x []T, shift int) []T {
	return append(make([]T, shift, shift+len(x)), x...)[shift:]
}

func sameBits(a, b []float32) int {
	for i := range a {
		if math.Float32bits(a[i]) != math.Float32bits(b[i]) {
			return i
		}
	}
	return -1
}

// A row is scores with the maximum and the scale of their weights.
type row struct {
	name string
	x    []float32
	m, c float32
}

func top(x []float32) float32 {
	m := -inf
	for _, z := range x {
		m = max(m, z)
	}
	if m == -inf {
		return 0
	}
	return m
}

// special are scores that are easy to get wrong.
var special = []float32{
	0, negZero, -inf, 1, -1, math.MaxFloat32, -math.MaxFloat32,
	math.SmallestNonzeroFloat32, -math.SmallestNonzeroFloat32,
	math.Float32frombits(0x007fffff), math.Float32frombits(0x807fffff), // largest subnormals
	math.Float32frombits(0x00800000), math.Float32frombits(0x80800000), // smallest normals
	0.5, -0.5, 1.5, -1.5, -40, -39.5, -40.5, 1e-20, -1e20,
}

// scores makes n scores of one kind: any of these may occur in a row.
var scoreKinds = []struct {
	name string
	make func(r *rand.Rand) float32
}{
	{"normal", func(r *rand.Rand) float32 { return float32(r.NormFloat64() * 2.5) }},
	{"wide", func(r *rand.Rand) float32 { return float32(r.NormFloat64() * 20) }},
	{"few values", func(r *rand.Rand) float32 { return float32(r.IntN(9)) / 4 }},
	{"masked", func(r *rand.Rand) float32 {
		if r.IntN(3) > 0 {
			return -inf
		}
		return float32(r.NormFloat64())
	}},
	{"special", func(r *rand.Rand) float32 { return special[r.IntN(len(special))] }},
	{"subnormal", func(r *rand.Rand) float32 {
		return math.Float32frombits(r.Uint32()&0x7fffff | r.Uint32()&0x80000000)
	}},
	{"any finite", func(r *rand.Rand) float32 {
		return math.Float32frombits(r.Uint32()%0x7f800000 | r.Uint32()&0x80000000)
	}},
	{"equal", func(r *rand.Rand) float32 { return 3.25 }},
	{"all masked", func(r *rand.Rand) float32 { return -inf }},
	{"zeros", func(r *rand.Rand) float32 { return []float32{0, negZero}[r.IntN(2)] }},
}

// fill makes n scores of a kind.
func fill(r *rand.Rand, n int, score func(*rand.Rand) float32) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = score(r)
	}
	return x
}

// scales are values of c: usual, extreme, and such that t = z - m.
var scales = []float32{
	1, log2E, log2E / 0.7, log2E / 1.5, 0.0144269502, 144.269502,
	1e-39, math.SmallestNonzeroFloat32, 1e-30, 1e30, math.MaxFloat32,
}

// rows returns rows for the functions of weights, each of about n scores.
func rows(r *rand.Rand, n int) []row {
	var all []row
	for _, kind := range scoreKinds {
		x := fill(r, n, kind.make)
		for _, c := range scales {
			all = append(all, row{fmt.Sprintf("%s, c = %g", kind.name, c), x, top(x), c})
		}
	}
	// With c = 1 and m = 0 the exponent is the score itself. Between -38 and
	// -12 the rounding of weights to units has many exact ties.
	grid := fill(r, n, func(r *rand.Rand) float32 { return float32(-40 * r.Float64()) })
	all = append(all, row{"exponents", grid, 0, 1})
	// Both sides of ties of the exponent's own rounding, of the bounds, and of
	// weights that are half a unit.
	near := fill(r, n, func(r *rand.Rand) float32 {
		t := -float32(r.IntN(82)) / 2
		for range r.IntN(4) {
			t = math.Nextafter32(t, inf*float32(1-2*r.IntN(2)))
		}
		return min(t, 0)
	})
	all = append(all, row{"near ties", near, 0, 1})
	// The maximum is far from all of x.
	all = append(all, row{"far", grid, 100, 1}, row{"overflow", fill(r, n, scoreKinds[6].make), math.MaxFloat32, 1})
	return all
}

func TestWeightFormula(t *testing.T) {
	// Each operation in float64, where a product of two float32 is exact and
	// a sum is at least as good, then rounded to float32.
	round := func(v float64) float64 { return float64(float32(v)) }
	plain := func(z, m, c float32) float32 {
		e := max(round(round(float64(z)-float64(m))*float64(c)), -40)
		n := math.RoundToEven(e)
		f := e - n
		p := float64(math.Float32frombits(0x3aad3eba))
		for _, b := range []uint32{0x3c1e771a, 0x3d635d03, 0x3e75fcd8, 0x3f317214, 0x3f800000} {
			p = round(round(p*f) + float64(math.Float32frombits(b)))
		}
		return float32(math.Ldexp(p, int(n)))
	}
	for _, row := range rows(newRand(1), 4000) {
		for _, z := range row.x {
			got, want := Weight(z, row.m, row.c), plain(z, row.m, row.c)
			if math.Float32bits(got) != math.Float32bits(want) {
				t.Fatalf("%s: weight of %g with m = %g is %g, want %g", row.name, z, row.m, got, want)
			}
			e := float64(Exponent(z, row.m, row.c))
			if e < -40 || e > 0 {
				t.Fatalf("%s: exponent of %g is %g", row.name, z, e)
			}
			if exact := math.Exp2(e); math.Abs(float64(got)-exact) > 1.8e-7*exact {
				t.Fatalf("%s: weight of %g is %g, far from %g", row.name, z, got, exact)
			}
		}
	}
}

func TestScale(t *testing.T) {
	for _, c := range []struct{ temperature, want float32 }{
		{1, math.Float32frombits(0x3fb8aa3b)},
		{0.5, math.Float32frombits(0x4038aa3b)},
		{1e-39, math.MaxFloat32},
		{math.SmallestNonzeroFloat32, math.MaxFloat32},
	} {
		if got := Scale(c.temperature); got != c.want {
			t.Errorf("scale of temperature %g is %g, want %g", c.temperature, got, c.want)
		}
	}
	if c := Scale(math.MaxFloat32); c <= 0 {
		t.Errorf("scale of the highest temperature is %g", c)
	}
}

func TestUnitsAgainstBig(t *testing.T) {
	r := newRand(2)
	check := func(y float32) {
		v := new(big.Float).SetMantExp(big.NewFloat(float64(y)), 37) // half units
		twice, _ := v.Int(nil)
		rest := new(big.Float).Sub(v, new(big.Float).SetInt(twice)).Sign()
		want := twice.Uint64() / 2
		if twice.Uint64()%2 == 1 && (rest > 0 || want%2 == 1) {
			want++
		}
		if got := Units(y); got != want {
			t.Fatalf("%g is %d units, want %d", y, got, want)
		}
	}
	for _, y := range []float32{0, 0x1p-38, 0x1p-37, 0x1.8p-37, 0x1p-36, 0x1.8p-36, 0x1.4p-35, 1, 1 - 0x1p-24} {
		check(y)
		check(math.Nextafter32(y, 0))
		check(min(math.Nextafter32(y, 1), 1))
	}
	for range 100000 {
		check(float32(math.Exp2(-40 * r.Float64())))
	}
}

func TestKey(t *testing.T) {
	r := newRand(3)
	any := func() float32 {
		if r.IntN(2) == 0 {
			return special[r.IntN(len(special))]
		}
		return scoreKinds[6].make(r)
	}
	for range 200000 {
		a, b := any(), any()
		if (a < b) != (Key(a) < Key(b)) || (a == b) != (Key(a) == Key(b)) {
			t.Fatalf("keys of %g and %g: %d and %d", a, b, Key(a), Key(b))
		}
		if back := FromKey(Key(a)); back != a {
			t.Fatalf("key %d of %g is that of %g", Key(a), a, back)
		}
	}
	if Key(0) != Key(negZero) || Key(inf) != keyInf || Key(-inf) != keyNegInf {
		t.Fatal("keys of zeros or infinities")
	}
}

func TestReadMax(t *testing.T) {
	r := newRand(4)
	for n := range longest {
		x := shifted(fill(r, n, scoreKinds[n%len(scoreKinds)].make), n%5)
		want := -inf
		for _, z := range x {
			want = max(want, z)
		}
		if got := ReadMax(x); got != want {
			t.Fatalf("largest of %d is %g, want %g", n, got, want)
		}
		// Every element counts.
		for i := range min(n, 130) {
			old := x[i]
			x[i] = inf
			if ReadMax(x) != inf {
				t.Fatalf("element %d of %d is not read", i, n)
			}
			x[i] = old
		}
	}
}

// checkMaxima compares one call's results. Where there is a NaN the others
// mean nothing; a zero may have either sign.
func checkMaxima[T any](t *testing.T, what string, x []T, got, want func([]float32, []T) (float32, bool)) {
	t.Helper()
	n := len(x) / Block * Lanes
	shift := len(x) / Block % 3
	out := floatsOut(n, shift)
	ref := make([]float32, n)
	lo, nan := got(out.at(shift, n), x)
	wantLo, wantNaN := want(ref, x)
	out.check(t, what, shift, n)
	if nan != wantNaN {
		t.Fatalf("%s: nan is %t, want %t", what, nan, wantNaN)
	}
	if nan || n == 0 {
		return
	}
	if lo != wantLo {
		t.Fatalf("%s: lowest is %g, want %g", what, lo, wantLo)
	}
	for i, v := range out.at(shift, n) {
		if v != ref[i] {
			t.Fatalf("%s: maximum %d of %d is %g, want %g", what, i, n, v, ref[i])
		}
	}
}

// plainMaxima is MaximaF32 as its comment says it.
func plainMaxima(dst, x []float32) (lo float32, nan bool) {
	lo = inf
	for i, z := range x {
		at := i/Block*Lanes + i%Lanes
		if i%Block < Lanes {
			dst[at] = z
		}
		dst[at], lo, nan = max(dst[at], z), min(lo, z), nan || z != z
	}
	return lo, nan
}

func TestMaximaF32(t *testing.T) {
	forVariants(t, func(t *testing.T, v *Funcs) {
		r := newRand(5)
		for _, kind := range scoreKinds {
			for blocks := range 10 {
				x := shifted(fill(r, blocks*Block, kind.make), r.IntN(9))
				checkMaxima(t, kind.name, x, v.MaximaF32, plainMaxima)
				if blocks > 0 {
					x[r.IntN(len(x))] = inf
					checkMaxima(t, kind.name+" and +inf", x, v.MaximaF32, plainMaxima)
					x[r.IntN(len(x))] = -inf
					checkMaxima(t, kind.name+" and both infinities", x, v.MaximaF32, plainMaxima)
				}
			}
		}
		// Each element alone is the largest, the lowest, or the NaN.
		for _, base := range []float32{0, -3, 5, -inf, inf} {
			for i := range 3 * Block {
				x := make([]float32, 3*Block)
				for j := range x {
					x[j] = base
				}
				for _, b := range []uint32{
					0x7f800000, 0xff800000, 0x40e00000, 0xc0e00000, // infinities, 7 and -7
					0x7fc00000, 0xffc00000, 0x7f800001, 0xff800001, 0x7fffffff, 0xffffffff, // NaNs
				} {
					x[i] = math.Float32frombits(b)
					checkMaxima(t, fmt.Sprintf("%#x at %d among %g", b, i, base), x, v.MaximaF32, plainMaxima)
				}
			}
		}
	})
}

// halves are the two 16-bit formats.
var halves = []struct {
	name    string
	value   func(uint16) float32
	inf     uint16
	maxima  func(*Funcs) func([]float32, []uint16) (float32, bool)
	convert func(*Funcs) func([]float32, []uint16)
}{
	{"float16", half.Float16, 0x7c00,
		func(v *Funcs) func([]float32, []uint16) (float32, bool) { return v.MaximaF16 },
		func(v *Funcs) func([]float32, []uint16) { return v.ConvertF16 }},
	{"bfloat16", half.BFloat16, 0x7f80,
		func(v *Funcs) func([]float32, []uint16) (float32, bool) { return v.MaximaBF16 },
		func(v *Funcs) func([]float32, []uint16) { return v.ConvertBF16 }},
}

func TestMaxima16(t *testing.T) {
	for _, format := range halves {
		plain := func(dst []float32, x []uint16) (float32, bool) {
			wide := make([]float32, len(x))
			for i, h := range x {
				wide[i] = format.value(h)
			}
			return plainMaxima(dst, wide)
		}
		t.Run(format.name, func(t *testing.T) {
			forVariants(t, func(t *testing.T, v *Funcs) {
				r := newRand(6)
				finite := func() uint16 { return uint16(r.IntN(int(format.inf))) | uint16(r.IntN(2))<<15 }
				for _, kind := range []struct {
					name string
					make func() uint16
				}{
					{"finite", finite},
					{"any", func() uint16 { return uint16(r.Uint32()) }},
					{"positive", func() uint16 { return finite() & 0x7fff }},
					{"negative", func() uint16 { return finite() | 0x8000 }},
					{"zeros", func() uint16 { return uint16(r.IntN(2)) << 15 }},
					{"small", func() uint16 { return finite() & 0x80ff }},
					{"masked", func() uint16 { return []uint16{format.inf | 0x8000, finite()}[r.IntN(2)] }},
					{"infinities", func() uint16 { return format.inf | uint16(r.IntN(2))<<15 }},
				} {
					for round := range 40 {
						x := make([]uint16, round%10*Block)
						for i := range x {
							x[i] = kind.make()
						}
						checkMaxima(t, kind.name, shifted(x, r.IntN(17)), maximaOf(v, format.name), plain)
					}
				}
				// Each element alone among others of one value.
				for _, base := range []uint16{0, 0x8000, 0x3c00, 0xbc00, format.inf, format.inf | 0x8000} {
					for i := range 2 * Block {
						x := make([]uint16, 2*Block)
						for j := range x {
							x[j] = base
						}
						for _, h := range []uint16{
							0x4000, 0xc000, 0x0001, 0x8001, format.inf, format.inf | 0x8000, format.inf - 1, format.inf - 1 | 0x8000,
							format.inf + 1, format.inf + 1 | 0x8000, 0x7fff, 0xffff, // NaNs
						} {
							x[i] = h
							checkMaxima(t, fmt.Sprintf("%#x at %d among %#x", h, i, base), x, maximaOf(v, format.name), plain)
						}
					}
				}
			})
		})
	}
}

func maximaOf(v *Funcs, format string) func([]float32, []uint16) (float32, bool) {
	for _, h := range halves {
		if h.name == format {
			return h.maxima(v)
		}
	}
	panic(format)
}

func TestConvert(t *testing.T) {
	every := make([]uint16, 1<<16)
	for i := range every {
		every[i] = uint16(i)
	}
	for _, format := range halves {
		t.Run(format.name, func(t *testing.T) {
			forVariants(t, func(t *testing.T, v *Funcs) {
				check := func(x []uint16, shift int) {
					out := floatsOut(len(x), shift)
					dst := out.at(shift, len(x)+guard/2) // longer than x
					format.convert(v)(dst, x)
					out.check(t, "convert", shift, len(x))
					for i, h := range x {
						got, want := dst[i], format.value(h)
						if math.Float32bits(got) != math.Float32bits(want) && (got == got || want == want) {
							t.Fatalf("%#x is %g, want %g", h, got, want)
						}
					}
				}
				check(every, 0)
				for n := range longest {
					at := n * 107
					check(every[at:at+n:at+n], n%7)
				}
			})
		})
	}
}

// bounds returns pairs lo, hi for x.
func bounds(r *rand.Rand, x []float32) [][2]float32 {
	m := top(x)
	pairs := [][2]float32{
		{-inf, inf}, {inf, inf}, {-math.MaxFloat32, inf}, {0, inf}, {negZero, inf}, {negZero, 0}, {0, negZero},
		{m, m}, {-inf, -inf}, {1, -1}, {math.SmallestNonzeroFloat32, m},
	}
	for range 3 {
		a, b := float32(r.NormFloat64()*3), float32(r.NormFloat64()*3)
		if len(x) > 0 {
			a, b = x[r.IntN(len(x))], x[r.IntN(len(x))]
		}
		pairs = append(pairs, [2]float32{min(a, b), max(a, b)}, [2]float32{a, m})
	}
	return pairs
}

func TestCountGE(t *testing.T) {
	forVariants(t, func(t *testing.T, v *Funcs) {
		r := newRand(7)
		for n := range longest {
			kind := scoreKinds[n%len(scoreKinds)]
			x := shifted(fill(r, n, kind.make), n%9)
			for _, b := range bounds(r, x) {
				if got, want := v.CountGE(x, b[0]), countGEGeneric(x, b[0]); got != want {
					t.Fatalf("%s: %d of %d elements >= %g, want %d", kind.name, got, n, b[0], want)
				}
			}
		}
		x := make([]float32, 1<<21)
		if got := v.CountGE(x, negZero); got != len(x) {
			t.Fatalf("%d of %d zeros", got, len(x))
		}
	})
}

// checkGather compares one call with the plain function.
func checkGather(t *testing.T, v *Funcs, x []float32, first uint32, lo, hi float32, shift int) {
	t.Helper()
	z, id := floatsOut(len(x), shift), wordsOut(len(x), shift)
	n := v.Gather(z.at(shift, len(x)+guard/2), id.at(shift, len(x)+guard/2), x, first, lo, hi)
	z.check(t, "scores", shift, len(x))
	id.check(t, "ids", shift, len(x))
	wantZ, wantID := make([]float32, len(x)), make([]uint32, len(x))
	want := gatherGeneric(wantZ, wantID, x, first, lo, hi)
	if n != want {
		t.Fatalf("[%g, %g] has %d of %d elements, want %d", lo, hi, n, len(x), want)
	}
	if i := sameBits(z.at(shift, n), wantZ[:n]); i >= 0 {
		t.Fatalf("[%g, %g]: score %d of %d is wrong", lo, hi, i, n)
	}
	if !slices.Equal(id.at(shift, n), wantID[:n]) {
		t.Fatalf("[%g, %g]: wrong ids", lo, hi)
	}
}

func TestGather(t *testing.T) {
	forVariants(t, func(t *testing.T, v *Funcs) {
		r := newRand(8)
		for n := range longest {
			kind := scoreKinds[n%len(scoreKinds)]
			x := shifted(fill(r, n, kind.make), n%9)
			for _, b := range bounds(r, x) {
				checkGather(t, v, x, r.Uint32(), b[0], b[1], n%5)
			}
		}
		// Rows with hits of all densities, and each element alone.
		for _, density := range []float64{0, 0.001, 0.01, 0.1, 0.5, 0.9, 1} {
			for range 5 {
				x := fill(r, 4096+r.IntN(64), func(r *rand.Rand) float32 { return float32(r.Float64()) })
				checkGather(t, v, x, 0, float32(1-density), 1, 1)
				checkGather(t, v, x, 0, 0, float32(density), 1)
			}
		}
		for i := range 256 {
			x := make([]float32, 256)
			x[i] = 1
			checkGather(t, v, x, 1<<20, 1, 1, 0)
		}
	})
}

func TestWeights(t *testing.T) {
	sizes := []int{0, 1, 7, 8, 15, 16, 31, 33, 64, 127, 129, 1000, 5003}
	forVariants(t, func(t *testing.T, v *Funcs) {
		r := newRand(9)
		for _, size := range sizes {
			for _, row := range rows(r, size) {
				checkWeights(t, v, row, size%3)
			}
		}
		for n := range longest {
			x := fill(r, n, func(r *rand.Rand) float32 { return -float32(r.ExpFloat64() * 6) })
			checkWeights(t, v, row{fmt.Sprint(n, " elements"), x, 0, 1}, n%9)
		}
	})
}

// checkWeights compares all functions of weights on a row.
func checkWeights(t *testing.T, v *Funcs, row row, shift int) {
	t.Helper()
	x := shifted(row.x, shift)
	if got, want := v.Mass(x, row.m, row.c), massGeneric(x, row.m, row.c); got != want {
		t.Fatalf("%s: mass of %d is %d, want %d", row.name, len(x), got, want)
	}
	light := make([]float32, 0, len(x))
	for _, z := range x {
		if Exponent(z, row.m, row.c) <= LightBound {
			light = append(light, z)
		}
	}
	light = slices.Clip(light)
	if got, want := v.MassLight(light, row.m, row.c), massGeneric(light, row.m, row.c); got != want {
		t.Fatalf("%s: light mass of %d is %d, want %d", row.name, len(light), got, want)
	}

	y, w := floatsOut(len(x), shift), unitsOut(len(x), shift)
	v.Weigh(y.at(shift, len(x)+guard/2), w.at(shift, len(x)+guard/2), x, row.m, row.c)
	y.check(t, "weights", shift, len(x))
	w.check(t, "units", shift, len(x))
	for i, z := range x {
		weight := Weight(z, row.m, row.c)
		if got := y.at(shift, len(x))[i]; math.Float32bits(got) != math.Float32bits(weight) {
			t.Fatalf("%s: weight of %g is %g, want %g", row.name, z, got, weight)
		}
		if got := w.at(shift, len(x))[i]; got != Units(weight) {
			t.Fatalf("%s: %g is %d units, want %d", row.name, z, got, Units(weight))
		}
	}
}

// The longest rows, all of one weight: nothing may overflow or round.
func TestMassOfLongRows(t *testing.T) {
	forVariants(t, func(t *testing.T, v *Funcs) {
		x := make([]float32, 1<<21)
		for _, e := range []float32{
			0, -0.5, -1, -17.999999, -18, -18.5, -18.584963, // the last two: the low part is near -2^-19, 2^-19
			-19, -19.000002, -19.5, -20, -36, -36.5, -37, -37.000004, -40, -inf,
		} {
			if v == &generic && e < -1 && e > -37 {
				continue // it takes long, and adds up in float64
			}
			for i := range x {
				x[i] = e
			}
			want := Units(Weight(e, 0, 1)) << 21
			if got := v.Mass(x, 0, 1); got != want {
				t.Errorf("mass of exponents %g is %d, want %d", e, got, want)
			}
			if e > LightBound {
				continue
			}
			if got := v.MassLight(x, 0, 1); got != want {
				t.Errorf("light mass of exponents %g is %d, want %d", e, got, want)
			}
		}
		clear(x)
		if got := v.Mass(x, 0, 1); got != 1<<57 {
			t.Errorf("mass of 2^21 ones is %d", got)
		}
		r := newRand(10)
		for i := range x {
			x[i] = float32(-40 * r.Float64())
		}
		if got, want := v.Mass(x, 0, 1), massGeneric(x, 0, 1); got != want {
			t.Errorf("mass of a random row is %d, want %d", got, want)
		}
	})
}

func TestDigits(t *testing.T) {
	forVariants(t, func(t *testing.T, v *Funcs) {
		r := newRand(11)
		for n := range longest {
			kind := scoreKinds[n%len(scoreKinds)]
			x := shifted(fill(r, n, kind.make), n%9)
			checkDigits(t, v, x, r.Uint32N(40), r.Uint32()>>r.IntN(32))
			checkDigits(t, v, x, 23, 255)
			checkDigits(t, v, x, 0, math.MaxUint32)
			checkDigits(t, v, x, []uint32{31, 32, 33, 63, 64, 255, 256, 1 << 31, math.MaxUint32}[n%9], 7)
		}
	})
}

func checkDigits(t *testing.T, v *Funcs, x []float32, shift, last uint32) {
	t.Helper()
	high := top(x)
	out := wordsOut(len(x), 1)
	v.Digits(out.at(1, len(x)+guard/2), x, high, shift, last)
	out.check(t, "digits", 1, len(x))
	for i, z := range x {
		want := uint64(uint32(Key(high)-Key(z))) >> min(shift, 63)
		if got := out.at(1, len(x))[i]; got != uint32(min(want, uint64(last))) {
			t.Fatalf("digit of %g below %g, shift %d, at most %d: %d, want %d", z, high, shift, last, got, want)
		}
	}
}

func TestVariants(t *testing.T) {
	all := Variants()
	if all[len(all)-1].Name != "generic" {
		t.Fatal("the last variant is not the plain one")
	}
	for i, v := range all {
		if ByName(v.Name) != v {
			t.Errorf("variant %d, %s, is not found by name", i, v.Name)
		}
	}
	t.Setenv(Variable, "generic")
	if v := Default(); v == nil || v.Name != "generic" {
		t.Error("the environment does not choose")
	}
	t.Setenv(Variable, "abacus")
	if Default() != nil {
		t.Error("an unknown variant is no error")
	}
	t.Setenv(Variable, "")
	if Default() != all[0] {
		t.Error("the default is not the first variant")
	}
	t.Logf("fastest first: %v", names(all))
}

func names(all []*Funcs) []string {
	var s []string
	for _, v := range all {
		s = append(s, v.Name)
	}
	return s
}

func TestNothingIsAllocated(t *testing.T) {
	const n = 3*Block + 5
	x, y, z, dst := make([]float32, n), make([]float32, n), make([]float32, n), make([]float32, n)
	id, d, h, w := make([]uint32, n), make([]uint32, n), make([]uint16, n), make([]uint64, n)
	forVariants(t, func(t *testing.T, v *Funcs) {
		if v == &generic {
			t.Skip("it may use buffers")
		}
		if got := testing.AllocsPerRun(10, func() {
			v.MaximaF32(dst[:3*Lanes], x[:3*Block])
			v.MaximaF16(dst[:3*Lanes], h[:3*Block])
			v.MaximaBF16(dst[:3*Lanes], h[:3*Block])
			v.ConvertF16(y, h)
			v.ConvertBF16(y, h)
			v.CountGE(x, 0)
			v.Gather(z, id, x, 0, 0, 1)
			v.Mass(x, 0, 1)
			v.MassLight(x, 1000, 1)
			v.Weigh(y, w, x, 0, 1)
			v.Digits(d, x, 1, 2, 3)
		}); got > 0 {
			t.Errorf("%v allocations", got)
		}
	})
}

// FuzzVariants reads scores, bounds and a scale from bytes.
func FuzzVariants(f *testing.F) {
	seed := make([]byte, 4*300)
	r := newRand(12)
	for i := range seed {
		seed[i] = byte(r.Uint32())
	}
	f.Add(seed, uint8(3))
	f.Add(seed[:4*9], uint8(0))
	f.Add([]byte("scores, four bytes each, and a few more of them to fill a vector or two of sixteen"), uint8(1))
	f.Fuzz(func(t *testing.T, data []byte, shift uint8) {
		var raw []float32
		var h []uint16
		for b := data; len(b) >= 4; b = b[4:] {
			raw = append(raw, math.Float32frombits(binary.LittleEndian.Uint32(b)))
			h = append(h, binary.LittleEndian.Uint16(b), binary.LittleEndian.Uint16(b[2:]))
		}
		var x []float32
		for _, z := range raw {
			if z == z && z != inf {
				x = append(x, z)
			}
		}
		lo, hi, c := float32(-1), inf, float32(1)
		if len(x) > 3 {
			lo, hi, c = x[0], x[1], min(max(float32(math.Abs(float64(x[2]))), math.SmallestNonzeroFloat32), math.MaxFloat32)
		}
		for _, v := range Variants() {
			blocks := len(raw) / Block * Block
			checkMaxima(t, v.Name, raw[:blocks:blocks], v.MaximaF32, plainMaxima)
			for _, format := range halves {
				blocks := len(h) / Block * Block
				checkMaxima(t, v.Name, h[:blocks:blocks], format.maxima(v), format.maxima(&generic))
				dst := make([]float32, len(h))
				format.convert(v)(dst, h)
				for i, b := range h {
					if want := format.value(b); math.Float32bits(dst[i]) != math.Float32bits(want) && (dst[i] == dst[i] || want == want) {
						t.Fatalf("%s: %#x is %g, want %g", v.Name, b, dst[i], want)
					}
				}
			}
			x := shifted(x, int(shift)%9)
			if got, want := v.CountGE(x, lo), countGEGeneric(x, lo); got != want {
				t.Fatalf("%s: %d elements >= %g, want %d", v.Name, got, lo, want)
			}
			checkGather(t, v, x, uint32(shift), lo, hi, int(shift)%3)
			checkWeights(t, v, row{v.Name, x, top(x), c}, int(shift)%5)
			checkWeights(t, v, row{v.Name, x, top(x), 1}, int(shift)%5)
			checkDigits(t, v, x, uint32(shift), math.MaxUint32>>(shift%32))
		}
	})
}
