package backendtest

import (
	"sync"
	"testing"

	"github.com/tokendraw/tokendraw"
)

// concurrency draws from many goroutines: all with one sampler, then each with
// its own.
func (s *suite) concurrency(t *testing.T) {
	goroutines := 8
	var list []*Case
	names := []string{"tiny/0", "tiny/5", "tiny/12", "tiny/30", "small/3", "small/8", "small/13", "small/20", "middle/4", "middle/8"}
	if testing.Short() {
		names, goroutines = names[:8], 4
	} else {
		names = append(names, "large/0", "large/1")
	}
	for _, name := range names {
		c, err := generated(name)
		if err != nil {
			t.Fatal(err)
		}
		if c.batch.Logits.Vocab <= s.maxVocab {
			list = append(list, c)
		}
	}
	for _, shared := range []bool{true, false} {
		var samplers []tokendraw.Sampler
		for i := range goroutines {
			if shared && i > 0 {
				samplers = append(samplers, samplers[0])
			} else {
				samplers = append(samplers, s.sampler(t))
			}
		}
		var wg sync.WaitGroup
		for g, x := range samplers {
			wg.Go(func() {
				defer watch("concurrency")()
				var out results
				for i := range list {
					c := list[(i+g*3)%len(list)]
					if m := s.try(x, &c.batch, c.want, &out); m != nil {
						t.Errorf("shared %v: case %s, row %d: %s", shared, c.name, m.row, m.what)
						return
					}
				}
			})
		}
		wg.Wait()
	}

	// Close while others draw: each call works or says that it is too late.
	x := s.open(t)
	c := list[0]
	var wg sync.WaitGroup
	for range goroutines {
		wg.Go(func() {
			var out results
			for range 50 {
				out.reset(c.batch.Logits.Rows)
				if err := x.Sample(&c.batch, out.draws); err != nil {
					if err != tokendraw.ErrClosed || !out.clean(0) {
						t.Errorf("drawing beside Close: %v", err)
					}
					return
				}
				for i := range c.want {
					if what := s.draw(&c.want[i].Draw, &out.draws[i]); what != "" {
						t.Errorf("drawing beside Close: %s", what)
						return
					}
				}
			}
		})
	}
	if err := x.Close(); err != nil {
		t.Errorf("Close beside draws: %v", err)
	}
	wg.Wait()
}
