package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unsafe"

	"github.com/tokendraw/tokendraw"
)

const benchHelp = `Measures the time of a call of Sample by batch, vocabulary and settings, next to
the time of reading the same logits once: the floor under every sampler. The
reader is bytes.Count of the standard library, vector code on most machines,
with as many threads as the backend.

The logits are normal with a deviation of 2; four matrices take turns. Each
number is the median of rounds in which all settings take turns, after a round
that does not count. With -json a number is one line.`

// benchSetting is what a request is measured with.
type benchSetting struct {
	name   string
	params tokendraw.Params
	more   func(r *tokendraw.Request, vocab int)
}

var benchSettings = []benchSetting{
	{"greedy", tokendraw.Params{}, nil},
	{"top_k", tokendraw.Params{Temperature: 0.8, TopK: 50}, nil},
	{"top_k_top_p", tokendraw.Params{Temperature: 0.8, TopK: 50, TopP: 0.95}, nil},
	{"top_p", tokendraw.Params{Temperature: 0.8, TopP: 0.95}, nil},
	{"min_p", tokendraw.Params{Temperature: 0.8, MinP: 0.05}, nil},
	{"temperature", tokendraw.Params{Temperature: 0.8}, nil},
	{"penalties", tokendraw.Params{Temperature: 0.8, TopK: 50, TopP: 0.95, RepetitionPenalty: 1.1, FrequencyPenalty: 0.1}, someText},
	{"bitmask", tokendraw.Params{Temperature: 0.8, TopK: 50, TopP: 0.95}, halfMask},
}

// someText gives a request a text of 1000 tokens.
func someText(r *tokendraw.Request, vocab int) {
	g := newGenerator(uint64(vocab))
	var h tokendraw.History
	for range 1000 {
		h.AddOutput(int32(g.IntN(vocab)))
	}
	r.Counts = h.Counts()
}

// halfMask allows a request about half of the tokens.
func halfMask(r *tokendraw.Request, vocab int) {
	g := newGenerator(uint64(vocab))
	for range (vocab + 31) / 32 {
		r.Bitmask = append(r.Bitmask, g.Uint32())
	}
}

// measurement is the JSON line of a number. Times are medians in nanoseconds.
type measurement struct {
	Backend  string  `json:"backend"`
	Setting  string  `json:"setting"` // "read" is the floor
	DType    string  `json:"dtype"`
	Batch    int     `json:"batch"`
	Vocab    int     `json:"vocab"`
	Rounds   int     `json:"rounds"`
	PerCall  float64 `json:"ns_per_call"`
	PerRow   float64 `json:"ns_per_row"`
	PerLogit float64 `json:"ns_per_logit"`
	Floor    float64 `json:"floor_ratio"` // time over that of reading once
	Go       string  `json:"go"`
}

// bench holds what the flags of the command say.
type bench struct {
	c        *context
	json     bool
	backend  string
	workers  int
	dtype    string
	batches  []int
	vocabs   []int
	rounds   int
	settings []int // of benchSettings
}

func runBench(c *context, args []string) error {
	b := bench{c: c, backend: "auto", dtype: "f32", batches: []int{1, 16}, vocabs: []int{32000, 128256}, rounds: 9}
	for i := range benchSettings {
		b.settings = append(b.settings, i)
	}
	f := newFlags(c)
	f.yes(&b.json, "json", "one JSON object a number")
	f.text(&b.backend, "backend", "`NAME` is cpu, cuda, oracle or auto")
	f.number(&b.workers, "workers", "most threads that the cpu uses: `N`, 0 for all")
	f.text(&b.dtype, "dtype", "`TYPE` of the logits is f32, f16 or bf16")
	f.define("batch", "`LIST` of rows a call, 1,16 if not given", func(text string) (err error) {
		b.batches, err = numbers(text, 1, 1<<16)
		return err
	})
	f.define("vocab", "`LIST` of logits a row, 32000,128256 if not given", func(text string) (err error) {
		b.vocabs, err = numbers(text, 1, tokendraw.MaxVocab)
		return err
	})
	f.number(&b.rounds, "rounds", "`N` rounds to take the median of")
	f.define("settings", "`LIST` of "+settingNames()+", all if not given", b.pick)
	if err := f.none(args); err != nil {
		return err
	}
	if b.rounds < 1 {
		return usagef("-rounds must be at least 1, got %d", b.rounds)
	}
	if b.dtype != "f32" && b.dtype != "f16" && b.dtype != "bf16" {
		return usagef("-dtype must be f32, f16 or bf16, got %q", b.dtype)
	}
	sampler, err := openBackend(b.backend, b.workers)
	if err != nil {
		return err
	}
	defer sampler.Close()
	if !b.json {
		b.heading(sampler)
	}
	done, total := 0, len(b.batches)*len(b.vocabs)
	for _, vocab := range b.vocabs {
		for _, batch := range b.batches {
			c.notes.at("sizes measured", done, total)
			if err := b.measure(sampler, batch, vocab); err != nil {
				return err
			}
			done++
			c.out.Flush()
		}
	}
	return nil
}

func settingNames() string {
	var names []string
	for _, s := range benchSettings {
		names = append(names, s.name)
	}
	return strings.Join(names, ", ")
}

// pick parses -settings.
func (b *bench) pick(text string) error {
	b.settings = nil
	for name := range strings.SplitSeq(text, ",") {
		i := slices.IndexFunc(benchSettings, func(s benchSetting) bool { return s.name == strings.TrimSpace(name) })
		if i < 0 {
			return fmt.Errorf("want some of %s", settingNames())
		}
		b.settings = append(b.settings, i)
	}
	return nil
}

// matrices is how many matrices take turns.
const matrices = 4

// atLeast is how long the calls of one setting in one round take together.
const atLeast = 2 * time.Millisecond

// measure prints the numbers of one batch and vocabulary.
func (b *bench) measure(sampler *opened, rows, vocab int) error {
	var list [matrices]tokendraw.Batch
	for i := range list {
		list[i].Logits = b.logits(uint64(i), rows, vocab)
	}
	draws := make([]tokendraw.Draw, rows)
	workers := sampler.workers()

	// What takes turns: the reader and the settings. Each is called with a
	// number that picks the matrix.
	turns := []func(i int) error{func(i int) error { readOnce(&list[i%matrices].Logits, workers); return nil }}
	names := []string{"read"}
	for _, k := range b.settings {
		s := &benchSettings[k]
		requests := make([]tokendraw.Request, rows)
		for row := range requests {
			requests[row] = tokendraw.Request{Params: s.params, Seed: uint64(row)}
			if s.more != nil {
				s.more(&requests[row], vocab)
			}
		}
		names = append(names, s.name)
		turns = append(turns, func(i int) error {
			batch := &list[i%matrices]
			batch.Requests = requests
			for row := range requests {
				requests[row].Step++
			}
			return sampler.Sample(batch, draws)
		})
	}

	times := make([][]float64, len(turns))
	for round := range b.rounds + 1 {
		for k, turn := range turns {
			calls := 0
			begin := time.Now()
			spent := time.Duration(0)
			for ; calls < matrices || spent < atLeast; calls++ {
				if err := turn(calls); err != nil {
					return err
				}
				spent = time.Since(begin)
			}
			if round > 0 { // the first one warms up
				times[k] = append(times[k], float64(spent.Nanoseconds())/float64(calls))
			}
		}
	}
	floor := median(times[0])
	for k := range turns {
		ns := median(times[k])
		b.print(&measurement{
			Backend: sampler.String(), Setting: names[k], DType: b.dtype, Batch: rows, Vocab: vocab, Rounds: b.rounds,
			PerCall: digits(ns), PerRow: digits(ns / float64(rows)), PerLogit: digits(ns / float64(rows*vocab)),
			Floor: digits(ns / floor), Go: runtime.Version(),
		})
	}
	return nil
}

// logits makes a matrix of normal logits, twice as wide as a unit.
func (b *bench) logits(seed uint64, rows, vocab int) tokendraw.Logits {
	g := newGenerator(seed)
	n := rows * vocab
	l := tokendraw.Logits{Rows: rows, Vocab: vocab}
	switch b.dtype {
	case "f32":
		l.F32 = make([]float32, n)
		for i := range l.F32 {
			l.F32[i] = float32(2 * g.NormFloat64())
		}
	case "f16":
		l.F16 = make([]uint16, n)
		for i := range l.F16 {
			l.F16[i] = shortFloat16(float32(2 * g.NormFloat64()))
		}
	case "bf16":
		l.BF16 = make([]uint16, n)
		for i := range l.BF16 {
			l.BF16[i] = uint16(math.Float32bits(float32(2*g.NormFloat64())) >> 16)
		}
	}
	return l
}

// readOnce reads all logits with some goroutines: as little as a function can
// do that looks at every byte.
func readOnce(l *tokendraw.Logits, workers int) {
	data := bytesOf(l)
	const least = 64 << 10 // bytes that are worth a goroutine
	workers = max(1, min(workers, len(data)/least))
	var group sync.WaitGroup
	for i := 1; i < workers; i++ {
		part := data[len(data)*i/workers : len(data)*(i+1)/workers]
		group.Go(func() { bytes.Count(part, []byte{0xa5}) })
	}
	bytes.Count(data[:len(data)/workers], []byte{0xa5})
	group.Wait()
}

// bytesOf returns the memory of the logits.
func bytesOf(l *tokendraw.Logits) []byte {
	switch l.DType() {
	case tokendraw.Float32:
		return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(l.F32))), 4*len(l.F32))
	case tokendraw.Float16:
		return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(l.F16))), 2*len(l.F16))
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(l.BF16))), 2*len(l.BF16))
}

func median(x []float64) float64 {
	slices.Sort(x)
	n := len(x)
	return (x[(n-1)/2] + x[n/2]) / 2
}

// digits keeps four digits: more would be noise.
func digits(x float64) float64 {
	short, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 4, 64), 64)
	if err != nil {
		return x
	}
	return short
}

func (b *bench) heading(sampler *opened) {
	fmt.Fprintf(b.c.out, "%s, %s, median of %s\n\n", sampler, b.dtype, plural(b.rounds, "round"))
	fmt.Fprintln(b.c.out, b.c.paint.dim("  vocab   batch  setting          time a call     a row  ns a logit  × reading once"))
}

// print prints one number.
func (b *bench) print(m *measurement) {
	if b.json {
		line, err := json.Marshal(m)
		if err != nil {
			line = []byte(`{}`) // strings and finite numbers only: it cannot happen
		}
		b.c.out.Write(append(line, '\n'))
		return
	}
	line := fmt.Sprintf("%7d%8d  %s%s%s%12.3f%16.2f", m.Vocab, m.Batch, padRight(m.Setting, 13),
		padLeft(duration(m.PerCall), 15), padLeft(duration(m.PerRow), 10), m.PerLogit, m.Floor)
	if m.Setting == "read" {
		line = b.c.paint.dim(line)
	}
	fmt.Fprintln(b.c.out, line)
}

// duration returns nanoseconds for people.
func duration(ns float64) string {
	switch {
	case ns < 1e3:
		return fmt.Sprintf("%.0f ns", ns)
	case ns < 1e6:
		return fmt.Sprintf("%.1f µs", ns/1e3)
	case ns < 1e9:
		return fmt.Sprintf("%.2f ms", ns/1e6)
	}
	return fmt.Sprintf("%.2f s", ns/1e9)
}
