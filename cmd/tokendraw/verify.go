package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tokendraw/tokendraw"
	"github.com/tokendraw/tokendraw/internal/chisq"
	"github.com/tokendraw/tokendraw/internal/philox"
	"github.com/tokendraw/tokendraw/internal/reference"
	"github.com/tokendraw/tokendraw/oracle"
	"github.com/tokendraw/tokendraw/vectors"
)

const verifyHelp = `Checks the backends of this machine, each in all its variants, and says what was
checked:

  vectors      the golden cases of the specification, draws and refusals
  chi-squared  that tokens come as often as a float64 softmax says
  comparison   that generated rows give what the oracle gives, bit for bit

The chi-squared tests fail by chance once in a million; small cells are pooled.
With -json a check is one line. Any failure ends with exit status 1.`

// significance is the probability with which all chi-squared tests of a run
// together fail a sampler that is right.
const significance = 1e-6

// check is the JSON line of a check.
type check struct {
	Check   string  `json:"check"`
	Backend string  `json:"backend"`
	Variant string  `json:"variant,omitempty"`
	OK      bool    `json:"ok"`
	Proved  string  `json:"proved"` // what was looked at
	Error   string  `json:"error,omitempty"`
	Seconds float64 `json:"seconds"`
}

// subject is a sampler under test.
type subject struct {
	backend, variant string
	sampler          tokendraw.Sampler
}

func (s *subject) name() string { return strings.TrimSpace(s.backend + " " + s.variant) }

// verifier runs the checks.
type verifier struct {
	c      *context
	json   bool
	failed bool
	seed   uint64
	draws  int // of each chi-squared test
	rows   int // of the comparison
	tests  int // chi-squared tests in this run
}

func runVerify(c *context, args []string) error {
	v := verifier{c: c, draws: 10000, rows: 10000}
	backendName := "all"
	seed := 1
	f := newFlags(c)
	f.yes(&v.json, "json", "one JSON object a check")
	f.text(&backendName, "backend", "`NAME` of the only backend to check, or all")
	f.number(&v.draws, "n", "`N` draws in each chi-squared test")
	f.number(&v.rows, "rows", "`N` generated rows in the comparison")
	f.number(&seed, "seed", "of what is generated: `N`")
	if err := f.none(args); err != nil {
		return err
	}
	if v.draws < 100 || v.rows < 1 || seed < 0 {
		return usagef("want -n of at least 100, -rows of at least 1 and -seed of at least 0")
	}
	v.seed = uint64(seed)
	picked, err := pickBackends(backendName)
	if err != nil {
		return err
	}
	var subjects []subject
	for _, b := range picked {
		for _, variant := range b.variants() {
			s, err := b.open(variant, 0)
			if err != nil {
				return err
			}
			defer s.Close()
			subjects = append(subjects, subject{b.name, variant, s})
		}
	}
	v.tests = len(subjects) * len(distributions)

	v.formulas()
	v.vectors(subjects)
	v.distributions(subjects)
	v.comparison(subjects)
	if v.failed {
		return errFailed
	}
	if !v.json {
		fmt.Fprintln(c.out, c.paint.green("all checks passed"))
	}
	return nil
}

// report prints the outcome of a check.
func (v *verifier) report(name, backend, variant string, begin time.Time, proved string, err error) {
	v.c.notes.clear()
	r := check{
		Check: name, Backend: backend, Variant: variant, OK: err == nil, Proved: proved,
		Seconds: math.Round(1000*time.Since(begin).Seconds()) / 1000,
	}
	outcome := v.c.paint.green("ok    ")
	if err != nil {
		v.failed = true
		r.Error = err.Error()
		outcome = v.c.paint.red("FAILED")
	}
	if v.json {
		line, err := json.Marshal(r)
		if err != nil {
			line = []byte(`{}`) // strings and numbers only: it cannot happen
		}
		v.c.out.Write(append(line, '\n'))
	} else {
		fmt.Fprintln(v.c.out, outcome, padRight(name, 12), padRight(strings.TrimSpace(backend+" "+variant), 12), proved)
		if err != nil {
			fmt.Fprintln(v.c.out, "       ", r.Error)
		}
	}
	v.c.out.Flush() // a check may take seconds
}

// formulas checks what has golden numbers of its own: weights, random numbers
// and the wire form.
func (v *verifier) formulas() {
	begin := time.Now()
	n, err := checkWeights()
	v.report("weights", "oracle", "", begin, plural(n, "weight")+" of spec 3, bit for bit", err)
	begin = time.Now()
	n, err = checkPhilox()
	v.report("random", "all", "", begin, plural(n, "number")+" of spec 7", err)
	begin = time.Now()
	n, err = checkParams()
	v.report("parameters", "all", "", begin, plural(n, "text")+" read or refused as spec 9 says", err)
}

func checkWeights() (int, error) {
	list, err := vectors.Weights()
	for _, x := range list {
		y, w := oracle.Weight(x.Z, x.M, x.C)
		if c := oracle.Scale(x.Temperature); c != x.C || y != x.Y || w != x.W {
			return len(list), fmt.Errorf("z %v, m %v, temperature %v: weight %d, want %d", x.Z, x.M, x.Temperature, w, x.W)
		}
	}
	return len(list), err
}

func checkPhilox() (int, error) {
	blocks, numbers, err := vectors.Philox()
	for _, b := range blocks {
		if got := philox.Block(b.Key, b.Counter); got != b.Result {
			return 0, fmt.Errorf("key %x, counter %x: %x, want %x", b.Key, b.Counter, got, b.Result)
		}
	}
	for _, x := range numbers {
		if got := philox.Draw(x.Seed, x.Step); got != x.U {
			return 0, fmt.Errorf("seed %d, step %d: %#x, want %#x", x.Seed, x.Step, got, x.U)
		}
	}
	return len(blocks) + len(numbers), err
}

func checkParams() (n int, err error) {
	cases, err := vectors.Params()
	for _, p := range cases {
		if p.JSON == "" {
			continue
		}
		n++
		requests, err := tokendraw.ParseRequests([]byte(p.JSON), p.Rows)
		for i := range requests {
			if err == nil {
				err = requests[i].Check(p.Vocab)
			}
		}
		if (err != nil) != p.Refused {
			return n, fmt.Errorf("%s: %s: error %v, refused %v", p.Name, p.JSON, err, p.Refused)
		}
		var param *tokendraw.ParamError
		if errors.As(err, &param) && p.Field != "" && param.Field != p.Field {
			return n, fmt.Errorf("%s: %s: %v does not name %s", p.Name, p.JSON, err, p.Field)
		}
	}
	return n, err
}

// each calls f(0) to f(n-1), as many at a time as there are processors, and
// returns the first error by number. After an error no further calls begin.
func (v *verifier) each(what string, n int, f func(i int) error) error {
	var mu sync.Mutex
	var group sync.WaitGroup
	next, done, failed, first := 0, 0, n, error(nil)
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() {
			mu.Lock()
			defer mu.Unlock()
			for next < n && failed == n {
				i := next
				next++
				mu.Unlock()
				err := f(i)
				mu.Lock()
				if err != nil && i < failed {
					failed, first = i, err
				}
				done++
				v.c.notes.at(what, done, n)
			}
		})
	}
	group.Wait()
	return first
}

// vectors draws the golden cases.
func (v *verifier) vectors(subjects []subject) {
	cases, broken := vectors.Draws()
	rows := 0
	for i := range cases {
		rows += cases[i].Rows()
	}
	for i := range subjects {
		s := &subjects[i]
		begin := time.Now()
		err := broken
		if err == nil {
			err = v.each("golden cases, "+s.name(), len(cases), func(i int) error { return s.golden(&cases[i]) })
		}
		v.report("vectors", s.backend, s.variant, begin,
			fmt.Sprintf("%s in %s, drawn and explained", plural(rows, "row"), plural(len(cases), "case")), err)
	}
}

func (s *subject) golden(c *vectors.Case) error {
	b, err := c.Batch()
	if err != nil {
		return err
	}
	draws := make([]tokendraw.Draw, c.Rows())
	if err := s.sampler.Sample(b, draws); err != nil {
		return fmt.Errorf("%s: %w", c.Name, err)
	}
	if err := c.CheckDraws(draws); err != nil {
		return err
	}
	details := make([]tokendraw.Details, c.Rows())
	if err := s.sampler.Explain(b, details); err != nil {
		return fmt.Errorf("%s: %w", c.Name, err)
	}
	return c.CheckDetails(details)
}

// distributions are what the chi-squared tests draw from. The edges of the
// filters are far from any token, so that float64 sees the same tokens kept.
var distributions = []struct {
	name string
	req  tokendraw.Request
}{
	{"temperature 1", tokendraw.Request{Params: tokendraw.Params{Temperature: 1}}},
	{"temperature 0.5", tokendraw.Request{Params: tokendraw.Params{Temperature: 0.5}}},
	{"temperature 2", tokendraw.Request{Params: tokendraw.Params{Temperature: 2}}},
	{"top_k 40", tokendraw.Request{Params: tokendraw.Params{Temperature: 1, TopK: 40}}},
	{"top_p 0.9", tokendraw.Request{Params: tokendraw.Params{Temperature: 1, TopP: 0.9}}},
	{"min_p 0.05", tokendraw.Request{Params: tokendraw.Params{Temperature: 1.5, MinP: 0.05}}},
	{"top_k 50, top_p 0.8, joint", tokendraw.Request{Params: tokendraw.Params{Temperature: 0.8, TopK: 50, TopP: 0.8}}},
	{"top_k 50, top_p 0.8, top_k_first", tokendraw.Request{
		Params: tokendraw.Params{Temperature: 0.8, TopK: 50, TopP: 0.8, FilterOrder: tokendraw.TopKFirst},
	}},
	{"penalties and bias", tokendraw.Request{
		Params:       tokendraw.Params{Temperature: 1, RepetitionPenalty: 1.3, PresencePenalty: 0.5, FrequencyPenalty: 0.25},
		PromptTokens: []int32{1, 2, 3}, OutputTokens: []int32{3, 4, 4},
		LogitBias: []tokendraw.Bias{{Token: 0, Value: 2}, {Token: 5, Value: float32(math.Inf(-1))}},
	}},
}

// distributions draws from a row of 300 normal logits and compares with the
// float64 distribution.
func (v *verifier) distributions(subjects []subject) {
	const vocab, together = 300, 500
	g := newGenerator(v.seed)
	row := make([]float32, vocab)
	for i := range row {
		row[i] = float32(1.5 * g.NormFloat64())
	}
	logits := tokendraw.Logits{Rows: together, Vocab: vocab, F32: slices.Repeat(row, together)}
	seed := g.Uint64()

	for i := range subjects {
		s := &subjects[i]
		begin := time.Now()
		p := make([]float64, len(distributions)) // of each test, or 2
		err := v.each("chi-squared tests, "+s.name(), len(distributions), func(i int) error {
			p[i] = 2
			req := distributions[i].req
			req.Seed = seed + uint64(i)
			want := reference.Of(row, &req)
			if want.Unsure {
				return nil // with another -seed, an edge may be too close to call
			}
			r, err := s.frequencies(logits, req, v.draws, want.Prob)
			if p[i] = r.P; err == nil && r.P < significance/float64(v.tests) {
				err = fmt.Errorf("chi-squared %.1f over %d cells has probability %.1e", r.Statistic, r.Cells, r.P)
			}
			if err != nil {
				return fmt.Errorf("%s: %w", distributions[i].name, err)
			}
			return nil
		})
		tests := 0
		for _, x := range p {
			if x <= 1 {
				tests++
			}
		}
		v.report("chi-squared", s.backend, s.variant, begin, fmt.Sprintf("%s of %s, least probability %.2g, significance %.0e in all",
			plural(tests, "test"), plural(v.draws, "draw"), slices.Min(p), significance), err)
	}
}

// frequencies draws n tokens for one request that owns all rows of a matrix of
// equal rows.
func (s *subject) frequencies(l tokendraw.Logits, req tokendraw.Request, n int, prob []float64) (chisq.Result, error) {
	b := tokendraw.Batch{Logits: l, Requests: []tokendraw.Request{req}, RowRequest: make([]int32, l.Rows)}
	draws := make([]tokendraw.Draw, l.Rows)
	counts := make([]int, l.Vocab)
	for done := 0; done < n; done += l.Rows {
		if err := s.sampler.Sample(&b, draws); err != nil {
			return chisq.Result{}, err
		}
		for _, d := range draws[:min(l.Rows, n-done)] {
			if d.Token < 0 || prob[d.Token] == 0 {
				return chisq.Result{}, fmt.Errorf("token %d was drawn, which has no probability", d.Token)
			}
			counts[d.Token]++
		}
		b.Requests[0].Step += uint64(l.Rows)
	}
	return chisq.Test(counts, prob), nil
}
