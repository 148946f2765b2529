package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Predicates of VCMPPS. A condition written lo <= x takes x from memory.
const (
	lessOrEqual    = U8(0x12) // quiet, false if unordered
	greaterOrEqual = U8(0x1d)
	unordered      = U8(0x03)
	ordered        = U8(0x07)
)

const (
	block  = 128 // elements, as vec.Block
	posInf = 0x7f800000
	negInf = 0xff800000
)

// readMax takes 8 vectors a turn, each with an accumulator of its own.
func (t target) readMax() {
	const unroll = 8
	t.text("readMaxSteps", "(x *float32, n int) float32",
		fmt.Sprintf("is readMax for n a multiple of %d above 0.", unroll*t.lanes))
	x := Load(Param("x"), GP64())
	n := Load(Param("n"), GP64()).(reg.GPVirtual)
	acc := t.vectors(unroll)
	first := t.spread(negInf)
	for _, a := range acc {
		VMOVAPS(first, a)
	}
	loop("turn", n, unroll*t.lanes, func() {
		for i, a := range acc {
			VMAXPS(Mem{Base: x, Disp: i * t.bytes}, a, a)
		}
		ADDQ(I32(unroll*t.bytes), x)
	})
	fold(VMAXPS, acc)
	t.foldLanes(VMAXPS, acc[0])
	storeFloat(acc[0], ReturnIndex(0))
	end()
}

// maximaF32 takes a block a turn. NaNs are found by comparing the elements in
// pairs: what VMAXPS and VMINPS make of a NaN depends on the operands' order.
func (t target) maximaF32() {
	t.text("maximaF32Blocks", "(dst, x *float32, blocks int) (lo float32, nans uint32)",
		"is MaximaF32 for one block or more. There is a NaN if nans is not 0.")
	dst := Load(Param("dst"), GP64())
	x := Load(Param("x"), GP64())
	n := Load(Param("blocks"), GP64()).(reg.GPVirtual)

	lows := t.vectors(4)
	first := t.spread(posInf)
	for _, v := range lows {
		VMOVAPS(first, v)
	}
	var nans []reg.VecVirtual     // 256 bits: all ones in a lane that had a NaN
	var clean []reg.OpmaskVirtual // 512 bits: ones in lanes that had none
	if t.wide {
		clean = []reg.OpmaskVirtual{K(), K()}
		for _, k := range clean {
			KXNORW(k, k, k)
		}
	} else {
		nans = t.vectors(2)
		for _, v := range nans {
			t.clear(v)
		}
	}

	loop("block", n, 1, func() {
		pairs := block / t.lanes / 2
		tops := t.vectors(2)
		for i := range pairs {
			a, b := t.vector(), t.vector()
			VMOVUPS(Mem{Base: x, Disp: 2 * i * t.bytes}, a)
			VMOVUPS(Mem{Base: x, Disp: (2*i + 1) * t.bytes}, b)
			low := lows[2*(i%2):]
			VMINPS(a, low[0], low[0])
			VMINPS(b, low[1], low[1])
			if t.wide {
				VCMPPS(ordered, a, b, clean[i%2], clean[i%2])
			} else {
				c := t.vector()
				VCMPPS(unordered, a, b, c)
				VORPS(c, nans[i%2], nans[i%2])
			}
			if i < 2 {
				VMAXPS(a, b, tops[i])
			} else {
				VMAXPS(a, tops[i%2], tops[i%2])
				VMAXPS(b, tops[i%2], tops[i%2])
			}
		}
		VMAXPS(tops[1], tops[0], tops[0])
		if t.wide {
			h := YMM()
			VEXTRACTF64X4(U8(1), tops[0], h)
			VMAXPS(h, tops[0].AsY(), tops[0].AsY())
		}
		VMOVUPS(tops[0].AsY(), Mem{Base: dst})
		ADDQ(I32(block*4), x)
		ADDQ(I32(32), dst)
	})

	fold(VMINPS, lows)
	t.foldLanes(VMINPS, lows[0])
	storeFloat(lows[0], Return("lo"))
	found := GP32()
	if t.wide {
		KANDW(clean[0], clean[1], clean[0])
		KMOVW(clean[0], found)
		XORL(U32(0xffff), found)
	} else {
		VORPS(nans[0], nans[1], nans[0])
		VMOVMSKPS(nans[0], found)
	}
	Store(found, Return("nans"))
	end()
}

// maxima16 works on the bits of 16-bit floats: the highest float is the
// largest of the signed integers or, if all have the sign bit, the smallest of
// the unsigned. The lowest float is the other way round.
func (t target) maxima16(bf16 bool) {
	name := "maximaF16Blocks"
	if bf16 {
		name = "maximaBF16Blocks"
	}
	t.text(name, "(dst *float32, x *uint16, blocks int) (top int16, far, near uint16)",
		"makes the maxima of one block or more. top is the largest of the bits as signed\n"+
			"integers, far and near are the largest and the smallest as unsigned.")
	dst := Load(Param("dst"), GP64())
	x := Load(Param("x"), GP64())
	n := Load(Param("blocks"), GP64()).(reg.GPVirtual)

	far := []reg.VecVirtual{YMM(), YMM()}
	for _, v := range far {
		VPXOR(v, v, v)
	}
	top, near := XMM(), XMM()
	VPCMPEQD(near, near, near)
	VPSLLW(U8(15), near, top)

	loop("block", n, 1, func() {
		high, least := []reg.VecVirtual{YMM(), YMM()}, []reg.VecVirtual{YMM(), YMM()}
		var v [2]reg.VecVirtual
		for i := range block / 16 {
			v[i%2] = YMM()
			VMOVDQU(Mem{Base: x, Disp: i * 32}, v[i%2])
			VPMAXUW(v[i%2], far[i%2], far[i%2])
			switch {
			case i == 1 || i == 3:
				VPMAXSW(v[0], v[1], high[i/2])
				VPMINUW(v[0], v[1], least[i/2])
			case i > 3:
				VPMAXSW(v[i%2], high[i%2], high[i%2])
				VPMINUW(v[i%2], least[i%2], least[i%2])
			}
		}
		VPMAXSW(high[1], high[0], high[0])
		VPMINUW(least[1], least[0], least[0])
		h, l := XMM(), XMM()
		VEXTRACTI128(U8(1), high[0], h)
		VEXTRACTI128(U8(1), least[0], l)
		VPMAXSW(high[0].AsX(), h, h)
		VPMINUW(least[0].AsX(), l, l)
		VPMAXSW(h, top, top)
		VPMINUW(l, near, near)
		sign := XMM()
		VPSRAW(U8(15), h, sign)
		VPBLENDVB(sign, l, h, h)
		out := YMM()
		if bf16 {
			VPMOVZXWD(h, out)
			VPSLLD(U8(16), out, out)
		} else {
			VCVTPH2PS(h, out)
		}
		VMOVUPS(out, Mem{Base: dst})
		ADDQ(I32(block*2), x)
		ADDQ(I32(32), dst)
	})

	VPMAXUW(far[1], far[0], far[0])
	f := XMM()
	VEXTRACTI128(U8(1), far[0], f)
	VPMAXUW(far[0].AsX(), f, f)
	// One instruction finds the smallest unsigned; the others are turned to it.
	least := func(v reg.VecVirtual, turn uint32, result string) {
		g := GP32()
		if turn != 0 {
			MOVL(U32(turn), g)
			s := XMM()
			VMOVD(g, s)
			VPBROADCASTW(s, s)
			VPXOR(s, v, v)
		}
		VPHMINPOSUW(v, v)
		VMOVD(v, g)
		if turn != 0 {
			XORL(U32(turn), g)
		}
		Store(g.As16(), Return(result))
	}
	least(top, 0x7fff, "top")
	least(f, 0xffff, "far")
	least(near, 0, "near")
	end()
}

// convert takes 4 vectors a turn.
func (t target) convert(bf16 bool) {
	const unroll = 4
	name := "convertF16Steps"
	if bf16 {
		name = "convertBF16Steps"
	}
	t.text(name, "(dst *float32, x *uint16, n int)",
		fmt.Sprintf("converts n elements, a multiple of %d above 0.", unroll*t.lanes))
	dst := Load(Param("dst"), GP64())
	x := Load(Param("x"), GP64())
	n := Load(Param("n"), GP64()).(reg.GPVirtual)
	loop("turn", n, unroll*t.lanes, func() {
		for i := range unroll {
			v := t.vector()
			m := Mem{Base: x, Disp: i * t.bytes / 2}
			if bf16 {
				VPMOVZXWD(m, v)
				VPSLLD(U8(16), v, v)
			} else {
				VCVTPH2PS(m, v)
			}
			VMOVUPS(v, Mem{Base: dst, Disp: i * t.bytes})
		}
		ADDQ(I32(unroll*t.bytes/2), x)
		ADDQ(I32(unroll*t.bytes), dst)
	})
	end()
}

// countGE takes 4 vectors a turn and counts in the 32-bit lanes.
func (t target) countGE() {
	const unroll = 4
	t.text("countGESteps", "(x *float32, n int, lo float32) int",
		fmt.Sprintf("counts in n elements, a multiple of %d above 0 and at most 2^31.", unroll*t.lanes))
	x := Load(Param("x"), GP64())
	n := Load(Param("n"), GP64()).(reg.GPVirtual)
	lo := t.spreadParam("lo")
	acc := t.vectors(unroll)
	for _, a := range acc {
		t.clear(a)
	}
	var minusOne reg.VecVirtual
	if t.wide {
		minusOne = t.spread(0xffffffff)
	}
	loop("turn", n, unroll*t.lanes, func() {
		for i, a := range acc {
			m := Mem{Base: x, Disp: i * t.bytes}
			if t.wide {
				k := K()
				VCMPPS(lessOrEqual, m, lo, k)
				VPSUBD(minusOne, a, k, a)
			} else {
				c := t.vector()
				VCMPPS(lessOrEqual, m, lo, c)
				VPSUBD(c, a, a)
			}
		}
		ADDQ(I32(unroll*t.bytes), x)
	})
	fold(VPADDD, acc)
	t.foldLanes(VPADDD, acc[0])
	count := GP32()
	VMOVD(acc[0].AsX(), count)
	Store(count.As64(), ReturnIndex(0))
	end()
}

// digits turns scores into keys as vec.Key does, and the keys into digits.
func (t target) digits() {
	const unroll = 4
	t.text("digitsSteps", "(d *uint32, x *float32, n int, key int32, shift, last uint32)",
		fmt.Sprintf("is Digits for n elements, a multiple of %d above 0; key is that of top.", unroll*t.lanes))
	d := Load(Param("d"), GP64())
	x := Load(Param("x"), GP64())
	n := Load(Param("n"), GP64()).(reg.GPVirtual)
	key, shift, last := t.spreadParam("key"), t.spreadParam("shift"), t.spreadParam("last")
	zero := t.vector()
	t.clear(zero)
	value := t.spread(0x7fffffff)
	loop("turn", n, unroll*t.lanes, func() {
		for i := range unroll {
			v, s := t.vector(), t.vector()
			VADDPS(Mem{Base: x, Disp: i * t.bytes}, zero, v)
			VPSRAD(U8(31), v, s)
			if t.wide {
				VPTERNLOGD(U8(0x78), value, s, v) // v ^ s&value
			} else {
				VPAND(value, s, s)
				VPXOR(s, v, v)
			}
			VPSUBD(v, key, v)
			// By a count in each lane: 32 and more shift all out.
			VPSRLVD(shift, v, v)
			VPMINUD(last, v, v)
			if t.wide {
				VMOVDQU32(v, Mem{Base: d, Disp: i * t.bytes})
			} else {
				VMOVDQU(v, Mem{Base: d, Disp: i * t.bytes})
			}
		}
		ADDQ(I32(unroll*t.bytes), x)
		ADDQ(I32(unroll*t.bytes), d)
	})
	end()
}
