package tokendraw_test

import (
	"errors"
	"math"
	"slices"
	"testing"

	. "github.com/tokendraw/tokendraw"
)

// matrix returns rows rows of ten zeros.
func matrix(rows int) Logits {
	return Logits{F32: make([]float32, 10*rows), Rows: rows, Vocab: 10}
}

func TestBatchCheck(t *testing.T) {
	bad := Request{Params: Params{TopP: 2}}
	far := Request{OutputTokens: []int32{10}}
	u := Request{U: ptr(uint64(5))}
	for _, c := range []struct {
		name    string
		b       Batch
		results int
		want    string // "" if the batch is good
	}{
		{"one request a row", Batch{Logits: matrix(2), Requests: make([]Request, 2)}, 2, ""},
		{"more results than rows", Batch{Logits: matrix(2), Requests: make([]Request, 2)}, 9, ""},
		{"a map", Batch{Logits: matrix(3), Requests: make([]Request, 2), RowRequest: []int32{1, 0, 1}}, 3, ""},
		{"a request without a row", Batch{Logits: matrix(1), Requests: make([]Request, 2), RowRequest: []int32{1}}, 1, ""},
		{"u for one row", Batch{Logits: matrix(2), Requests: []Request{u, {}}, RowRequest: []int32{1, 0}}, 2, ""},
		{"no rows", Batch{Logits: matrix(0)}, 0, ""},
		{"no rows and a request", Batch{Logits: matrix(0), Requests: []Request{{}}, RowRequest: []int32{}}, 0, ""},

		{"logits", Batch{Logits: Logits{Rows: 1, Vocab: 1}, Requests: make([]Request, 1)}, 1,
			"logits slices set must be exactly one of F32, F16 and BF16, got 0"},
		{"results", Batch{Logits: matrix(2), Requests: make([]Request, 2)}, 1, "results must be at least 2 long, one a row, got 1"},
		{"too few requests", Batch{Logits: matrix(2), Requests: make([]Request, 1)}, 2, "requests must be 2, one a row, got 1"},
		{"too many requests", Batch{Logits: matrix(2), Requests: make([]Request, 3)}, 2, "requests must be 2, one a row, got 3"},
		{"a request and no rows", Batch{Logits: matrix(0), Requests: make([]Request, 1)}, 0, "requests must be 0, one a row, got 1"},
		{"a short map", Batch{Logits: matrix(2), Requests: make([]Request, 2), RowRequest: []int32{0}}, 2,
			"row map must be 2 long, one entry a row, got 1"},
		{"an empty map", Batch{Logits: matrix(2), Requests: make([]Request, 2), RowRequest: []int32{}}, 2,
			"row map must be 2 long, one entry a row, got 0"},
		{"a map beyond the requests", Batch{Logits: matrix(2), Requests: make([]Request, 2), RowRequest: []int32{0, 2}}, 2,
			"row map entry of row 1 must be in [0, 2), got 2"},
		{"a negative entry", Batch{Logits: matrix(2), Requests: make([]Request, 2), RowRequest: []int32{-1, 0}}, 2,
			"row map entry of row 0 must be in [0, 2), got -1"},

		{"a parameter", Batch{Logits: matrix(3), Requests: []Request{{}, {}, bad}}, 3, "row 2: top_p must be in (0, 1], got 2"},
		{"an id", Batch{Logits: matrix(2), Requests: []Request{{}, far}}, 2, "row 1: output_tokens must be ids in [0, 10), got 10"},
		{"the first row of a request", Batch{Logits: matrix(3), Requests: []Request{bad, {}}, RowRequest: []int32{1, 0, 0}}, 3,
			"row 1: top_p must be in (0, 1], got 2"},
		{"a parameter of no row", Batch{Logits: matrix(1), Requests: []Request{{}, bad}, RowRequest: []int32{0}}, 1,
			"top_p must be in (0, 1], got 2"},
		{"u for two rows", Batch{Logits: matrix(3), Requests: []Request{{}, u}, RowRequest: []int32{0, 1, 1}}, 3,
			"row 1: u must be absent for a request that owns several rows, got 5"},
	} {
		err := c.b.Check(c.results)
		if c.want == "" && err != nil || c.want != "" && (err == nil || err.Error() != c.want) {
			t.Errorf("%s:\ngot  %v\nwant %s", c.name, err, c.want)
		}
		var param *ParamError
		var shape *ShapeError
		if err != nil && !errors.As(err, &param) && !errors.As(err, &shape) {
			t.Errorf("%s: error of type %T", c.name, err)
		}
	}
}

func TestBatchSteps(t *testing.T) {
	requests := []Request{{Step: 5}, {Step: math.MaxUint64}, {Step: 70}}
	for _, c := range []struct {
		rowRequest []int32
		want       []uint64
	}{
		{nil, []uint64{5, math.MaxUint64, 70}},
		{[]int32{2, 1, 0}, []uint64{70, math.MaxUint64, 5}},
		{[]int32{1, 0, 1, 0, 1}, []uint64{math.MaxUint64, 5, 0, 6, 1}}, // modulo 2^64
		{[]int32{2, 2, 2}, []uint64{70, 71, 72}},
		{[]int32{}, nil},
	} {
		rows := len(c.rowRequest)
		if c.rowRequest == nil {
			rows = len(requests)
		}
		b := Batch{Logits: matrix(rows), Requests: requests, RowRequest: c.rowRequest}
		// The scratch slice is dirty: it comes from another batch.
		got, scratch := b.Steps(nil, []uint32{9, 9, 9, 9})
		if !slices.Equal(got, c.want) {
			t.Errorf("%v: %v, want %v", c.rowRequest, got, c.want)
		}
		again, _ := b.Steps(got[:0], scratch)
		if !slices.Equal(again, c.want) {
			t.Errorf("%v, a second time: %v, want %v", c.rowRequest, again, c.want)
		}
		for row := range rows {
			want := row
			if c.rowRequest != nil {
				want = int(c.rowRequest[row])
			}
			if b.Request(row) != &requests[want] {
				t.Errorf("%v: row %d is not of request %d", c.rowRequest, row, want)
			}
		}
	}
}

func TestBatchStepsAllocatesOnce(t *testing.T) {
	b := Batch{Logits: matrix(4), Requests: make([]Request, 2), RowRequest: []int32{0, 1, 1, 0}}
	steps, scratch := b.Steps(nil, nil)
	if n := testing.AllocsPerRun(100, func() { steps, scratch = b.Steps(steps[:0], scratch) }); n != 0 {
		t.Errorf("%v allocations a step", n)
	}
}
