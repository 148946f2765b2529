package tensorfile

import (
	"encoding/binary"
	"fmt"
	"io"
	"strconv"
	"strings"
)

const (
	npyMagic = "\x93NUMPY"

	// maxNPYHeader bounds the length field of versions 2 and 3 to what version 1
	// can say. NumPy itself reads 10000 bytes unless told otherwise.
	maxNPYHeader = 1<<16 - 1
)

// npyError returns a FormatError of a .npy file.
func npyError(subject, format string, args ...any) error {
	return &FormatError{"npy", subject, fmt.Sprintf(format, args...)}
}

// npyReadError returns the error for a read that failed inside the subject.
func npyReadError(subject string, err error) error {
	if isEOF(err) {
		return npyError(subject, "the file ends in it")
	}
	return fmt.Errorf("npy: reading the %s: %w", subject, err)
}

// readNPY reads what follows the magic and the two bytes of the version.
func readNPY(in *counter, major, minor byte, opt Options) (*Tensor, error) {
	if opt.Name != "" {
		return nil, &NameError{Format: "npy", Name: opt.Name}
	}
	h, err := readNPYHeader(in, major, minor)
	if err != nil {
		return nil, err
	}
	t := &Tensor{}
	if t.DType, err = npyDType(h.descr, opt.BF16); err != nil {
		return nil, err
	}
	var wrong string
	if t.Rows, t.Cols, wrong = matrix(h.shape, t.DType); wrong != "" {
		return nil, npyError("shape "+h.shapeString(), "%s", wrong)
	}
	// One row or one column lies in memory the same way in both orders.
	if h.fortran && t.Rows > 1 && t.Cols > 1 {
		return nil, npyError("fortran_order", "True is not supported; save the array in C order")
	}
	size := int64(t.Rows) * int64(t.Cols) * t.DType.size()
	if size > opt.MaxBytes-in.n {
		return nil, npyError("shape "+h.shapeString(), "the file is over the limit of %s", plural(opt.MaxBytes, "byte"))
	}

	start := in.n
	err = t.readInto(in)
	if isEOF(err) {
		return nil, npyError("data", "%s where shape %s of %s needs %d", plural(in.n-start, "byte"), h.shapeString(), t.DType, size)
	}
	if err != nil {
		return nil, fmt.Errorf("npy: reading the data: %w", err)
	}
	end, err := atEnd(in)
	if err != nil {
		return nil, fmt.Errorf("npy: reading the data: %w", err)
	}
	if !end {
		return nil, npyError("data", "more than the %s that shape %s of %s needs", plural(size, "byte"), h.shapeString(), t.DType)
	}
	return t, nil
}

// npyDType returns the element type that a descr names.
func npyDType(descr string, bf16 bool) (DType, error) {
	subject := "descr '" + clip(descr) + "'"
	switch {
	case descr == "<f4":
		return Float32, nil
	case descr == "<f2":
		return Float16, nil
	case descr == "<V2" || descr == "|V2":
		if !bf16 {
			return 0, npyError(subject, "2-byte elements without a type; ask for dtype bf16 to read them as bfloat16")
		}
		return BFloat16, nil
	case strings.HasPrefix(descr, ">"):
		return 0, npyError(subject, "big endian is not supported")
	}
	return 0, npyError(subject, "want <f4, <f2 or, for bfloat16, <V2")
}

// npyHeader is the dictionary of a .npy file.
type npyHeader struct {
	descr   string // only letters, digits and "<>|="
	fortran bool
	shape   []int64
}

// shapeString returns the shape as Python writes it.
func (h *npyHeader) shapeString() string {
	if len(h.shape) == 1 {
		return fmt.Sprintf("(%d,)", h.shape[0])
	}
	return "(" + joinDims(h.shape) + ")"
}

func readNPYHeader(in io.Reader, major, minor byte) (*npyHeader, error) {
	if major < 1 || major > 3 || minor != 0 {
		return nil, npyError(fmt.Sprintf("version %d.%d", major, minor), "want 1.0, 2.0 or 3.0")
	}
	// The length has two bytes in version 1 and four in the later ones.
	var field [4]byte
	width := 4
	if major == 1 {
		width = 2
	}
	if _, err := io.ReadFull(in, field[:width]); err != nil {
		return nil, npyReadError("header length", err)
	}
	length := binary.LittleEndian.Uint32(field[:])
	if length > maxNPYHeader {
		return nil, npyError("header", "%d bytes are over the limit of %d", length, maxNPYHeader)
	}
	text := make([]byte, length)
	if _, err := io.ReadFull(in, text); err != nil {
		return nil, npyReadError("header", err)
	}
	return parseNPYHeader(string(text))
}

// parseNPYHeader parses the Python literal of the form
//
//	{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }
//
// with exactly these keys in any order. White space may stand between tokens
// and fills the end.
func parseNPYHeader(text string) (*npyHeader, error) {
	p := &npyParser{text}
	h := &npyHeader{}
	seen := make(map[string]bool)
	if !p.eat("{") {
		return nil, p.want("header", "{")
	}
	for !p.eat("}") {
		key, ok := p.str()
		if !ok {
			return nil, p.want("header", "a key in quotes or }")
		}
		if seen[key] {
			return nil, npyError("header", "key '%s' occurs twice", clip(key))
		}
		seen[key] = true
		if !p.eat(":") {
			return nil, p.want("header", ":")
		}
		var err error
		switch key {
		case "descr":
			h.descr, err = p.descr()
		case "fortran_order":
			h.fortran, err = p.boolean()
		case "shape":
			h.shape, err = p.shape()
		default:
			err = npyError("header", "unknown key '%s'", clip(key))
		}
		if err != nil {
			return nil, err
		}
		if !p.eat(",") && !strings.HasPrefix(p.rest, "}") {
			return nil, p.want("header", ", or }")
		}
	}
	p.space()
	if p.rest != "" {
		return nil, p.want("header", "the end")
	}
	for _, key := range []string{"descr", "fortran_order", "shape"} {
		if !seen[key] {
			return nil, npyError("header", "no key '%s'", key)
		}
	}
	return h, nil
}

// npyParser scans the few Python literals that a header is made of.
type npyParser struct {
	rest string // what is not read yet
}

// want returns the error for a place that holds something else.
func (p *npyParser) want(subject, what string) error {
	got := "the end"
	if p.rest != "" {
		got = fmt.Sprintf("%q", p.rest[0])
		if p.rest[0] >= 0x80 {
			got = fmt.Sprintf("byte %#x", p.rest[0])
		}
	}
	return npyError(subject, "want %s, got %s", what, got)
}

func (p *npyParser) space() {
	p.rest = strings.TrimLeft(p.rest, " \t\r\n")
}

// eat skips white space on both sides of the token, if that comes next.
func (p *npyParser) eat(token string) bool {
	p.space()
	rest, ok := strings.CutPrefix(p.rest, token)
	if ok {
		p.rest = rest
		p.space()
	}
	return ok
}

// str reads a string in single or double quotes. Only letters, digits and
// "_<>|=" may stand in it, which the keys and the types we read make do with.
func (p *npyParser) str() (string, bool) {
	p.space()
	if p.rest == "" || p.rest[0] != '\'' && p.rest[0] != '"' {
		return "", false
	}
	s, rest, ok := strings.Cut(p.rest[1:], p.rest[:1])
	if !ok || strings.Trim(s, "_<>|=abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") != "" {
		return "", false
	}
	p.rest = rest
	p.space()
	return s, true
}

func (p *npyParser) descr() (string, error) {
	if strings.HasPrefix(p.rest, "[") {
		return "", npyError("descr", "structured types are not supported")
	}
	s, ok := p.str()
	if !ok {
		return "", p.want("descr", "a type in quotes")
	}
	return s, nil
}

func (p *npyParser) boolean() (bool, error) {
	if p.eat("True") {
		return true, nil
	}
	if p.eat("False") {
		return false, nil
	}
	return false, p.want("fortran_order", "True or False")
}

// shape reads a tuple of numbers: (), (3,) or (2, 3) with or without a comma
// at the end. (3) is no tuple in Python.
func (p *npyParser) shape() ([]int64, error) {
	if !p.eat("(") {
		return nil, p.want("shape", "(")
	}
	var dims []int64
	comma := true
	for !p.eat(")") {
		if !comma {
			return nil, p.want("shape", ", or )")
		}
		if len(dims) == maxDims {
			return nil, npyError("shape", "more than %d dimensions", maxDims)
		}
		digits := len(p.rest) - len(strings.TrimLeft(p.rest, "0123456789"))
		if digits == 0 {
			return nil, p.want("shape", "a number or )")
		}
		if digits > 1 && p.rest[0] == '0' {
			return nil, npyError("shape", "number %s begins with 0", clip(p.rest[:digits]))
		}
		d, err := strconv.ParseInt(p.rest[:digits], 10, 64)
		if err != nil {
			return nil, npyError("shape", "%s is too large", clip(p.rest[:digits]))
		}
		dims = append(dims, d)
		p.rest = p.rest[digits:]
		p.eat("L") // Python 2 writes its long integers so
		comma = p.eat(",")
	}
	if len(dims) == 1 && !comma {
		return nil, npyError("shape", "want a tuple, got the number %d", dims[0])
	}
	return dims, nil
}

// WriteNPY writes t as a .npy file of version 1.0 with two dimensions. bfloat16
// becomes "<V2", as it does from ml_dtypes; the name and the metadata have no
// place in the format.
func WriteNPY(w io.Writer, t *Tensor) error {
	if err := t.check(); err != nil {
		return fmt.Errorf("npy: %w", err)
	}
	descr := map[DType]string{Float32: "<f4", Float16: "<f2", BFloat16: "<V2"}[t.DType]
	text := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%d, %d), }", descr, t.Rows, t.Cols)
	// Spaces and a newline put the data at a multiple of 64 bytes; 10 bytes of
	// magic, version and length come before the text.
	text += strings.Repeat(" ", 63-(10+len(text))%64) + "\n"

	head := append([]byte(npyMagic), 1, 0)
	head = binary.LittleEndian.AppendUint16(head, uint16(len(text)))
	head = append(head, text...)
	if _, err := w.Write(head); err != nil {
		return err
	}
	return t.writeElements(w)
}
