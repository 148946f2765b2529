package record

import (
	"fmt"
	"math"
)

// Bar is a bar that the project set itself, with what was measured.
type Bar struct {
	What string  // what is measured
	Want string  // "at most 1.5"
	Got  float64 // NaN if the data have no such lines
	OK   bool
}

// Variant is the vector code that the bars are for.
const Variant = "avx2"

// bars collects them.
type bars struct {
	file    *File
	variant string
	list    []Bar
}

// Bars judges a run. They are for AVX2 on one thread, float32 and rows of a real
// model at a vocabulary of 128256, unless a bar says otherwise.
func Bars(f *File, variant string) []Bar {
	b := &bars{file: f, variant: variant}
	const (
		greedy, minP    = "greedy", "min_p .05"
		topKP, joint    = "k 40, p .95, k first", "k 40, p .95, joint"
		topP, plain     = "p .95", "no filter"
		topK1000, halfK = "k 1000, p .95, k first", "k = V/2"
	)
	b.floor(1.5, single("captured", 128256, greedy))
	b.floor(1.5, single("captured", 128256, minP))
	b.floor(1.8, single("captured", 128256, topKP))
	b.faster(10, single("captured", 128256, topKP), "sort")
	b.faster(4, single("captured", 128256, topKP), "llama order")
	for _, s := range []string{joint, topP, plain} {
		b.floor(11, single("captured", 128256, s))
		b.faster(15, single("captured", 128256, s), "sort")
	}
	b.floor(8, single("captured", 128256, topK1000))
	b.floor(8, single("captured", 32000, topK1000))
	b.floor(45, single("flat", 128256, topP))
	for _, rows := range []string{"equal", "half"} {
		for _, s := range []string{topKP, topP, minP, plain} {
			b.floor(60, single(rows, 128256, s))
		}
	}
	b.floor(60, single("captured", 128256, halfK))
	for _, dtype := range []string{"float16", "bfloat16"} {
		for _, s := range []string{greedy, minP, topKP, joint, topP, plain, topK1000} {
			b.dtype(dtype, s)
		}
	}
	for _, s := range []string{greedy, topKP, topP, plain} {
		b.twoCores(s)
	}
	b.pureGo(LlamaCPPChain)
	b.pureGo(LlamaCPP)
	return b.list
}

func single(rows string, vocab int, setting string) Case {
	return Case{Single, rows, vocab, 1, "float32", setting}
}

func (b *bars) add(what, want string, got float64, ok bool) {
	b.list = append(b.list, Bar{what, want, got, ok && !math.IsNaN(got)})
}

// floor: at most limit times one read of the row.
func (b *bars) floor(limit float64, c Case) {
	got := math.NaN()
	if l := b.file.Find(c, b.variant, 1); l != nil {
		got = l.ToFloor
	}
	b.add(fmt.Sprintf("%s rows, V = %d, %s: time of one read", c.Rows, c.Vocab, c.Setting),
		fmt.Sprintf("at most %g", limit), got, got <= limit)
}

// faster: at least limit times as fast as another sampler.
func (b *bars) faster(limit float64, c Case, than string) {
	got := b.ratio(c, than, 1, b.variant, 1)
	b.add(fmt.Sprintf("%s rows, V = %d, %s: speed of %s", c.Rows, c.Vocab, c.Setting, than),
		fmt.Sprintf("at least %g", limit), got, got >= limit)
}

// ratio is the median of one line over that of another of the same case.
func (b *bars) ratio(c Case, over string, overWorkers int, under string, underWorkers int) float64 {
	x, y := b.file.Find(c, over, overWorkers), b.file.Find(c, under, underWorkers)
	if x == nil || y == nil {
		return math.NaN()
	}
	return x.Median / y.Median
}

// sameCost is what two times may differ by and still count as the same.
const sameCost = 1.02

func (b *bars) dtype(dtype, setting string) {
	c := Case{DTypes, "captured", 128256, 1, "float32", setting}
	got := math.NaN()
	wide := b.file.Find(c, b.variant, 1)
	c.DType = dtype
	if l := b.file.Find(c, b.variant, 1); l != nil && wide != nil {
		got = l.Median / wide.Median
	}
	b.add(fmt.Sprintf("captured rows, V = 128256, %s: time of %s over float32", setting, dtype),
		fmt.Sprintf("at most %g", sameCost), got, got <= sameCost)
}

func (b *bars) twoCores(setting string) {
	c := Case{Batch, "captured", 128256, 64, "float32", setting}
	got := b.ratio(c, b.variant, 1, b.variant, 2)
	b.add(fmt.Sprintf("captured rows, V = 128256, %s: 64 rows on two cores, speed of one", setting),
		"at least 1.6", got, got >= 1.6)
}

// pureGo: plain Go against llama.cpp, on every case; the worst counts.
func (b *bars) pureGo(other string) {
	worst, where := math.NaN(), "no llama.cpp in the data"
	for _, s := range Slower(b.file, "generic", other, math.Inf(1)) {
		if math.IsNaN(worst) || s.Ratio < worst {
			worst, where = s.Ratio, fmt.Sprintf("worst at %s rows, V = %d, %s", s.Rows, s.Vocab, s.Setting)
		}
	}
	b.add("plain Go: speed of "+other+" ("+where+")", "at least 1", worst, worst >= 1)
}

// Speed is how many times as fast as another a sampler is on a case.
type Speed struct {
	Case
	Ratio float64
}

// Slower returns the cases on which a sampler is less than limit times as fast
// as another, of those that have both.
func Slower(f *File, sampler, other string, limit float64) []Speed {
	var list []Speed
	for i := range f.Lines {
		l := &f.Lines[i]
		if l.Sampler != other || l.Workers != 1 {
			continue
		}
		if ours := f.Find(l.Case(), sampler, 1); ours != nil && l.Median/ours.Median < limit {
			list = append(list, Speed{l.Case(), l.Median / ours.Median})
		}
	}
	return list
}
