package backendtest

import (
	"slices"
	"testing"

	"github.com/tokendraw/tokendraw"
)

// maxFailures is how many failing cases of a part are reported.
const maxFailures = 3

// equal compares with the oracle on every generated case.
func (s *suite) equal(t *testing.T) {
	x := s.sampler(t)
	var out results
	rows, failures := 0, 0
	for _, name := range s.names() {
		c, err := generated(name)
		if err != nil {
			t.Fatal(err)
		}
		if !s.run(t, x, c, &out) {
			if failures++; failures == maxFailures {
				t.Fatal("too many failures")
			}
		}
		rows += c.batch.Logits.Rows
	}
	t.Logf("%d rows in %d batches", rows, len(s.names()))
}

// run draws from a case and reports a mismatch.
func (s *suite) run(t *testing.T, x tokendraw.Sampler, c *Case, out *results) bool {
	t.Helper()
	defer watch(c.name)()
	before := snap(&c.batch)
	m := s.try(x, &c.batch, c.want, out)
	if what := before.changed(&c.batch); what != "" {
		t.Errorf("case %s: %s", c.name, what)
		return false
	}
	if m == nil {
		return true
	}
	s.report(t, c, m)
	return false
}

// report says which row is wrong, and how little of it still is.
func (s *suite) report(t *testing.T, c *Case, m *mismatch) {
	t.Helper()
	b := &c.batch
	if m.row < 0 {
		// Perhaps one of the rows fails alone.
		for i := range b.Logits.Rows {
			if small := s.alone(t, b, i); small != "" {
				t.Errorf("%s\n%s\n%s", c.describe(i), m.what, small)
				return
			}
		}
		t.Errorf("case %s: %s", c.name, m.what)
		return
	}
	small := s.alone(t, b, m.row)
	if small == "" {
		small = "alone, as float32 and in a new sampler, the row is drawn correctly"
	}
	t.Errorf("%s\n%s\n%s", c.describe(m.row), m.what, small)
}

// alone shrinks a row that fails in a batch of its own, else it returns "".
func (s *suite) alone(t *testing.T, b *tokendraw.Batch, row int) string {
	x := s.open(t)
	defer x.Close()
	return s.shrink(x, b.Logits.AppendRow(nil, row), *b.Request(row), steps(b)[row])
}

// named compares with the oracle on batches that a backend once got wrong.
func (s *suite) named(t *testing.T) {
	x := s.sampler(t)
	var out results
	for _, n := range regressions {
		logits := n.logits()
		if len(logits) > s.maxVocab {
			continue
		}
		b := one(logits, n.req)
		c := &Case{name: n.name, batch: b, want: judge(&b)}
		if !s.run(t, x, c, &out) {
			return
		}
	}
}

// selection returns a batch of some of the rows of b, in the order given, each
// with a request of its own that has the row's step.
func selection(b *tokendraw.Batch, rows []int, stride int) tokendraw.Batch {
	l := &b.Logits
	list := steps(b)
	out := tokendraw.Batch{Logits: tokendraw.Logits{Rows: len(rows), Vocab: l.Vocab, Stride: stride}}
	n := max(0, (len(rows)-1)*out.Logits.RowStride()+l.Vocab)
	switch l.DType() {
	case tokendraw.Float32:
		out.Logits.F32 = slices.Repeat([]float32{posInf}, n)
	case tokendraw.Float16:
		out.Logits.F16 = slices.Repeat([]uint16{0x7e00}, n)
	case tokendraw.BFloat16:
		out.Logits.BF16 = slices.Repeat([]uint16{0x7fc0}, n)
	}
	for i, row := range rows {
		from, to := row*l.RowStride(), i*out.Logits.RowStride()
		switch l.DType() {
		case tokendraw.Float32:
			copy(out.Logits.F32[to:], l.F32[from:from+l.Vocab])
		case tokendraw.Float16:
			copy(out.Logits.F16[to:], l.F16[from:from+l.Vocab])
		case tokendraw.BFloat16:
			copy(out.Logits.BF16[to:], l.BF16[from:from+l.Vocab])
		}
		req := *b.Request(row)
		req.Step = list[row]
		out.Requests = append(out.Requests, req)
	}
	return out
}

// choose returns the expectations of some rows.
func choose(want []expect, rows []int) []expect {
	out := make([]expect, 0, len(rows))
	for _, i := range rows {
		out = append(out, want[i])
	}
	return out
}
