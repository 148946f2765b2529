package generate

import (
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/tokendraw/tokendraw"
	"github.com/tokendraw/tokendraw/oracle"
	"github.com/tokendraw/tokendraw/vectors/internal/schema"
)

type (
	row     = schema.Row
	request = schema.Request
)

const (
	f32  = "float32"
	f16  = "float16"
	bf16 = "bfloat16"
)

var (
	inf  = float32(math.Inf(+1))
	nan  = float32(math.NaN()) // 7fc00000
	zero = float32(math.Copysign(0, -1))
)

// elem returns the bits of a value that the type holds exactly.
func elem(dtype string, x float32) string {
	b := math.Float32bits(x)
	switch dtype {
	case f32:
		return fmt.Sprintf("%08x", b)
	case bf16:
		if b&0xffff != 0 {
			panic(fmt.Sprintf("%v is not a bfloat16", x))
		}
		return fmt.Sprintf("%04x", b>>16)
	}
	switch {
	case x != x:
		return "7e00"
	case x == inf:
		return "7c00"
	case x == -inf:
		return "fc00"
	}
	h, err := schema.Bits(tokendraw.Float16, int64(float64(x)*1024), 10)
	if err != nil || float64(x)*1024 != math.Trunc(float64(x)*1024) {
		panic(fmt.Sprintf("%v is not a float16 of these cases", x))
	}
	return fmt.Sprintf("%04x", h)
}

func join(dtype string, values []float32) (s string) {
	for _, x := range values {
		s += elem(dtype, x)
	}
	return s
}

// vals is a row of values, cyc one of a repeated pattern.
func vals(dtype string, values ...float32) row { return row{Bits: join(dtype, values)} }

func cyc(dtype string, values ...float32) row { return row{Cycle: join(dtype, values)} }

// with overwrites an element of a row.
func (g set) on(r row) row {
	r.Set = append(slices.Clone(r.Set), schema.Override{First: g.first, Last: g.last, Bits: elem(g.dtype, g.x)})
	return r
}

type set struct {
	dtype       string
	first, last int
	x           float32
}

func same(i int) row { return row{Same: &i} }

// bell is a row like a language model's, with few or many ties by type.
func bell(dtype string, seed uint64) row {
	switch dtype {
	case bf16:
		return row{Bell: &schema.Bell{Seed: seed, Drop: 9, Shift: 4}}
	case f16:
		return row{Bell: &schema.Bell{Seed: seed, Drop: 6, Shift: 7}}
	}
	return row{Bell: &schema.Bell{Seed: seed, Shift: 13}}
}

func uniform(seed uint64, lo, hi int64, shift int) row {
	return row{Uniform: &schema.Uniform{Seed: seed, Lo: lo, Hi: hi, Shift: shift}}
}

func ramp(start, step int64, shift int) row {
	return row{Ramp: &schema.Ramp{Start: start, Step: step, Shift: shift}}
}

// An option sets parameters of a request.
type option func(*request)

// req is a request; without options it is of temperature 1, seed 0, step 0.
func req(options ...option) request {
	r := request{Temperature: hex32(1)}
	for _, o := range options {
		o(&r)
	}
	return r
}

func temp(x float32) option     { return func(r *request) { r.Temperature = hex32(x) } }
func topK(k int) option         { return func(r *request) { r.TopK = k } }
func topP(x float32) option     { return func(r *request) { r.TopP = hex32(x) } }
func minP(x float32) option     { return func(r *request) { r.MinP = hex32(x) } }
func rep(x float32) option      { return func(r *request) { r.RepetitionPenalty = hex32(x) } }
func presence(x float32) option { return func(r *request) { r.PresencePenalty = hex32(x) } }
func frequency(x float32) option {
	return func(r *request) { r.FrequencyPenalty = hex32(x) }
}
func first() option        { return func(r *request) { r.FilterOrder = "top_k_first" } }
func seed(s uint64) option { return func(r *request) { r.Seed = fmt.Sprintf("%016x", s) } }
func step(s uint64) option { return func(r *request) { r.Step = fmt.Sprintf("%016x", s) } }
func u(x uint64) option    { return func(r *request) { r.U = fmt.Sprintf("%016x", x) } }
func allow(ids ...int32) option {
	return func(r *request) { r.AllowedTokens = append([]int32{}, ids...) }
}
func bias(id int32, x float32) option {
	return func(r *request) { r.LogitBias = append(r.LogitBias, schema.BiasOf{Token: id, Bits: hex32(x)}) }
}
func mask(words ...uint32) option {
	s := ""
	for _, w := range words {
		s += fmt.Sprintf("%08x", w)
	}
	return func(r *request) { r.Bitmask = &s }
}

// prompt, output and counts take pairs of an id and a number.
func pairs(list []int32) (runs []schema.CountOf) {
	for ; len(list) > 0; list = list[2:] {
		runs = append(runs, schema.CountOf{Token: list[0], Times: list[1]})
	}
	return runs
}
func prompt(list ...int32) option { return func(r *request) { r.PromptTokens = pairs(list) } }
func output(list ...int32) option { return func(r *request) { r.OutputTokens = pairs(list) } }
func counts(list ...int32) option { return func(r *request) { r.Counts = pairs(list) } }

// also returns r with more options.
func also(r request, options ...option) request {
	r.LogitBias = slices.Clone(r.LogitBias)
	for _, o := range options {
		o(&r)
	}
	return r
}

const most = math.MaxUint64

// maker collects cases.
type maker struct{ cases []*schema.Draw }

func (m *maker) add(name, about, dtype string, vocab int, rows []row, requests ...request) *schema.Draw {
	c := &schema.Draw{Name: name, About: about, DType: dtype, Vocab: vocab, Rows: rows, Requests: requests}
	if c.Rows == nil {
		c.Rows = []row{}
	}
	if c.Requests == nil {
		c.Requests = []request{}
	}
	m.cases = append(m.cases, c)
	return c
}

// values is add for rows that are one list of values, repeated for each request.
func (m *maker) values(name, about, dtype string, list []float32, requests ...request) {
	rows := []row{vals(dtype, list...)}
	for range requests[1:] {
		rows = append(rows, same(0))
	}
	m.add(name, about, dtype, len(list), rows, requests...)
}

// one is add for one row that every request has.
func (m *maker) one(name, about, dtype string, vocab int, r row, requests ...request) {
	rows := []row{r}
	for range requests[1:] {
		rows = append(rows, same(0))
	}
	m.add(name, about, dtype, vocab, rows, requests...)
}

// drawCases returns the cases without their results.
func drawCases() []*schema.Draw {
	m := new(maker)
	m.numbers()
	m.ties()
	m.filters()
	m.temperatures()
	m.random()
	m.masks()
	m.penalties()
	m.sums()
	m.sizes()
	m.mixtures()
	return m.cases
}

func (m *maker) numbers() {
	all := []request{req(u(0)), req(u(most)), req(temp(0)), req(topK(1)), req(topK(2), topP(0.9), u(1<<63))}
	for _, d := range []string{f32, f16, bf16} {
		m.values("nan-inf/nan-first-"+d, "a NaN at the start flags the row and is not drawn", d, []float32{nan, 2, 1.5, 0, -1}, all...)
		m.values("nan-inf/nan-middle-"+d, "a NaN in the middle", d, []float32{2, 1.5, nan, 3, -1}, all...)
		m.values("nan-inf/nan-last-"+d, "a NaN at the end", d, []float32{2, 1.5, 3, -1, nan}, all...)
		m.values("nan-inf/only-nan-"+d, "with nothing but NaN there is no candidate", d, []float32{nan, nan, nan}, all...)
		m.values("nan-inf/inf-one-"+d, "a single +inf is always drawn", d, []float32{0, 1, inf, 5}, all...)
		m.values("nan-inf/inf-several-"+d, "several +inf share evenly and the filters act on them", d, []float32{inf, 1, inf, nan, inf, -inf, inf},
			append(all, req(minP(1), u(3<<62)), req(topP(0.5), u(most)), req(topK(3), topP(0.5), u(most)), req(topK(3), topP(0.5), first(), u(most)))...)
		m.values("nan-inf/neg-inf-"+d, "a token of -inf is never drawn nor kept", d, []float32{-inf, -inf, 1, -inf, 1, -inf}, all...)
		m.values("nan-inf/zeros-"+d, "-0 and +0 are one score", d, []float32{zero, 0, zero, -1, 0}, all...)
	}
	m.add("nan-inf/payloads", "every NaN counts, quiet or signalling, of either sign", f32, 3, []row{
		{Bits: "7f800001" + hex32(1) + hex32(2)}, {Bits: hex32(1) + "ffc00000" + hex32(2)}, {Bits: hex32(1) + hex32(2) + "ffffffff"}, {Bits: hex32(1) + "7fbfffff" + hex32(2)},
	}, req(u(0)), req(u(most)), req(temp(0)), req(topK(1)))
	m.add("nan-inf/payloads-16", "every NaN of a narrow type counts", f16, 3, []row{
		{Bits: "7c013c004000"}, {Bits: "3c00fe004000"}, {Bits: "3c004000ffff"},
	}, req(u(0)), req(u(most)), req(temp(0)))
	m.values("nan-inf/forbidden-nan", "a NaN that a mask or a bias removes still flags the row", f32, []float32{nan, 1, 2},
		req(allow(1, 2), u(0)), req(mask(6), u(0)), req(bias(0, -inf)), req(bias(0, 50), temp(0)), req(allow(0)), req(mask(1), temp(0)))
	m.values("nan-inf/inf-meets-inf", "+inf with a bias of -inf is out, without a flag", f32, []float32{inf, 2, 1},
		req(bias(0, -inf), u(0)), req(bias(0, -inf), temp(0)), req(bias(0, -3e38), u(most)), req(allow(1, 2), u(0)), req(mask(4), u(0)))
	m.values("nan-inf/inf-penalized", "penalties leave +inf where it is, unless they are infinite themselves", f32, []float32{inf, 2, inf},
		req(rep(2), prompt(0, 1), u(0)), req(frequency(2), presence(2), output(0, 3), u(0)), req(frequency(3e38), output(0, 2), u(0)), req(frequency(-3e38), output(1, 2), u(1<<63)))
	m.values("nan-inf/overflow", "penalties and bias that overflow make candidates of +inf or remove them", f32, []float32{1e38, -1e38, 3e38, -3e38},
		req(rep(1e-30), prompt(0, 1, 1, 1), u(most)), req(rep(1e30), prompt(0, 1, 1, 1, 2, 1, 3, 1), u(most)),
		req(bias(2, 3e38), u(most)), req(bias(3, -3e38), temp(3e38), u(most)), req(frequency(3e38), output(0, 2, 2, 1), temp(3e38), u(most)),
		req(presence(-3.4e38), output(2, 1, 3, 1), u(most)))
	m.values("nan-inf/far-apart", "a difference beyond float32 weighs 2^-40, which is 0", f32, []float32{-3e38, 3e38, 0, 3e38, -3.4028235e38},
		req(temp(3e38), u(most)), req(temp(3e38), minP(1e-12), u(most)), req(temp(1), u(most)), req(temp(3.4028235e38), topP(0.5)))
	m.add("nan-inf/neighbours", "a bad row does not touch the others", f32, 4, []row{
		vals(f32, 1, 2, 3, 4), vals(f32, nan, nan, nan, nan), vals(f32, 4, 3, 2, 1), vals(f32, -inf, -inf, -inf, -inf), vals(f32, 0, inf, 0, 0), vals(f32, 1, nan, 1, 1),
	}, req(seed(1)), req(seed(2)), req(seed(3)), req(seed(4)), req(seed(5)), req(seed(6)))

	m.values("all-masked/nothing-left", "no candidate: token -1, for greedy rows too", f32, []float32{1, 2, 3},
		req(mask()), req(mask(0)), req(mask(8)), req(mask(0, 7)), req(allow(0), mask(6)), req(bias(0, -inf), bias(1, -inf), bias(2, -inf)), req(temp(0), mask(0)), req(topK(1), mask(0)), req(allow(0), bias(0, -inf)))
	m.values("all-masked/neg-inf", "a row of -inf has no candidate, and a bias does not help", f32, []float32{-inf, -inf, -inf},
		req(), req(temp(0)), req(topK(2), topP(0.5), minP(0.5)), req(bias(0, 3e38)), req(rep(1e-40), prompt(0, 1)))
	m.add("all-masked/last-lane", "the only token, or the only forbidden one, is the last of the row", f32, 2049, []row{
		set{f32, 2048, 2048, -7.25}.on(cyc(f32, -inf)), same(0), same(0), set{f32, 2048, 2048, -inf}.on(cyc(f32, 0.25)), same(3), same(3),
	}, req(temp(0)), req(u(most)), req(topK(40), topP(0.9), u(0)), req(temp(0)), req(u(most)), req(topK(2000), u(most)))
	m.add("all-masked/last-two", "everything but the last two of a row is -inf", bf16, 1538, []row{
		set{bf16, 1537, 1537, 3}.on(set{bf16, 1536, 1536, 2}.on(cyc(bf16, -inf))), same(0),
	}, req(u(most)), req(topP(0.7), u(most)))
	m.add("all-masked/never-filtered-away", "filters at a low temperature always leave a token", f32, 96, []row{
		cyc(f32, 20000), set{f32, 0, 0, 50000}.on(cyc(f32, 0)), set{f32, 77, 77, 3}.on(cyc(f32, -inf)), uniform(1, -4, 4, 0),
	}, req(temp(0.05), topK(48), topP(0.97), minP(1), seed(1)), req(temp(0.05), topK(48), topP(0.97), minP(1), seed(2)),
		req(temp(0.05), topK(48), topP(1e-30), minP(1), seed(3)), req(temp(0.05), topK(48), topP(1e-30), minP(1), seed(4)))
	m.add("empty-batch/no-rows", "zero rows: nothing is drawn and nothing is wrong", f32, 128, nil)
}

func (m *maker) ties() {
	m.values("ties/top-k-cuts", "exactly k survive; among equals the lower id", f32, []float32{0, 1, 0, 0, 1, 0},
		req(topK(2), u(most)), req(topK(3), u(most)), req(topK(4), u(most)), req(topK(5), u(most)), req(topK(6), u(most)), req(topK(1), u(most)))
	m.values("ties/top-p-cuts", "a tie with the last kept token does not widen the kept set", f32, []float32{0, 1.0986123, 0, 0},
		req(topP(0.5), u(most)), req(topP(0.6), u(most)), req(topP(0.7), u(most)), req(topP(0.9), u(most)))
	for _, d := range []string{f32, f16, bf16} {
		m.add("ties/greedy-"+d, "the lowest id of equal maxima", d, 3001, []row{
			cyc(d, 1.5), set{d, 2900, 2900, 2}.on(set{d, 700, 700, 2}.on(cyc(d, 1.5))), set{d, 2999, 3000, 2}.on(cyc(d, 1.5)), set{d, 1, 3000, 2}.on(cyc(d, 1.5)),
		}, req(temp(0)), req(temp(0)), req(topK(1), temp(0.9)), req(topK(1)))
		m.one("ties/plateaus-"+d, "few levels: every filter cuts inside a plateau", d, 331, cyc(d, 0, 5, 2, 5, 1, 0.5, 4),
			req(seed(1)), req(topK(50), seed(2)), req(topK(95), seed(3)), req(topP(0.5), seed(4)), req(minP(0.5), seed(5)), req(topK(120), topP(0.9), seed(6)), req(topK(120), topP(0.9), first(), seed(7)), req(topK(331), seed(8)))
		m.one("ties/flat-"+d, "one level: the first n of the row survive", d, 1000, cyc(d, -3),
			req(topK(333), u(most)), req(topP(0.25), u(most)), req(minP(1), u(most)), req(u(most)), req(u(1<<63)), req(topK(512), topP(0.5), first(), u(most)), req(temp(0)))
	}
	m.one("ties/levels", "thousands of equal scores at the cut of top_k and top_p", f32, 20000, uniform(5, -3, 3, 1),
		req(topK(1000), seed(1)), req(topK(5000), seed(2)), req(topP(0.3), seed(3)), req(topP(0.7), seed(4)), req(topP(0.3), topK(10000), first(), seed(5)), req(topK(2), seed(6)))
	m.values("ties/one-ulp", "scores one unit apart are not equal, though their weights are", f32, []float32{1, math.Nextafter32(1, 2), 1, math.Nextafter32(1, 0)},
		req(temp(0)), req(topK(2), u(most)), req(temp(100), topK(2), u(most)), req(minP(1), temp(100), u(most)), req(topP(0.5), temp(100), u(most)))
}

func (m *maker) filters() {
	off := []request{}
	for _, k := range []int{0, -1, 11, 12, 1 << 30, math.MaxInt32, 10, 2} {
		off = append(off, req(topK(k), seed(6)))
	}
	m.one("topk-gt-v/off-or-large", "0, -1, V and more all keep everything", f32, 11, ramp(-4, 1, 2), off...)
	m.add("topk-gt-v/few-candidates", "k above the number of candidates keeps the candidates", f32, 5003, []row{
		set{f32, 777, 777, 0}.on(cyc(f32, -inf)), set{f32, 12, 12, 0.5}.on(same(0)), same(1), same(1),
	}, req(topK(1<<30), u(most)), req(topK(math.MaxInt32), u(most)), req(topK(2), topP(0.5), u(most)), req(topK(3), topP(0.9), first(), u(most)))
	m.one("topk-gt-v/deep", "cuts far into a flat row are exact", f32, 20000, cyc(f32, 0),
		req(topK(16128), u(most)), req(topP(0.984375), u(most)), req(u(most)), req(topK(19999), topP(0.5), first(), u(most)), req(topK(10001), topP(0.5), u(most)))
	m.values("topk-gt-v/exact-k", "k tokens, not k + 1", f32, []float32{0.1, -1.5, 0.85, 0.3, -2, 0.75, 0.05, 0.6, -3, 0.2},
		req(topK(2), u(most)), req(topK(3), u(most)), req(topK(5), u(most)), req(topK(9), u(most)), req(topK(10), u(most)))

	var edge []request
	for _, n := range []float32{1, 3, 4, 7} {
		p := n / 8
		edge = append(edge, req(topP(math.Nextafter32(p, 0)), u(most)), req(topP(p), u(most)), req(topP(math.Nextafter32(p, 1)), u(most)))
	}
	edge = append(edge, req(topP(math.SmallestNonzeroFloat32), u(most)), req(topP(0x1p-64), u(most)), req(topP(0x1p-50), u(most)), req(topP(math.Nextafter32(1, 0)), u(most)), req(topP(1), u(most)))
	m.values("topp-edge/eighths", "a sum that equals p ends the nucleus; one unit more takes another token", f32, slices.Repeat([]float32{0.5}, 8), edge...)
	m.values("topp-edge/eighths-first", "the same under top_k_first, of seven survivors", f32, slices.Repeat([]float32{0.5}, 8),
		req(topK(7), first(), topP(3.0/7), u(most)), req(topK(7), first(), topP(math.Nextafter32(3.0/7, 0)), u(most)), req(topK(7), first(), topP(math.Nextafter32(3.0/7, 1)), u(most)), req(topK(4), first(), topP(0.5), u(most)), req(topK(4), topP(0.5), u(most)), req(topK(4), topP(0.625), u(most)))
	harmonic := make([]float32, 200)
	for i := range harmonic {
		harmonic[i] = float32(-math.Log(float64(i + 1)))
	}
	m.values("topp-edge/harmonic", "the nucleus of a falling row reaches p and loses it without its last token", f32, harmonic,
		req(topP(0.1), u(most)), req(topP(0.5), u(most)), req(topP(0.8), u(most)), req(topP(0.9), u(most)), req(topP(0.99), u(most)), req(topP(0.9), topK(100), u(most)), req(topP(0.9), topK(100), first(), u(most)))
	m.values("topp-edge/weightless", "top_p 1 keeps tokens of weight 0, anything less cuts them", f32, []float32{0, -1000, -0.5, -24.6, -25.3, -25.65, -25.7},
		req(topP(1), u(most)), req(topP(math.Nextafter32(1, 0)), u(most)), req(u(most)), req(topK(4), topP(1), u(most)), req(topP(0.9999998), u(most)))
	m.values("topp-edge/crossing", "the token that crosses p belongs to the nucleus", f32, []float32{-2.525729, -0.867501, -0.693147},
		req(topP(0.9), u(most)), req(topP(0.5), u(most)), req(topP(0.51), u(most)), req(topP(0.92), u(most)), req(topP(0.93), u(most)))
	m.one("topp-edge/dominant", "a dominant token does not spoil the cut in the flat part", f32, 600, set{f32, 0, 0, 7}.on(ramp(0, -1, 9)),
		req(topK(5), seed(1)), req(topP(0.758347), seed(2)), req(topP(0.7584), seed(3)), req(topP(0.9), topK(300), seed(4)), req(topP(0.9), topK(300), first(), seed(5)))
	// p next to a sum of a row's own weights: the float32 nearest to S_n / S_N
	// and its two neighbours, for both orders.
	for s := range uint64(12) {
		r := uniform(100+s, -3000, 3000, 10)
		logits := rowValues(f32, 40, r)
		z, _ := oracle.Scores(logits, &tokendraw.Request{})
		order := oracle.Order(z)
		_, w := oracle.Weights(z, order, 0.75)
		n, k := 3+int(s), 20+int(s)
		var part, base, total uint64
		for i, x := range w {
			total += x
			if i < k {
				base += x
			}
			if i < n {
				part += x
			}
		}
		var list []request
		for i, whole := range []uint64{total, base} {
			p := float32(float64(part) / float64(whole))
			for _, p := range []float32{math.Nextafter32(p, 0), p, math.Nextafter32(p, 1)} {
				o := []option{temp(0.75), topP(p), u(most)}
				if i == 1 {
					o = append(o, topK(k), first())
				}
				list = append(list, req(o...))
			}
		}
		m.one(fmt.Sprintf("topp-edge/own-sum-%d", s), "p is the float32 nearest to a sum of the row, or a neighbour", f32, 40, r, list...)
	}

	mid, dust := roundingTrap()
	m.one("topp-edge/integer-target", "a target computed in float64 is one unit too high", f32, dust+3,
		set{f32, 0, 1, 0}.on(set{f32, dust + 2, dust + 2, mid}.on(cyc(f32, dustScore))), req(topP(math.Nextafter32(1, 0)), u(most)), req(topP(math.Nextafter32(1, 0)), seed(1)))

	m.values("order-semantics/joint-and-first", "top_p takes its share of the whole row, or of what top_k leaves", f32, []float32{3.637586, 3.178054, 2.833213, 1.94591, 0.693147, 0.693147, 0.693147, 0.693147, 0.693147, 0.693147, 0.693147},
		req(topK(4), topP(0.8), u(most)), req(topK(4), topP(0.8), first(), u(most)), req(topK(3), topP(0.5), u(most)), req(topK(3), topP(0.5), first(), u(most)), req(topP(0.8), first(), u(most)), req(topP(0.8), u(most)),
		req(topK(2), topP(0.99), u(most)), req(topK(2), topP(0.99), first(), u(most)), req(topK(1), topP(0.1), u(most)), req(topK(4), topP(1), first(), u(most)))
	m.values("order-semantics/min-p", "min_p compares after the temperature, beside the other filters", f32, []float32{5, 1, 4, 4.5, 3},
		req(minP(0.3), u(most)), req(minP(0.3), temp(4), u(most)), req(minP(0.3), temp(4), topK(3), u(most)), req(minP(0.3), temp(4), topP(0.5), u(most)), req(minP(0.05), topP(0.95), topK(4), first(), u(most)), req(minP(1), u(most)))
	m.values("order-semantics/temperature-once", "filters that do nothing change nothing", f32, []float32{3, 0},
		req(temp(3), seed(1)), req(temp(3), topK(2), seed(1)), req(temp(3), topP(1), minP(0), seed(1)), req(temp(3), topK(2), first(), seed(1)), req(temp(0.75), seed(1)))
	m.values("order-semantics/bias-then-penalty", "bias comes before the penalties, the mask between", f32, []float32{1, 0.5, -1, 0.25},
		req(bias(0, -2), bias(2, 3), rep(4), prompt(0, 1, 2, 1), u(most)), req(bias(0, -2), bias(2, 3), rep(4), output(0, 1, 2, 2), frequency(0.5), presence(-0.25), u(most)), req(bias(1, 100), mask(0xd), rep(4), prompt(1, 1), u(most)))

	m.values("mirostat-typical-minp-xtc-dry/min-p", "min_p at the weight of a token, one unit below and above", f32, []float32{0, -1, -2, -3, -4},
		func() (list []request) {
			for _, t := range []float32{1, 1.442695, 0.5} {
				for _, z := range []float32{-1, -2} {
					y, _ := oracle.Weight(z, 0, oracle.Scale(t))
					for _, p := range []float32{math.Nextafter32(y, 0), y, math.Nextafter32(y, 1)} {
						list = append(list, req(temp(t), minP(p), u(most)))
					}
				}
			}
			return append(list, req(minP(math.SmallestNonzeroFloat32), u(most)), req(minP(9.0e-13), u(most)), req(minP(1e-12), u(most)))
		}()...)
	m.values("mirostat-typical-minp-xtc-dry/min-p-clamp", "no weight is below 2^-40 to min_p", f32, []float32{0, -100, -27, -28},
		req(minP(0x1p-40), u(most)), req(minP(math.Nextafter32(0x1p-40, 1)), u(most)), req(minP(1e-13), u(most)), req(minP(0x1p-39), u(most)))
	m.one("mirostat-typical-minp-xtc-dry/min-p-near-one", "y is not strictly monotone near the maximum: n_m is a count", f32, 4096, ramp(0, -1, 23),
		req(minP(0.99995), seed(1)), req(minP(0.9999), temp(0.9), seed(2)), req(minP(0.999), temp(0.3), seed(3)), req(minP(1), seed(4)), req(minP(0.99999994), temp(2.7), seed(5)))
	m.one("mirostat-typical-minp-xtc-dry/min-p-falling", "weights that rise where scores fall, in units of the last place", f32, 2048, fallingRow(),
		req(minP(fallingY(0)), seed(1)), req(minP(fallingY(1)), seed(2)), req(topP(0.5), seed(3)), req(minP(fallingY(2)), topK(1500), seed(4)))
}

// dustScore weighs 1 beside a score of 0 at temperature 1.
const dustScore = -24.953299

// roundingTrap returns the score of one token and a number of tokens of weight
// 1 which, with two tokens of score 0, make a total of a little more than a
// multiple of 2^24. For the largest top_p below 1 the target then is a little
// below an integer, and float64 rounds it up to that.
func roundingTrap() (mid float32, dust int) {
	c := oracle.Scale(1)
	if _, w := oracle.Weight(dustScore, 0, c); w != 1 {
		panic("dust does not weigh 1")
	}
	for mid = -3; ; mid = math.Nextafter32(mid, -inf) {
		_, w := oracle.Weight(mid, 0, c)
		dust = int(1<<24 + 3 - w%(1<<24))
		if dust > 9500 && dust < 12000 {
			return mid, dust
		}
	}
}

// fallingRow has scores on both sides of a t where Exp2 is not monotone, each
// a float32 below the other: 0 first, then 2047 neighbours.
func fallingRow() row {
	values := make([]float32, 2048)
	start := fallingStart()
	for i := range values[1:] {
		values[i+1] = math.Float32frombits(start + uint32(i))
	}
	return vals(f32, values...)
}

// fallingStart finds 2047 consecutive scores below 0, by bits, which at
// temperature 1 have many pairs out of order.
func fallingStart() uint32 {
	best, bestAt := 0, uint32(0)
	c := oracle.Scale(1)
	for from := math.Float32bits(-0.29); from < math.Float32bits(-0.3465); from += 200_000 {
		n := 0
		last, _ := oracle.Weight(math.Float32frombits(from), 0, c)
		for i := uint32(1); i < 2047; i++ {
			y, _ := oracle.Weight(math.Float32frombits(from+i), 0, c)
			if y > last {
				n++
			}
			last = y
		}
		if n > best {
			best, bestAt = n, from
		}
	}
	if best == 0 {
		panic("no pair out of order found")
	}
	return bestAt
}

// fallingY is a weight of fallingRow where a count and a threshold differ.
func fallingY(k int) float32 {
	c := oracle.Scale(1)
	start := fallingStart()
	last, _ := oracle.Weight(math.Float32frombits(start), 0, c)
	for i := uint32(1); i < 2047; i++ {
		y, _ := oracle.Weight(math.Float32frombits(start+i), 0, c)
		if y > last {
			if k == 0 {
				return y
			}
			k--
		}
		last = y
	}
	return last
}

func (m *maker) temperatures() {
	var list []request
	for i, t := range temperatures {
		list = append(list, req(temp(t), seed(uint64(i))))
	}
	m.values("temperature-edge/all", "from the smallest float32 to the largest", f32, []float32{1, 2, math.Nextafter32(2, 0), 2, -5, 1.9999, 0}, list...)
	m.values("temperature-edge/wide", "the same for scores of all sizes", f32, []float32{3e38, 1e38, 1, 1e-38, 0, -1e-38, -1, -1e38, -3e38}, list...)
	m.values("temperature-edge/subnormal", "subnormal scores are kept: they matter at a subnormal temperature", f32, []float32{0, 1e-40, 3e-40, -2e-40, 1e-45, -1e-45, 4e-39}, list...)
	m.add("temperature-edge/greedy-and-sampled", "greedy and sampled rows in one batch", f32, 3, []row{vals(f32, 2, -inf, 1), vals(f32, 0.5, 1, 2), same(0), same(1)},
		req(temp(0)), req(temp(0.6), topP(0.9), seed(9)), req(temp(0.6), topP(0.9), seed(9)), req(temp(0), topP(1e-9), minP(1), seed(9)))
	m.one("temperature-edge/three-greedy", "temperature 0, top_k 1 and both agree on many equal maxima", bf16, 1000, uniform(38, -24, 24, 3),
		req(temp(0)), req(topK(1)), req(temp(0.3), topK(1), topP(0.5)), req(temp(0), topK(7), minP(0.3)), req(temp(3e38), topK(1)))
	m.values("temperature-edge/zero-signed", "a temperature of -0 is 0", f32, []float32{1, 3, 2}, req(temp(zero)))

	m.values("logprobs/known", "the logarithm of the renormalised probability", f32, []float32{3, 2, 0},
		req(temp(0)), req(topK(1)), req(u(0)), req(u(most)), req(temp(0.5), u(most)), req(topK(2), u(most)), req(topP(0.7), u(most)), req(temp(0.01), u(most)))
	m.values("logprobs/small", "a token of 2^-36 and one of 2^-36.5", f32, []float32{0, -24.953299, -25.29987},
		req(u(most)), req(u(most-1<<28)), req(u(most-1<<29)), req(u(0)))
	m.one("logprobs/many", "one of 2^17 equal tokens", f16, 131072, cyc(f16, 1), req(u(1<<63)), req(u(most), topK(100000)))
}

func (m *maker) random() {
	var seeds, steps []request
	edges := []uint64{0, 1, 2, 3, 1<<31 - 1, 1 << 31, 1<<32 - 1, 1 << 32, 1<<32 + 1, 1<<63 - 1, 1 << 63, most - 1, most}
	for _, x := range edges {
		seeds = append(seeds, req(seed(x)))
		steps = append(steps, req(seed(42), step(x)))
	}
	m.one("seed-rng/seeds", "all 64 bits of the seed count", f32, 997, cyc(f32, 0), seeds...)
	m.one("seed-rng/steps", "all 64 bits of the step count", f32, 997, cyc(f32, 0), steps...)
	var run []request
	for i := range uint64(40) {
		run = append(run, req(seed(1+i/20), step(i%20)))
	}
	m.one("seed-rng/stream", "two requests over twenty steps", f32, 3, cyc(f32, 0), run...)
	m.values("seed-rng/never-zero", "a token of probability 0 is never drawn, be u at an end", f32, []float32{-inf, -inf, 1, -1000, 1, -inf, -1000},
		req(u(0)), req(u(most)), req(u(1<<63)), req(u(1<<63-1)), req(seed(45)), req(seed(46), temp(0.01)))
	// u on both sides of every border between two tokens.
	list := []float32{1, 0.25, -0.5, 0.75, -3}
	z := slices.Clone(list)
	order := oracle.Order(z)
	_, w := oracle.Weights(z, order, 1)
	var mass uint64
	for _, x := range w {
		mass += x
	}
	var borders []request
	var sum uint64
	for _, x := range w[:len(w)-1] {
		sum += x
		at, rem := bits.Div64(sum, 0, mass) // floor(sum * 2^64 / mass)
		if rem != 0 {
			at++
		}
		borders = append(borders, req(u(at-1)), req(u(at)))
	}
	m.values("seed-rng/borders", "the greatest u of a token and the least of the next", f32, list, borders...)

	rows := []row{vals(bf16, 4, 3, 3, 3, 1, 0, 0, 0)}
	var nine []request
	for i := range 9 {
		if i > 0 {
			rows = append(rows, same(0))
		}
		nine = append(nine, req(topK(3), seed(7)))
	}
	m.add("batch-variance/nine", "equal rows give equal results in every place", bf16, 8, rows, nine...)
	m.add("batch-variance/one", "and alone", bf16, 8, rows[:1], nine[0])
	three := []row{uniform(1, -32, 32, 4), uniform(2, -32, 32, 4), uniform(3, -32, 32, 4)}
	reqs := []request{req(seed(11), step(5), topK(20)), req(seed(12), step(30), topP(0.8)), req(seed(13), step(31))}
	m.add("batch-variance/three", "rows at different steps", f32, 64, three, reqs...)
	m.add("batch-variance/three-reversed", "the same rows in another order", f32, 64, []row{three[2], three[1], three[0]}, reqs[2], reqs[1], reqs[0])
	padded := m.add("batch-variance/padded", "the same rows in a padded matrix", f32, 64, slices.Clone(three), reqs...)
	padded.Stride = 71
	mapped := m.add("batch-variance/row-map", "rows of one request take its steps in row order", f32, 64,
		[]row{three[0], three[1], same(0), same(1), three[2], same(0)}, req(seed(11), step(5)), req(seed(12), step(most)), req(seed(13), temp(0)))
	mapped.RowRequest = []int32{1, 0, 1, 0, 1, 2}
	idle := m.add("batch-variance/idle-request", "a request without a row takes no part", f32, 64, slices.Clone(three[:2]), req(seed(1)), req(seed(2)), req(seed(3)))
	idle.RowRequest = []int32{2, 0}
	padded16 := m.add("batch-variance/padded-16", "a padded matrix of a narrow type", f16, 33, []row{bell(f16, 1), bell(f16, 2), bell(f16, 3)}, req(seed(1)), req(seed(2), topK(5)), req(temp(0)))
	padded16.Stride = 40
	m.one("determinism/long", "a long row with many ties", f32, 32768, uniform(52, -768, 256, 6),
		req(topK(1000), topP(0.9), seed(1)), req(topP(0.95), seed(2)), req(topK(300), topP(0.9), first(), seed(3)), req(seed(4)))
	m.one("determinism/equal", "equal rows with equal seeds agree, with unequal steps they need not", f32, 300, uniform(55, -96, 96, 5),
		req(topK(40), seed(1)), req(topK(40), seed(1)), req(topK(40), seed(1), step(1)), req(topK(40), seed(1), step(2)))
	m.one("api-surprise/seed-decides", "temperature 1 without filters still draws", f32, 4, cyc(f32, 0), seeds...)
}

func (m *maker) masks() {
	for _, v := range []int{1, 31, 32, 33, 63, 64, 65, 75} {
		m.one(fmt.Sprintf("mask-alignment/words-%d", v), "masks of fewer, as many and more bits than the row", f32, v, ramp(0, 1, 2),
			req(mask(0xffffffff), u(most)), req(mask(0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff), u(0)), req(mask(1), u(most)), req(mask(0x80000000), u(most)),
			req(mask(0, 1), u(most)), req(mask(0, 0x80000000, 1), u(0)), req(mask(0x55555555, 0x55555555, 0x55555555), topK(9), u(most)), req(mask(), temp(0)))
	}
	m.one("mask-alignment/short-tail", "a short mask never lets the tail through", f32, 75, set{f32, 9, 9, 0}.on(set{f32, 70, 70, 40}.on(cyc(f32, 1))),
		req(temp(0), mask(512, 0)), req(mask(512, 0), u(most)), req(mask(512), u(most)), req(mask(0x600), u(most)))
	m.add("mask-alignment/own-mask", "each row has its own mask", f32, 64, []row{ramp(0, 1, 1), same(0), same(0), same(0), same(0)},
		req(temp(0), mask(1<<23, 0)), req(temp(0), mask(1<<20, 0)), req(temp(0), allow(41, 5)), req(temp(0), mask(0, 1<<21)), req(temp(0)))
	m.values("mask-alignment/allowed-ids", "lists in any order, with repeats, and with a bitmask", f32, []float32{1, 2, 3, 4, 5},
		req(allow(3, 0, 3, 1), u(most)), req(allow(4), u(most)), req(allow(3, 0, 1), mask(0x1a), u(most)), req(allow(0, 1, 2, 3, 4), u(0)), req(allow(0, 2), topK(1)), req(allow(2, 0), temp(0)))

	for _, d := range []string{f32, f16} {
		m.values("bias-range/ban-"+d, "a bias of -100 bans for greedy, sampled, top_k and top_p", d, []float32{9, 0},
			req(temp(0), bias(0, -100)), req(bias(0, -100), u(most)), req(topK(1), bias(0, -100)), req(topP(0.5), bias(0, -100), u(most)), req(bias(1, 100), u(most)))
	}
	m.values("bias-range/ends", "from -inf to the largest float32", f32, []float32{1, 2, 3},
		req(bias(2, -inf), u(0)), req(bias(0, 3.4028235e38), u(most)), req(bias(0, -3.4028235e38), u(most)), req(bias(0, 1e-45), bias(1, -1e-45), u(most)), req(bias(0, zero), bias(1, 1), bias(2, 0), temp(0)), req(bias(0, 2), bias(1, 1), temp(0)))
	m.values("bias-range/rounded", "the bias is added in float32 and rounded", f32, []float32{16777216, 16777215, 1},
		req(bias(0, 1), bias(1, 2), u(most)), req(bias(2, 16777216), u(most)), req(bias(1, 0.5), u(most)), req(bias(0, -0.5), u(most), temp(0.1)))
	m.values("bias-range/narrow", "the bias is added in float32 to narrow logits too", bf16, []float32{256, 254, 1},
		req(bias(0, 0.001), bias(1, 1.9999), u(most)), req(bias(1, 2), temp(0)), req(bias(1, 2.0001), temp(0)))
}

func (m *maker) penalties() {
	m.values("penalty-semantics/sign", "positive logits are divided, others multiplied", f32, []float32{-1, 2, 0, 0.5},
		req(rep(2), prompt(0, 1, 1, 1, 2, 1), u(most)), req(rep(0.5), prompt(0, 1, 1, 1, 2, 1), u(most)), req(rep(1), prompt(0, 1, 1, 1), u(most)), req(rep(1e-40), prompt(0, 1), temp(0)))
	m.values("penalty-semantics/once", "repetition counts a token once, in prompt, output or both", f32, []float32{2, 0.75, 0.5},
		req(rep(2), prompt(0, 1), u(most)), req(rep(2), prompt(0, 5), u(most)), req(rep(2), output(0, 3), u(most)), req(rep(2), prompt(0, 2), output(0, 3), u(most)), req(rep(2), counts(0, 0, 0, 7), u(most)), req(rep(2), counts(0, 0), u(most)))
	m.values("penalty-semantics/output-only", "presence and frequency look at the output alone", f32, []float32{1, 0, -0.5},
		req(presence(2), frequency(2), prompt(0, 9), u(most)), req(presence(1.25), output(0, 4), u(most)), req(frequency(0.25), output(0, 4), u(most)), req(presence(1.25), frequency(0.25), output(0, 4, 1, 1), u(most)), req(presence(1), frequency(1), counts(0, 0, 1, 0), u(most)), req(frequency(0.25), output(0, 1), counts(0, 2, 0, 1), u(most)))
	m.values("penalty-semantics/negative", "negative penalties reward", f32, []float32{0, 1, 0.5},
		req(frequency(-0.75), output(0, 2), temp(0)), req(presence(-2), output(2, 1), u(most)), req(rep(0.25), output(2, 1), u(most)))
	m.values("penalty-semantics/rounded", "every operation is rounded: quotient, product, difference", f32, []float32{1.1, 0.7, -0.3, 16777216, 1e-3},
		req(rep(1.3), frequency(0.1), presence(0.3), output(0, 3, 1, 7, 2, 11, 4, 13), bias(3, -16777216), u(most)),
		req(rep(3), frequency(0.7), presence(-0.1), output(0, 3, 1, 7, 2, 11, 4, 13), prompt(3, 1), bias(3, -16777215), u(most), temp(0.3)))
	m.values("penalty-semantics/fused", "a fused multiply-add would make other scores", f32, []float32{0.3, 0.6, 0.9, 1.2, 1.5, 1.8, 2.1},
		req(frequency(0.1), output(0, 3, 1, 6, 2, 9, 3, 12, 4, 15, 5, 18, 6, 21), u(most), temp(1e-6)), req(frequency(0.3), output(0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7), u(most), temp(1e-7), topK(5)))
	m.add("penalty-semantics/level", "the repetition penalty acts on raw logits: the level of the row matters", f32, 2, []row{vals(f32, 12, 11.5), vals(f32, 0.5, 0.375)},
		req(temp(0), rep(1.2), prompt(0, 1)), req(temp(0), rep(1.2), prompt(0, 1)))
	m.values("api-surprise/each-penalty", "each penalty works by itself, for greedy rows too", f32, []float32{1.5, 1.4},
		req(temp(0), rep(5), output(0, 1)), req(temp(0), presence(1), output(0, 1)), req(temp(0), frequency(1), output(0, 1)), req(temp(0), output(0, 1)))
	m.values("large-b-v-overflow/history", "60,000 occurrences are counted in full", f32, []float32{2, 1, 0.95, -20},
		req(temp(0), rep(1.25), frequency(0.0001), output(0, 60000, 1, 1)), req(frequency(0.0001), presence(0.5), output(0, 40000, 3, 1), u(most)), req(frequency(1e-5), output(0, 65537), u(most)))
	m.values("large-b-v-overflow/counts", "counts beyond 2^24 are rounded to the nearest float32", f32, []float32{2, 1, 0.5, 3},
		req(frequency(1), counts(0, 1<<24+1, 1, 1<<24, 2, 1<<24+3, 3, 1<<24+2), u(most)), req(frequency(1e-8), counts(0, 1<<30, 0, 1<<30-70, 0, 1, 1, 65), u(most)), req(frequency(-1), counts(0, 1<<30+65, 1, 1<<30-66), u(most)))
	var many []row
	var reqs []request
	for i := range 300 {
		if i == 0 {
			many = append(many, uniform(94, -64, 64, 4))
		} else {
			many = append(many, same(0))
		}
		reqs = append(reqs, req(topK(i%20), seed(uint64(i)), temp([]float32{0, 0.5, 1, 2}[i%4])))
	}
	m.add("large-b-v-overflow/rows", "300 rows", f32, 40, many, reqs...)
}

func (m *maker) sums() {
	m.one("cumsum-precision/alternating", "large, tiny and impossible tokens alternate", f32, 8000, cyc(f32, 0, -14, -inf, -14, -14, -inf, -14, -14),
		req(seed(82)), req(u(most)), req(u(1<<63)), req(topP(0.9999), u(most)), req(topK(1001), u(most)), req(topP(math.Nextafter32(1, 0)), u(most)))
	m.one("cumsum-precision/ramp", "a falling row of 5000", f32, 5000, ramp(0, -1, 6),
		req(topP(0.9), u(most)), req(topK(5), u(most)), req(u(most)), req(temp(20), u(most)), req(temp(20), topP(0.999), u(most)))
	m.one("cumsum-precision/two-levels", "65536 tokens of two levels", f32, 65536, set{f32, 0, 32767, 0.693147}.on(cyc(f32, 0)),
		req(seed(86)), req(u(most)), req(topP(2.0/3), u(most)), req(topP(0.7), u(1<<62)), req(topK(40000), topP(0.9), first(), u(most)))
	m.one("cumsum-precision/flat", "131072 equal tokens: sums of 2^53", f32, 131072, cyc(f32, 0),
		req(seed(87)), req(u(most)), req(topP(0.5), u(most)), req(topP(0.3), u(most)))
	m.one("cumsum-precision/largest", "2^21 equal tokens: sums of 2^57", bf16, 1<<21, cyc(bf16, 0), req(topP(math.Nextafter32(1, 0)), u(most-5)))
	m.one("cumsum-precision/dust", "one large weight above 100,000 that float32 sums lose", f32, 100001, set{f32, 50000, 50000, 17}.on(uniform(9, -64, 64, 6)),
		req(u(most)), req(u(1<<60)), req(topP(0.9999), u(most)), req(topP(0.998), seed(3)))

	values := []float32{1.5, -2, 0.25, 3, -0.5, 3, 0, 2.75}
	for _, d := range []string{f32, f16, bf16} {
		m.values("dtype-precision/same-"+d, "equal values of the three types give equal results", d, values,
			req(seed(1)), req(seed(2), topK(3)), req(seed(3), topP(0.8)), req(temp(0)), req(seed(4), temp(0.1), minP(0.01)), req(seed(5), bias(1, 0.1), rep(1.3), prompt(3, 1), temp(0.7)))
	}
	m.add("dtype-precision/f16-all-sizes", "float16 subnormals, the least normal and the largest", f16, 10, []row{
		{Bits: "000100028001000003ff040083ff7bfffbff0200"}, {Bits: "000100028001000003ff040083ff000004010200"}, same(1),
	}, req(temp(1e-6), u(most)), req(temp(1e-6), u(most)), req(temp(0)))
	m.add("dtype-precision/bf16-all-sizes", "bfloat16 subnormals, the least normal and the largest", bf16, 10, []row{
		{Bits: "00010002800100000070008080707f7fff7f0040"}, {Bits: "0001000280010000007000808070000000810040"}, same(1),
	}, req(temp(1e-39), u(most)), req(temp(1e-38), u(most)), req(temp(0)))
	m.values("dtype-precision/f16-ban", "a tiny temperature with a ban does not overflow", f16, []float32{24, 23, -80, 2},
		req(temp(0.0003), bias(2, -100), u(most)), req(temp(0.0003), bias(0, -100), u(most)), req(temp(0.0003), bias(0, 65504), bias(1, 65504), u(most)))
}

func (m *maker) sizes() {
	tokens := func(v int) []request {
		w := make([]uint32, (v+31)/32)
		for i := range w {
			w[i] = uint32(schema.Mix(77, uint64(i)))
		}
		last := int32(v - 1)
		return []request{
			req(temp(0), seed(1)), req(temp(0.8), seed(2)), req(temp(0.8), topK(50), seed(3)), req(topP(0.95), seed(4)), req(temp(0.7), topK(50), topP(0.9), seed(5)),
			req(temp(0.7), topK(50), topP(0.9), first(), seed(6)), req(minP(0.05), seed(7)), req(temp(1.5), topP(0.99), minP(0.01), mask(w...), seed(8)),
			req(bias(last, 20), rep(1.1), frequency(0.5), presence(0.25), output(last, 2, 0, 1), topK(20), seed(9)), req(temp(5), u(most)),
		}
	}
	for _, v := range []int{1, 2, 31, 33, 127, 128, 129, 1023, 1025, 4095, 4096, 4097} {
		for i, d := range []string{f32, f16, bf16} {
			m.one(fmt.Sprintf("sizes/%d-%s", v, d), "an awkward row length", d, v, bell(d, uint64(v+i)), tokens(v)...)
		}
	}
	// The vocabularies of Llama 3, Qwen 2 and Gemma 3.
	for _, v := range []int{128256, 151936, 262144} {
		for i, d := range []string{f32, bf16} {
			m.one(fmt.Sprintf("sizes/%d-%s", v, d), "the vocabulary of a language model", d, v, bell(d, uint64(v+i)),
				req(temp(0)), req(temp(0.8), seed(2)), req(temp(0.7), topK(50), topP(0.9), seed(5)), req(topP(0.95), seed(6)), req(temp(0.6), topK(2000), topP(0.9), first(), minP(0.001), seed(7)))
		}
	}
	m.one("sizes/262144-rising", "every token is a new maximum", f32, 262144, ramp(0, 1, 15), req(temp(0)), req(topK(50), seed(1)), req(topP(0.9), seed(2)))
	m.one("sizes/151936-falling", "the best tokens are the first", f32, 151936, ramp(0, -1, 14), req(topK(3), seed(1)), req(temp(0.3), topP(0.5), seed(2)))
}

// mixtures are random requests on random rows; every field is used.
func (m *maker) mixtures() {
	for n := range uint64(160) {
		next := uint64(0)
		pick := func(k int) int { // in [0, k)
			next++
			return int(schema.Mix(1000+n, next) % uint64(k))
		}
		real := func(lo, hi float32) float32 { return lo + float32(float32(pick(1<<16))/(1<<16)*(hi-lo)) }
		d := []string{f32, f16, bf16}[pick(3)]
		v := 1 + pick(48)
		var rows []row
		var reqs []request
		for range 1 + pick(3) {
			var r row
			if pick(2) == 0 {
				r = bell(d, 5000+n)
			} else {
				r = uniform(5000+n, -20, int64(pick(20)), 2)
			}
			if pick(6) == 0 {
				i := pick(v)
				r = set{d, i, i, []float32{nan, inf, -inf, -inf}[pick(4)]}.on(r)
			}
			rows = append(rows, r)
			id := func() int32 { return int32(pick(v)) }
			q := req(temp(real(0.1, 2)), seed(schema.Mix(n, 1)), step(uint64(pick(1000))))
			if pick(8) == 0 {
				q = also(q, temp(0))
			}
			if pick(2) == 0 {
				q = also(q, topK(pick(v+2)))
			}
			if pick(2) == 0 {
				q = also(q, topP(1-real(0, 0.999)))
			}
			if pick(3) == 0 {
				q = also(q, minP(real(0, 0.5)))
			}
			if pick(2) == 0 {
				q = also(q, first())
			}
			if pick(2) == 0 {
				q = also(q, rep(real(0.5, 2)), prompt(id(), 1, id(), 2))
			}
			if pick(2) == 0 {
				q = also(q, presence(real(-2, 2)), frequency(real(-2, 2)), output(id(), 1, id(), 3), counts(id(), 0, id(), 2))
			}
			if pick(3) == 0 {
				ids := []int32{id(), id(), id()}
				slices.Sort(ids)
				for _, i := range slices.Compact(ids) {
					q = also(q, bias(i, real(-5, 5)))
				}
			}
			if pick(6) == 0 {
				q = also(q, allow(id(), id(), id(), id(), id(), id()))
			}
			if pick(6) == 0 {
				q = also(q, mask(uint32(schema.Mix(n, 2)), uint32(schema.Mix(n, 3))))
			}
			if pick(4) == 0 {
				q = also(q, u(schema.Mix(n, 4)))
			}
			reqs = append(reqs, q)
		}
		c := m.add(fmt.Sprintf("mixture/%d", n), "many parameters at once", d, v, rows, reqs...)
		if pick(3) == 0 {
			c.Stride = v + pick(9)
		}
	}
}

// rowValues returns the float32 values of a row without results yet.
func rowValues(dtype string, vocab int, r row) (list []float32) {
	d, err := schema.ParseDType(dtype)
	if err != nil {
		panic(err)
	}
	elements, err := r.Elements(d, vocab, nil)
	if err != nil {
		panic(err)
	}
	for _, b := range elements {
		list = append(list, math.Float32frombits(b))
	}
	return list
}
