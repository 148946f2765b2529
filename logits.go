package tokendraw

import (
	"github.com/tokendraw/tokendraw/internal/half"
)

// MaxVocab is the largest vocabulary a row may have, 2^21 logits. Up to it
// every sum of weights fits 57 bits (SPEC.md, section 3).
const MaxVocab = 1 << 21

// DType is the element type of a matrix of logits.
type DType uint8

// The three element types. Each value converts to float32 without rounding.
const (
	Float32  DType = iota + 1 // IEEE 754 binary32
	Float16                   // IEEE 754 binary16
	BFloat16                  // the upper 16 bits of a binary32
)

// String returns "float32", "float16" or "bfloat16".
func (d DType) String() string {
	switch d {
	case Float32:
		return "float32"
	case Float16:
		return "float16"
	case BFloat16:
		return "bfloat16"
	}
	return "no dtype"
}

// Logits is a view of a [Rows, Vocab] matrix of logits that lies in host
// memory. Samplers read it and never write to it.
//
// Exactly one of F32, F16 and BF16 holds the elements: row i starts at element
// i*Stride and has Vocab of them. The slice needs (Rows-1)*Stride + Vocab
// elements; what lies between the end of a row and the next is never read.
type Logits struct {
	F32  []float32 // float32 elements
	F16  []uint16  // bits of float16 elements
	BF16 []uint16  // bits of bfloat16 elements

	Rows   int // number of rows, >= 0; with 0 rows nothing is drawn
	Vocab  int // logits per row, 1..MaxVocab
	Stride int // elements from one row to the next, >= Vocab; 0 means Vocab
}

// DType returns the element type: that of the first non-nil slice.
func (l *Logits) DType() DType {
	switch {
	case l.F32 != nil:
		return Float32
	case l.F16 != nil:
		return Float16
	case l.BF16 != nil:
		return BFloat16
	}
	return 0
}

// RowStride returns the distance between rows in elements, with the default
// filled in.
func (l *Logits) RowStride() int {
	if l.Stride == 0 {
		return l.Vocab
	}
	return l.Stride
}

// AppendRow appends row i to dst as float32 and returns the extended slice.
// The conversion is exact. It panics, as a slice expression does, if i is
// outside [0, Rows).
func (l *Logits) AppendRow(dst []float32, i int) []float32 {
	from := i * l.RowStride()
	to := from + l.Vocab
	switch l.DType() {
	case Float32:
		return append(dst, l.F32[from:to]...)
	case Float16:
		for _, h := range l.F16[from:to] {
			dst = append(dst, half.Float16(h))
		}
	case BFloat16:
		for _, h := range l.BF16[from:to] {
			dst = append(dst, half.BFloat16(h))
		}
	}
	return dst
}

// Check reports the first thing that is wrong with the matrix's shape as a
// *ShapeError, or nil. It does not look at the elements.
func (l *Logits) Check() error {
	if l.Rows < 0 {
		return &ShapeError{What: "logits rows", Want: "at least 0", Got: l.Rows}
	}
	if l.Rows == 0 {
		return nil
	}
	if l.Vocab < 1 || l.Vocab > MaxVocab {
		return &ShapeError{What: "logits vocab", Want: "in [1, 2097152]", Got: l.Vocab}
	}
	if l.Stride != 0 && l.Stride < l.Vocab {
		return &ShapeError{What: "logits stride", Want: "0 or at least the vocab", Got: l.Stride}
	}
	set, have := 0, 0
	if l.F32 != nil {
		set, have = set+1, len(l.F32)
	}
	if l.F16 != nil {
		set, have = set+1, len(l.F16)
	}
	if l.BF16 != nil {
		set, have = set+1, len(l.BF16)
	}
	if set != 1 {
		return &ShapeError{What: "logits slices set", Want: "exactly one of F32, F16 and BF16", Got: set}
	}
	// (Rows-1)*Stride + Vocab <= have, written so that it cannot overflow.
	if have < l.Vocab || (l.Rows-1) > (have-l.Vocab)/l.RowStride() {
		return &ShapeError{What: "logits elements", Want: "at least (rows-1)*stride + vocab", Got: have}
	}
	return nil
}
