package tokendraw

import (
	"errors"
	"strconv"
)

// Status is the outcome of one row.
type Status uint8

// The outcomes. An unhappy row never touches its neighbours.
const (
	OK            Status = iota // a token was drawn
	NaN                         // a logit was NaN; a token was drawn from the others
	NoCandidate                 // nothing can be drawn; the token is -1
	InvalidParams               // parameters in device memory are outside their intervals; the token is -1
)

// String returns the wire name: "ok", "nan", "no_candidate" or
// "invalid_params".
func (s Status) String() string {
	switch s {
	case OK:
		return "ok"
	case NaN:
		return "nan"
	case NoCandidate:
		return "no_candidate"
	case InvalidParams:
		return "invalid_params"
	}
	return "Status(" + strconv.Itoa(int(s)) + ")"
}

// Draw is the result of one row.
type Draw struct {
	Token   int32   // the token id, or -1
	Status  Status  // what became of the row
	Kept    int32   // number of tokens that the filters left; 0 with NoCandidate
	LogProb float32 // natural logarithm of the token's probability among the kept ones
}

// TokenProb is one kept token of a row.
type TokenProb struct {
	Token  int32
	Score  float32 // logit after bias, mask and penalties
	Weight uint64  // SPEC.md, section 3: 2^36 for the highest score
	Prob   float64 // weight over the mass of the kept tokens
}

// Details tell how one row's draw came about. The counts are those of the
// filters alone: Kept is max(1, min(TopK, MinP, TopP)).
type Details struct {
	Draw

	Greedy     bool   // the best token was taken; no filter and no random number was used
	Candidates int    // tokens whose score is not -Inf, or the +Inf ones where there are any
	TopK       int    // tokens that top_k leaves
	MinP       int    // tokens that min_p leaves
	TopP       int    // tokens that top_p leaves
	Total      uint64 // mass of all candidates, in units of 2^-36 of the best token's weight
	Mass       uint64 // mass of the kept tokens

	// Tokens are the kept tokens in the order of the specification: score
	// descending, id ascending. The memory is reused from call to call.
	Tokens []TokenProb
}

// Batch is the input of one step: a matrix of logits and the requests that its
// rows belong to.
type Batch struct {
	Logits Logits

	// Requests are read, not changed.
	Requests []Request

	// RowRequest[i] is the index of row i's request. A request may own several
	// rows, in any place: they take the steps Step, Step+1, ... in row order.
	// With nil, row i belongs to request i and there are as many of the one as
	// of the other.
	RowRequest []int32
}

// Request returns the request of a row.
func (b *Batch) Request(row int) *Request {
	if b.RowRequest == nil {
		return &b.Requests[row]
	}
	return &b.Requests[b.RowRequest[row]]
}

// Steps appends to dst the step of every row of a batch that passed Check. The
// scratch slice counts each request's rows; it and dst may be reused.
func (b *Batch) Steps(dst []uint64, scratch []uint32) ([]uint64, []uint32) {
	if b.RowRequest == nil {
		for i := range b.Logits.Rows {
			dst = append(dst, b.Requests[i].Step)
		}
		return dst, scratch
	}
	scratch = append(scratch[:0], make([]uint32, len(b.Requests))...)
	for _, r := range b.RowRequest {
		dst = append(dst, b.Requests[r].Step+uint64(scratch[r]))
		scratch[r]++
	}
	return dst, scratch
}

// Check reports the first thing that makes the batch unfit for drawing into
// results of the given length: a *ShapeError or a *ParamError. Backends call
// it before any work, so an error means that nothing was written.
func (b *Batch) Check(results int) error {
	if err := b.Logits.Check(); err != nil {
		return err
	}
	rows := b.Logits.Rows
	if results < rows {
		return &ShapeError{What: "results", Want: "at least " + strconv.Itoa(rows) + " long, one a row", Got: results}
	}
	if b.RowRequest == nil {
		if len(b.Requests) != rows {
			return &ShapeError{What: "requests", Want: strconv.Itoa(rows) + ", one a row", Got: len(b.Requests)}
		}
	} else if len(b.RowRequest) != rows {
		return &ShapeError{What: "row map", Want: strconv.Itoa(rows) + " long, one entry a row", Got: len(b.RowRequest)}
	}
	for row, r := range b.RowRequest {
		if r < 0 || int(r) >= len(b.Requests) {
			return &ShapeError{
				What: "row map entry of row " + strconv.Itoa(row),
				Want: "in [0, " + strconv.Itoa(len(b.Requests)) + ")", Got: int(r),
			}
		}
	}
	if rows == 0 {
		return nil
	}
	for i := range b.Requests {
		if err := b.Requests[i].Check(b.Logits.Vocab); err != nil {
			return b.atRow(err, i)
		}
		if b.RowRequest != nil && b.Requests[i].U != nil && b.rowsOf(i) > 1 {
			return b.atRow(paramError("u", "absent for a request that owns several rows", *b.Requests[i].U), i)
		}
	}
	return nil
}

// atRow puts the first row of request i into a *ParamError.
func (b *Batch) atRow(err error, i int) error {
	var e *ParamError
	if !errors.As(err, &e) {
		return err
	}
	e.Row = i
	if b.RowRequest != nil {
		e.Row = -1 // stays where no row belongs to the request
		for row, r := range b.RowRequest {
			if int(r) == i {
				e.Row = row
				break
			}
		}
	}
	return e
}

func (b *Batch) rowsOf(request int) (n int) {
	for _, r := range b.RowRequest {
		if int(r) == request {
			n++
		}
	}
	return n
}

// A Sampler draws tokens. Every implementation gives the same tokens for the
// same batch, bit for bit.
type Sampler interface {
	// Sample draws one token for each row of b into draws[:b.Logits.Rows]. On
	// an error nothing was written.
	Sample(b *Batch, draws []Draw) error

	// Explain is Sample with the reasons: it draws the same tokens and fills
	// in details[:b.Logits.Rows]. It costs a sort of the candidates.
	Explain(b *Batch, details []Details) error

	// Close frees what the sampler holds. A closed sampler returns errors.
	Close() error
}
