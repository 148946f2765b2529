// Package captured holds next-token logits of a real language model, for
// tests, benchmarks and examples that random numbers would serve badly.
//
// The file is smollm2.safetensors: 64 rows by 49152 tokens of float16 (dtype
// F16, little-endian, row-major, tensor name "logits"), captured from
// SmolLM2-135M-Instruct after 64 prompts of eight kinds. Its metadata names
// the text of every token, the prompt of every row and its kind; README.md
// beside this file documents the keys, and capture.py made the file.
//
// The model and its vocabulary are licensed under Apache-2.0 (LICENSE-smollm2).
//
// The package does not parse the file. A program that imports it grows by the
// file's seven megabytes or so.
package captured

import _ "embed"

// Name is the name of the embedded file, as it is in this folder.
const Name = "smollm2.safetensors"

//go:embed smollm2.safetensors
var data []byte

// Bytes returns the whole safetensors file: eight bytes of header length, the
// JSON header, and 64*49152 float16 values. The slice is shared by all callers
// and must not be modified; its capacity is its length, so append copies.
func Bytes() []byte {
	return data[:len(data):len(data)]
}
