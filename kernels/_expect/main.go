// Command _expect writes what package oracle draws from generated rows, for the
// GPU check, which makes the same rows with rows.py and so needs neither Go nor
// a file of logits. Run it from the repository:
//
//	go run ./kernels/_expect -o expected.bin
//
// # Rows
//
// All comes from 64-bit integers, modulo 2^64. mix is the finalizer of
// SplitMix64, word(key, i) = mix(key + (i+1) * 0x9e3779b97f4a7c15), and sub(key,
// n) = mix(key ^ n * 0xd1342543de82ef95). A group of rows has a key; row r has
// the key word(group, r) and slot s the key word(sub(group, 7), s). The
// functions below and those of rows.py correspond, name by name.
//
// # File
//
// Little-endian. "TDEXPECT", uint32 number of groups, then for each group: uint32
// vocab, dtype (1 float32, 2 float16, 3 bfloat16), flags, rows, slots; uint64
// key; and for its rows the arrays token int32, kept int32, logprob float32,
// status uint8.
package main

import (
	"bufio"
	"encoding/binary"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"sync"

	"github.com/tokendraw/tokendraw"
	"github.com/tokendraw/tokendraw/internal/half"
	"github.com/tokendraw/tokendraw/oracle"
)

// What the slots of a group have.
const (
	hasBias = 1 << iota
	hasMask
	hasCounts
	hasSlots // a map from rows to slots, and offsets of steps
	hasU
	shortMask // with hasMask: words for three quarters of the vocabulary
)

type group struct {
	vocab int
	dtype tokendraw.DType
	flags int
	rows  int
}

const everything = hasBias | hasMask | hasCounts | hasSlots

// Each line is a set of kernels to compile, so there are not many.
var groups = []group{
	{1, tokendraw.BFloat16, 0, 64},
	{1, tokendraw.Float32, everything, 64},
	{2, tokendraw.Float16, 0, 128},
	{31, tokendraw.Float32, hasMask | shortMask, 200},
	{33, tokendraw.BFloat16, everything, 400},
	{1000, tokendraw.BFloat16, 0, 1024},
	{1000, tokendraw.BFloat16, hasBias, 300},
	{1000, tokendraw.Float16, hasMask, 300},
	{1000, tokendraw.Float32, hasCounts, 300},
	{1000, tokendraw.Float32, hasSlots | hasU, 600},
	{4095, tokendraw.BFloat16, hasU, 500},
	{4095, tokendraw.Float32, everything | shortMask, 400},
	{4097, tokendraw.BFloat16, 0, 1024},
	{4097, tokendraw.Float16, 0, 1024},
	{4097, tokendraw.Float32, 0, 1024},
	{4097, tokendraw.BFloat16, everything, 1024},
	{32000, tokendraw.BFloat16, 0, 512},
	{32000, tokendraw.Float32, everything, 160},
	{49152, tokendraw.Float16, 0, 256},
	{128256, tokendraw.BFloat16, 0, 320},
	{128256, tokendraw.Float32, 0, 96},
	{128256, tokendraw.BFloat16, hasBias | hasMask | hasCounts, 96},
	{151936, tokendraw.Float16, 0, 64},
	{151936, tokendraw.BFloat16, everything, 48},
	{262144, tokendraw.BFloat16, 0, 64},
	{262144, tokendraw.Float32, everything, 24},
	{2097152, tokendraw.BFloat16, hasSlots, 8},
}

func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

func word(key, i uint64) uint64 { return mix(key + (i+1)*0x9e3779b97f4a7c15) }

func sub(key, n uint64) uint64 { return mix(key ^ n*0xd1342543de82ef95) }

func (g *group) slots() int {
	if g.flags&hasSlots != 0 {
		return g.rows/2 + 1
	}
	return g.rows
}

// logits returns a row as float32. Kinds are the cases of the switch.
func (g *group) logits(key uint64) []float32 {
	own := sub(key, 2)
	kind := word(own, 0) % 17
	special := int(word(own, 2) % uint64(g.vocab))
	tokens := sub(key, 1)
	row := make([]float32, g.vocab)
	for i := range row {
		h := word(tokens, uint64(i))
		again := mix(h)
		lm := int32(h&0xffff) + int32(h>>16&0xffff) + int32(h>>32&0xffff) + int32(h>>48) - 131070
		if again%509 == 0 {
			lm += int32(again>>40&0xffff) * 3
		}
		x := g.value(lm)
		switch kind {
		case 2: // flat
			x = g.value(lm >> 5)
		case 3: // ties
			x = g.value(int32(h>>16%17)*8192 - 65536)
		case 4: // all equal
			x = g.value(24576)
		case 5: // half of it a plateau above the rest
			if i%2 == 0 {
				x = g.value(7 * 16384)
			}
		case 6: // two values
			x = g.value(16384 + int32(h&1)*32768)
		case 7: // few candidates
			if again%64 != 0 {
				x = float32(math.Inf(-1))
			}
		case 8: // none, and in every other row a NaN
			x = float32(math.Inf(-1))
			if i == special && word(own, 1)%2 == 0 {
				x = float32(math.NaN())
			}
		case 9: // some NaN
			if again%1024 == 1 {
				x = float32(math.NaN())
			}
		case 10: // some infinite
			switch again % 256 {
			case 3:
				x = float32(math.Inf(+1))
			case 4:
				x = float32(math.Inf(-1))
			}
		case 11: // any bits
			x = g.fromBits(uint32(h))
		case 12: // any finite bits
			x = g.fromBits(uint32(h) &^ g.lowExponentBit())
		case 13: // next to each other
			x = g.fromBits(g.oneBits() + uint32(h%64))
		case 14: // one far ahead
			if i == special {
				x = g.value(lm + 163840)
			}
		case 15: // ramps
			x = g.value(-int32(i%4096) * 64)
		case 16: // zeros and the smallest subnormals, of both signs
			x = g.fromBits(uint32(h>>1%3) | uint32(h&1)<<g.signBit())
		}
		row[i] = x
	}
	return row
}

// value is q * 2^-14, |q| < 2^19, as the dtype has it: float16 with q rounded
// down to a multiple of 2^8, bfloat16 with the lower half of the bits cut off.
func (g *group) value(q int32) float32 {
	switch g.dtype {
	case tokendraw.Float16:
		return float32(q>>8) / 64
	case tokendraw.BFloat16:
		return half.BFloat16(uint16(math.Float32bits(float32(q)/16384) >> 16))
	}
	return float32(q) / 16384
}

func (g *group) fromBits(b uint32) float32 {
	switch g.dtype {
	case tokendraw.Float16:
		return half.Float16(uint16(b))
	case tokendraw.BFloat16:
		return half.BFloat16(uint16(b))
	}
	return math.Float32frombits(b)
}

func (g *group) oneBits() uint32 {
	return map[tokendraw.DType]uint32{
		tokendraw.Float32: 0x3f800000, tokendraw.Float16: 0x3c00, tokendraw.BFloat16: 0x3f80}[g.dtype]
}

func (g *group) lowExponentBit() uint32 {
	return map[tokendraw.DType]uint32{
		tokendraw.Float32: 1 << 23, tokendraw.Float16: 1 << 10, tokendraw.BFloat16: 1 << 7}[g.dtype]
}

func (g *group) signBit() uint32 {
	if g.dtype == tokendraw.Float32 {
		return 31
	}
	return 15
}

var (
	temperatures = []float32{0, 0, 1, 1, .8, .8, .7, .6, .5, 1.5, 2, .1, .01, 1e30, 1e-38, 100}
	topPs        = []float32{1, 1, 1, 1, .95, .95, .9, .9, .5, .999, .99, .1, 1e-6, 0x1.fffffep-1, .3, 1e-30}
	minPs        = []float32{0, 0, 0, 0, 0, 0, 0, 0, .05, .1, .5, .9, 1, 1e-12, .001, 0x1p-40}
	repetitions  = []float32{1, 1.1, 1.3, .8, 2}
	presences    = []float32{0, .5, -.5, 1.5}
	frequencies  = []float32{0, .1, -.2, .7}
)

func (g *group) request(key uint64) *tokendraw.Request {
	own := sub(key, 2)
	s := func(j uint64) uint64 { return word(own, j) }
	topKs := []int{0, 0, 0, 0, -1, 1, 2, 5, 20, 50, 50, 100, 1000, 1024, 1025, g.vocab / 2, g.vocab + 10}
	r := &tokendraw.Request{
		Params: tokendraw.Params{
			Temperature: temperatures[s(0)%16],
			TopK:        topKs[s(1)%17],
			TopP:        topPs[s(2)%16],
			MinP:        minPs[s(3)%16],
			FilterOrder: tokendraw.FilterOrder(s(4) & 1),
		},
		Seed: s(5),
		Step: s(6),
	}
	if g.flags&hasBias != 0 && s(11)%4 != 0 {
		each := sub(key, 3)
		for i := range g.vocab {
			b := word(each, uint64(i))
			switch {
			case b%16 == 0:
				r.LogitBias = append(r.LogitBias, tokendraw.Bias{Token: int32(i), Value: float32(int32(b>>8&1023)-512) / 64})
			case b%64 == 17:
				r.LogitBias = append(r.LogitBias, tokendraw.Bias{Token: int32(i), Value: float32(math.Inf(-1))})
			}
		}
	}
	if g.flags&hasMask != 0 {
		words := (g.vocab + 31) / 32
		if g.flags&shortMask != 0 {
			words = words*3/4 + 1 // never more than there are, nor none
		}
		each := sub(key, 4)
		r.Bitmask = make([]uint32, words)
		for w := range r.Bitmask {
			m := word(each, uint64(w))
			switch s(12) % 4 {
			case 0:
				r.Bitmask[w] = 0xffffffff
			case 1:
				r.Bitmask[w] = uint32(m)
			case 2:
				r.Bitmask[w] = uint32(m & (m >> 32) & mix(m))
			case 3:
				if w == int(s(13)%uint64(words)) {
					r.Bitmask[w] = uint32(m)
				}
			}
		}
	}
	if g.flags&hasCounts != 0 {
		r.RepetitionPenalty = repetitions[s(7)%5]
		r.PresencePenalty = presences[s(8)%4]
		r.FrequencyPenalty = frequencies[s(10)%4]
		each := sub(key, 5)
		for i := range g.vocab {
			if c := word(each, uint64(i)); s(14)%3 != 0 && c%8 == 0 {
				r.Counts = append(r.Counts, tokendraw.TokenCount{Token: int32(i), Output: int32((c >> 8) % 5)})
			}
		}
	}
	return r
}

// u is a row's own random number.
func u(key uint64) uint64 {
	x := word(sub(key, 2), 5)
	switch x % 8 {
	case 0:
		return 0
	case 1:
		return math.MaxUint64
	}
	return x
}

func (g *group) draw(key uint64) ([]tokendraw.Draw, error) {
	slots := uint64(g.slots())
	draws := make([]tokendraw.Draw, g.rows)
	errs := make([]error, g.rows)
	seen := make(map[uint64]uint64)
	var wait sync.WaitGroup
	limit := make(chan struct{}, runtime.GOMAXPROCS(0))
	for row := range g.rows {
		slot := uint64(row)
		if g.flags&hasSlots != 0 {
			slot = word(sub(key, 6), uint64(row)) % slots
		}
		offset := seen[slot]
		seen[slot]++
		limit <- struct{}{}
		wait.Go(func() {
			defer func() { <-limit }()
			own := word(key, uint64(row))
			r := g.request(word(sub(key, 7), slot))
			if g.flags&hasU != 0 {
				x := u(own)
				r.U = &x
			}
			if errs[row] = r.Check(g.vocab); errs[row] == nil {
				draws[row] = oracle.Row(g.logits(own), r, r.Step+offset).Draw
			}
		})
	}
	wait.Wait()
	for row, err := range errs {
		if err != nil {
			return nil, fmt.Errorf("vocab %d, row %d: %w", g.vocab, row, err)
		}
	}
	return draws, nil
}

func write(w io.Writer, seed uint64) error {
	all := []any{[]byte("TDEXPECT"), uint32(len(groups))}
	for i := range groups {
		g := &groups[i]
		key := word(seed, uint64(i))
		draws, err := g.draw(key)
		if err != nil {
			return err
		}
		var tokens, kept []int32
		var logprobs []float32
		var status []uint8
		for _, d := range draws {
			tokens, kept = append(tokens, d.Token), append(kept, d.Kept)
			logprobs, status = append(logprobs, d.LogProb), append(status, uint8(d.Status))
		}
		shape := []uint32{uint32(g.vocab), uint32(g.dtype), uint32(g.flags), uint32(g.rows), uint32(g.slots())}
		all = append(all, shape, key, tokens, kept, logprobs, status)
	}
	for _, x := range all {
		if err := binary.Write(w, binary.LittleEndian, x); err != nil {
			return err
		}
	}
	return nil
}

func run() error {
	out := flag.String("o", "expected.bin", "file to write")
	seed := flag.Uint64("seed", 1, "of the rows")
	flag.Parse()
	f, err := os.Create(*out)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(f)
	if err := write(w, *seed); err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return f.Close()
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "expect:", err)
		os.Exit(1)
	}
}
