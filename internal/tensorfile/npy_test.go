package tensorfile

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// npyFile returns a .npy file of version 1.0.
func npyFile(header, data string) string {
	length := binary.LittleEndian.AppendUint16(nil, uint16(len(header)))
	return npyMagic + "\x01\x00" + string(length) + header + data
}

func TestNPYGood(t *testing.T) {
	two := func(rows, cols int) *Tensor {
		return &Tensor{DType: Float16, Rows: rows, Cols: cols, U16: []uint16{0x3231, 0x3433}}
	}
	for _, test := range []struct {
		header string
		want   *Tensor
	}{
		{"{'descr': '<f2', 'fortran_order': False, 'shape': (2,), }\n", two(1, 2)},
		{"{'descr':'<f2','fortran_order':False,'shape':(2,)}", two(1, 2)},
		{` { "shape" : ( 1 , 2 , ) , "fortran_order" : False , "descr" : "<f2" } ` + "\t\r\n", two(1, 2)},
		{"{'descr': '<f2', 'fortran_order': False, 'shape': (2L, 1L)}", two(2, 1)},
		{"{'descr': '<f2', 'fortran_order': True, 'shape': (2,)}", two(1, 2)},
		{"{'descr': '<f2', 'fortran_order': True, 'shape': (1, 2)}", two(1, 2)},
		{"{'descr': '<f2', 'fortran_order': True, 'shape': (2, 1)}", two(2, 1)},
	} {
		got, err := Read(strings.NewReader(npyFile(test.header, "1234")), Options{})
		if err != nil {
			t.Errorf("%s: %v", test.header, err)
			continue
		}
		checkSame(t, got, test.want)
	}
}

func TestNPYErrors(t *testing.T) {
	dict := func(shape string) string { return "{'descr': '<f2', 'fortran_order': False, 'shape': " + shape + "}" }
	for _, test := range []struct{ file, err string }{
		// The frame.
		{"\x93NUMPY\x00\x00", "npy: version 0.0: want 1.0, 2.0 or 3.0"},
		{"\x93NUMPY\x04\x00", "npy: version 4.0: want 1.0, 2.0 or 3.0"},
		{"\x93NUMPY\x01\x01", "npy: version 1.1: want 1.0, 2.0 or 3.0"},
		{"\x93NUMPY\x01\x00v", "npy: header length: the file ends in it"},
		{"\x93NUMPY\x02\x00v\x00", "npy: header length: the file ends in it"},
		{"\x93NUMPY\x01\x00v\x00{'descr'", "npy: header: the file ends in it"},
		{"\x93NUMPY\x02\x00\x00\x00\x01\x00", "npy: header: 65536 bytes are over the limit of 65535"},
		{"\x93NUMPY\x03\x00\xff\xff\xff\xff", "npy: header: 4294967295 bytes are over the limit of 65535"},

		// The dictionary.
		{npyFile("", ""), "npy: header: want {, got the end"},
		{npyFile("[]", ""), "npy: header: want {, got '['"},
		{npyFile("\xff", ""), "npy: header: want {, got byte 0xff"},
		{npyFile("{", ""), "npy: header: want a key in quotes or }, got the end"},
		{npyFile("{}", ""), "npy: header: no key 'descr'"},
		{npyFile("{'descr': '<f2'}", ""), "npy: header: no key 'fortran_order'"},
		{npyFile("{'descr': '<f2', 'fortran_order': False}", ""), "npy: header: no key 'shape'"},
		{npyFile("{'descr' '<f2'}", ""), "npy: header: want :, got '\\''"},
		{npyFile("{'descr: 1}", ""), "npy: header: want a key in quotes or }, got '\\''"},
		{npyFile("{'desc\\x72': '<f2'}", ""), "npy: header: want a key in quotes or }, got '\\''"},
		{npyFile("{'descr': '<f2' 'shape': (2,)}", ""), "npy: header: want , or }, got '\\''"},
		{npyFile("{'descr': '<f2', 'descr': '<f4'}", ""), "npy: header: key 'descr' occurs twice"},
		{npyFile("{'order': 'C'}", ""), "npy: header: unknown key 'order'"},
		{npyFile("{'descr': '<f2',, }", ""), "npy: header: want a key in quotes or }, got ','"},
		{npyFile(dict("(2,)")+" x", ""), "npy: header: want the end, got 'x'"},
		{npyFile(dict("(2,)")+"\x00", ""), "npy: header: want the end, got '\\x00'"},

		// The values.
		{npyFile("{'descr': <f2}", ""), "npy: descr: want a type in quotes, got '<'"},
		{npyFile("{'descr': [('a', '<f2')]}", ""), "npy: descr: structured types are not supported"},
		{npyFile("{'descr': '>f2', 'fortran_order': False, 'shape': (2,)}", ""), "npy: descr '>f2': big endian is not supported"},
		{npyFile("{'descr': '>V2', 'fortran_order': False, 'shape': (2,)}", ""), "npy: descr '>V2': big endian is not supported"},
		{npyFile("{'descr': '<u2', 'fortran_order': False, 'shape': (2,)}", ""), "npy: descr '<u2': want <f4, <f2 or, for bfloat16, <V2"},
		{npyFile("{'descr': '<V4', 'fortran_order': False, 'shape': (2,)}", ""), "npy: descr '<V4': want <f4, <f2 or, for bfloat16, <V2"},
		{npyFile("{'descr': '|O', 'fortran_order': False, 'shape': (2,)}", ""), "npy: descr '|O': want <f4, <f2 or, for bfloat16, <V2"},
		{npyFile("{'descr': '', 'fortran_order': False, 'shape': (2,)}", ""), "npy: descr '': want <f4, <f2 or, for bfloat16, <V2"},
		{npyFile("{'descr': '"+strings.Repeat("f", 99)+"', 'fortran_order': False, 'shape': (2,)}", ""),
			"npy: descr '" + strings.Repeat("f", 64) + "...': want <f4, <f2 or, for bfloat16, <V2"},
		{npyFile("{'fortran_order': 0}", ""), "npy: fortran_order: want True or False, got '0'"},
		{npyFile("{'fortran_order': Falsehood}", ""), "npy: header: want , or }, got 'h'"},
		{npyFile("{'descr': '<f2', 'fortran_order': True, 'shape': (2, 2)}", "12345678"), "npy: fortran_order: True is not supported; save the array in C order"},
		{npyFile(dict("[2]"), ""), "npy: shape: want (, got '['"},
		{npyFile(dict("(2)"), "1234"), "npy: shape: want a tuple, got the number 2"},
		{npyFile(dict("(,)"), "1234"), "npy: shape: want a number or ), got ','"},
		{npyFile(dict("(2 1)"), "1234"), "npy: shape: want , or ), got '1'"},
		{npyFile(dict("(-1, 2)"), "1234"), "npy: shape: want a number or ), got '-'"},
		{npyFile(dict("(2, 03)"), "1234"), "npy: shape: number 03 begins with 0"}, // NumPy rejects it
		{npyFile(dict("(2.0,)"), "1234"), "npy: shape: want , or ), got '.'"},
		{npyFile(dict("(2, 3"), "1234"), "npy: shape: want , or ), got '}'"},
		{npyFile(dict("(9223372036854775808,)"), ""), "npy: shape: 9223372036854775808 is too large"},
		{npyFile(dict("(9223372036854775807,)"), ""), "npy: shape (9223372036854775807,): too many elements"},
		{npyFile(dict("(4294967296, 4294967296)"), ""), "npy: shape (4294967296, 4294967296): too many elements"},
		{npyFile(dict("(0, 9223372036854775807)"), ""), "npy: shape (0, 9223372036854775807): too many elements"},
		{npyFile(dict("()"), "12"), "npy: shape (): want 1 or 2 dimensions"},
		{npyFile(dict("(3, 4, 5)"), "12"), "npy: shape (3, 4, 5): want 1 or 2 dimensions"},
		{npyFile(dict("("+strings.Repeat("1,", 65)+")"), "12"), "npy: shape: more than 64 dimensions"},
		{npyFile(dict("("+strings.Repeat("1,", 64)+")"), "12"), "npy: shape (" + strings.Repeat("1, ", 21) + "1...): want 1 or 2 dimensions"},
		{npyFile(dict("(0,)"), ""), "npy: shape (0,): no columns"},
		{npyFile(dict("(2, 0)"), ""), "npy: shape (2, 0): no columns"},
		{npyFile(dict("(0, 0)"), ""), "npy: shape (0, 0): no columns"},

		// The data.
		{npyFile(dict("(2, 3)"), ""), "npy: data: 0 bytes where shape (2, 3) of float16 needs 12"},
		{npyFile(dict("(2, 3)"), "1"), "npy: data: 1 byte where shape (2, 3) of float16 needs 12"},
		{npyFile(dict("(2, 3)"), "12345678901"), "npy: data: 11 bytes where shape (2, 3) of float16 needs 12"},
		{npyFile(dict("(2, 3)"), "1234567890123"), "npy: data: more than the 12 bytes that shape (2, 3) of float16 needs"},
		{npyFile(dict("(0, 3)"), "1"), "npy: data: more than the 0 bytes that shape (0, 3) of float16 needs"},
	} {
		got, err := Read(strings.NewReader(test.file), Options{})
		checkError(t, got, err, test.err)
	}
}

// fixtures returns the files of testdata with the extension.
func fixtures(f *testing.F, ext string) [][]byte {
	names, err := filepath.Glob(filepath.Join("testdata", "*"+ext))
	if err != nil || len(names) == 0 {
		f.Fatal("no fixtures: ", err)
	}
	var files [][]byte
	for _, name := range names {
		file, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		files = append(files, file)
	}
	return files
}

// checkRead reads hostile input. It must not panic or allocate without
// measure, and a tensor that comes out must survive being written.
func checkRead(t *testing.T, file []byte, opt Options, write func(w *bytes.Buffer, x *Tensor) error) {
	var got *Tensor
	var err error
	// Other goroutines of the test binary allocate a little too.
	if n := allocated(func() { got, err = Read(bytes.NewReader(file), opt) }); n > allocationLimit(len(file)) {
		t.Fatalf("%d bytes allocated for a file of %d", n, len(file))
	}
	if err != nil {
		if len(err.Error()) > 2000 {
			t.Fatalf("an error of %d bytes", len(err.Error()))
		}
		return
	}
	checkWhole(t, got)
	var again bytes.Buffer
	if err := write(&again, got); err != nil {
		t.Fatal(err)
	}
	second, err := Read(&again, opt)
	if err != nil {
		t.Fatal(err)
	}
	checkSame(t, second, got)
}

func FuzzNPY(f *testing.F) {
	for _, file := range fixtures(f, ".npy") {
		f.Add(file, true)
	}
	f.Add([]byte("\x93NUMPY\x02\x00\xff\xff\xff\xff"), false)
	f.Add([]byte(npyFile(`{"shape": (2L, 1L,), "fortran_order": True, "descr": "<f2"}`, "1234")), false)
	f.Add([]byte(npyFile("{'descr': '<f4', 'fortran_order': False, 'shape': (1152921504606846976, 16)}", "1234")), false)
	f.Fuzz(func(t *testing.T, file []byte, bf16 bool) {
		// The fuzzer need not find the magic.
		if !bytes.HasPrefix(file, []byte(npyMagic)) {
			file = slices.Concat([]byte(npyMagic), file)
		}
		checkRead(t, file, Options{BF16: bf16}, func(w *bytes.Buffer, x *Tensor) error { return WriteNPY(w, x) })
	})
}
