package cpu

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tokendraw/tokendraw"
	"github.com/tokendraw/tokendraw/oracle"
)

func TestQuick(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	o := oracle.New()
	for _, name := range Variants() {
		for _, workers := range []int{1, 3} {
			s, _ := New(Config{Workers: workers, Variant: name})
			for iter := range 3000 {
				v := []int{1, 2, 31, 33, 127, 128, 129, 1000, 4095, 4097, 8192, 20000}[r.IntN(12)]
				if iter%50 == 0 {
					v = []int{32000, 128256, 151936, 70001}[r.IntN(4)]
				}
				x := make([]float32, v)
				kind := r.IntN(7)
				for i := range x {
					switch kind {
					case 0:
						x[i] = float32(r.NormFloat64() * 2.5)
					case 1:
						x[i] = float32(r.IntN(5))
					case 2:
						x[i] = 1.5
					case 3:
						x[i] = float32(r.NormFloat64() * 0.3)
					case 4:
						x[i] = float32(r.NormFloat64() * 2)
						if r.IntN(2) == 0 {
							x[i] = float32(math.Inf(-1))
						}
					case 5:
						x[i] = float32(r.IntN(3)-1) * float32(r.IntN(2))
						if r.IntN(2) == 0 {
							x[i] = -x[i]
						}
					case 6:
						x[i] = math.Float32frombits(r.Uint32())
					}
				}
				if kind != 6 && r.IntN(3) == 0 {
					for range 20 {
						x[r.IntN(v)] += 12
					}
				}
				p := tokendraw.Params{Temperature: []float32{1, 0.8, 0.1, 3, 1e-30, 1e30, 0}[r.IntN(7)]}
				if r.IntN(2) == 0 {
					p.TopK = []int{-1, 1, 2, 40, 50, 1000, v / 2, v - 1, v, v + 1, 5000}[r.IntN(11)]
					p.TopK = max(p.TopK, -1)
				}
				if r.IntN(2) == 0 {
					p.TopP = []float32{0.5, 0.95, 0.999, 1, 1e-30, 0.1}[r.IntN(6)]
				}
				if r.IntN(3) == 0 {
					p.MinP = []float32{0.05, 1e-6, 1, 0.9}[r.IntN(4)]
				}
				p.FilterOrder = tokendraw.FilterOrder(r.IntN(2))
				req := tokendraw.Request{Params: p, Seed: r.Uint64(), Step: r.Uint64()}
				if r.IntN(4) == 0 {
					req.Bitmask = make([]uint32, r.IntN(v/32+2))
					for i := range req.Bitmask {
						req.Bitmask[i] = r.Uint32()
					}
				}
				if r.IntN(4) == 0 {
					req.RepetitionPenalty, req.PresencePenalty, req.FrequencyPenalty = 1.3, 0.4, -0.2
					for range 30 {
						req.PromptTokens = append(req.PromptTokens, int32(r.IntN(v)))
						req.OutputTokens = append(req.OutputTokens, int32(r.IntN(v)))
						req.Counts = append(req.Counts, tokendraw.TokenCount{Token: int32(r.IntN(v)), Output: int32(r.IntN(3))})
					}
				}
				if r.IntN(5) == 0 {
					req.LogitBias = []tokendraw.Bias{{Token: int32(v - 1), Value: 5}}
				}
				if r.IntN(9) == 0 {
					req.AllowedTokens = []int32{0, int32(v / 2), int32(v - 1), 0}
				}
				b := tokendraw.Batch{Logits: tokendraw.Logits{Rows: 1, Vocab: v}, Requests: []tokendraw.Request{req}}
				switch r.IntN(3) {
				case 0:
					b.Logits.F32 = x
				case 1:
					for _, z := range x {
						b.Logits.BF16 = append(b.Logits.BF16, uint16(math.Float32bits(z)>>16))
					}
				case 2:
					for i := range x {
						b.Logits.F16 = append(b.Logits.F16, uint16(math.Float32bits(x[i])>>13)^0x4000)
					}
				}
				var want, got [1]tokendraw.Details
				var draw [1]tokendraw.Draw
				if err := o.Explain(&b, want[:]); err != nil {
					t.Fatal(err)
				}
				if err := s.Explain(&b, got[:]); err != nil {
					t.Fatal(err)
				}
				if err := s.Sample(&b, draw[:]); err != nil {
					t.Fatal(err)
				}
				if draw[0] != want[0].Draw {
					t.Fatalf("iter %d kind %d v %d %+v: got %+v want %+v explain %+v", iter, kind, v, p, draw[0], want[0].Draw, got[0].Draw)
				}
				if got[0].Draw != want[0].Draw || got[0].TopK != want[0].TopK || got[0].MinP != want[0].MinP || got[0].TopP != want[0].TopP || got[0].Total != want[0].Total || got[0].Mass != want[0].Mass || got[0].Candidates != want[0].Candidates {
					want[0].Tokens, got[0].Tokens = nil, nil
					t.Fatalf("explain iter %d kind %d v %d: got %+v want %+v", iter, kind, v, got[0], want[0])
				}
				for i := range want[0].Tokens {
					if want[0].Tokens[i] != got[0].Tokens[i] {
						t.Fatalf("token %d: %+v %+v", i, got[0].Tokens[i], want[0].Tokens[i])
					}
				}
			}
		}
	}
}
