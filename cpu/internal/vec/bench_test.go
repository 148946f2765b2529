package vec

import (
	"math"
	"math/rand/v2"
	"testing"
)

// benchVocab is the length of the rows of the benchmarks. As float32 they take
// 513 kB.
const benchVocab = 128256

// benchTile is the number of elements that the longer calls of package cpu take
// at a time.
const benchTile = 1024

// tiles calls f for each tile of a row.
func tiles(f func(from, to int)) {
	for from := 0; from < benchVocab; from += benchTile {
		f(from, min(from+benchTile, benchVocab))
	}
}

// forEach runs a benchmark for each variant and sets its bytes.
func forEach(b *testing.B, bytes int, f func(v *Funcs)) {
	for _, v := range Variants() {
		b.Run(v.Name, func(b *testing.B) {
			b.SetBytes(int64(bytes))
			for b.Loop() {
				f(v)
			}
		})
	}
}

// normalRow returns scores as a model makes them, roughly: a normal bulk and
// some that stand out.
func normalRow() []float32 {
	r := newRand(1)
	x := fill(r, benchVocab, func(r *rand.Rand) float32 { return float32(r.NormFloat64() * 2.5) })
	for i := range 256 {
		x[r.IntN(len(x))] = 16 - float32(math.Log(float64(1+i)))*1.1
	}
	return x
}

// row16 returns finite numbers in either 16-bit format.
func row16() []uint16 {
	r := newRand(2)
	x := make([]uint16, benchVocab)
	for i := range x {
		x[i] = uint16(r.Uint32()) & 0xbbff
	}
	return x
}

// BenchmarkReadMax reads a row once: the floor of what a sampler can take.
func BenchmarkReadMax(b *testing.B) {
	x := normalRow()
	b.SetBytes(4 * benchVocab)
	for b.Loop() {
		ReadMax(x)
	}
}

func BenchmarkMaximaF32(b *testing.B) {
	x, dst := normalRow(), make([]float32, benchVocab/Block*Lanes)
	forEach(b, 4*benchVocab, func(v *Funcs) { v.MaximaF32(dst, x) })
}

func BenchmarkMaximaF16(b *testing.B) {
	x, dst := row16(), make([]float32, benchVocab/Block*Lanes)
	forEach(b, 2*benchVocab, func(v *Funcs) { v.MaximaF16(dst, x) })
}

func BenchmarkMaximaBF16(b *testing.B) {
	x, dst := row16(), make([]float32, benchVocab/Block*Lanes)
	forEach(b, 2*benchVocab, func(v *Funcs) { v.MaximaBF16(dst, x) })
}

// The conversions work on a tile, as do Weigh and Digits below: what they write
// stays in the nearest cache.

func BenchmarkConvertF16(b *testing.B) {
	x := row16()
	dst := make([]float32, benchTile)
	forEach(b, 2*benchVocab, func(v *Funcs) { tiles(func(from, to int) { v.ConvertF16(dst, x[from:to]) }) })
}

func BenchmarkConvertBF16(b *testing.B) {
	x := row16()
	dst := make([]float32, benchTile)
	forEach(b, 2*benchVocab, func(v *Funcs) { tiles(func(from, to int) { v.ConvertBF16(dst, x[from:to]) }) })
}

func BenchmarkCountGE(b *testing.B) {
	x := normalRow()
	forEach(b, 4*benchVocab, func(v *Funcs) { v.CountGE(x, 1) })
}

// BenchmarkGather has hits of several densities, anywhere in the row.
func BenchmarkGather(b *testing.B) {
	r := newRand(3)
	x := fill(r, benchVocab, func(r *rand.Rand) float32 { return float32(r.Float64()) })
	z, id := make([]float32, len(x)), make([]uint32, len(x))
	for _, hits := range []struct {
		name string
		lo   float32
	}{{"none", 2}, {"0.1%", 0.999}, {"1%", 0.99}, {"5%", 0.95}, {"50%", 0.5}} {
		b.Run(hits.name, func(b *testing.B) {
			forEach(b, 4*benchVocab, func(v *Funcs) { v.Gather(z, id, x, 0, hits.lo, 1) })
		})
	}
	// Blocks that have one hit each, as the top-k path asks for them.
	clear(x)
	for i := 0; i < len(x); i += Block {
		x[i+r.IntN(Block)] = 1
	}
	b.Run("blocks", func(b *testing.B) {
		forEach(b, 4*benchVocab, func(v *Funcs) {
			n := 0
			for i := 0; i < len(x); i += Block {
				n += v.Gather(z[n:], id[n:], x[i:i+Block], uint32(i), 1, 1)
			}
		})
	})
}

func BenchmarkMass(b *testing.B) {
	x := normalRow()
	m := top(x)
	forEach(b, 4*benchVocab, func(v *Funcs) { v.Mass(x, m, 1) })
}

func BenchmarkMassLight(b *testing.B) {
	x := normalRow()
	m := top(x) + 20
	forEach(b, 4*benchVocab, func(v *Funcs) { v.MassLight(x, m, 1) })
}

func BenchmarkWeigh(b *testing.B) {
	x := normalRow()
	m := top(x)
	y, w := make([]float32, benchTile), make([]uint64, benchTile)
	forEach(b, 4*benchVocab, func(v *Funcs) { tiles(func(from, to int) { v.Weigh(y, w, x[from:to], m, 1) }) })
}

func BenchmarkDigits(b *testing.B) {
	x := normalRow()
	m := top(x)
	d := make([]uint32, benchTile)
	forEach(b, 4*benchVocab, func(v *Funcs) { tiles(func(from, to int) { v.Digits(d, x[from:to], m, 15, 2047) }) })
}

// BenchmarkWeigh40 is of the few candidates of a top-k draw.
func BenchmarkWeigh40(b *testing.B) {
	x := normalRow()[:40]
	m := top(x)
	y, w := make([]float32, 40), make([]uint64, 40)
	forEach(b, 4*40, func(v *Funcs) { v.Weigh(y, w, x, m, 1) })
}
