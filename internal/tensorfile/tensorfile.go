// Package tensorfile reads a matrix of logits from .npy and .safetensors
// files, and writes small ones for tests.
//
// The input is a stream and is not trusted. Memory grows with the bytes that
// have arrived, never with a size that a header claims, and the whole file must
// be as its header says: a byte missing or left over is an error.
//
// The code is our own because two libraries did not hold up.
// codeberg.org/sbinet/npyio v0.14.0 panics on a header without a newline and on
// a huge shape, allocates 4 GiB for a file of 77 bytes whose shape claims as
// much, ignores trailing bytes, rejects version 3, and links 31 packages from
// outside the standard library, gonum's matrices among them.
// github.com/nlpodyssey/safetensors (February 2025) needs the file in memory
// and accepts duplicate keys, a header of null and names that are not UTF-8.
package tensorfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
)

// DType is the type of the stored elements.
type DType uint8

// The element types that both formats can hold.
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

// size returns the bytes of one element.
func (d DType) size() int64 {
	if d == Float32 {
		return 4
	}
	return 2
}

// A Tensor is a [Rows, Cols] matrix in row-major order without gaps.
type Tensor struct {
	Name  string // name in a safetensors file; "" for npy
	DType DType

	Rows int // >= 0; a 1-D tensor is one row
	Cols int // >= 1

	// One of the two holds Rows*Cols elements and is not nil, even with 0 rows.
	F32 []float32 // for Float32
	U16 []uint16  // for Float16 and BFloat16: the bits

	// Metadata is __metadata__ of a safetensors file; nil where there is none.
	Metadata map[string]string
}

// DefaultMaxBytes is the limit on the file's size that [Read] applies unless
// told otherwise, 4 GiB: 4096 rows of 262144 float32 logits.
const DefaultMaxBytes = 4 << 30

// Options tell [Read] what the file cannot. The zero value is useful.
type Options struct {
	// Name is the tensor to read from a safetensors file. "" means the only one
	// or, where there are several, the one named "logits". A .npy file has no
	// names, so any other value is an error for it.
	Name string

	// BF16 reads the 2-byte void elements of a .npy file ("<V2" or "|V2") as
	// bfloat16, for which NumPy has no type. It changes nothing for other files.
	BF16 bool

	// MaxBytes is the limit on the size of the whole file, other tensors
	// included; 0 or less means DefaultMaxBytes.
	MaxBytes int64
}

// A FormatError reports input that is not a well-formed file of its format, or
// is one that this package does not read.
type FormatError struct {
	Format  string // "npy" or "safetensors"; "" where the input is neither
	Subject string // the part at fault: "header", `tensor "x"`
	Detail  string // what is wrong with it
}

func (e *FormatError) Error() string {
	if e.Format == "" {
		return e.Subject + ": " + e.Detail
	}
	return e.Format + ": " + e.Subject + ": " + e.Detail
}

// A NameError reports that Options.Name does not pick one tensor of the file.
type NameError struct {
	Format string   // "npy" or "safetensors"
	Name   string   // the name asked for; "" where none was and one is needed
	Names  []string // the names in the file, sorted; none for npy
}

func (e *NameError) Error() string {
	const shown = 10
	var list strings.Builder
	for i, name := range e.Names {
		if i == shown {
			fmt.Fprintf(&list, " and %d more", len(e.Names)-shown)
			break
		}
		if i > 0 {
			list.WriteString(", ")
		}
		list.WriteString(quote(name))
	}
	switch {
	case e.Format == "npy":
		return fmt.Sprintf("npy: tensor %s: a .npy file holds one tensor without a name", quote(e.Name))
	case e.Name == "":
		return fmt.Sprintf("%s: several tensors: name one of %s", e.Format, &list)
	}
	return fmt.Sprintf("%s: tensor %s: not in the file, which holds %s", e.Format, quote(e.Name), &list)
}

// Read reads one tensor from r, which must end where the file ends. The first
// bytes tell the format: "\x93NUMPY" begins a .npy file, and anything else is
// taken for safetensors.
//
// From .npy it takes versions 1 to 3 with descr "<f4", "<f2" or, where
// opt.BF16 is set, "<V2" and "|V2", in C order; Fortran order passes where it is
// the same, with one row or one column. From .safetensors it takes F32, F16 and
// BF16 and headers up to 16 MiB. In both the tensor has one or two dimensions.
// Zero rows are a tensor, zero columns are an error.
//
// The error is a *FormatError, a *NameError, or wraps that of r.
func Read(r io.Reader, opt Options) (*Tensor, error) {
	if opt.MaxBytes <= 0 {
		opt.MaxBytes = DefaultMaxBytes
	}
	in := &counter{r: r}
	// Eight bytes are npy's magic and version, or safetensors' header length.
	var start [8]byte
	n, err := io.ReadFull(in, start[:])
	switch {
	case n == 0 && err == io.EOF:
		return nil, &FormatError{"", "empty input", "want a .npy or .safetensors file"}
	case isEOF(err):
		return nil, &FormatError{"", plural(int64(n), "byte"), "too short for a .npy or .safetensors file"}
	case err != nil:
		return nil, fmt.Errorf("reading the file: %w", err)
	}
	if bytes.HasPrefix(start[:], []byte(npyMagic)) {
		return readNPY(in, start[6], start[7], opt)
	}
	return readSafetensors(in, start, opt)
}

// counter counts the bytes read from r.
type counter struct {
	r io.Reader
	n int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

// atEnd reports whether r has no more bytes.
func atEnd(r io.Reader) (bool, error) {
	var b [1]byte
	_, err := io.ReadFull(r, b[:])
	if err == io.EOF {
		return true, nil
	}
	return false, err
}

// isEOF reports whether the input ended before it should.
func isEOF(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// maxDims bounds the rank of any tensor, those that are not read included. It
// is NumPy's bound.
const maxDims = 64

// maxElements keeps the size in bits of any element type, at most 64, within
// an int64.
const maxElements = 1 << 56

// elements returns the product of dims, and false where it is beyond
// maxElements. A 0 counts as 1 there, so that [0, 2^60] is as bad as [1, 2^60].
func elements(dims []int64) (int64, bool) {
	product, zero := int64(1), false
	for _, d := range dims {
		if d == 0 {
			zero = true
			continue
		}
		if product > maxElements/d {
			return 0, false
		}
		product *= d
	}
	if zero {
		return 0, true
	}
	return product, true
}

// matrix returns the rows and columns of a tensor with the given dimensions, or
// what is wrong with these.
func matrix(dims []int64, dtype DType) (rows, cols int, wrong string) {
	if len(dims) != 1 && len(dims) != 2 {
		return 0, 0, "want 1 or 2 dimensions"
	}
	n, ok := elements(dims)
	if !ok {
		return 0, 0, "too many elements"
	}
	width := dims[len(dims)-1]
	if width == 0 {
		return 0, 0, "no columns"
	}
	height := int64(1)
	if len(dims) == 2 {
		height = dims[0]
	}
	if max(n*dtype.size(), height, width) > math.MaxInt {
		return 0, 0, "too large for this machine"
	}
	return int(height), int(width), ""
}

// check reports what is wrong with a tensor that is to be written.
func (t *Tensor) check() error {
	have := len(t.U16)
	switch t.DType {
	case Float32:
		have = len(t.F32)
	case Float16, BFloat16:
	default:
		return fmt.Errorf("tensor %s: no dtype", quote(t.Name))
	}
	if t.Rows < 0 || t.Cols < 1 || t.Rows > math.MaxInt/t.Cols || t.Rows*t.Cols != have {
		return fmt.Errorf("tensor %s: %d rows of %d columns: have %s", quote(t.Name), t.Rows, t.Cols, plural(int64(have), "element"))
	}
	return nil
}

// clip shortens text from the file for an error message.
func clip(s string) string {
	const limit = 64
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "") + "..."
}

// quote returns a name from the file as a short Go string literal, in which
// nothing can upset a terminal.
func quote(s string) string {
	return fmt.Sprintf("%q", clip(s))
}

// joinDims returns the dimensions as "3, 4, 5".
func joinDims(dims []int64) string {
	var b strings.Builder
	for i, d := range dims {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprint(&b, d)
	}
	return clip(b.String())
}

// plural returns "1 byte" or "2 bytes".
func plural(n int64, unit string) string {
	if n == 1 {
		return "1 " + unit
	}
	return fmt.Sprintf("%d %ss", n, unit)
}
