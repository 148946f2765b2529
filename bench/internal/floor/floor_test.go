package floor

import (
	"math/rand/v2"
	"testing"
)

func TestRead(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	x, y := make([]float32, 1000), make([]int16, 1000)
	for i := range x {
		x[i], y[i] = float32(r.NormFloat64()), int16(r.Uint32())
	}
	for _, n := range []int{0, 1, 63, 64, 65, 127, 128, 129, 255, 256, 1000} {
		// The maximum in every place, so that no lane is left out.
		for i := range n {
			saved, saved16 := x[i], y[i]
			x[i], y[i] = 100, 32767
			if got := Read(x[:n]); got != 100 {
				t.Fatalf("%s: %d elements, largest at %d: got %v", Name(), n, i, got)
			}
			if got := Read16(y[:n]); got != 32767 {
				t.Fatalf("%s: %d 16-bit elements, largest at %d: got %v", Name(), n, i, got)
			}
			x[i], y[i] = saved, saved16
		}
		if got, want := Read(x[:n]), readGo(x[:n]); got != want {
			t.Fatalf("%d elements: got %v, want %v", n, got, want)
		}
		if got, want := Read16(y[:n]), read16Go(y[:n]); got != want {
			t.Fatalf("%d 16-bit elements: got %v, want %v", n, got, want)
		}
	}
}
