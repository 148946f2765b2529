package peers

import (
	"math"
	"testing"

	"github.com/tokendraw/tokendraw"
	"github.com/tokendraw/tokendraw/bench/internal/rows"
	"github.com/tokendraw/tokendraw/oracle"
)

// A peer that kept other tokens than the oracle would be no yardstick. At
// temperature 1 all mean the same, up to the rounding of their sums.
func TestPeersKeepTheSame(t *testing.T) {
	const vocab = 5000
	for _, kind := range []rows.Kind{rows.Captured, rows.LM, rows.Peaked, rows.Flat} {
		x := rows.Row(kind, vocab, 1)
		for _, setting := range []rows.Setting{
			rows.Greedy, rows.MinP, rows.TopKP, rows.Joint, rows.TopP, rows.Plain, rows.TopK1000, rows.HalfK,
		} {
			req := setting.Request(vocab)
			if !req.Greedy() {
				req.Temperature = 1
			}
			for i := range 5 {
				u := (float64(i) + 0.5) / 5
				bits, err := tokendraw.UniformBits(u)
				if err != nil {
					t.Fatal(err)
				}
				req.U = &bits
				want := oracle.Row(x, &req, 0)
				for _, name := range Names {
					p := New(name, &req, vocab)
					if p == nil {
						continue
					}
					token, kept := p.Draw(x, u)
					if kept != 0 && math.Abs(float64(kept)-float64(want.Kept)) > 1+0.002*float64(want.Kept) {
						t.Errorf("%s, %s, %s: kept %d, want %d", name, kind, setting, kept, want.Kept)
					}
					place := -1
					for j, c := range want.Tokens {
						if c.Token == token {
							place = j
						}
					}
					if place < 0 && kept <= int(want.Kept) {
						t.Errorf("%s, %s, %s: token %d is not among the kept", name, kind, setting, token)
					}
					// These two draw from the same order with the same number.
					if (name == "sort" || name == "heap") && token != want.Token {
						t.Errorf("%s, %s, %s, u %v: token %d, want %d", name, kind, setting, u, token, want.Token)
					}
				}
			}
		}
	}
}

func TestBucketSelect(t *testing.T) {
	const vocab = 3000
	for _, kind := range rows.Kinds {
		x := rows.Row(kind, vocab, 0)
		l := newLlamaOrder(tokendraw.Params{}, vocab)
		for _, k := range []int{1, 129, 700, vocab - 1, vocab} {
			for i, z := range x {
				l.data[i] = candidate{id: int32(i), z: z}
			}
			got := l.first(l.data, k)
			if len(got) != k {
				t.Fatalf("%s, k %d: %d candidates", kind, k, len(got))
			}
			seen := make(map[int32]bool)
			for i, c := range got {
				if seen[c.id] || x[c.id] != c.z || i > 0 && c.z > got[i-1].z {
					t.Fatalf("%s, k %d: candidate %d is out of order, changed or there twice", kind, k, i)
				}
				seen[c.id] = true
			}
			for id, z := range x {
				if !seen[int32(id)] && z > got[k-1].z {
					t.Fatalf("%s, k %d: token %d was left out", kind, k, id)
				}
			}
		}
	}
}
