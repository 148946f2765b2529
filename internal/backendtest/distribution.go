package backendtest

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/tokendraw/tokendraw"
	"github.com/tokendraw/tokendraw/captured"
	"github.com/tokendraw/tokendraw/internal/chisq"
	"github.com/tokendraw/tokendraw/internal/reference"
	"github.com/tokendraw/tokendraw/internal/tensorfile"
)

// significance is the probability with which a right sampler would fail one of
// the chi-squared tests, were the seeds not fixed.
const significance = 1e-9

// model returns the captured logits, 64 rows of float16.
var model = sync.OnceValues(func() (*tensorfile.Tensor, error) {
	return tensorfile.Read(bytes.NewReader(captured.Bytes()), tensorfile.Options{})
})

// modelRows returns rows of the captured logits as a matrix of one of the
// types; bfloat16 rounds them.
func modelRows(t *testing.T, dtype tokendraw.DType, rows ...int) tokendraw.Logits {
	t.Helper()
	m, err := model()
	if err != nil {
		t.Fatal(err)
	}
	l := tokendraw.Logits{Rows: len(rows), Vocab: m.Cols, F16: []uint16{}}
	for _, i := range rows {
		l.F16 = append(l.F16, m.U16[i*m.Cols:(i+1)*m.Cols]...)
	}
	if dtype == tokendraw.Float16 {
		return l
	}
	wide := []float32{}
	for i := range rows {
		wide = l.AppendRow(wide, i)
	}
	l.F16 = nil
	if dtype == tokendraw.Float32 {
		l.F32 = wide
		return l
	}
	l.BF16 = make([]uint16, len(wide))
	for i, z := range wide {
		l.BF16[i] = toBFloat16(z)
	}
	return l
}

// usual are parameters that servers see.
var usual = []tokendraw.Params{
	{},
	{Temperature: 0.8, TopK: 40, TopP: 0.95},
	{Temperature: 0.8, TopK: 40, TopP: 0.95, FilterOrder: tokendraw.TopKFirst},
	{Temperature: 0.8, TopP: 0.95},
	{Temperature: 1},
	{Temperature: 1, MinP: 0.05},
	{Temperature: 0.7, TopK: 1000, TopP: 0.9, MinP: 0.01},
	{Temperature: 2, TopP: 0.999},
	{Temperature: 5, TopK: 20000},
	{Temperature: 100, TopP: 0.9},
	{Temperature: 1.2, TopK: 3000},
}

var modelCases struct {
	sync.Mutex
	list []*Case
}

// captured compares with the oracle on every captured row.
func (s *suite) captured(t *testing.T) {
	x := s.sampler(t)
	var out results
	rows := 0
	for i, c := range makeModelCases(t) {
		if !s.chosen(i) || testing.Short() && i >= 1 || c.batch.Logits.Vocab > s.maxVocab || *only != "" && *only != c.name {
			continue
		}
		if !s.run(t, x, c, &out) {
			return
		}
		rows += c.batch.Logits.Rows
	}
	t.Logf("%d rows", rows)
}

// makeModelCases returns the captured rows in batches of five, each row with
// parameters and each batch with an element type of its own.
func makeModelCases(t *testing.T) []*Case {
	modelCases.Lock()
	defer modelCases.Unlock()
	if modelCases.list != nil {
		return modelCases.list
	}
	n := 13
	if testing.Short() {
		n = 1
	}
	for i := range n {
		dtype := []tokendraw.DType{tokendraw.Float16, tokendraw.Float32, tokendraw.BFloat16}[i%3]
		var rows []int
		for row := i * 5; row < min(64, i*5+5); row++ {
			rows = append(rows, row)
		}
		b := tokendraw.Batch{Logits: modelRows(t, dtype, rows...)}
		for _, row := range rows {
			req := tokendraw.Request{Params: usual[row%len(usual)], Seed: uint64(row), Step: uint64(i)}
			if row%4 == 3 {
				req.RepetitionPenalty, req.FrequencyPenalty = 1.2, 0.3
				req.PromptTokens = bestIDs(b.Logits.AppendRow(nil, row-rows[0]))
				req.OutputTokens = req.PromptTokens[:5]
			}
			b.Requests = append(b.Requests, req)
		}
		modelCases.list = append(modelCases.list, &Case{name: caseName("captured", i), batch: b, want: judge(&b)})
	}
	return modelCases.list
}

// distribution draws many times from a row and compares how often each token
// came with its probability.
func (s *suite) distribution(t *testing.T) {
	small, large := 5000, 300 // draws from a row; large ones are slow
	if testing.Short() {
		small = 1000
	}
	r := rng{rand.New(rand.NewPCG(0x636869, 0))}
	x := s.sampler(t)

	row := make([]float32, 120)
	for i := range row {
		row[i] = float32(r.NormFloat64() * 1.5)
	}
	tied := make([]float32, 37)
	for i := range tied {
		tied[i] = float32(i % 5)
	}
	tied[3], tied[9] = negInf, nan
	for i, p := range usual[1:] {
		for _, z := range [][]float32{row, tied} {
			req := tokendraw.Request{Params: p, Seed: uint64(len(z)), Step: math.MaxUint64 - 1000}
			if i%2 == 1 && len(z) == len(row) {
				req.RepetitionPenalty, req.PresencePenalty, req.OutputTokens = 1.3, 0.2, []int32{1, 2, 2, 17}
				req.LogitBias = []tokendraw.Bias{{Token: 0, Value: 2}, {Token: 30, Value: negInf}}
			}
			l := tokendraw.Logits{Rows: 500, Vocab: len(z), F32: slices.Repeat(z, 500)}
			s.chi(t, x, &l, req, small/s.every)
		}
	}
	if testing.Short() {
		return
	}

	list := []struct {
		row    int
		dtype  tokendraw.DType
		params tokendraw.Params
	}{
		{0, tokendraw.Float16, tokendraw.Params{Temperature: 1}},
		{9, tokendraw.Float32, tokendraw.Params{Temperature: 1, TopP: 0.9}},
		{22, tokendraw.BFloat16, tokendraw.Params{Temperature: 1, TopK: 50}},
		{35, tokendraw.Float16, tokendraw.Params{Temperature: 5}},
		{41, tokendraw.Float32, tokendraw.Params{Temperature: 1, MinP: 0.001}},
		{58, tokendraw.BFloat16, tokendraw.Params{Temperature: 3, TopK: 5000, TopP: 0.8, FilterOrder: tokendraw.TopKFirst}},
	}
	if s.every > 1 {
		list = list[:3]
	}
	for _, c := range list {
		l := modelRows(t, c.dtype, slices.Repeat([]int{c.row}, 10)...)
		if l.Vocab <= s.maxVocab {
			s.chi(t, x, &l, tokendraw.Request{Params: c.params, Seed: uint64(c.row)}, large/s.every)
		}
	}
}

// chi makes about n draws for one request from a matrix whose rows are equal.
func (s *suite) chi(t *testing.T, x tokendraw.Sampler, l *tokendraw.Logits, req tokendraw.Request, n int) {
	t.Helper()
	what := fmt.Sprintf("vocab %d %v, %s", l.Vocab, l.DType(), describeRequest(&req))
	want := reference.Of(l.AppendRow(nil, 0), &req)
	if want.Unsure {
		t.Fatalf("%s: an edge of a filter is too close to call", what)
	}
	b := tokendraw.Batch{Logits: *l, Requests: []tokendraw.Request{req}, RowRequest: make([]int32, l.Rows)}
	draws := make([]tokendraw.Draw, l.Rows)
	seen := make([]int, l.Vocab)
	n = (n + l.Rows - 1) / l.Rows * l.Rows
	for done := 0; done < n; done += l.Rows {
		if err := x.Sample(&b, draws); err != nil {
			t.Fatal(err)
		}
		for _, d := range draws {
			if d.Token < 0 || want.Prob[d.Token] == 0 {
				t.Errorf("%s: token %d has no probability", what, d.Token)
				return
			}
			if p := want.Prob[d.Token]; math.Abs(math.Log(p)-float64(d.LogProb)) > 1e-4 {
				t.Errorf("%s: token %d has log-probability %v, want %v", what, d.Token, d.LogProb, math.Log(p))
				return
			}
			if int(d.Kept) != len(want.Order) {
				t.Errorf("%s: kept %d, want %d", what, d.Kept, len(want.Order))
				return
			}
			seen[d.Token]++
		}
		b.Requests[0].Step += uint64(l.Rows)
	}
	if r := chisq.Test(seen, want.Prob); r.P < significance {
		t.Errorf("%s: %d draws, %d cells, chi-squared %.1f has probability %.2g", what, n, r.Cells, r.Statistic, r.P)
	}
}
