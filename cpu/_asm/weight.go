package main

import (
	"fmt"
	"math"

	"github.com/mmcloughlin/avo/attr"
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Numbers of SPEC.md, section 3, as float32 bits.
const (
	c1     = 0x3f317214
	c2     = 0x3e75fcd8
	c3     = 0x3d635d03
	c4     = 0x3c1e771a
	c5     = 0x3aad3eba
	one    = 0x3f800000
	lowest = 0xc2200000 // -40
	round  = 0x4b400000 // 1.5*2^23: adding it rounds to an integer
)

// A weight y is split in two for sums in integers. u = y + 48 has the bits of
// 48 plus H, which is y in units of 2^-18. Then v = (y - H*2^-18) + 1.5*2^-13
// has the bits of 1.5*2^-13 plus L, the rest in units of 2^-36, rounded to
// even. So the weight in units is H*2^18 + L, with 0 <= H <= 2^18 and
// |L| <= 2^17.
//
// (y - h) + magic is computed as y - (h - magic), and h - magic as
// u - (48 + magic). That is one operation less, and the same: all of these are
// exact except the last one, which rounds the same sum.
const (
	highBits = 0x42400000 // 48
	lowBits  = 0x39400000 // 1.5*2^-13
)

var bothBits = math.Float32bits(48 + 0x1.8p-13)

// weights holds the constants and the work in progress of weights.
type weights struct {
	target
	x                       reg.Register
	negM, c                 Op
	floor, round            Op
	c5, c4, c3, c2, c1, one Op
}

var inMemory = map[uint32]Mem{}

// constant returns an operand in memory with 32 bits in all lanes. The
// instruction that uses it reads it without an instruction of its own, and the
// registers are needed for the work.
func (t target) constant(b uint32) Op {
	m, ok := inMemory[b]
	if !ok {
		m = GLOBL(fmt.Sprintf("all%d_%08x", 8*t.bytes, b), attr.RODATA|attr.NOPTR)
		for i := range t.lanes {
			DATA(4*i, U32(b))
		}
		inMemory[b] = m
	}
	return m
}

// newWeights loads what weights need. negM and c are parameters.
func (t target) newWeights(x reg.Register) *weights {
	w := &weights{
		target: t, x: x,
		negM: t.spreadParam("negM"), c: t.spreadParam("c"),
		floor: t.constant(lowest), round: t.constant(round),
		c5: t.constant(c5), c4: t.constant(c4), c3: t.constant(c3), c2: t.constant(c2), c1: t.constant(c1),
		one: t.constant(one),
	}
	if t.wide { // as far as there are registers
		w.round, w.one = t.spread(round), t.spread(one)
	}
	return w
}

// turns emits a loop over the elements, a multiple of the lanes, in turns of
// several vectors and then of one. finish gets the weights.
func (w *weights) turns(n reg.GPVirtual, finish func(y []reg.VecVirtual)) {
	step := w.weighs * w.lanes
	CMPQ(n, U32(step))
	JB(LabelRef("rest"))
	Label("turn")
	finish(w.compute(w.weighs))
	SUBQ(I32(step), n)
	CMPQ(n, U32(step))
	JAE(LabelRef("turn"))
	Label("rest")
	TESTQ(n, n)
	JZ(LabelRef("done"))
	Label("one")
	finish(w.compute(1))
	SUBQ(U8(w.lanes), n)
	JNZ(LabelRef("one"))
	Label("done")
}

// compute emits the weights of the next n vectors. All vectors do one step
// after the other, so that none waits for itself.
func (w *weights) compute(n int) []reg.VecVirtual {
	t, s, f, y := w.vectors(n), w.vectors(n), w.vectors(n), w.vectors(n)
	each := func(step func(i int)) {
		for i := range n {
			step(i)
		}
	}
	// x + -m is x - m, with x from memory.
	each(func(i int) { VADDPS(Mem{Base: w.x, Disp: i * w.bytes}, w.negM, t[i]) })
	each(func(i int) { VMULPS(w.c, t[i], t[i]) })
	// The second operand is the result if there is a NaN, as in vec.Exponent.
	each(func(i int) { VMAXPS(w.floor, t[i], t[i]) })
	each(func(i int) { VADDPS(w.round, t[i], s[i]) })
	if w.wide {
		// t less its nearest integer, ties to even.
		each(func(i int) { VREDUCEPS(U8(0), t[i], f[i]) })
	} else {
		each(func(i int) { VSUBPS(w.round, s[i], f[i]) })
		each(func(i int) { VSUBPS(f[i], t[i], f[i]) })
	}
	each(func(i int) { VMULPS(w.c5, f[i], y[i]) })
	for _, c := range []Op{w.c4, w.c3, w.c2, w.c1} {
		each(func(i int) { VADDPS(c, y[i], y[i]) })
		each(func(i int) { VMULPS(f[i], y[i], y[i]) })
	}
	each(func(i int) { VADDPS(w.one, y[i], y[i]) })
	each(func(i int) { VPSLLD(U8(23), s[i], s[i]) })
	each(func(i int) { VPADDD(s[i], y[i], y[i]) })
	return y
}

// mass adds up in the 32-bit lanes. Each addition brings the bits of 48 or of
// 1.5*2^-13 along; the sums start at minus all of those, modulo 2^32.
func (t target) mass(light bool) {
	name := "massSteps"
	if light {
		name = "massLightSteps"
	}
	t.text(name, "(x *float32, n int, negM, c float32) uint64",
		fmt.Sprintf("adds up the weights of n elements, a multiple of %d\nand at most %d.", t.lanes, t.lanes<<13))
	x := Load(Param("x"), GP64())
	n := Load(Param("n"), GP64()).(reg.GPVirtual)
	w := t.newWeights(x)

	start := func(b uint32) reg.VecVirtual {
		g, s, v := GP32(), XMM(), t.vector()
		MOVL(n.As32(), g)
		SHRL(U8(log2(t.lanes)), g)
		IMUL3L(I32(int32(-b)), g, g)
		VMOVD(g, s)
		VPBROADCASTD(s, v)
		return v
	}
	low := start(lowBits)
	var high reg.VecVirtual
	var h, both Op
	if light {
		// There is no part H, and L is y in units of 2^-36.
		h = t.constant(lowBits)
	} else {
		high = start(highBits)
		h = t.constant(highBits)
		both = t.constant(bothBits)
	}
	w.turns(n, func(all []reg.VecVirtual) {
		each := func(step func(y reg.VecVirtual)) {
			for _, y := range all {
				step(y)
			}
		}
		if light {
			each(func(y reg.VecVirtual) { VADDPS(h, y, y) })
		} else {
			u := t.vectors(len(all))
			for i, y := range all {
				VADDPS(h, y, u[i])
			}
			for i := range u {
				VPADDD(u[i], high, high)
			}
			for i := range u {
				VSUBPS(both, u[i], u[i])
			}
			for i, y := range all {
				VSUBPS(u[i], y, y)
			}
		}
		each(func(y reg.VecVirtual) { VPADDD(y, low, low) })
		ADDQ(I32(len(all)*t.bytes), x)
	})

	// The lanes of H have no sign, those of L do.
	sum := t.widen(low, VPMOVSXDQ)
	if !light {
		sumH := t.widen(high, VPMOVZXDQ)
		VPSLLQ(U8(18), sumH, sumH)
		VPADDQ(sumH, sum, sum)
	}
	a := XMM()
	VEXTRACTI128(U8(1), sum, a)
	VPADDQ(sum.AsX(), a, a)
	b := XMM()
	VPSHUFD(U8(0x0e), a, b)
	VPADDQ(b, a, a)
	total := GP64()
	VMOVQ(a, total)
	Store(total, ReturnIndex(0))
	end()
}

func log2(n int) uint8 {
	return uint8(math.Ilogb(float64(n)))
}

// widen returns four 64-bit sums of the 32-bit lanes of v.
func (t target) widen(v reg.VecVirtual, convert func(...Op)) reg.VecVirtual {
	a, b := t.vector(), t.vector()
	if t.wide {
		convert(v.AsY(), a)
		h := YMM()
		VEXTRACTI64X4(U8(1), v, h)
		convert(h, b)
		VPADDQ(b, a, a)
		VEXTRACTI64X4(U8(1), a, h)
		VPADDQ(a.AsY(), h, h)
		return h
	}
	convert(v.AsX(), a)
	h := XMM()
	VEXTRACTI128(U8(1), v, h)
	convert(h, b)
	VPADDQ(b, a, a)
	return a
}

// weigh rounds to units in float64: adding 1.5*2^16 leaves the units in the
// low bits.
func (t target) weigh() {
	t.text("weighSteps", "(y *float32, w *uint64, x *float32, n int, negM, c float32)",
		fmt.Sprintf("is Weigh for n elements, a multiple of %d.", t.lanes))
	yp := Load(Param("y"), GP64())
	wp := Load(Param("w"), GP64())
	x := Load(Param("x"), GP64())
	n := Load(Param("n"), GP64()).(reg.GPVirtual)
	w := t.newWeights(x)
	unit, base := t.vector(), GP64()
	bits := XMM()
	MOVQ(U64(math.Float64bits(0x1.8p16)), base)
	VMOVQ(base, bits)
	VPBROADCASTQ(bits, unit)
	w.turns(n, func(all []reg.VecVirtual) {
		for i, y := range all {
			VMOVUPS(y, Mem{Base: yp, Disp: i * t.bytes})
		}
		for i := range 2 * len(all) {
			v := t.vector()
			VCVTPS2PD(Mem{Base: yp, Disp: i * t.bytes / 2}, v)
			VADDPD(unit, v, v)
			VPSUBQ(unit, v, v)
			if t.wide {
				VMOVDQU64(v, Mem{Base: wp, Disp: i * t.bytes})
			} else {
				VMOVDQU(v, Mem{Base: wp, Disp: i * t.bytes})
			}
		}
		ADDQ(I32(len(all)*t.bytes), x)
		ADDQ(I32(len(all)*t.bytes), yp)
		ADDQ(I32(len(all)*t.bytes*2), wp)
	})
	end()
}
