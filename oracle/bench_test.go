package oracle

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/tokendraw/tokendraw"
)

func BenchmarkRow(b *testing.B) {
	for _, vocab := range []int{4097, 128256, 262144} {
		rng := rand.New(rand.NewPCG(1, 2))
		z := make([]float32, vocab)
		for i := range z {
			z[i] = float32(rng.NormFloat64() * 3)
		}
		b.Run(fmt.Sprint(vocab), func(b *testing.B) {
			req := tokendraw.Request{Params: tokendraw.Params{Temperature: 0.8, TopP: 0.95}}
			for b.Loop() {
				Row(z, &req, 1)
			}
		})
	}
}
