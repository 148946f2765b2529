package tensorfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

// random returns a tensor of random bits, NaNs among them.
func random(dtype DType, rows, cols int) *Tensor {
	rng := rand.New(rand.NewPCG(uint64(rows), uint64(cols)))
	t := &Tensor{DType: dtype, Rows: rows, Cols: cols}
	if dtype == Float32 {
		t.F32 = make([]float32, rows*cols)
		for i := range t.F32 {
			t.F32[i] = math.Float32frombits(rng.Uint32())
		}
		return t
	}
	t.U16 = make([]uint16, rows*cols)
	for i := range t.U16 {
		t.U16[i] = uint16(rng.Uint32())
	}
	return t
}

// bits returns the elements as integers, so that NaN equals itself.
func bits(t *Tensor) []uint32 {
	var list []uint32
	for _, x := range t.F32 {
		list = append(list, math.Float32bits(x))
	}
	for _, x := range t.U16 {
		list = append(list, uint32(x))
	}
	return list
}

// checkWhole fails if a tensor that Read returned contradicts itself.
func checkWhole(t testing.TB, x *Tensor) {
	t.Helper()
	if err := x.check(); err != nil {
		t.Fatal(err)
	}
	if (x.F32 != nil) != (x.DType == Float32) || (x.U16 != nil) != (x.DType != Float32) {
		t.Fatalf("%s: F32 is nil: %t, U16 is nil: %t", x.DType, x.F32 == nil, x.U16 == nil)
	}
}

// checkSame fails if two tensors differ.
func checkSame(t testing.TB, got, want *Tensor) {
	t.Helper()
	checkWhole(t, got)
	if got.Name != want.Name || got.DType != want.DType || got.Rows != want.Rows || got.Cols != want.Cols {
		t.Fatalf("got %q %s [%d, %d], want %q %s [%d, %d]",
			got.Name, got.DType, got.Rows, got.Cols, want.Name, want.DType, want.Rows, want.Cols)
	}
	if !slices.Equal(bits(got), bits(want)) {
		t.Fatal("the elements differ")
	}
	if !reflect.DeepEqual(got.Metadata, want.Metadata) {
		t.Fatalf("metadata %q, want %q", got.Metadata, want.Metadata)
	}
}

// checkError fails if err is not want, or not of a type that Read promises.
func checkError(t testing.TB, got *Tensor, err error, want string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want %q", want)
	}
	if got != nil {
		t.Errorf("a tensor beside the error")
	}
	if err.Error() != want {
		t.Errorf("got  %q\nwant %q", err, want)
	}
	var format *FormatError
	var name *NameError
	if !errors.As(err, &format) && !errors.As(err, &name) {
		t.Errorf("type %T", err)
	}
}

// The matrix of the fixtures, see testdata/README.md.
var (
	inf       = float32(math.Inf(1))
	minusZero = float32(math.Copysign(0, -1))

	fixture32 = &Tensor{DType: Float32, Rows: 2, Cols: 3, F32: []float32{0.5, -inf, 3, minusZero, 1.25, -96}}
	fixture16 = &Tensor{DType: Float16, Rows: 2, Cols: 3, U16: []uint16{0x3800, 0xfc00, 0x4200, 0x8000, 0x3d00, 0xd600}}
	fixtureBF = &Tensor{DType: BFloat16, Rows: 2, Cols: 3, U16: []uint16{0x3f00, 0xff80, 0x4040, 0x8000, 0x3fa0, 0xc2c0}}
	fixture1D = &Tensor{DType: Float32, Rows: 1, Cols: 3, F32: []float32{0.5, -inf, 3}}
	fixture0  = &Tensor{DType: Float32, Rows: 0, Cols: 3, F32: []float32{}}
)

func named(t *Tensor, name string, metadata map[string]string) *Tensor {
	c := *t
	c.Name, c.Metadata = name, metadata
	return &c
}

func TestFixtures(t *testing.T) {
	bf16 := Options{BF16: true}
	tests := []struct {
		file string
		opt  Options
		want *Tensor
		err  string
	}{
		{file: "float32.npy", want: fixture32},
		{file: "float32.npy", opt: bf16, want: fixture32},
		{file: "float16.npy", want: fixture16},
		{file: "bfloat16.npy", opt: bf16, want: fixtureBF},
		{file: "void2.npy", opt: bf16, want: fixtureBF},
		{file: "version2.npy", want: fixture32},
		{file: "version3.npy", want: fixture32},
		{file: "row.npy", want: fixture1D},
		{file: "zero_rows.npy", want: fixture0},
		{file: "bfloat16.npy", err: "npy: descr '<V2': 2-byte elements without a type; ask for dtype bf16 to read them as bfloat16"},
		{file: "void2.npy", err: "npy: descr '|V2': 2-byte elements without a type; ask for dtype bf16 to read them as bfloat16"},
		{file: "fortran.npy", err: "npy: fortran_order: True is not supported; save the array in C order"},
		{file: "big_endian.npy", err: "npy: descr '>f4': big endian is not supported"},
		{file: "float64.npy", err: "npy: descr '<f8': want <f4, <f2 or, for bfloat16, <V2"},
		{file: "rank0.npy", err: "npy: shape (): want 1 or 2 dimensions"},
		{file: "rank3.npy", err: "npy: shape (1, 2, 3): want 1 or 2 dimensions"},
		{file: "structured.npy", err: "npy: descr: structured types are not supported"},
		{file: "float32.npy", opt: Options{Name: "x"}, err: `npy: tensor "x": a .npy file holds one tensor without a name`},
		{file: "float32.npy", opt: Options{MaxBytes: 151}, err: "npy: shape (2, 3): the file is over the limit of 151 bytes"},
		{file: "float32.npy", opt: Options{MaxBytes: 152}, want: fixture32},

		{file: "float32.safetensors", want: named(fixture32, "logits", nil)},
		{file: "float16.safetensors", want: named(fixture16, "logits", nil)},
		{file: "bfloat16.safetensors", want: named(fixtureBF, "logits", nil)},
		{file: "row.safetensors", want: named(fixture1D, "logits", nil)},
		{file: "zero_rows.safetensors", want: named(fixture0, "logits", nil)},
		{file: "metadata.safetensors", want: named(fixture32, "x", map[string]string{"vocab": "a\n\"b\"\né", "empty": ""})},
		{file: "several.safetensors", want: named(fixture32, "logits", nil)},
		{file: "several.safetensors", opt: Options{Name: "half"}, want: named(fixture16, "half", nil)},
		{file: "several.safetensors", opt: Options{Name: "mask"}, err: `safetensors: tensor "mask": dtype BOOL: want F32, F16 or BF16`},
		{file: "several.safetensors", opt: Options{Name: "x"}, err: `safetensors: tensor "x": not in the file, which holds "half", "logits", "mask", "scalar"`},
		{file: "metadata.safetensors", opt: Options{Name: "logits"}, err: `safetensors: tensor "logits": not in the file, which holds "x"`},
		{file: "float64.safetensors", err: `safetensors: tensor "logits": dtype F64: want F32, F16 or BF16`},
		{file: "rank3.safetensors", err: `safetensors: tensor "logits": shape [1, 2, 3]: want 1 or 2 dimensions`},
		{file: "float32.safetensors", opt: Options{MaxBytes: 50}, err: "safetensors: header: the file is over the limit of 50 bytes"},
		{file: "float32.safetensors", opt: Options{MaxBytes: 95}, err: "safetensors: data: the file is over the limit of 95 bytes"},
		{file: "float32.safetensors", opt: Options{MaxBytes: 96}, want: named(fixture32, "logits", nil)},
	}
	for _, test := range tests {
		t.Run(fmt.Sprintf("%s/%+v", test.file, test.opt), func(t *testing.T) {
			file, err := os.ReadFile(filepath.Join("testdata", test.file))
			if err != nil {
				t.Fatal(err)
			}
			// A pipe delivers its data in any pieces.
			for _, r := range []io.Reader{bytes.NewReader(file), iotest.OneByteReader(bytes.NewReader(file)), iotest.DataErrReader(bytes.NewReader(file))} {
				got, err := Read(r, test.opt)
				if test.err != "" {
					checkError(t, got, err, test.err)
					continue
				}
				if err != nil {
					t.Fatal(err)
				}
				checkSame(t, got, test.want)
			}
		})
	}
}

// Any part of a good file, and the file with a byte more, is an error.
func TestTruncated(t *testing.T) {
	for _, name := range []string{"float32.npy", "version3.npy", "zero_rows.npy", "float32.safetensors", "several.safetensors", "zero_rows.safetensors"} {
		file, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		var format *FormatError
		for n := range file {
			if got, err := Read(bytes.NewReader(file[:n]), Options{}); got != nil || !errors.As(err, &format) {
				t.Errorf("%s, %d bytes: tensor %v, error %v", name, n, got, err)
			}
		}
		if got, err := Read(bytes.NewReader(append(file, 0)), Options{}); got != nil || !errors.As(err, &format) {
			t.Errorf("%s, a byte more: tensor %v, error %v", name, got, err)
		}
	}
}

// An error of the reader comes through, wherever it happens.
func TestReadError(t *testing.T) {
	broken := errors.New("broken pipe")
	for _, name := range []string{"float32.npy", "several.safetensors"} {
		file, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		for n := range len(file) + 1 {
			r := io.MultiReader(bytes.NewReader(file[:n]), iotest.ErrReader(broken))
			if got, err := Read(r, Options{}); got != nil || !errors.Is(err, broken) {
				t.Errorf("%s, %d bytes: tensor %v, error %v", name, n, got, err)
			}
		}
	}
}

func TestNeitherFormat(t *testing.T) {
	for _, test := range []struct{ file, err string }{
		{"", "empty input: want a .npy or .safetensors file"},
		{"x", "1 byte: too short for a .npy or .safetensors file"},
		{"\x93NUMPY\x01", "7 bytes: too short for a .npy or .safetensors file"},
		{"PK\x03\x04\x14\x00\x00\x00\x08\x00", "safetensors: header: 85966670672 bytes are over the limit of 16777216; is this a .npy or .safetensors file?"},
		{"[[0.5, 1.5]]", "safetensors: header: 3539877914033019739 bytes are over the limit of 16777216; is this a .npy or .safetensors file?"},
	} {
		got, err := Read(strings.NewReader(test.file), Options{})
		checkError(t, got, err, test.err)
	}
}

// Sizes around the piece in which elements are read (16384 float32, 32768
// 16-bit ones) and its doublings.
func TestRoundTrip(t *testing.T) {
	shapes := [][2]int{{0, 1}, {0, 4097}, {1, 1}, {1, 2}, {3, 31}, {33, 1}, {1, 16383}, {1, 16384}, {1, 16385},
		{1, 32767}, {1, 32768}, {1, 32769}, {2, 32769}, {7, 4095}, {1, 128256}, {3, 151936}}
	for _, dtype := range []DType{Float32, Float16, BFloat16} {
		for _, shape := range shapes {
			want := random(dtype, shape[0], shape[1])
			var file bytes.Buffer
			if err := WriteNPY(&file, want); err != nil {
				t.Fatal(err)
			}
			if data := file.Len() - shape[0]*shape[1]*int(dtype.size()); data%64 != 0 {
				t.Errorf("npy %s %v: data at byte %d", dtype, shape, data)
			}
			got, err := Read(&file, Options{BF16: dtype == BFloat16})
			if err != nil {
				t.Fatal(err)
			}
			checkSame(t, got, want)

			want.Name, want.Metadata = `a "name" <é>`, map[string]string{"k": "v\x00\u2028", "": "&"}
			other := random(Float16, 3, 5)
			file.Reset()
			if err := WriteSafetensors(&file, want, other); err != nil {
				t.Fatal(err)
			}
			if length := binary.LittleEndian.Uint64(file.Bytes()); length%8 != 0 {
				t.Errorf("safetensors %s %v: a header of %d bytes", dtype, shape, length)
			}
			all := file.Bytes()
			got, err = Read(bytes.NewReader(all), Options{Name: want.Name})
			if err != nil {
				t.Fatal(err)
			}
			checkSame(t, got, want)
			got, err = Read(bytes.NewReader(all), Options{})
			if err != nil {
				t.Fatal(err)
			}
			checkSame(t, got, named(other, "logits", want.Metadata))
		}
	}
}

func TestWriteErrors(t *testing.T) {
	good := random(Float32, 2, 3)
	bad := func(change func(x *Tensor)) *Tensor {
		x := *good
		change(&x)
		return &x
	}
	for _, test := range []struct {
		tensors []*Tensor
		npy, st string
	}{
		{[]*Tensor{bad(func(x *Tensor) { x.Rows = 3 })},
			`npy: tensor "": 3 rows of 3 columns: have 6 elements`, `safetensors: tensor "": 3 rows of 3 columns: have 6 elements`},
		{[]*Tensor{bad(func(x *Tensor) { x.Rows = -2; x.Cols = -3 })},
			`npy: tensor "": -2 rows of -3 columns: have 6 elements`, `safetensors: tensor "": -2 rows of -3 columns: have 6 elements`},
		{[]*Tensor{bad(func(x *Tensor) { x.DType = Float16 })},
			`npy: tensor "": 2 rows of 3 columns: have 0 elements`, `safetensors: tensor "": 2 rows of 3 columns: have 0 elements`},
		{[]*Tensor{bad(func(x *Tensor) { x.DType = 0 })}, `npy: tensor "": no dtype`, `safetensors: tensor "": no dtype`},
		{[]*Tensor{named(good, "__metadata__", nil)}, "", `safetensors: tensor "__metadata__": not UTF-8, reserved, or used twice`},
		{[]*Tensor{named(good, "\xff", nil)}, "", `safetensors: tensor "\xff": not UTF-8, reserved, or used twice`},
		{[]*Tensor{good, named(good, "logits", nil)}, "", `safetensors: tensor "logits": not UTF-8, reserved, or used twice`},
		{[]*Tensor{named(good, "", map[string]string{"k": "\xff"})}, "", `safetensors: metadata "k": not UTF-8`},
	} {
		if test.npy != "" {
			if err := WriteNPY(io.Discard, test.tensors[0]); err == nil || err.Error() != test.npy {
				t.Errorf("WriteNPY: got %v, want %s", err, test.npy)
			}
		}
		if err := WriteSafetensors(io.Discard, test.tensors[0], test.tensors[1:]...); err == nil || err.Error() != test.st {
			t.Errorf("WriteSafetensors: got %v, want %s", err, test.st)
		}
	}
}

// brokenWriter takes n bytes and then fails.
type brokenWriter struct {
	n   int
	err error
}

func (w *brokenWriter) Write(p []byte) (int, error) {
	if len(p) > w.n {
		return 0, w.err
	}
	w.n -= len(p)
	return len(p), nil
}

// An error of the writer comes through, in the header and in the data.
func TestWriterError(t *testing.T) {
	broken := errors.New("disk full")
	for _, dtype := range []DType{Float32, Float16} {
		x := random(dtype, 3, 30000)
		for _, n := range []int{0, 1000, 70000} {
			if err := WriteNPY(&brokenWriter{n, broken}, x); !errors.Is(err, broken) {
				t.Errorf("WriteNPY, %d bytes: %v", n, err)
			}
			if err := WriteSafetensors(&brokenWriter{n, broken}, x); !errors.Is(err, broken) {
				t.Errorf("WriteSafetensors, %d bytes: %v", n, err)
			}
		}
	}
}

func TestDTypeString(t *testing.T) {
	if got := fmt.Sprint(Float32, Float16, BFloat16, DType(0)); got != "float32 float16 bfloat16 no dtype" {
		t.Error(got)
	}
}

// allocated returns the bytes that f allocates in all, freed ones included.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// allocationLimit is what a file of n bytes may allocate, freed bytes included.
// The constant is for the buffers of a small file; the factor is for a header
// full of tiny entries, where two map entries stand for 8 bytes (48 measured, 56
// with the race detector).
func allocationLimit(n int) uint64 {
	return 256<<10 + 64*uint64(n)
}

// A header costs memory by what it is, not by what it claims.
func TestHostileSizes(t *testing.T) {
	var entries, tensors strings.Builder
	for i := range 20000 {
		fmt.Fprintf(&entries, `,"%x":""`, i)
		fmt.Fprintf(&tensors, `,"%x":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}`, i)
	}
	for name, file := range map[string]string{
		"npy, header of 4 GiB":        "\x93NUMPY\x02\x00\xff\xff\xff\xff",
		"npy, header of 65535":        "\x93NUMPY\x01\x00\xff\xff",
		"npy, 4 GiB of data":          npyFile("{'descr': '<f4', 'fortran_order': False, 'shape': (1073741700,)}", "1234"),
		"npy, 2^60 columns":           npyFile("{'descr': '<f4', 'fortran_order': False, 'shape': (0, 1152921504606846976)}", ""),
		"npy, 2^80 elements":          npyFile("{'descr': '<f2', 'fortran_order': False, 'shape': (1099511627776, 1099511627776)}", "12"),
		"npy, many dimensions":        npyFile("{'descr': '<f4', 'fortran_order': False, 'shape': ("+strings.Repeat("1,", 30000)+")}", "1234"),
		"safetensors, header":         "\x00\x00\x00\x01\x00\x00\x00\x00{",
		"safetensors, header of 2^63": "\x00\x00\x00\x00\x00\x00\x00\x80{",
		"safetensors, 3 GiB of data":  safetensorsFile(`{"x":{"dtype":"F32","shape":[805306368],"data_offsets":[0,3221225472]}}`, "1234"),
		"safetensors, far away":       safetensorsFile(`{"a":{"dtype":"U8","shape":[4000000000],"data_offsets":[0,4000000000]},"logits":{"dtype":"F16","shape":[1],"data_offsets":[4000000000,4000000002]}}`, "1234"),
		"safetensors, many numbers":   safetensorsFile(`{"x":{"dtype":"F32","shape":[`+strings.Repeat("1,", 300000)+`1],"data_offsets":[0,4]}}`, "1234"),
		"safetensors, deep":           safetensorsFile(`{"x":{"k":`+strings.Repeat("[", 9000)+strings.Repeat("]", 9000)+`}}`, ""),
		"safetensors, many entries":   safetensorsFile(`{"__metadata__":{"z":""`+entries.String()+`},"x":{"dtype":"F16","shape":[1],"data_offsets":[0,2]}}`, "12"),
		"safetensors, many tensors":   safetensorsFile(`{"x":{"dtype":"F16","shape":[1],"data_offsets":[0,2]}`+tensors.String()+`}`, "12"),
		"safetensors, many keys":      safetensorsFile(`{"x":{"dtype":"F16","shape":[1],"data_offsets":[0,2],"z":0`+strings.ReplaceAll(entries.String(), `""`, "0")+`}}`, "12"),
		"safetensors, one long text":  safetensorsFile(`{"__metadata__":{"z":"`+strings.Repeat(`\n`, 1000000)+`"},"x":{"dtype":"F16","shape":[1],"data_offsets":[0,2]}}`, "12"),
	} {
		t.Run(name, func(t *testing.T) {
			var x *Tensor
			var err error
			got := allocated(func() { x, err = Read(strings.NewReader(file), Options{}) })
			if got > allocationLimit(len(file)) {
				t.Errorf("%d bytes allocated for a file of %d", got, len(file))
			}
			t.Logf("%d bytes allocated for a file of %d: %.80v", got, len(file), err)
			if err == nil {
				checkWhole(t, x)
			}
		})
	}
}

// The data themselves cost little more than their size: what the slice had
// before each doubling is freed, and counts here.
func TestDataAllocation(t *testing.T) {
	for _, dtype := range []DType{Float32, Float16} {
		var file bytes.Buffer
		if err := WriteSafetensors(&file, random(dtype, 8, 128256)); err != nil {
			t.Fatal(err)
		}
		n := file.Len()
		if got := allocated(func() { Read(&file, Options{}) }); got > 256<<10+2*uint64(n) {
			t.Errorf("%s: %d bytes allocated for a file of %d", dtype, got, n)
		}
	}
}
