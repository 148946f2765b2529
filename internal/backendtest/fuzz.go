package backendtest

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/tokendraw/tokendraw"
)

// fuzzHeader is the number of bytes that Decode takes for the parameters.
const fuzzHeader = 2 + 6*4 + 4 + 8 + 4*4

// fuzzVocab is the most logits that Decode makes of any data.
const fuzzVocab = 1 << 15

// Decode makes a batch of one row of any bytes, for fuzzing. What the bytes
// ask for and spec 9 forbids becomes something allowed. It returns false if
// there are too few of them.
//
// After the parameters come the logits, in runs of five bytes: the bits of a
// float32 and how often, and how, they are repeated.
func Decode(data []byte) (b tokendraw.Batch, ok bool) {
	if len(data) < fuzzHeader+5 {
		return b, false
	}
	u32 := func() uint32 {
		x := binary.LittleEndian.Uint32(data)
		data = data[4:]
		return x
	}
	dtype, flags := data[0], data[1]
	data = data[2:]
	var f [6]float32
	for i := range f {
		f[i] = math.Float32frombits(u32())
		if f[i] != f[i] || f[i] > math.MaxFloat32 || f[i] < -math.MaxFloat32 {
			f[i] = 1
		}
	}
	abs := func(x float32) float32 { return float32(math.Abs(float64(x))) }
	share := func(x float32) float32 {
		if x = abs(x); x > 1 {
			return 1 / x
		}
		return x
	}
	req := tokendraw.Request{Params: tokendraw.Params{
		Temperature: abs(f[0]), TopP: share(f[1]), MinP: share(f[2]), RepetitionPenalty: abs(f[3]),
		FrequencyPenalty: f[4], PresencePenalty: f[5], FilterOrder: tokendraw.FilterOrder(flags & 1),
	}}
	topK := int32(u32())
	u := uint64(u32())<<32 | uint64(u32())
	req.U = &u
	var words [4]uint32
	for i := range words {
		words[i] = u32()
	}

	var z []float32
	for ; len(data) >= 5 && len(z) < fuzzVocab; data = data[5:] {
		bits, how := binary.LittleEndian.Uint32(data), data[4]
		// Up to 2^13 times: the same, the floats above it, or every 2^k-th.
		n := 1 << (how & 15 % 14)
		step := uint32(0)
		if how&16 != 0 {
			step = 1 << (how >> 5 * 3)
		}
		for range min(n, fuzzVocab-len(z)) {
			z = append(z, math.Float32frombits(bits))
			bits += step
		}
	}
	vocab := len(z)
	req.TopK = max(-1, int(topK))
	if flags&2 != 0 {
		req.TopK = max(-1, vocab+int(topK%4))
	}
	id := func(i int) int32 { return int32(words[i&3] >> (i & 16) % uint32(vocab)) }
	if flags&4 != 0 {
		req.LogitBias = []tokendraw.Bias{{Token: id(0), Value: f[4]}}
		if id(0) < id(1) {
			req.LogitBias = append(req.LogitBias, tokendraw.Bias{Token: id(1), Value: negInf})
		}
	}
	if flags&8 != 0 {
		req.Bitmask = words[:]
	}
	if flags&16 != 0 {
		req.AllowedTokens = []int32{id(2), id(3), id(2 | 16), id(3 | 16)}
	}
	if flags&32 != 0 {
		req.PromptTokens = []int32{id(0), id(1)}
		req.OutputTokens = []int32{id(1), id(2), id(2)}
		req.Counts = []tokendraw.TokenCount{{Token: id(3), Output: int32(words[3] >> 4)}, {Token: id(2), Output: 1}}
	}

	l := tokendraw.Logits{Rows: 1, Vocab: vocab}
	switch dtype % 3 {
	case 0:
		l.F32 = z
	case 1:
		l.F16 = make([]uint16, vocab)
	case 2:
		l.BF16 = make([]uint16, vocab)
	}
	if l.F32 == nil {
		setRow(&l, 0, z)
	}
	return tokendraw.Batch{Logits: l, Requests: []tokendraw.Request{req}}, true
}

// Seeds returns data for Decode that reaches the corners.
func Seeds() [][]byte {
	var list [][]byte
	add := func(dtype, flags byte, floats [6]float32, topK int32, u uint64, runs ...any) {
		data := []byte{dtype, flags}
		for _, x := range floats {
			data = binary.LittleEndian.AppendUint32(data, math.Float32bits(x))
		}
		data = binary.LittleEndian.AppendUint32(data, uint32(topK))
		data = binary.LittleEndian.AppendUint32(data, uint32(u>>32))
		data = binary.LittleEndian.AppendUint32(data, uint32(u))
		for _, w := range []uint32{7, 0xffff0000, 0x12345678, 0x3fffffff} {
			data = binary.LittleEndian.AppendUint32(data, w)
		}
		for i := 0; i < len(runs); i += 2 {
			data = binary.LittleEndian.AppendUint32(data, math.Float32bits(float32(runs[i].(float64))))
			data = append(data, byte(runs[i+1].(int)))
		}
		list = append(list, data)
	}
	inf := math.Inf(1)
	for dtype := byte(0); dtype < 3; dtype++ {
		add(dtype, 0, [6]float32{1, 0.9}, 40, 1<<63, 1.0, 0, 2.0, 3, 0.5, 16+9, 3.0, 0)
		add(dtype, 1, [6]float32{1e30, 0.5, 0.1}, 5000, math.MaxUint64, 1.0, 13, 2.0, 12, -3e38, 0)
		add(dtype, 2, [6]float32{0.8, 0.999, 0, 1.2, 0.5, 0.5}, -1, 1, 1.0, 16+13, -1.0, 16+32+12, 5.0, 2)
		add(dtype, 32+4, [6]float32{3e38, 0, 0.1, 1e-30, 3e38, -3e38}, 0, 7, 3e38, 12, -3e38, 12, 3e38, 9)
		add(dtype, 8+16, [6]float32{1, 0.5, 0.5}, 3, 0, inf, 2, -inf, 5, math.NaN(), 1, 0.0, 8, math.Copysign(0, -1), 8)
		add(dtype, 0, [6]float32{1e-39, 1, 9e-13}, 2, 9, -1e-45, 10, 0.0, 0, -1e-45, 16+11, 1e-45, 16+10)
	}
	return list
}

// Fuzz compares a sampler with the oracle on batches made of random bytes.
func Fuzz(f *testing.F, open func(t testing.TB) tokendraw.Sampler, opts ...Option) {
	s := &suite{open: open, skip: map[Part]string{}, maxVocab: tokendraw.MaxVocab, every: 1}
	for _, o := range opts {
		o(s)
	}
	for _, data := range Seeds() {
		f.Add(data)
	}
	x := open(f)
	f.Cleanup(func() { x.Close() })
	f.Fuzz(func(t *testing.T, data []byte) {
		b, ok := Decode(data)
		if !ok {
			return
		}
		if err := b.Check(1); err != nil {
			t.Fatalf("not allowed: %v", err)
		}
		var out results
		s.run(t, x, &Case{name: "fuzz", batch: b, want: judge(&b)}, &out)
	})
}
