package cpu

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tokendraw/tokendraw"
	"github.com/tokendraw/tokendraw/cpu/internal/vec"
)

// The parts that the conformance suite sees only from outside.

const tiny = math.SmallestNonzeroFloat32

// scores returns n of one of several kinds, none of them NaN or +Inf.
func scores(r *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	kind := r.IntN(7)
	for i := range x {
		switch kind {
		case 0:
			x[i] = float32(r.NormFloat64())
		case 1:
			x[i] = float32(r.IntN(4))
		case 2: // keys around that of zero
			x[i] = math.Float32frombits(r.Uint32N(4) | r.Uint32N(2)<<31)
		case 3: // any finite bits
			x[i] = math.Float32frombits(r.Uint32() &^ 0x00800000)
		case 4:
			x[i] = []float32{math.MaxFloat32, -math.MaxFloat32, 0}[r.IntN(3)]
		case 5:
			x[i] = []float32{-tiny, 0, float32(math.Copysign(0, -1))}[min(r.IntN(n+1), 2)]
		case 6:
			x[i] = 7
		}
		if kind != 6 && r.IntN(9) == 0 {
			x[i] = negInf
		}
	}
	return x
}

func TestKthReached(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, name := range Variants() {
		v := vec.ByName(name)
		for range 3000 {
			x := scores(r, 1+r.IntN(300))
			finite := slices.DeleteFunc(slices.Clone(x), func(z float32) bool { return z == negInf })
			if len(finite) == 0 {
				continue
			}
			slices.SortFunc(finite, func(a, b float32) int { return cmp.Compare(b, a) })
			lo, hi := slices.Min(x), finite[0]
			k := 1 + r.IntN(len(x)+3)
			got := kthReached(v, x, k, lo, hi)
			switch {
			case len(finite) < k:
				if got != -math.MaxFloat32 {
					t.Fatalf("%s: k %d of %d finite scores: %v, want the lowest float", name, k, len(finite), got)
				}
			case got > finite[k-1]:
				t.Fatalf("%s: k %d: %v (%#x) is above the k-th highest, %v", name, k, got, math.Float32bits(got), finite[k-1])
			case got < -math.MaxFloat32:
				t.Fatalf("%s: k %d: %v", name, k, got)
			}
			// On distinct values it is close: at most a quarter more, and ties.
			if len(finite) >= k {
				more := v.CountGE(x, got)
				ties := v.CountGE(x, finite[k-1])
				if most := max(k+k/4, ties); more > most && finite[k-1] != -math.MaxFloat32 {
					// One step of the search may stop a float early, at zero.
					if z := finite[k-1]; z != 0 && z != -tiny {
						t.Errorf("%s: k %d: %d scores reach %v, want at most %d", name, k, more, got, most)
					}
				}
			}
		}
	}
}

// The threshold that a row's groups give is reached by at least k of its
// scores, unless too many groups have none.
func TestThreshold(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 1))
	for range 500 {
		n := 1 + r.IntN(20000)
		x := scores(r, n)
		w := loaded(t, x, tokendraw.Params{Temperature: 1})
		if w == nil {
			continue
		}
		k := 1 + r.IntN(min(n, 5000))
		lo := w.threshold(k)
		if reach := w.vec.CountGE(x, lo); reach < k && lo != -math.MaxFloat32 {
			t.Fatalf("vocab %d: %d scores reach the threshold %v for %d", n, reach, lo, k)
		}
	}
}

// loaded returns a worker with a row, or nil if the row has no candidate.
func loaded(t *testing.T, x []float32, p tokendraw.Params) *worker {
	t.Helper()
	w := newWorker(vec.Variants()[0])
	w.reserve(len(x))
	l := tokendraw.Logits{F32: x, Rows: 1, Vocab: len(x)}
	if w.load(&l, 0, &tokendraw.Request{Params: p}) == tokendraw.NoCandidate {
		return nil
	}
	if p.Temperature > 0 {
		w.c = vec.Scale(p.Temperature)
	}
	return w
}

func TestRadixSort(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 1))
	for _, n := range []int{1, 2, 65, 100, 4096, 4097, 50000} {
		for kind := range 5 {
			keys := make([]uint64, n)
			for i := range keys {
				z := scores(r, 1)[0]
				if kind > 0 { // others differ in one digit alone, or in none
					z = math.Float32frombits(0x3f800000 + r.Uint32N(2048)<<(11*(kind-1)%22)*min(uint32(4-kind), 1))
				}
				keys[i] = sortKey(z, uint32(i))
			}
			want := slices.Clone(keys)
			slices.Sort(want)
			got, other := radixSort(keys, make([]uint64, n), make([]uint32, 1<<11))
			if !slices.Equal(got, want) {
				t.Errorf("%d keys of kind %d come out of order", n, kind)
			}
			if len(other) != n || n > 1 && &other[0] == &got[0] {
				t.Errorf("%d keys of kind %d: the two slices are one", n, kind)
			}
		}
	}
}

func TestSortKey(t *testing.T) {
	order := []float32{math.MaxFloat32, 1, 1e-40, tiny, 0, -tiny, -1e-40, -1, -math.MaxFloat32}
	for i, z := range order {
		if got := vec.FromKey(^keyOf(sortKey(z, 5))); got != z {
			t.Errorf("key of %v is that of %v", z, got)
		}
		if i > 0 && sortKey(order[i-1], 9) >= sortKey(z, 0) {
			t.Errorf("%v comes behind %v", order[i-1], z)
		}
		if sortKey(z, 3) >= sortKey(z, 4) {
			t.Errorf("equal scores %v are not by id", z)
		}
	}
	if negZero := float32(math.Copysign(0, -1)); sortKey(negZero, 1) != sortKey(0, 1) {
		t.Error("-0 and +0 have different keys")
	}
}

// The buckets' spans are disjoint, leave nothing out, and hold the scores whose
// digit they are.
func TestSpan(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 1))
	for range 2000 {
		x := slices.DeleteFunc(scores(r, 200), func(z float32) bool { return z == negInf })
		if len(x) == 0 {
			continue
		}
		lo, hi := slices.Min(x), slices.Max(x)
		floor := x[r.IntN(len(x))] // what is lower belongs to the last bucket
		if r.IntN(2) == 0 {
			floor = lo
		}
		d := digitsFor(floor, hi)
		if b := uint32(vec.Key(hi)-vec.Key(floor)) >> d.shift; b >= buckets || d.shift > 0 && b < buckets/2-1 {
			t.Fatalf("from %v to %v, shift %d: the last bucket would be %d", floor, hi, d.shift, b)
		}
		for _, name := range Variants() {
			digit := make([]uint32, len(x))
			vec.ByName(name).Digits(digit, x, d.top, d.shift, buckets-1)
			for i, z := range x {
				from, to := d.span(int(digit[i]))
				if !(z >= from && z <= to) {
					t.Fatalf("%s: %v (%#x) in bucket %d, which spans %v to %v", name, z, math.Float32bits(z), digit[i], from, to)
				}
				if b := int(digit[i]); b > 0 {
					if below, _ := d.span(b - 1); z >= below {
						t.Fatalf("%v in bucket %d is in the span of the one before, from %v", z, b, below)
					}
				}
				if b := int(digit[i]); b < buckets-1 {
					if _, above := d.span(b + 1); vec.Key(d.top)-int32(b+1)<<d.shift > vec.Key(-math.MaxFloat32) && z <= above {
						t.Fatalf("%v in bucket %d is in the span of the one behind, up to %v", z, b, above)
					}
				}
			}
		}
	}
}

// No weight below one score reaches min_p, and all from the other on do.
func TestMinPScores(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 1))
	for range 200000 {
		temperature := []float32{1, 0.8, 1e-3, 1e-39, 1e-45, 30, 1e30, 1e38, 1.8e38, 3e38, math.MaxFloat32}[r.IntN(11)]
		c := vec.Scale(temperature)
		m := []float32{0, 1, -1, 17.3, 1e-40, 3e38, -3e38, math.MaxFloat32, 1e5, float32(r.NormFloat64())}[r.IntN(10)]
		y := []float32{1, math.Nextafter32(1, 0), 0.7071067, 0.7071068, 0.5, 0.1, 1e-6, 0x1p-37, 0x1.000002p-40, 0x1p-40, 1e-13, tiny, r.Float32() + tiny}[r.IntN(13)]
		y = min(y, 1)
		below, above := minPScores(m, c, y)
		if !(below >= -math.MaxFloat32 && above <= m && below <= above) {
			t.Fatalf("m %v, temperature %v, min_p %v: %v and %v", m, temperature, y, below, above)
		}
		check := func(z float32) {
			if z > m || z < -math.MaxFloat32 {
				return
			}
			reaches := vec.Weight(z, m, c) >= y
			if reaches && z < below || !reaches && z >= above {
				t.Fatalf("m %v, temperature %v, min_p %v: %v has weight %v, yet lies below %v or from %v on", m, temperature, y, z, vec.Weight(z, m, c), below, above)
			}
		}
		for _, edge := range []float32{below, above} {
			b := vec.Key(edge)
			for d := int32(-3); d <= 3; d++ {
				if k := int64(b) + int64(d); k >= int64(vec.Key(-math.MaxFloat32)) && k <= int64(vec.Key(m)) {
					check(vec.FromKey(int32(k)))
				}
			}
		}
		check(m)
		check(-math.MaxFloat32)
		check(m - float32(r.ExpFloat64())*temperature)
		check(float32(r.NormFloat64()) * 1e38)
	}
}

// scoreAt's score and all below it stay under the exponent.
func TestScoreAt(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 1))
	for range 100000 {
		temperature := []float32{1, 0.8, 1e-3, 1e-39, 30, 1e30, 3e38}[r.IntN(7)]
		c := vec.Scale(temperature)
		m := []float32{0, 1, -17.3, 1e-40, 3e38, -3e38, 1e5, float32(r.NormFloat64())}[r.IntN(8)]
		for _, at := range []float32{vec.LightBound, vec.ZeroBound} {
			if z := scoreAt(m, c, at); z > negInf && vec.Exponent(z, m, c) > at {
				t.Fatalf("m %v, temperature %v: exponent of %v is %v, want at most %v", m, temperature, z, vec.Exponent(z, m, c), at)
			}
		}
		if z := scoreAt(m, c, vec.ZeroBound); vec.Units(vec.Weight(z, m, c)) != 0 {
			t.Fatalf("m %v, temperature %v: %v weighs something", m, temperature, z)
		}
	}
}

// locate finds every place of the order, by count and by mass, on rows that it
// narrows down once, twice and three times, and on plateaus.
func TestLocate(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 1))
	const vocab = 30000
	for _, c := range []struct {
		name string
		fill func(i int) float32
	}{
		{"spread", func(int) float32 { return float32(r.NormFloat64()) }},
		{"one bucket", func(i int) float32 {
			if i == 0 {
				return -1e38
			}
			return 1 + float32(r.IntN(1<<20))/(1<<23)
		}},
		{"nested", func(i int) float32 { return nestedScore(r, i) }},
		{"nested and equal", func(i int) float32 {
			if i%3 == 2 {
				return math.Float32frombits(math.Float32bits(3)&^0x1fffff + 0x5400)
			}
			return nestedScore(r, i)
		}},
		{"constant", func(int) float32 { return -4 }},
		{"two plateaus", func(i int) float32 { return float32(i & 1) }},
		{"zeros", func(i int) float32 { return float32(math.Copysign(0, float64(i%3)-1)) }},
		{"around zero", func(int) float32 { return math.Float32frombits(r.Uint32N(5000) | r.Uint32N(2)<<31) }},
		{"half -inf", func(i int) float32 {
			if i%2 == 0 {
				return negInf
			}
			return float32(i % 7)
		}},
	} {
		x := make([]float32, vocab)
		for i := range x {
			x[i] = c.fill(i)
		}
		w := loaded(t, x, tokendraw.Params{Temperature: 1e38})
		w.digits = digitsFor(max(w.lo, -math.MaxFloat32), w.m)
		w.run(histPass, w.blocks(), digitCost)

		var order []int
		for i, z := range x {
			if z > negInf {
				order = append(order, i)
			}
		}
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(x[b], x[a]) })
		mass, last := make([]uint64, len(order)+1), uint64(0)
		for i, id := range order {
			last += vec.Units(vec.Weight(x[id], w.m, w.c))
			mass[i+1] = last
		}
		for range 60 {
			n := 1 + r.IntN(len(order))
			if r.IntN(4) == 0 {
				n = []int{1, 2, len(order) - 1, len(order), headMax, headMax + 1}[r.IntN(6)]
			}
			want := place{n: n, mass: mass[n], id: uint32(order[n-1]), z: x[order[n-1]]}
			if got := w.locate(goal{count: n}); got != want {
				t.Fatalf("%s: place %d is %+v, want %+v", c.name, n, got, want)
			}
			if mass[n] == mass[n-1] {
				continue // no mass ends here
			}
			for _, m := range []uint64{mass[n], mass[n-1] + 1} {
				if got := w.locate(goal{mass: m}); got != want {
					t.Fatalf("%s: mass %d is reached at %+v, want %+v", c.name, m, got, want)
				}
			}
		}
	}
}

// The deepest row takes three histograms: the row's and two narrower ones.
func TestNarrow(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 1))
	x := make([]float32, 60000)
	for i := range x {
		x[i] = nestedScore(r, i)
	}
	w := loaded(t, x, tokendraw.Params{Temperature: 1e38})
	w.digits = digitsFor(max(w.lo, -math.MaxFloat32), w.m)
	w.run(histPass, w.blocks(), digitCost)
	above := w.vec.CountGE(x, math.Float32frombits(math.Float32bits(3)&^0x1fffff+0x5600))
	g := goal{count: above + 10}

	// The way of locate, step by step.
	before, b := g.bucket(&w.hist)
	lo, hi := w.digits.span(b)
	n := w.collect(lo, hi, w.row.n)
	depth := 1
	for n > headMax {
		if lo, hi = w.bounds(n); lo == hi {
			t.Fatal("a plateau, which the row does not have")
		}
		kept := w.narrow(g, &before, n, digitsFor(lo, hi))
		if kept >= n {
			t.Fatalf("narrowing keeps %d of %d", kept, n)
		}
		if !slices.IsSorted(w.id[:kept]) {
			t.Fatal("narrowing changes the order of ids")
		}
		n = kept
		depth++
	}
	if depth != 3 {
		t.Errorf("%d histograms were needed, want 3", depth)
	}
	if before.n >= g.count || before.n+n < g.count {
		t.Errorf("the goal of %d lies outside the %d tokens behind %d", g.count, n, before.n)
	}
}

// A row that is split among workers gives what it gives to one, wherever its
// -Inf stand.
func TestSplit(t *testing.T) {
	const vocab = 300_001
	r := rand.New(rand.NewPCG(9, 1))
	one, five := open(t, Config{Workers: 1}), open(t, Config{Workers: 5})
	for _, c := range []struct{ from, to int }{{0, 0}, {0, 10}, {0, vocab / 2}, {vocab / 2, vocab}, {vocab / 2, vocab - 200}, {vocab - 1, vocab}, {1, vocab}} {
		x := make([]float32, vocab)
		for i := range x {
			x[i] = float32(r.NormFloat64())
			if i >= c.from && i < c.to {
				x[i] = negInf
			}
		}
		for _, p := range []tokendraw.Params{{}, {Temperature: 1}, {Temperature: 9}, {Temperature: 9, TopP: 0.9}, {Temperature: 9, MinP: 0.5}, {Temperature: 9, TopK: vocab - 7}} {
			b := tokendraw.Batch{Logits: tokendraw.Logits{F32: x, Rows: 1, Vocab: vocab}, Requests: []tokendraw.Request{{Params: p}}}
			var want, got [1]tokendraw.Draw
			if err := one.Sample(&b, want[:]); err != nil {
				t.Fatal(err)
			}
			if err := five.Sample(&b, got[:]); err != nil {
				t.Fatal(err)
			}
			if got != want {
				t.Errorf("-Inf from %d to %d, %+v: %v with five workers, %v with one", c.from, c.to, p, got, want)
			}
			if n := int32(vocab - c.to + c.from); p == (tokendraw.Params{Temperature: 1}) && want[0].Kept != n {
				t.Errorf("-Inf from %d to %d: kept %d, want %d", c.from, c.to, want[0].Kept, n)
			}
		}
	}
}

func TestTarget(t *testing.T) {
	for _, c := range []struct {
		p    float32
		base uint64
		want uint64
	}{
		{0.5, 1 << 36, 1 << 35},
		{0.5, 3, 1},
		{math.Nextafter32(1, 0), 1 << 57, 1<<57 - 1<<33},
		{tiny, 1 << 57, 0},
		{0x1p-57, 1 << 57, 1},
	} {
		if got := target(c.p, c.base); got != c.want {
			t.Errorf("target(%v, %d) = %d, want %d", c.p, c.base, got, c.want)
		}
	}
}
