package cpu

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tokendraw/tokendraw"
	"github.com/tokendraw/tokendraw/cpu/internal/vec"
	"github.com/tokendraw/tokendraw/oracle"
)

func TestConfig(t *testing.T) {
	var shape *tokendraw.ShapeError
	if _, err := New(Config{Workers: -1}); !errors.As(err, &shape) || shape.Got != -1 {
		t.Errorf("workers -1: got error %v", err)
	}
	if _, err := New(Config{Variant: "abacus"}); !errors.Is(err, tokendraw.ErrNotAvailable) || !strings.Contains(err.Error(), "abacus") {
		t.Errorf("unknown variant: got error %v", err)
	}
	s := open(t, Config{})
	if s.Workers() != runtime.GOMAXPROCS(0) {
		t.Errorf("%d workers, want GOMAXPROCS, %d", s.Workers(), runtime.GOMAXPROCS(0))
	}
	if names := Variants(); names[len(names)-1] != "generic" {
		t.Errorf("variants %v do not end with generic", names)
	}
	for _, name := range Variants() {
		if s := open(t, Config{Variant: name, Workers: 3}); s.Variant() != name || s.Workers() != 3 {
			t.Errorf("variant %s with %d workers, want %s with 3", s.Variant(), s.Workers(), name)
		}
	}
}

func TestVariable(t *testing.T) {
	t.Setenv(vec.Variable, "")
	if s := open(t, Config{}); s.Variant() != Variants()[0] {
		t.Errorf("variant %s, want the fastest, %s", s.Variant(), Variants()[0])
	}
	for _, name := range Variants() {
		t.Setenv(vec.Variable, name)
		if s := open(t, Config{}); s.Variant() != name {
			t.Errorf("variant %s, want the variable's, %s", s.Variant(), name)
		}
	}
	t.Setenv(vec.Variable, "abacus")
	if _, err := New(Config{}); !errors.Is(err, tokendraw.ErrNotAvailable) || !strings.Contains(err.Error(), vec.Variable) {
		t.Errorf("unknown variant in the variable: got error %v", err)
	}
	// The caller's choice comes before the environment's.
	if s := open(t, Config{Variant: "generic"}); s.Variant() != "generic" {
		t.Errorf("variant %s, want generic", s.Variant())
	}
}

// workload is one kind of row with parameters that take a path of their own.
type workload struct {
	name   string
	params tokendraw.Params
	change func(req *tokendraw.Request)
	fill   func(r *rand.Rand, i int) float32
}

func bell(r *rand.Rand, _ int) float32 { return float32(r.NormFloat64() * 2.5) }

var workloads = []workload{
	{"greedy", tokendraw.Params{}, nil, bell},
	{"top_k", tokendraw.Params{Temperature: 0.8, TopK: 40, TopP: 0.95}, nil, bell},
	{"top_k of thousands", tokendraw.Params{Temperature: 0.8, TopK: 6000, TopP: 0.95}, nil, bell},
	{"top_p", tokendraw.Params{Temperature: 0.8, TopP: 0.95}, nil, bell},
	{"min_p", tokendraw.Params{Temperature: 1, MinP: 0.05}, nil, bell},
	{"wide min_p", tokendraw.Params{Temperature: 9, MinP: 1e-4}, nil, bell},
	{"no filter", tokendraw.Params{Temperature: 1}, nil, bell},
	{"flat", tokendraw.Params{Temperature: 100, TopP: 0.7}, nil, bell},
	{"one value", tokendraw.Params{Temperature: 1, TopP: 0.5}, nil, func(*rand.Rand, int) float32 { return 3 }},
	{"nested", tokendraw.Params{Temperature: 1e38, TopP: 0.5}, nil, nestedScore},
	{"nan", tokendraw.Params{Temperature: 1}, nil, func(r *rand.Rand, i int) float32 {
		if i%100 == 7 {
			return float32(math.NaN())
		}
		return bell(r, i)
	}},
	{"+inf", tokendraw.Params{Temperature: 1}, nil, func(r *rand.Rand, i int) float32 {
		if i%3 == 0 {
			return float32(math.Inf(1))
		}
		return bell(r, i)
	}},
	{"all -inf", tokendraw.Params{Temperature: 1}, nil, func(*rand.Rand, int) float32 { return negInf }},
	{"changed", tokendraw.Params{Temperature: 0.8, TopK: 50, RepetitionPenalty: 1.2, FrequencyPenalty: 0.3, PresencePenalty: 0.1}, func(req *tokendraw.Request) {
		req.LogitBias = []tokendraw.Bias{{Token: 3, Value: 2}, {Token: 9, Value: negInf}}
		req.Bitmask = slices.Repeat([]uint32{0xfffff0ff}, 1000)
		req.PromptTokens, req.OutputTokens = []int32{1, 2, 3}, []int32{4, 5, 5}
		req.Counts = []tokendraw.TokenCount{{Token: 6, Output: 2}}
	}, bell},
	{"allowed", tokendraw.Params{Temperature: 0.8}, func(req *tokendraw.Request) { req.AllowedTokens = []int32{5, 1, 1, 300} }, bell},
}

// nestedScore puts a third of the scores into one bucket of the histogram, and
// a third into one of the buckets of that bucket, so that narrowing goes as
// deep as it can.
func nestedScore(r *rand.Rand, i int) float32 {
	b := math.Float32bits(3) &^ 0x1fffff
	switch i % 3 {
	case 0:
		return float32(r.NormFloat64() * 1e38 / 4)
	case 1:
		return math.Float32frombits(b + r.Uint32N(1<<21))
	}
	return math.Float32frombits(b + 0x5400 + r.Uint32N(1<<10))
}

// batch returns rows of one workload in one of the types.
func (w *workload) batch(dtype tokendraw.DType, rows, vocab int) *tokendraw.Batch {
	r := rand.New(rand.NewPCG(uint64(vocab), uint64(rows)))
	b := &tokendraw.Batch{Logits: tokendraw.Logits{Rows: rows, Vocab: vocab}}
	for i := range rows * vocab {
		x := w.fill(r, i)
		switch dtype {
		case tokendraw.Float32:
			b.Logits.F32 = append(b.Logits.F32, x)
		case tokendraw.BFloat16:
			b.Logits.BF16 = append(b.Logits.BF16, uint16(math.Float32bits(x)>>16))
		default:
			// Any float16 will do; the exponent keeps to finite ones.
			b.Logits.F16 = append(b.Logits.F16, uint16(math.Float32bits(x)>>16)&^0x4000)
		}
	}
	for i := range rows {
		req := tokendraw.Request{Params: w.params, Seed: uint64(i)}
		if w.change != nil {
			w.change(&req)
		}
		b.Requests = append(b.Requests, req)
	}
	return b
}

// Sample allocates nothing once it has seen the largest vocabulary, whatever
// the row, also where rows or parts of rows are shared among workers.
func TestAllocations(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector allocates")
	}
	s := map[int]*Sampler{1: open(t, Config{Workers: 1}), 3: open(t, Config{Workers: 3})}
	for i := range workloads {
		w := &workloads[i]
		for _, size := range []struct{ rows, vocab int }{{1, 70000}, {7, 32000}} {
			if testing.Short() && size.rows > 1 {
				continue
			}
			dtype := []tokendraw.DType{tokendraw.Float32, tokendraw.Float16, tokendraw.BFloat16}[i%3]
			b := w.batch(dtype, size.rows, size.vocab)
			draws := make([]tokendraw.Draw, size.rows)
			for workers, s := range s {
				// AllocsPerRun itself makes one call to warm up. It does so on one
				// processor, so goroutines are made before, with all of them.
				if err := s.Sample(b, draws); err != nil {
					t.Fatal(err)
				}
				if n := testing.AllocsPerRun(5, func() { _ = s.Sample(b, draws) }); n != 0 {
					t.Errorf("%s, %d rows, %d workers: %v allocations", w.name, size.rows, workers, n)
				}
			}
		}
	}
	// With a row map, and with batches that grow and shrink.
	b := workloads[1].batch(tokendraw.Float32, 5, 1000)
	b.Requests = b.Requests[:2]
	b.RowRequest = []int32{1, 0, 1, 1, 0}
	draws := make([]tokendraw.Draw, 7)
	if n := testing.AllocsPerRun(5, func() { _ = s[1].Sample(b, draws) }); n != 0 {
		t.Errorf("with a row map: %v allocations", n)
	}
}

// The memory of a sampler is at most what its documentation says: 16 bytes a
// logit for each worker, and a fixed part.
func TestMemory(t *testing.T) {
	const fixed = 512 << 10 // of a worker
	vocabs := []int{1 << 18, tokendraw.MaxVocab}
	if testing.Short() {
		vocabs = vocabs[:1]
	}
	for _, vocab := range vocabs {
		for _, workers := range []int{1, 2} {
			// Every kind of row, so that every buffer is in use.
			var batches []*tokendraw.Batch
			for _, i := range []int{1, 3, 7, 8, 13} {
				batches = append(batches, workloads[i].batch(tokendraw.BFloat16, 1, vocab))
				if vocab == tokendraw.MaxVocab && len(batches) == 3 {
					break
				}
			}
			var before, after runtime.MemStats
			draws := make([]tokendraw.Draw, 1)
			runtime.ReadMemStats(&before)
			s := open(t, Config{Workers: workers})
			for _, b := range batches {
				if err := s.Sample(b, draws); err != nil {
					t.Fatal(err)
				}
			}
			runtime.ReadMemStats(&after)
			got, most := int(after.TotalAlloc-before.TotalAlloc), workers*(16*vocab+fixed)
			t.Logf("vocab %d, %d workers: %d bytes, %.2f a logit and worker", vocab, workers, got, float64(got)/float64(vocab*workers))
			if got > most {
				t.Errorf("vocab %d, %d workers: %d bytes, want at most %d", vocab, workers, got, most)
			}
			runtime.KeepAlive(s)
		}
	}
}

// No goroutine outlives a call.
func TestGoroutines(t *testing.T) {
	before := runtime.NumGoroutine()
	s := open(t, Config{Workers: 6})
	for i := range workloads {
		b := workloads[i].batch(tokendraw.Float32, 1+i%4*3, 70000)
		details := make([]tokendraw.Details, b.Logits.Rows)
		if err := s.Sample(b, make([]tokendraw.Draw, b.Logits.Rows)); err != nil {
			t.Fatal(err)
		}
		if err := s.Explain(b, details); err != nil {
			t.Fatal(err)
		}
		if testing.Short() && i > 4 {
			break
		}
	}
	// A goroutine that has done its work may need a moment to end.
	for deadline := time.Now().Add(5 * time.Second); ; time.Sleep(time.Millisecond) {
		if n := runtime.NumGoroutine(); n <= before {
			return
		} else if time.Now().After(deadline) {
			t.Fatalf("%d goroutines, %d before", n, before)
		}
	}
}

// A panic in a worker's row would end the program, so none may come from a
// batch that Check passes. Here: memory behind the row that does not exist.
func TestLastRowEndsTheSlice(t *testing.T) {
	for _, vocab := range []int{1, 7, 127, 128, 129, 1000} {
		for _, name := range Variants() {
			s := open(t, Config{Variant: name, Workers: 1})
			b := workloads[6].batch(tokendraw.Float32, 3, vocab)
			b.Logits.F32 = slices.Clip(b.Logits.F32)
			draws := make([]tokendraw.Draw, 3)
			if err := s.Sample(b, draws); err != nil {
				t.Fatal(err)
			}
			if int(draws[2].Token) >= vocab {
				t.Error(fmt.Sprint(name, vocab, draws))
			}
		}
	}
}

// The weight falls, by a bit, where the score rises from the third token to the
// second, and min_p lies between the two. It keeps two tokens, though one of the
// first two is below it (SPEC.md, section 5).
func TestMinPBetweenTopK(t *testing.T) {
	x := make([]float32, 1024)
	for i := range x {
		x[i] = -30
	}
	x[0], x[1], x[2] = 0, math.Float32frombits(0xbe7ffd88), math.Float32frombits(0xbe7ffd89)
	p := tokendraw.Params{Temperature: math.Float32frombits(0x3fb8aa3b), TopK: 2, MinP: math.Float32frombits(0x3f574558)}
	for _, p.TopP = range []float32{1, 0.99} {
		for _, p.FilterOrder = range []tokendraw.FilterOrder{tokendraw.Joint, tokendraw.TopKFirst} {
			b := tokendraw.Batch{
				Logits:   tokendraw.Logits{F32: x, Rows: 1, Vocab: len(x)},
				Requests: []tokendraw.Request{{Params: p, Seed: 1}},
			}
			details := make([]tokendraw.Details, 1)
			if err := oracle.New().Explain(&b, details); err != nil {
				t.Fatal(err)
			}
			if details[0].MinP != 2 || oracle.Exp2(x[1]) >= p.MinP {
				t.Fatal("the weights are not as this test wants them")
			}
			for _, name := range Variants() {
				s, err := New(Config{Variant: name})
				if err != nil {
					t.Fatal(err)
				}
				var got [1]tokendraw.Draw
				if err := s.Sample(&b, got[:]); err != nil {
					t.Fatal(err)
				}
				if got[0] != details[0].Draw {
					t.Errorf("%s, top_p %v, %v: %+v, want %+v", name, p.TopP, p.FilterOrder, got[0], details[0].Draw)
				}
			}
		}
	}
}
