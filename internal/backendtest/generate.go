package backendtest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/tokendraw/tokendraw"
	"github.com/tokendraw/tokendraw/oracle"
)

// A class is a range of vocabularies, with as many cases as are affordable.
// Case i of a class is the same on every machine and in every run.
type class struct {
	name         string
	vocabs       []int // one of these
	rows         int   // at most
	count, short int   // cases, also with -short

	// kinds are the names of the logits, all kinds if nil. Deep rows have
	// parameters that keep much of them.
	kinds []string
	deep  bool
}

var classes = []class{
	{name: "tiny", rows: 12, count: 1000, short: 150, vocabs: []int{1, 2, 3, 5, 7, 8, 9, 16, 17, 31, 32, 33, 40}},
	{name: "small", rows: 10, count: 500, short: 60, vocabs: []int{31, 33, 63, 64, 65, 127, 128, 129, 255, 257, 1000, 1023, 1025, 2048, 2049}},
	{name: "middle", rows: 5, count: 120, short: 16, vocabs: []int{4095, 4096, 4097, 4223, 4225, 5000, 8192, 9999, 20000}},
	{name: "deep", rows: 5, count: 120, short: 16, vocabs: []int{4500, 8192, 9000, 16384, 20000}, deep: true, kinds: []string{
		"huge", "huge", "keys around zero", "keys around zero", "nested", "flat", "normal", "neighbours", "fine", "ties", "constant", "half -inf", "finite bits", "zeros", "-inf at the end"}},
	{name: "inverted", rows: 10, count: 120, short: 30, vocabs: []int{33, 129, 1000, 5000}, kinds: []string{inverted}},
	{name: "large", rows: 9, count: 22, short: 3, vocabs: []int{32000, 32001, 49152, 65537, 70001}},
	{name: "huge", rows: 3, count: 12, short: 2, vocabs: []int{128256, 151936, 262144}},
	// One row, which is split among workers in every pass.
	{name: "edge", rows: 1, count: 6, vocabs: []int{300001, 524287}, deep: true, kinds: []string{"normal", "half -inf", "-inf at the end", "nan"}},
	{name: "most", rows: 1, count: 1, vocabs: []int{tokendraw.MaxVocab}},
}

func (c *class) most() int { return slices.Max(c.vocabs) }

func caseName(class string, i int) string { return class + "/" + strconv.Itoa(i) }

// A Case is a generated batch and what the oracle draws from it.
type Case struct {
	name  string
	batch tokendraw.Batch
	kinds []string // of each row's logits
	want  []expect
}

var cases struct {
	sync.Mutex
	made map[string]*Case
}

// generated returns a case by name. It is made once, however many backends use
// it; they must not write to it, which the suite checks.
func generated(name string) (*Case, error) {
	cases.Lock()
	defer cases.Unlock()
	if c := cases.made[name]; c != nil {
		return c, nil
	}
	className, number, _ := strings.Cut(name, "/")
	i, err := strconv.Atoi(number)
	for n := range classes {
		if c := &classes[n]; c.name == className && err == nil {
			made := c.generate(name, uint64(n), uint64(i))
			if cases.made == nil {
				cases.made = map[string]*Case{}
			}
			cases.made[name] = made
			return made, nil
		}
	}
	return nil, fmt.Errorf("no case %q", name)
}

// rng is the source of all choices of one case.
type rng struct{ *rand.Rand }

func (r rng) chance(n int) bool { return r.IntN(n) == 0 }

func pick[T any](r rng, list ...T) T { return list[r.IntN(len(list))] }

func (c *class) generate(name string, classSeed, i uint64) *Case {
	r := rng{rand.New(rand.NewPCG(0x746f6b656e+classSeed, i))}
	vocab := c.vocabs[int(i)%len(c.vocabs)]
	rows := 1 + r.IntN(c.rows)
	made := &Case{name: name}
	b := &made.batch
	b.Logits = tokendraw.Logits{Rows: rows, Vocab: vocab}
	if r.chance(2) {
		b.Logits.Stride = vocab + pick(r, 0, 1, 3, 8, 40)
	}
	made.kinds = fillLogits(r, &b.Logits, c.kinds)

	// Who owns which row.
	if r.chance(2) {
		b.RowRequest = make([]int32, rows)
		for i := range b.RowRequest {
			b.RowRequest[i] = int32(i)
			if i > 0 && r.chance(4) {
				b.RowRequest[i] = b.RowRequest[r.IntN(i)]
			}
		}
		r.Shuffle(rows, func(i, j int) { b.RowRequest[i], b.RowRequest[j] = b.RowRequest[j], b.RowRequest[i] })
	}
	b.Requests = make([]tokendraw.Request, rows)
	for i := range b.Requests {
		// The row whose edges the parameters are made to meet: the first of
		// its own. A request may also have none.
		row, owned := i, 1
		if b.RowRequest != nil {
			row, owned = slices.Index(b.RowRequest, int32(i)), 0
			for _, x := range b.RowRequest {
				if int(x) == i {
					owned++
				}
			}
		}
		logits := b.Logits.AppendRow(nil, max(row, 0))
		b.Requests[i] = makeRequest(r, logits)
		if row >= 0 && made.kinds[row] == inverted && !r.chance(4) {
			invert(r, &b.Requests[i])
		}
		if c.deep {
			deep(r, &b.Requests[i], logits)
		}
		aim(r, logits, &b.Requests[i], owned <= 1)
		if err := b.Requests[i].Check(vocab); err != nil {
			panic(fmt.Sprintf("backendtest: case %s is not allowed: %v", name, err))
		}
	}
	made.want = judge(b)
	return made
}

// describe returns one line about a row.
func (c *Case) describe(row int) string {
	l := &c.batch.Logits
	kind := ""
	if row < len(c.kinds) {
		kind = " " + strconv.Quote(c.kinds[row])
	}
	return fmt.Sprintf("case %s, row %d of %d: logits%s, vocab %d, %v, %s",
		c.name, row, l.Rows, kind, l.Vocab, l.DType(), describeRequest(c.batch.Request(row)))
}

// fillLogits makes a matrix of random kinds of rows, or of some, of one of the
// three element types, with poison between the rows.
func fillLogits(r rng, l *tokendraw.Logits, some []string) (names []string) {
	n := (l.Rows-1)*l.RowStride() + l.Vocab
	dtype := pick(r, tokendraw.Float32, tokendraw.Float32, tokendraw.Float16, tokendraw.BFloat16)
	switch dtype {
	case tokendraw.Float32:
		l.F32 = make([]float32, n)
		for i := range l.F32 {
			l.F32[i] = pick(r, nan, posInf)
		}
	case tokendraw.Float16:
		l.F16 = make([]uint16, n)
		for i := range l.F16 {
			l.F16[i] = pick[uint16](r, 0x7e00, 0x7c00)
		}
	case tokendraw.BFloat16:
		l.BF16 = make([]uint16, n)
		for i := range l.BF16 {
			l.BF16[i] = pick[uint16](r, 0x7fc0, 0x7f80)
		}
	}
	row := make([]float32, l.Vocab)
	for i := range l.Rows {
		k := &kinds[r.IntN(len(kinds))]
		if some != nil {
			name := pick(r, some...)
			k = &kinds[slices.IndexFunc(kinds, func(k kind) bool { return k.name == name })]
		}
		k.fill(r, row)
		names = append(names, k.name)
		setRow(l, i, row)
		if k.name == "bits" && l.F32 == nil {
			// The narrow types have bit patterns of their own.
			at := i * l.RowStride()
			for j := range l.Vocab {
				if l.F16 != nil {
					l.F16[at+j] = uint16(r.Uint32())
				} else {
					l.BF16[at+j] = uint16(r.Uint32())
				}
			}
		}
	}
	return names
}

// setRow stores a row in the matrix's own type.
func setRow(l *tokendraw.Logits, i int, row []float32) {
	at := i * l.RowStride()
	for j, x := range row {
		switch {
		case l.F32 != nil:
			l.F32[at+j] = x
		case l.F16 != nil:
			l.F16[at+j] = toFloat16(x)
		default:
			l.BF16[at+j] = toBFloat16(x)
		}
	}
}

// toBFloat16 rounds to nearest, ties away from zero.
func toBFloat16(x float32) uint16 {
	b := math.Float32bits(x)
	if x != x || b&0x7f800000 == 0x7f800000 {
		if b&0x7fffff != 0 {
			return 0x7fc0
		}
		return uint16(b >> 16)
	}
	if up := b + 0x8000; up&0x7f800000 != 0x7f800000 {
		b = up
	}
	return uint16(b >> 16)
}

// toFloat16 rounds to nearest, ties to even, and to the largest finite number
// what is above it.
func toFloat16(x float32) uint16 {
	sign := uint16(math.Float32bits(x) >> 16 & 0x8000)
	a := math.Abs(float64(x))
	switch {
	case x != x:
		return 0x7e00
	case math.IsInf(a, 1):
		return sign | 0x7c00
	case a >= 65504:
		return sign | 0x7bff
	}
	_, e := math.Frexp(a) // a = f * 2^e, f in [1/2, 1)
	e = max(e, -13)
	// In units of the last place; a carry into the exponent comes out right.
	units := uint16(math.RoundToEven(math.Ldexp(a, 11-e)))
	return sign | (uint16(e+13)<<10 + units)
}

var (
	posInf = float32(math.Inf(1))
	negInf = float32(math.Inf(-1))
	nan    = float32(math.NaN())
	negZ   = float32(math.Copysign(0, -1))
)

// up and down return the neighbours of a float32.
func up(x float32) float32   { return math.Nextafter32(x, posInf) }
func down(x float32) float32 { return math.Nextafter32(x, negInf) }

// inverted is the kind of rows in which some weights rise where scores fall,
// at a temperature of log2(e): spec 3.1.
const inverted = "inverted weights"

// inversions returns some t that weigh less than the float below them.
var inversions = sync.OnceValue(func() (list []float32) {
	for t := float32(-0.3); len(list) < 30; t = down(t) {
		if oracle.Exp2(t) < oracle.Exp2(down(t)) {
			list = append(list, t)
			t *= 0.97
		}
	}
	return list
})

// A kind is a shape of logits.
type kind struct {
	name string
	fill func(r rng, x []float32)
}

// each makes a kind whose logits do not look at each other.
func each(name string, f func(r rng) float32) kind {
	return kind{name, func(r rng, x []float32) {
		for i := range x {
			x[i] = f(r)
		}
	}}
}

func normal(r rng, x []float32, scale float64) {
	for i := range x {
		x[i] = float32(r.NormFloat64() * scale)
	}
}

// sprinkle writes about one in n of the logits anew, and at least one.
func sprinkle(r rng, x []float32, n int, f func() float32) {
	for range len(x)/n + 1 {
		x[r.IntN(len(x))] = f()
	}
}

var kinds = []kind{
	{"normal", func(r rng, x []float32) { normal(r, x, 2.5) }},
	{"model", func(r rng, x []float32) {
		normal(r, x, 2.5)
		for rank := range min(256, len(x)) {
			x[r.IntN(len(x))] = 16 - 1.2*float32(math.Log(float64(rank+1)))
		}
	}},
	{"flat", func(r rng, x []float32) { normal(r, x, 0.3) }},
	{"steep", func(r rng, x []float32) { normal(r, x, 40) }},
	each("ties", func(r rng) float32 { return float32(r.IntN(5)) }),
	each("many ties", func(r rng) float32 { return float32(math.Round(r.NormFloat64() * 8)) }),
	{"constant", func(r rng, x []float32) {
		c := pick(r, 1.5, 0, -7, 3e38, -3e38, 1e-45, float32(-1e-45))
		for i := range x {
			x[i] = c
		}
	}},
	{"two plateaus", func(r rng, x []float32) {
		high, low := float32(r.NormFloat64()), float32(r.NormFloat64())-1
		n := 1 + r.IntN(len(x))
		for i := range x {
			x[i] = low
			if r.IntN(len(x)) < n {
				x[i] = high
			}
		}
	}},
	{"few above a plateau", func(r rng, x []float32) {
		for i := range x {
			x[i] = -2
		}
		sprinkle(r, x, 500, func() float32 { return r.Float32() * 12 })
	}},
	{"half -inf", func(r rng, x []float32) {
		normal(r, x, 2)
		sprinkle(r, x, 2, func() float32 { return negInf })
	}},
	{"mostly -inf", func(r rng, x []float32) {
		for i := range x {
			x[i] = negInf
		}
		sprinkle(r, x, pick(r, 10, 100, 1000, 1<<30), func() float32 { return float32(r.NormFloat64()) })
	}},
	{"-inf at the end", func(r rng, x []float32) {
		normal(r, x, 2)
		for i := r.IntN(len(x)); i < len(x); i++ {
			x[i] = negInf
		}
	}},
	{"all -inf", func(r rng, x []float32) {
		for i := range x {
			x[i] = negInf
		}
	}},
	{"nan", func(r rng, x []float32) {
		normal(r, x, 3)
		sprinkle(r, x, pick(r, 3, 1<<30), func() float32 { return nan })
	}},
	{"nan and -inf", func(r rng, x []float32) {
		for i := range x {
			x[i] = pick(r, nan, negInf)
		}
		if r.chance(2) {
			x[r.IntN(len(x))] = 1
		}
	}},
	{"+inf", func(r rng, x []float32) {
		normal(r, x, 3)
		sprinkle(r, x, pick(r, 2, 50, 1<<30), func() float32 { return posInf })
		if r.chance(4) {
			sprinkle(r, x, 9, func() float32 { return nan })
		}
	}},
	each("all +inf", func(r rng) float32 { return posInf }),
	each("infinities", func(r rng) float32 { return pick(r, posInf, negInf, negInf, 0) }),
	each("zeros", func(r rng) float32 { return pick(r, 0, negZ) }),
	{"zeros below one", func(r rng, x []float32) {
		for i := range x {
			x[i] = pick(r, 0, negZ, 0, negZ, -1e-45, 1e-45, -1)
		}
		if r.chance(2) {
			x[r.IntN(len(x))] = 1
		}
	}},
	{"around zero", func(r rng, x []float32) {
		// Every float from the smallest negative on, in numbers of their own.
		low := pick(r, float32(-1e-45), -3e-45, -1e-40)
		for i := range x {
			x[i] = low
		}
		sprinkle(r, x, pick(r, 4, 40, 1<<30), func() float32 { return pick(r, 0, negZ, 1e-45, 3e-45) })
	}},
	{"keys around zero", func(r rng, x []float32) { // -0 and +0 are one of them
		span := pick[int32](r, 3, 300, 2047, 4095, 1<<14-1, 1<<20-1)
		for i := range x {
			k := r.Int32N(2*span+1) - span
			if r.chance(2) {
				k %= 5
			}
			x[i] = math.Float32frombits(uint32(k))
			if k < 0 {
				x[i] = math.Float32frombits(uint32(-k) | 1<<31)
			}
		}
		x[r.IntN(len(x))] = math.Float32frombits(uint32(span))
	}},
	each("subnormal", func(r rng) float32 { return math.Float32frombits(r.Uint32() & 0x807fffff) }),
	each("bits", func(r rng) float32 { return math.Float32frombits(r.Uint32()) }),
	each("finite bits", func(r rng) float32 {
		b := r.Uint32()
		if b&0x7f800000 == 0x7f800000 {
			b &^= 1 << 24
		}
		return math.Float32frombits(b)
	}),
	each("huge", func(r rng) float32 { return pick(r, float32(math.MaxFloat32), -math.MaxFloat32, 3e38, -3e38, 1e38, 0) }),
	{"rising", func(r rng, x []float32) {
		for i := range x {
			x[i] = float32(i) * pick[float32](r, 1, 1, 1, 0.999) / 64
		}
	}},
	{"falling", func(r rng, x []float32) {
		for i := range x {
			x[i] = -float32(i) / 1024
		}
	}},
	{"neighbours", func(r rng, x []float32) { // all distinct, as close as floats are
		b := math.Float32bits(pick[float32](r, 1, -1, 17, 1e-3, -0.3))
		for i, j := range r.Perm(len(x)) {
			x[i] = math.Float32frombits(b + uint32(j))
		}
	}},
	{"fine", func(r rng, x []float32) { // maximum 0, weights near 1 of all 24 bits
		scale := pick[float32](r, 0.35, 0.1, 1e-3)
		for i := range x {
			x[i] = -r.Float32() * scale
		}
		x[r.IntN(len(x))] = 0
	}},
	{inverted, func(r rng, x []float32) {
		for i := range x {
			x[i] = -pick[float32](r, 30, 30, 1, 0.5)
		}
		for range min(len(x)/2, 1+r.IntN(20)) {
			z := pick(r, inversions()...)
			x[r.IntN(len(x))], x[r.IntN(len(x))] = z, down(z)
		}
		x[r.IntN(len(x))] = 0
	}},
	{"powers of two", func(r rng, x []float32) {
		for i := range x {
			x[i] = -float32(r.IntN(45)) * math.Ln2
		}
	}},
	{"nested", func(r rng, x []float32) {
		// A third over all floats, a third in one part in 2^11 of them, a third
		// in one part in 2^11 of those, so that a search by histograms has to
		// go down as deep as it can.
		b := math.Float32bits(3) &^ 0x1fffff
		for i := range x {
			switch r.IntN(3) {
			case 0:
				x[i] = math.Float32frombits(b&0x80000000 | r.Uint32N(0x7f800000) | r.Uint32N(2)<<31)
			case 1:
				x[i] = math.Float32frombits(b + r.Uint32N(1<<21))
			case 2:
				x[i] = math.Float32frombits(b + 0x5400 + r.Uint32N(1<<uint(r.IntN(11))))
			}
		}
	}},
	{"one block", func(r rng, x []float32) { // all that matters stands together
		normal(r, x, 1)
		at := r.IntN(len(x))
		for i := at; i < min(at+200, len(x)); i++ {
			x[i] += 9
		}
	}},
	{"one lane", func(r rng, x []float32) { // every 8th, or every 128th
		step := pick(r, 8, 16, 128)
		for i := range x {
			x[i] = float32(r.NormFloat64())
			if i%step == step-1 {
				x[i] += 6
			}
		}
	}},
	{"at the end", func(r rng, x []float32) {
		normal(r, x, 1)
		x[len(x)-1] = 4
		if len(x) > 1 {
			x[len(x)-2] = 4
		}
	}},
	{"at the start", func(r rng, x []float32) {
		normal(r, x, 1)
		for i := range min(len(x), 1+r.IntN(4)) {
			x[i] = 5
		}
	}},
}
