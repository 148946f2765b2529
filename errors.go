package tokendraw

import (
	"errors"
	"fmt"
)

// ErrNotAvailable is wrapped by the error of a backend that cannot work on
// this machine.
var ErrNotAvailable = errors.New("not available on this machine")

// ErrClosed is returned by a sampler that was closed.
var ErrClosed = errors.New("sampler is closed")

// A ParamError reports a parameter outside its interval. Nothing was drawn.
type ParamError struct {
	Row   int    // first row the parameter applies to; -1 where no row is meant
	Field string // the wire name: "top_p"
	Want  string // the allowed values: "in (0, 1]"
	Got   string // the value found: "1.5"
}

func (e *ParamError) Error() string {
	if e.Row < 0 {
		return fmt.Sprintf("%s must be %s, got %s", e.Field, e.Want, e.Got)
	}
	return fmt.Sprintf("row %d: %s must be %s, got %s", e.Row, e.Field, e.Want, e.Got)
}

// A ShapeError reports a matrix, slice or map whose size does not fit the
// batch. Nothing was drawn.
type ShapeError struct {
	What string // "logits vocab"
	Want string // "in [1, 2097152]"
	Got  int
}

func (e *ShapeError) Error() string {
	return fmt.Sprintf("%s must be %s, got %d", e.What, e.Want, e.Got)
}

// A SyntaxError reports text that is not the wire form of parameters.
type SyntaxError struct {
	Offset int64 // bytes read before the error was seen
	Detail string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("parameters: byte %d: %s", e.Offset, e.Detail)
}
