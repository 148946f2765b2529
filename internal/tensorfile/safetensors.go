package tensorfile

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	// maxSafetensorsHeader is 16 MiB. The reference implementation takes 100 MB;
	// a vocabulary of 262144 token texts in the metadata is some 4 MB.
	maxSafetensorsHeader = 16 << 20

	metadataKey = "__metadata__"
)

// safetensorsBits is the size of the format's element types in bits. It serves
// to check the tensors that are not read; a type not listed goes unchecked.
var safetensorsBits = map[string]int64{
	"F4": 4, "F6_E2M3": 6, "F6_E3M2": 6,
	"BOOL": 8, "U8": 8, "I8": 8, "F8_E5M2": 8, "F8_E4M3": 8, "F8_E8M0": 8, "F8_E4M3FNUZ": 8, "F8_E5M2FNUZ": 8,
	"U16": 16, "I16": 16, "F16": 16, "BF16": 16,
	"U32": 32, "I32": 32, "F32": 32,
	"U64": 64, "I64": 64, "F64": 64, "C64": 64,
}

var safetensorsDTypes = map[string]DType{"F32": Float32, "F16": Float16, "BF16": BFloat16}

// safetensorsError returns a FormatError of a .safetensors file.
func safetensorsError(subject, format string, args ...any) error {
	return &FormatError{"safetensors", subject, fmt.Sprintf(format, args...)}
}

// readSafetensors reads what follows the eight bytes of the header length.
func readSafetensors(in *counter, start [8]byte, opt Options) (*Tensor, error) {
	length := binary.LittleEndian.Uint64(start[:])
	if length > maxSafetensorsHeader {
		// Any other file type ends here, because its first bytes make a huge number.
		return nil, safetensorsError("header", "%d bytes are over the limit of %d; is this a .npy or .safetensors file?", length, maxSafetensorsHeader)
	}
	if int64(length) > opt.MaxBytes-in.n {
		return nil, safetensorsError("header", "the file is over the limit of %s", plural(opt.MaxBytes, "byte"))
	}
	var text bytes.Buffer
	if _, err := io.CopyN(&text, in, int64(length)); isEOF(err) {
		return nil, safetensorsError("header", "%s where the length says %d", plural(int64(text.Len()), "byte"), length)
	} else if err != nil {
		return nil, fmt.Errorf("safetensors: reading the header: %w", err)
	}
	h, err := parseSafetensorsHeader(text.Bytes())
	if err != nil {
		return nil, err
	}
	size, err := h.layout()
	if err != nil {
		return nil, err
	}
	if size > opt.MaxBytes-in.n {
		return nil, safetensorsError("data", "the file is over the limit of %s", plural(opt.MaxBytes, "byte"))
	}
	info, err := h.pick(opt.Name)
	if err != nil {
		return nil, err
	}
	t := &Tensor{Name: info.name, DType: safetensorsDTypes[info.dtype], Metadata: h.metadata}
	if t.DType == 0 {
		return nil, info.errorf("dtype %s: want F32, F16 or BF16", clip(info.dtype))
	}
	var wrong string
	if t.Rows, t.Cols, wrong = matrix(info.shape, t.DType); wrong != "" {
		return nil, info.errorf("shape [%s]: %s", joinDims(info.shape), wrong)
	}

	// The tensors before it, the tensor, those after it, and nothing more.
	begin := in.n
	_, err = io.CopyN(io.Discard, in, info.begin)
	if err == nil {
		err = t.readInto(in)
	}
	if err == nil {
		_, err = io.CopyN(io.Discard, in, size-info.end)
	}
	if isEOF(err) {
		return nil, h.outside(in.n - begin)
	}
	var end bool
	if err == nil {
		end, err = atEnd(in)
	}
	if err != nil {
		return nil, fmt.Errorf("safetensors: reading the data: %w", err)
	}
	if !end {
		return nil, safetensorsError("data", "more than the %s that the tensors cover", plural(size, "byte"))
	}
	return t, nil
}

// safetensorsHeader is the JSON object at the start of a .safetensors file.
type safetensorsHeader struct {
	metadata map[string]string // nil where there is none
	tensors  []safetensorsInfo // sorted by place once layout has run
}

// safetensorsInfo describes one tensor. Its data are the bytes [begin, end) of
// what follows the header.
type safetensorsInfo struct {
	name       string
	dtype      string
	shape      []int64
	begin, end int64
}

func (t *safetensorsInfo) errorf(format string, args ...any) error {
	return safetensorsError("tensor "+quote(t.name), format, args...)
}

// check reports whether the tensor fits its own offsets.
func (t *safetensorsInfo) check() error {
	if t.begin > t.end {
		return t.errorf("data_offsets [%d, %d]: the end is before the begin", t.begin, t.end)
	}
	n, ok := elements(t.shape)
	if !ok {
		return t.errorf("shape [%s]: too many elements", joinDims(t.shape))
	}
	bits, known := safetensorsBits[t.dtype]
	if !known {
		return nil
	}
	if n*bits%8 != 0 {
		return t.errorf("shape [%s] of %s: not whole bytes", joinDims(t.shape), t.dtype)
	}
	if t.end-t.begin != n*bits/8 {
		return t.errorf("data_offsets [%d, %d]: %s where shape [%s] of %s needs %d",
			t.begin, t.end, plural(t.end-t.begin, "byte"), joinDims(t.shape), t.dtype, n*bits/8)
	}
	return nil
}

// layout sorts the tensors by place and returns the bytes of data that they
// cover, which they must do without overlap or hole.
func (h *safetensorsHeader) layout() (int64, error) {
	slices.SortFunc(h.tensors, func(a, b safetensorsInfo) int {
		return cmp.Or(cmp.Compare(a.begin, b.begin), cmp.Compare(a.end, b.end), strings.Compare(a.name, b.name))
	})
	end := int64(0)
	for i := range h.tensors {
		t := &h.tensors[i]
		if err := t.check(); err != nil {
			return 0, err
		}
		if t.begin < end {
			return 0, t.errorf("data_offsets [%d, %d]: overlaps tensor %s", t.begin, t.end, quote(h.tensors[i-1].name))
		}
		if t.begin > end {
			return 0, t.errorf("data_offsets [%d, %d]: no tensor covers the bytes from %d", t.begin, t.end, end)
		}
		end = t.end
	}
	return end, nil
}

// outside returns the error for data that end after have bytes, too early.
func (h *safetensorsHeader) outside(have int64) error {
	for i := range h.tensors {
		if t := &h.tensors[i]; t.end > have {
			return t.errorf("data_offsets [%d, %d] outside the %s of data", t.begin, t.end, plural(have, "byte"))
		}
	}
	return safetensorsError("data", "the file ends in it")
}

// pick returns the tensor that Options.Name means.
func (h *safetensorsHeader) pick(name string) (*safetensorsInfo, error) {
	if len(h.tensors) == 0 {
		return nil, safetensorsError("header", "the file holds no tensor")
	}
	if name == "" && len(h.tensors) == 1 {
		return &h.tensors[0], nil
	}
	names := make([]string, len(h.tensors))
	for i, t := range h.tensors {
		if t.name == cmp.Or(name, "logits") {
			return &h.tensors[i], nil
		}
		names[i] = t.name
	}
	slices.Sort(names)
	return nil, &NameError{Format: "safetensors", Name: name, Names: names}
}

// parseSafetensorsHeader parses the JSON of a header. Keys must not occur
// twice; unknown keys of a tensor are skipped, as the reference implementation
// does.
func parseSafetensorsHeader(text []byte) (*safetensorsHeader, error) {
	if len(text) == 0 || text[0] != '{' {
		return nil, safetensorsError("header", "does not begin with {")
	}
	// encoding/json would put U+FFFD for each bad byte.
	if !utf8.Valid(text) {
		return nil, safetensorsError("header", "not UTF-8")
	}
	// The syntax first, as a whole: this looks at everything and keeps nothing.
	err := json.Unmarshal(text, &struct{}{})
	if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) {
		return nil, safetensorsError("header", "byte %d: %v", syntax.Offset, err)
	} else if err != nil {
		return nil, safetensorsError("header", "%v", err)
	}

	h := &safetensorsHeader{}
	p := &jsonParser{json.NewDecoder(bytes.NewReader(text))}
	p.dec.UseNumber()
	err = p.object("header", func(key string) error {
		if key == metadataKey {
			return p.metadata(h)
		}
		return p.tensor(h, key)
	})
	if err != nil {
		return nil, err
	}
	return h, nil
}

// jsonParser walks through JSON whose syntax has been checked.
type jsonParser struct {
	dec *json.Decoder
}

func (p *jsonParser) token() (json.Token, error) {
	tok, err := p.dec.Token()
	if err != nil {
		return nil, safetensorsError("header", "%v", err)
	}
	return tok, nil
}

// open reads the delimiter that begins an object or an array.
func (p *jsonParser) open(subject string, want json.Delim, kind string) error {
	tok, err := p.token()
	if err != nil {
		return err
	}
	if tok != want {
		return safetensorsError(subject, "want %s", kind)
	}
	return nil
}

// object calls value after each key of an object, to read the value. It
// rejects a key that occurs twice.
func (p *jsonParser) object(subject string, value func(key string) error) error {
	if err := p.open(subject, '{', "an object"); err != nil {
		return err
	}
	seen := make(map[string]bool)
	for p.dec.More() {
		tok, err := p.token()
		if err != nil {
			return err
		}
		key, ok := tok.(string)
		if !ok {
			return safetensorsError(subject, "want a key")
		}
		if seen[key] {
			return safetensorsError(subject, "key %s occurs twice", quote(key))
		}
		seen[key] = true
		if err := value(key); err != nil {
			return err
		}
	}
	_, err := p.token() // the closing brace
	return err
}

func (p *jsonParser) metadata(h *safetensorsHeader) error {
	h.metadata = make(map[string]string)
	return p.object(metadataKey, func(key string) error {
		tok, err := p.token()
		if err != nil {
			return err
		}
		text, ok := tok.(string)
		if !ok {
			return safetensorsError(metadataKey, "key %s: want a string", quote(key))
		}
		h.metadata[key] = text
		return nil
	})
}

func (p *jsonParser) tensor(h *safetensorsHeader, name string) error {
	t := safetensorsInfo{name: name}
	subject := "tensor " + quote(name)
	var haveDType, haveShape, haveOffsets bool
	err := p.object(subject, func(key string) error {
		switch key {
		case "dtype":
			tok, err := p.token()
			if err != nil {
				return err
			}
			t.dtype, haveDType = tok.(string)
			if !haveDType {
				return t.errorf("dtype: want a string")
			}
			return nil
		case "shape":
			haveShape = true
			dims, err := p.numbers(subject, "shape", maxDims)
			t.shape = dims
			return err
		case "data_offsets":
			haveOffsets = true
			offsets, err := p.numbers(subject, "data_offsets", 2)
			if err == nil && len(offsets) != 2 {
				err = t.errorf("data_offsets: want 2 numbers, got %d", len(offsets))
			}
			if err != nil {
				return err
			}
			t.begin, t.end = offsets[0], offsets[1]
			return nil
		}
		var skipped json.RawMessage
		if err := p.dec.Decode(&skipped); err != nil {
			return safetensorsError(subject, "%v", err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	switch {
	case !haveDType:
		return t.errorf("no dtype")
	case !haveShape:
		return t.errorf("no shape")
	case !haveOffsets:
		return t.errorf("no data_offsets")
	}
	h.tensors = append(h.tensors, t)
	return nil
}

// numbers reads an array of at most limit numbers in [0, 2^63).
func (p *jsonParser) numbers(subject, key string, limit int) ([]int64, error) {
	if err := p.open(subject+": "+key, '[', "an array"); err != nil {
		return nil, err
	}
	var list []int64
	for p.dec.More() {
		if len(list) == limit {
			return nil, safetensorsError(subject, "%s: more than %d numbers", key, limit)
		}
		tok, err := p.token()
		if err != nil {
			return nil, err
		}
		number, ok := tok.(json.Number)
		if !ok {
			return nil, safetensorsError(subject, "%s: want an array of numbers", key)
		}
		n, err := strconv.ParseInt(number.String(), 10, 64)
		if err != nil || number[0] == '-' {
			return nil, safetensorsError(subject, "%s: want whole numbers in [0, 2^63), got %s", key, clip(number.String()))
		}
		list = append(list, n)
	}
	_, err := p.token() // the closing bracket
	return list, err
}

// WriteSafetensors writes tensors as a .safetensors file with the metadata of
// the first; the others' metadata are left out. The data lie in the order of
// the arguments. A tensor without a name becomes "logits".
func WriteSafetensors(w io.Writer, t *Tensor, more ...*Tensor) error {
	type info struct {
		DType   string   `json:"dtype"`
		Shape   [2]int   `json:"shape"`
		Offsets [2]int64 `json:"data_offsets"`
	}
	tensors := append([]*Tensor{t}, more...)
	header := make(map[string]any)
	if len(t.Metadata) > 0 {
		for key, text := range t.Metadata {
			if !utf8.ValidString(key) || !utf8.ValidString(text) {
				return fmt.Errorf("safetensors: metadata %s: not UTF-8", quote(key))
			}
		}
		header[metadataKey] = t.Metadata
	}
	end := int64(0)
	for _, t := range tensors {
		if err := t.check(); err != nil {
			return fmt.Errorf("safetensors: %w", err)
		}
		name := cmp.Or(t.Name, "logits")
		if _, taken := header[name]; taken || name == metadataKey || !utf8.ValidString(name) {
			return fmt.Errorf("safetensors: tensor %s: not UTF-8, reserved, or used twice", quote(name))
		}
		begin := end
		end += int64(t.Rows) * int64(t.Cols) * t.DType.size()
		dtype := map[DType]string{Float32: "F32", Float16: "F16", BFloat16: "BF16"}[t.DType]
		header[name] = info{dtype, [2]int{t.Rows, t.Cols}, [2]int64{begin, end}}
	}
	text, err := json.Marshal(header)
	if err != nil {
		return fmt.Errorf("safetensors: %w", err)
	}
	// Spaces put the data at a multiple of 8 bytes.
	text = append(text, strings.Repeat(" ", -len(text)&7)...)

	head := binary.LittleEndian.AppendUint64(nil, uint64(len(text)))
	if _, err := w.Write(append(head, text...)); err != nil {
		return err
	}
	for _, t := range tensors {
		if err := t.writeElements(w); err != nil {
			return err
		}
	}
	return nil
}
