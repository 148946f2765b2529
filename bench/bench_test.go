// Package bench holds benchmarks for benchstat; see README.md. The comparisons
// that the project publishes are made by cmd/cpu, which interleaves the
// samplers.
package bench

import (
	"testing"

	"github.com/tokendraw/tokendraw"
	"github.com/tokendraw/tokendraw/bench/internal/floor"
	"github.com/tokendraw/tokendraw/bench/internal/peers"
	"github.com/tokendraw/tokendraw/bench/internal/rows"
	"github.com/tokendraw/tokendraw/cpu"
)

const vocab = 128256

var cases = []struct {
	name    string
	kind    rows.Kind
	setting rows.Setting
}{
	{"greedy", rows.Captured, rows.Greedy},
	{"minp", rows.Captured, rows.MinP},
	{"k40p95", rows.Captured, rows.TopKP},
	{"joint", rows.Captured, rows.Joint},
	{"p95", rows.Captured, rows.TopP},
	{"plain", rows.Captured, rows.Plain},
	{"k1000p95", rows.Captured, rows.TopK1000},
	{"khalf", rows.Captured, rows.HalfK},
	{"adjusted", rows.Captured, rows.Adjusted},
	{"flat-p95", rows.Flat, rows.TopP},
	{"half-p95", rows.Half, rows.TopP},
	{"equal-p95", rows.Equal, rows.TopP},
}

// nRows different rows take turns, a new one each call: they come from the L3
// cache, whereas cmd/cpu draws from a row that is in L2.
const nRows = 8

// BenchmarkSample is a call with one float32 row.
func BenchmarkSample(b *testing.B) {
	for _, variant := range cpu.Variants() {
		for _, c := range cases {
			b.Run("variant="+variant+"/case="+c.name, func(b *testing.B) {
				s, err := cpu.New(cpu.Config{Workers: 1, Variant: variant})
				if err != nil {
					b.Fatal(err)
				}
				stack := rows.Stack(c.kind, vocab, 0, nRows, tokendraw.Float32)
				batch := tokendraw.Batch{
					Logits:   tokendraw.Logits{F32: stack.F32, Rows: 1, Vocab: vocab},
					Requests: []tokendraw.Request{c.setting.Request(vocab)},
				}
				draws := make([]tokendraw.Draw, 1)
				if err := s.Sample(&batch, draws); err != nil { // allocates what later calls use
					b.Fatal(err)
				}
				b.SetBytes(4 * vocab)
				b.ReportAllocs()
				for b.Loop() {
					step := batch.Requests[0].Step
					batch.Logits.F32 = stack.F32[step%nRows*vocab:][:vocab]
					if err := s.Sample(&batch, draws); err != nil {
						b.Fatal(err)
					}
					batch.Requests[0].Step++
				}
			})
		}
	}
}

// BenchmarkBatch is a call with 64 rows of float32 or bfloat16.
func BenchmarkBatch(b *testing.B) {
	const batchRows = 64
	for _, dtype := range []tokendraw.DType{tokendraw.Float32, tokendraw.BFloat16} {
		stack := rows.Stack(rows.Captured, vocab, 0, batchRows, dtype)
		for _, workers := range []string{"1", "2"} {
			for _, c := range cases[:6] {
				b.Run("dtype="+dtype.String()+"/workers="+workers+"/case="+c.name, func(b *testing.B) {
					s, err := cpu.New(cpu.Config{Workers: int(workers[0] - '0')})
					if err != nil {
						b.Fatal(err)
					}
					batch := tokendraw.Batch{Logits: stack, Requests: make([]tokendraw.Request, batchRows)}
					for i := range batch.Requests {
						batch.Requests[i] = c.setting.Request(vocab)
						batch.Requests[i].Seed += uint64(i)
					}
					draws := make([]tokendraw.Draw, batchRows)
					for b.Loop() {
						if err := s.Sample(&batch, draws); err != nil {
							b.Fatal(err)
						}
						for i := range batch.Requests {
							batch.Requests[i].Step++
						}
					}
					b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/batchRows, "ns/row")
				})
			}
		}
	}
}

// BenchmarkPeer is a draw of another sampler from one row.
func BenchmarkPeer(b *testing.B) {
	for _, name := range peers.Names {
		for _, c := range cases {
			req := c.setting.Request(vocab)
			p := peers.New(name, &req, vocab)
			if p == nil {
				continue
			}
			b.Run("peer="+name+"/case="+c.name, func(b *testing.B) {
				stack := rows.Stack(c.kind, vocab, 0, nRows, tokendraw.Float32)
				b.SetBytes(4 * vocab)
				b.ReportAllocs()
				for i := 0; b.Loop(); i++ {
					p.Draw(stack.F32[i%nRows*vocab:][:vocab], float64(i%97)/97)
				}
			})
		}
	}
}

// BenchmarkRead reads one row, the least that a draw must do.
func BenchmarkRead(b *testing.B) {
	stack := rows.Stack(rows.Captured, vocab, 0, nRows, tokendraw.Float32)
	b.SetBytes(4 * vocab)
	for i := 0; b.Loop(); i++ {
		floor.Read(stack.F32[i%nRows*vocab:][:vocab])
	}
}
