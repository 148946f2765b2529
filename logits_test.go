package tokendraw_test

import (
	"errors"
	"math"
	"slices"
	"strconv"
	"testing"

	. "github.com/tokendraw/tokendraw"
)

func TestLogitsCheck(t *testing.T) {
	some, none := make([]float32, 100), []float32{}
	half := make([]uint16, 100)
	const huge = math.MaxInt
	for _, c := range []struct {
		l    Logits
		want string // "" if the matrix is good
	}{
		{Logits{F32: some, Rows: 10, Vocab: 10}, ""},
		{Logits{F16: half, Rows: 1, Vocab: 100}, ""},
		{Logits{BF16: half, Rows: 100, Vocab: 1}, ""},
		{Logits{F32: some, Rows: 10, Vocab: 10, Stride: 10}, ""},
		{Logits{F32: some, Rows: 4, Vocab: 10, Stride: 30}, ""}, // the last row ends the slice
		{Logits{F32: some, Rows: 1, Vocab: 100, Stride: huge}, ""},
		{Logits{F32: some, Rows: 9, Vocab: 10}, ""},

		// Without rows nothing else matters.
		{Logits{}, ""},
		{Logits{F32: some, F16: half, Vocab: -1, Stride: 3}, ""},

		{Logits{F32: some, Rows: -1, Vocab: 10}, "logits rows must be at least 0, got -1"},
		{Logits{F32: some, Rows: 1}, "logits vocab must be in [1, 2097152], got 0"},
		{Logits{F32: some, Rows: 1, Vocab: -5}, "logits vocab must be in [1, 2097152], got -5"},
		{Logits{F32: some, Rows: 1, Vocab: MaxVocab + 1}, "logits vocab must be in [1, 2097152], got 2097153"},
		{Logits{F32: some, Rows: 2, Vocab: 10, Stride: 9}, "logits stride must be 0 or at least the vocab, got 9"},
		{Logits{F32: some, Rows: 2, Vocab: 10, Stride: -10}, "logits stride must be 0 or at least the vocab, got -10"},
		{Logits{Rows: 1, Vocab: 10}, "logits slices set must be exactly one of F32, F16 and BF16, got 0"},
		{Logits{F32: some, F16: half, Rows: 1, Vocab: 10}, "logits slices set must be exactly one of F32, F16 and BF16, got 2"},
		{Logits{F16: half, BF16: half, Rows: 1, Vocab: 10}, "logits slices set must be exactly one of F32, F16 and BF16, got 2"},
		{Logits{F32: none, F16: half, BF16: half, Rows: 1, Vocab: 10}, "logits slices set must be exactly one of F32, F16 and BF16, got 3"},
		{Logits{F32: none, Rows: 1, Vocab: 1}, "logits elements must be at least (rows-1)*stride + vocab, got 0"},
		{Logits{F32: some, Rows: 11, Vocab: 10}, "logits elements must be at least (rows-1)*stride + vocab, got 100"},
		{Logits{F32: some[:99], Rows: 10, Vocab: 10}, "logits elements must be at least (rows-1)*stride + vocab, got 99"},
		{Logits{F32: some, Rows: 4, Vocab: 11, Stride: 30}, "logits elements must be at least (rows-1)*stride + vocab, got 100"},
		// Sizes whose product overflows.
		{Logits{F32: some, Rows: huge, Vocab: 100}, "logits elements must be at least (rows-1)*stride + vocab, got 100"},
		{Logits{F32: some, Rows: 3, Vocab: 100, Stride: huge/2 + 1}, "logits elements must be at least (rows-1)*stride + vocab, got 100"},
		{Logits{F32: some, Rows: huge, Vocab: 100, Stride: huge}, "logits elements must be at least (rows-1)*stride + vocab, got 100"},
	} {
		err := c.l.Check()
		var shape *ShapeError
		switch {
		case c.want == "":
			if err != nil {
				t.Errorf("%d rows of %d, stride %d: %v", c.l.Rows, c.l.Vocab, c.l.Stride, err)
			}
		case !errors.As(err, &shape) || err.Error() != c.want:
			t.Errorf("%d rows of %d, stride %d:\ngot  %v\nwant %s", c.l.Rows, c.l.Vocab, c.l.Stride, err, c.want)
		}
	}
}

func TestLogitsAppendRow(t *testing.T) {
	for _, c := range []struct {
		l     Logits
		dtype DType
		want  []float32 // row 1
	}{
		{Logits{F32: []float32{1, 2, 3, 4}, Rows: 2, Vocab: 2}, Float32, []float32{3, 4}},
		{Logits{F32: []float32{1, 2, 99, 3, negInf}, Rows: 2, Vocab: 2, Stride: 3}, Float32, []float32{3, negInf}},
		{Logits{F16: []uint16{0, 0, 0x3c00, 0xfc00}, Rows: 2, Vocab: 2}, Float16, []float32{1, negInf}},
		{Logits{BF16: []uint16{0, 0, 0x3f80, 0xff80}, Rows: 2, Vocab: 2}, BFloat16, []float32{1, negInf}},
	} {
		if got := c.l.DType(); got != c.dtype {
			t.Errorf("DType %v, want %v", got, c.dtype)
		}
		if got := c.l.AppendRow([]float32{7}, 1); !slices.Equal(got, append([]float32{7}, c.want...)) {
			t.Errorf("%v: %v, want 7 and %v", c.dtype, got, c.want)
		}
	}
	var none Logits
	if got := none.DType(); got != 0 || got.String() != "no dtype" {
		t.Errorf("no slice: DType %v", got)
	}
}

func TestNames(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{Float32.String(), "float32"}, {Float16.String(), "float16"}, {BFloat16.String(), "bfloat16"},
		{Joint.String(), "joint"}, {TopKFirst.String(), "top_k_first"}, {FilterOrder(2).String(), "FilterOrder(2)"},
		{OK.String(), "ok"}, {NaN.String(), "nan"}, {NoCandidate.String(), "no_candidate"},
		{InvalidParams.String(), "invalid_params"}, {Status(4).String(), "Status(4)"},
		{strconv.Itoa(MaxVocab), "2097152"}, // the number that messages name
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}
