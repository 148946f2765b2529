package cpu

import (
	"fmt"
	"testing"

	"github.com/tokendraw/tokendraw"
	"github.com/tokendraw/tokendraw/internal/backendtest"
)

// Every variant of the vector code, alone and with helpers: more helpers than
// processors, too.
func TestConformance(t *testing.T) {
	for i, variant := range Variants() {
		for _, workers := range []int{1, 2, 5} {
			var opts []backendtest.Option
			if workers > 1 {
				opts = append(opts, backendtest.Without(backendtest.Distribution, "the tokens of one worker, which was tried"))
				if i > 0 {
					opts = append(opts, backendtest.Some(4)) // the sharing of work is the same code
				}
			}
			backendtest.Run(t, fmt.Sprintf("%s-%d", variant, workers), func(t testing.TB) tokendraw.Sampler {
				return open(t, Config{Workers: workers, Variant: variant})
			}, opts...)
		}
	}
}

func open(t testing.TB, c Config) *Sampler {
	t.Helper()
	s, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
