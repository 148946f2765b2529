// Package cpu draws tokens on the processor: plain Go everywhere, vector code
// on amd64 and arm64, the same tokens from each.
//
// A [Sampler] reads a row of logits once, for the maxima of small groups. From
// these it knows which few blocks of the row can hold the tokens that matter,
// and looks only there again. Rows that ask for the mass of the whole row read
// it a second time, and rows that keep thousands of tokens, or have thousands
// of equal ones, take a path whose work is bounded on any input.
package cpu

import (
	"fmt"
	"runtime"
	"sync"

	"github.com/tokendraw/tokendraw"
	"github.com/tokendraw/tokendraw/cpu/internal/vec"
)

// Config is the choice that a caller has. The zero value is a good one.
type Config struct {
	// Workers is the most goroutines that work on one batch, the caller's
	// included. 0 means GOMAXPROCS. Small batches use fewer. Tokens do not
	// depend on it.
	Workers int

	// Variant names the vector code: one of Variants(). With "" the environment
	// variable TOKENDRAW_CPU decides and, where that is not set, the machine.
	// Tokens do not depend on it.
	Variant string
}

// Variants returns the names of the variants of the vector code that work on
// this machine, the fastest first. The last one is always "generic".
func Variants() []string {
	var names []string
	for _, v := range vec.Variants() {
		names = append(names, v.Name)
	}
	return names
}

// Sampler draws tokens on the processor. It implements [tokendraw.Sampler].
//
// A Sampler may be used by several goroutines; their calls take turns, since
// each uses all workers. Between calls it holds memory (at most 16 bytes a
// logit of the largest row for each worker, 32 after Explain) and nothing else:
// no goroutine outlives a call. After the first call with the largest
// vocabulary, Sample allocates nothing.
type Sampler struct {
	mu      sync.Mutex
	closed  bool
	vec     *vec.Funcs
	workers []*worker
	team    team

	steps []uint64 // step of each row
	owned []uint32 // rows of each request so far
	job   job      // what the workers are doing
}

// job is a batch under way.
type job struct {
	batch   *tokendraw.Batch
	draws   []tokendraw.Draw
	details []tokendraw.Details
}

// New returns a sampler. An unknown or unavailable variant is an error that
// wraps [tokendraw.ErrNotAvailable].
func New(c Config) (*Sampler, error) {
	if c.Workers < 0 {
		return nil, &tokendraw.ShapeError{What: "workers", Want: "at least 0", Got: c.Workers}
	}
	if c.Workers == 0 {
		c.Workers = runtime.GOMAXPROCS(0)
	}
	v := vec.Default()
	if c.Variant != "" {
		v = vec.ByName(c.Variant)
	}
	if v == nil {
		name := c.Variant
		if name == "" {
			name = "of the variable " + vec.Variable
		}
		return nil, fmt.Errorf("cpu: variant %s: %w (have %v)", name, tokendraw.ErrNotAvailable, Variants())
	}
	s := &Sampler{vec: v}
	for range c.Workers {
		s.workers = append(s.workers, newWorker(v))
	}
	s.team.init(c.Workers)
	s.workers[0].lead(&s.team, s.workers)
	return s, nil
}

// Variant returns the name of the vector code in use.
func (s *Sampler) Variant() string { return s.vec.Name }

// Workers returns the most goroutines that work on one batch.
func (s *Sampler) Workers() int { return len(s.team.entry) }

// Sample draws one token for each row of b into draws[:b.Logits.Rows].
//
// Errors are [*tokendraw.ParamError], [*tokendraw.ShapeError] and
// [tokendraw.ErrClosed]; then nothing was written.
func (s *Sampler) Sample(b *tokendraw.Batch, draws []tokendraw.Draw) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.run(b, job{batch: b, draws: draws}, len(draws))
}

// Explain draws the same tokens as Sample and says how each came about, in
// details[:b.Logits.Rows]. It sorts every candidate of every row.
func (s *Sampler) Explain(b *tokendraw.Batch, details []tokendraw.Details) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.run(b, job{batch: b, details: details}, len(details))
}

// Close frees the memory. It is no error to close twice.
func (s *Sampler) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.workers, s.steps, s.owned = nil, nil, nil
	return nil
}

func (s *Sampler) run(b *tokendraw.Batch, j job, results int) error {
	if s.closed {
		return tokendraw.ErrClosed
	}
	if err := b.Check(results); err != nil {
		return err
	}
	if b.Logits.Rows == 0 {
		return nil
	}
	for _, w := range s.workers {
		w.reserve(b.Logits.Vocab)
	}
	s.steps, s.owned = b.Steps(s.steps[:0], s.owned)
	s.job = j
	defer func() { s.job = job{} }()

	rows, workers := b.Logits.Rows, len(s.workers)
	// Few rows are split themselves, by the first worker; see worker.run.
	if rows*2 <= workers || float64(rows)*rowCost(b) < parallelFrom {
		for row := range rows {
			s.row(s.workers[0], row)
		}
		return nil
	}
	s.team.rows(s, min(workers, rows), rows)
	return nil
}

// row draws one row on one worker.
func (s *Sampler) row(w *worker, row int) {
	b := s.job.batch
	req := b.Request(row)
	if s.job.details != nil {
		w.explain(&b.Logits, row, req, s.steps[row], &s.job.details[row])
		return
	}
	s.job.draws[row] = w.draw(&b.Logits, row, req, s.steps[row])
}
