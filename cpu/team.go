package cpu

import (
	"sync"
	"sync/atomic"

	"github.com/tokendraw/tokendraw"
)

// Waking another goroutine costs more than it gives for little work. Work is
// counted in nanoseconds of one core of an ordinary machine, which needs no
// precision.
const (
	parallelFrom = 150e3 // a batch of less stays on the caller's goroutine
	splitFrom    = 40e3  // so does one pass over a row

	readCost  = 0.15 // a logit whose maximum is taken
	weighCost = 0.7  // a logit whose weight is computed
	digitCost = 2.0  // a logit that is counted in a histogram
)

// rowCost estimates the work of an average row of the batch.
func rowCost(b *tokendraw.Batch) float64 {
	weighed := 0
	for i := range b.Requests {
		if p := &b.Requests[i].Params; !p.Greedy() && needsTotal(p) {
			weighed++
		}
	}
	cost := readCost
	if len(b.Requests) > 0 {
		cost += weighCost * float64(weighed) / float64(len(b.Requests))
	}
	return cost * float64(b.Logits.Vocab)
}

// team runs parts of one piece of work on several goroutines, of which the
// caller's is one. The goroutines end with the work. Everything is allocated
// once.
type team struct {
	wait  sync.WaitGroup
	entry []func() // goroutine i > 0 runs entry[i]
	next  atomic.Int64

	// The work: either rows of a sampler's batch, or parts of a row.
	sampler *Sampler
	count   int
	part    func(i int)
}

func (t *team) init(workers int) {
	for i := range workers {
		t.entry = append(t.entry, func() {
			defer t.wait.Done()
			t.work(i)
		})
	}
}

// rows draws the rows of s's batch, each goroutine taking the next one.
func (t *team) rows(s *Sampler, workers, rows int) {
	t.sampler, t.count = s, rows
	t.next.Store(0)
	t.run(workers)
	t.sampler = nil
}

// parts calls part(0) ... part(workers-1), each on its own goroutine.
func (t *team) parts(workers int, part func(i int)) {
	t.part = part
	t.run(workers)
	t.part = nil
}

// busy reports whether the team draws rows, so that none is free to help with
// one.
func (t *team) busy() bool { return t.sampler != nil }

func (t *team) run(workers int) {
	t.wait.Add(workers - 1)
	for i := 1; i < workers; i++ {
		go t.entry[i]()
	}
	t.work(0)
	t.wait.Wait()
}

func (t *team) work(i int) {
	if t.part != nil {
		t.part(i)
		return
	}
	s := t.sampler
	for {
		row := int(t.next.Add(1)) - 1
		if row >= t.count {
			return
		}
		s.row(s.workers[i], row)
	}
}
