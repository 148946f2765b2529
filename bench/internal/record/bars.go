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
	b.pureGo()
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

// pureGo: plain Go against llama.cpp's chain, on every case; the worst counts.
func (b *bars) pureGo() {
	worst, where := math.NaN(), "no llama.cpp in the data"
	for _, l := range b.file.Lines {
		if l.Sampler != LlamaCPPChain {
			continue
		}
		r := b.ratio(l.Case(), LlamaCPPChain, 1, "generic", 1)
		if math.IsNaN(worst) || r < worst {
			worst, where = r, fmt.Sprintf("worst at %s rows, V = %d, %s", l.Rows, l.Vocab, l.Setting)
		}
	}
	b.add("plain Go: speed of llama.cpp's chain ("+where+")", "at least 1", worst, worst >= 1)
}
