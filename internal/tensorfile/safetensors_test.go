package tensorfile

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"strings"
	"testing"
)

// safetensorsFile returns a .safetensors file.
func safetensorsFile(header, data string) string {
	return string(binary.LittleEndian.AppendUint64(nil, uint64(len(header)))) + header + data
}

func TestSafetensorsGood(t *testing.T) {
	two := &Tensor{Name: "x", DType: Float16, Rows: 1, Cols: 2, U16: []uint16{0x3231, 0x3433}}
	for _, test := range []struct {
		header, data string
		want         *Tensor
	}{
		{`{"x":{"dtype":"F16","shape":[2],"data_offsets":[0,4]}}`, "1234", two},
		{`{ "x" : { "data_offsets" : [ 0 , 4 ] , "shape" : [ 1 , 2 ] , "dtype" : "F16" } }` + "  \n", "1234", two},
		{`{"\u0078":{"dtype":"F16","shape":[2],"data_offsets":[0,4]}}`, "1234", two},
		{`{"x":{"dtype":"F16","shape":[2],"data_offsets":[0,4],"extra":{"a":[1,{}]}}}`, "1234", two},
		{`{"x":{"dtype":"F16","shape":[2],"data_offsets":[0,4]},"__metadata__":{}}`, "1234", named(two, "x", map[string]string{})},
		{`{"":{"dtype":"F16","shape":[2],"data_offsets":[0,4]}}`, "1234", named(two, "", nil)},
		// Empty tensors may share a place with others.
		{`{"logits":{"dtype":"F16","shape":[2],"data_offsets":[0,4]},"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},"b":{"dtype":"U8","shape":[0],"data_offsets":[4,4]}}`,
			"1234", named(two, "logits", nil)},
		// A type of a later version of the format, in another tensor.
		{`{"logits":{"dtype":"F16","shape":[2],"data_offsets":[3,7]},"a":{"dtype":"F9","shape":[3],"data_offsets":[0,3]}}`,
			"abc1234", named(two, "logits", nil)},
		{`{"logits":{"dtype":"F16","shape":[2],"data_offsets":[3,7]},"a":{"dtype":"F4","shape":[2,3],"data_offsets":[0,3]}}`,
			"abc1234", named(two, "logits", nil)},
	} {
		got, err := Read(strings.NewReader(safetensorsFile(test.header, test.data)), Options{})
		if err != nil {
			t.Errorf("%s: %v", test.header, err)
			continue
		}
		checkSame(t, got, test.want)
	}
}

func TestSafetensorsErrors(t *testing.T) {
	file := func(header string) string { return safetensorsFile(header, "12345678") }
	// The entry of x with another shape or place.
	entry := func(shape, offsets string) string {
		return file(`{"x":{"dtype":"F32","shape":` + shape + `,"data_offsets":` + offsets + `}}`)
	}
	const a = `"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}`
	for _, test := range []struct{ file, err string }{
		// The frame.
		{"\x00\x00\x00\x00\x00\x00\x00\x00", "safetensors: header: does not begin with {"},
		{"\x01\x00\x00\x01\x00\x00\x00\x00{}", "safetensors: header: 16777217 bytes are over the limit of 16777216; is this a .npy or .safetensors file?"},
		{"\x00\x00\x00\x01\x00\x00\x00\x00{}", "safetensors: header: 2 bytes where the length says 16777216"},
		{"\xff\xff\xff\xff\xff\xff\xff\xff{}", "safetensors: header: 18446744073709551615 bytes are over the limit of 16777216; is this a .npy or .safetensors file?"},

		// The JSON.
		{file("null"), "safetensors: header: does not begin with {"},
		{file(" {}"), "safetensors: header: does not begin with {"},
		{file("[]"), "safetensors: header: does not begin with {"},
		{file("{\"a\xff\":{}}"), "safetensors: header: not UTF-8"},
		{file(`{"x":1,}`), "safetensors: header: byte 8: invalid character '}' looking for beginning of object key string"},
		{file("{}\x00"), "safetensors: header: byte 3: invalid character '\\x00' after top-level value"},
		{file("{}{}"), "safetensors: header: byte 3: invalid character '{' after top-level value"},
		{file(`{"x":{`), "safetensors: header: byte 6: unexpected end of JSON input"},
		{file(`{"x":` + strings.Repeat("[", 20000) + strings.Repeat("]", 20000) + "}"), "safetensors: header: byte 10005: invalid character '[' exceeded max depth"},
		{file("{}"), "safetensors: header: the file holds no tensor"},
		{file(`{"__metadata__":{"a":"b"}}`), "safetensors: header: the file holds no tensor"},
		{file("{" + a + "," + a + "}"), `safetensors: header: key "a" occurs twice`},
		{file(`{"a":{"dtype":"F32","dtype":"F32","shape":[1],"data_offsets":[0,4]}}`), `safetensors: tensor "a": key "dtype" occurs twice`},
		{file(`{"__metadata__":{"k":"1","\u006b":"2"}}`), `safetensors: __metadata__: key "k" occurs twice`},
		{file(`{"__metadata__":{},"__metadata__":{}}`), `safetensors: header: key "__metadata__" occurs twice`},
		{file(`{"__metadata__":null}`), "safetensors: __metadata__: want an object"},
		{file(`{"__metadata__":{"k":1}}`), `safetensors: __metadata__: key "k": want a string`},
		{file(`{"__metadata__":{"k":{"a":"b"}}}`), `safetensors: __metadata__: key "k": want a string`},

		// The entries.
		{file(`{"x":null}`), `safetensors: tensor "x": want an object`},
		{file(`{"x":[]}`), `safetensors: tensor "x": want an object`},
		{file(`{"x":{}}`), `safetensors: tensor "x": no dtype`},
		{file(`{"x":{"dtype":"F32","data_offsets":[0,4]}}`), `safetensors: tensor "x": no shape`},
		{file(`{"x":{"dtype":"F32","shape":[1]}}`), `safetensors: tensor "x": no data_offsets`},
		{file(`{"x":{"DTYPE":"F32","shape":[1],"data_offsets":[0,4]}}`), `safetensors: tensor "x": no dtype`},
		{file(`{"x":{"dtype":32,"shape":[1],"data_offsets":[0,4]}}`), `safetensors: tensor "x": dtype: want a string`},
		{file(`{"x":{"dtype":"I32","shape":[2],"data_offsets":[0,8]}}`), `safetensors: tensor "x": dtype I32: want F32, F16 or BF16`},
		{file(`{"x":{"dtype":"f32","shape":[2],"data_offsets":[0,8]}}`), `safetensors: tensor "x": dtype f32: want F32, F16 or BF16`},
		{file(`{"x":{"dtype":"F4","shape":[15],"data_offsets":[0,8]}}`), `safetensors: tensor "x": shape [15] of F4: not whole bytes`},
		{entry("null", "[0,8]"), `safetensors: tensor "x": shape: want an array`},
		{entry("2", "[0,8]"), `safetensors: tensor "x": shape: want an array`},
		{entry(`["2"]`, "[0,8]"), `safetensors: tensor "x": shape: want an array of numbers`},
		{entry("[[2]]", "[0,8]"), `safetensors: tensor "x": shape: want an array of numbers`},
		{entry("[-2]", "[0,8]"), `safetensors: tensor "x": shape: want whole numbers in [0, 2^63), got -2`},
		{entry("[-0]", "[0,0]"), `safetensors: tensor "x": shape: want whole numbers in [0, 2^63), got -0`},
		{entry("[2.0]", "[0,8]"), `safetensors: tensor "x": shape: want whole numbers in [0, 2^63), got 2.0`},
		{entry("[2e0]", "[0,8]"), `safetensors: tensor "x": shape: want whole numbers in [0, 2^63), got 2e0`},
		{entry("[9223372036854775808]", "[0,8]"), `safetensors: tensor "x": shape: want whole numbers in [0, 2^63), got 9223372036854775808`},
		{entry("["+strings.Repeat("9", 99)+"]", "[0,8]"), `safetensors: tensor "x": shape: want whole numbers in [0, 2^63), got ` + strings.Repeat("9", 64) + "..."},
		{entry("["+strings.Repeat("1,", 64)+"2]", "[0,8]"), `safetensors: tensor "x": shape: more than 64 numbers`},
		{entry("["+strings.Repeat("1,", 63)+"2]", "[0,8]"), `safetensors: tensor "x": shape [` + strings.Repeat("1, ", 21) + `1...]: want 1 or 2 dimensions`},
		{entry("[]", "[0,4]"), `safetensors: tensor "x": shape []: want 1 or 2 dimensions`},
		{entry("[1,1,2]", "[0,8]"), `safetensors: tensor "x": shape [1, 1, 2]: want 1 or 2 dimensions`},
		{entry("[0]", "[0,0]"), `safetensors: tensor "x": shape [0]: no columns`},
		{entry("[2,0]", "[0,0]"), `safetensors: tensor "x": shape [2, 0]: no columns`},
		{entry("[0,0]", "[0,0]"), `safetensors: tensor "x": shape [0, 0]: no columns`},
		{entry("[4294967296,4294967296]", "[0,0]"), `safetensors: tensor "x": shape [4294967296, 4294967296]: too many elements`},
		{entry("[0,9223372036854775807]", "[0,0]"), `safetensors: tensor "x": shape [0, 9223372036854775807]: too many elements`},
		{entry("[2]", "8"), `safetensors: tensor "x": data_offsets: want an array`},
		{entry("[2]", "[0]"), `safetensors: tensor "x": data_offsets: want 2 numbers, got 1`},
		{entry("[2]", "[0,8,8]"), `safetensors: tensor "x": data_offsets: more than 2 numbers`},
		{entry("[2]", "[8,0]"), `safetensors: tensor "x": data_offsets [8, 0]: the end is before the begin`},
		{entry("[2]", "[0,7]"), `safetensors: tensor "x": data_offsets [0, 7]: 7 bytes where shape [2] of F32 needs 8`},
		{entry("[2]", "[0,18446744073709551624]"), `safetensors: tensor "x": data_offsets: want whole numbers in [0, 2^63), got 18446744073709551624`},

		// The layout.
		{entry("[1]", "[4,8]"), `safetensors: tensor "x": data_offsets [4, 8]: no tensor covers the bytes from 0`},
		{file("{" + a + `,"b":{"dtype":"F16","shape":[1],"data_offsets":[6,8]}}`), `safetensors: tensor "b": data_offsets [6, 8]: no tensor covers the bytes from 4`},
		{file("{" + a + `,"b":{"dtype":"F32","shape":[1],"data_offsets":[2,6]}}`), `safetensors: tensor "b": data_offsets [2, 6]: overlaps tensor "a"`},
		{file("{" + a + `,"b":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}`), `safetensors: tensor "b": data_offsets [0, 4]: overlaps tensor "a"`},
		{file("{" + a + `,"b":{"dtype":"F32","shape":[0],"data_offsets":[2,2]}}`), `safetensors: tensor "b": data_offsets [2, 2]: overlaps tensor "a"`},
		{entry("[25]", "[0,100]"), `safetensors: tensor "x": data_offsets [0, 100] outside the 8 bytes of data`},
		{file("{" + a + `,"b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}}`), `safetensors: several tensors: name one of "a", "b"`},
		{file(`{"logits":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}}`),
			`safetensors: tensor "b": data_offsets [4, 12] outside the 8 bytes of data`},
		{file(`{"logits":{"dtype":"F32","shape":[1],"data_offsets":[12,16]},"b":{"dtype":"F32","shape":[3],"data_offsets":[0,12]}}`),
			`safetensors: tensor "b": data_offsets [0, 12] outside the 8 bytes of data`},
		{file("{" + a + "}"), "safetensors: data: more than the 4 bytes that the tensors cover"},
		{entry("[0,3]", "[0,0]"), "safetensors: data: more than the 0 bytes that the tensors cover"},
		{entry("[2000000000]", "[0,8000000000]"), "safetensors: data: the file is over the limit of 4294967296 bytes"},

		// Names of a hostile file.
		{file(`{"\u001b[31m` + strings.Repeat("é", 99) + `":0}`), `safetensors: tensor "\x1b[31m` + strings.Repeat("é", 29) + `...": want an object`},
	} {
		got, err := Read(strings.NewReader(test.file), Options{})
		checkError(t, got, err, test.err)
	}
}

func TestManyNames(t *testing.T) {
	tensors := make([]*Tensor, 12)
	for i := range tensors {
		tensors[i] = named(fixture0, string(rune('l'-i)), nil)
	}
	var file bytes.Buffer
	if err := WriteSafetensors(&file, tensors[0], tensors[1:]...); err != nil {
		t.Fatal(err)
	}
	got, err := Read(&file, Options{})
	checkError(t, got, err, `safetensors: several tensors: name one of "a", "b", "c", "d", "e", "f", "g", "h", "i", "j" and 2 more`)
}

func FuzzSafetensors(f *testing.F) {
	for _, file := range fixtures(f, ".safetensors") {
		n := 8 + binary.LittleEndian.Uint64(file)
		f.Add(file[8:n], file[n:], "")
		f.Add(file[8:n], file[n:], "half")
	}
	f.Add([]byte(`{"x":{"dtype":"F32","shape":[1152921504606846976,16],"data_offsets":[0,9223372036854775807]}}`), []byte("1234"), "x")
	f.Add([]byte(`{"x":{"dtype":"BF16","shape":[0,7],"data_offsets":[0,0],"k":[null]},"__metadata__":{"a":"\ud800"}}`), []byte{}, "")
	// The fuzzer need not find the length.
	f.Fuzz(func(t *testing.T, header, data []byte, name string) {
		file := []byte(safetensorsFile(string(header), string(data)))
		checkRead(t, file, Options{Name: name}, func(w *bytes.Buffer, x *Tensor) error {
			// What the writer does not keep.
			x.Name = cmp.Or(x.Name, "logits")
			if len(x.Metadata) == 0 {
				x.Metadata = nil
			}
			return WriteSafetensors(w, x)
		})
	})
}
