package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/attr"
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Most vectors have no hit: 4 are tested together. One that has stores all its
// lanes, the hits first, behind the earlier hits. Since there are never more
// hits than elements read, that stays inside the outputs.

const gatherSignature = "(z *float32, id *uint32, x *float32, n int, first uint32, lo, hi float32) int"

func (t target) gatherText() {
	t.text("gatherSteps", gatherSignature, fmt.Sprintf("is Gather for n elements, a multiple of %d above 0.", 4*t.lanes))
}

// iota fills a vector with first, first+1, ...
func (t target) iota() reg.VecVirtual {
	name := "iota"
	m := GLOBL(name, attr.RODATA|attr.NOPTR)
	for i := range t.lanes {
		DATA(4*i, U32(uint32(i)))
	}
	ids := t.spreadParam("first")
	VPADDD(m, ids, ids)
	return ids
}

func (t target) gather512() {
	t.gatherText()
	z := Load(Param("z"), GP64())
	id := Load(Param("id"), GP64())
	x := Load(Param("x"), GP64())
	n := Load(Param("n"), GP64()).(reg.GPVirtual)
	lo, hi := t.spreadParam("lo"), t.spreadParam("hi")
	ids, step := t.iota(), t.spread(uint32(t.lanes))
	step4 := t.spread(uint32(4 * t.lanes))
	count := GP64()
	XORQ(count, count)
	loop("turn", n, 4*t.lanes, func() {
		k := []reg.OpmaskVirtual{K(), K(), K(), K()}
		for i := range k {
			VCMPPS(lessOrEqual, Mem{Base: x, Disp: i * t.bytes}, lo, k[i])
		}
		a, b := K(), K()
		KORW(k[0], k[1], a)
		KORW(k[2], k[3], b)
		KORTESTW(a, b)
		JZ(LabelRef("next"))
		at := t.vector()
		VMOVDQA32(ids, at)
		for i := range k {
			v, w := t.vector(), t.vector()
			VMOVUPS(Mem{Base: x, Disp: i * t.bytes}, v)
			VCMPPS(lessOrEqual, hi, v, k[i], k[i])
			hits := GP32()
			KMOVW(k[i], hits)
			POPCNTL(hits, hits)
			VCOMPRESSPS_Z(v, k[i], v)
			VPCOMPRESSD_Z(at, k[i], w)
			VMOVUPS(v, Mem{Base: z, Index: count, Scale: 4})
			VMOVDQU32(w, Mem{Base: id, Index: count, Scale: 4})
			ADDQ(hits.As64(), count)
			if i < 3 {
				VPADDD(step, at, at)
			}
		}
		Label("next")
		VPADDD(step4, ids, ids)
		ADDQ(I32(4*t.bytes), x)
	})
	Store(count, ReturnIndex(0))
	end()
}

// gather2 moves hits to the front by a table: for each set of hits the eight
// lanes to take, a byte each.
func (t target) gather2() {
	table := GLOBL("hits", attr.RODATA|attr.NOPTR)
	for set := range 256 {
		var lanes uint64
		n := 0
		for lane := range 8 {
			if set>>lane&1 == 1 {
				lanes |= uint64(lane) << (8 * n)
				n++
			}
		}
		DATA(8*set, U64(lanes))
	}
	t.gatherText()
	z := Load(Param("z"), GP64())
	id := Load(Param("id"), GP64())
	x := Load(Param("x"), GP64())
	n := Load(Param("n"), GP64()).(reg.GPVirtual)
	lo, hi := t.spreadParam("lo"), t.spreadParam("hi")
	ids, step := t.iota(), t.spread(uint32(t.lanes))
	step4 := t.spread(uint32(4 * t.lanes))
	lanes := GP64()
	LEAQ(table, lanes)
	count := GP64()
	XORQ(count, count)
	loop("turn", n, 4*t.lanes, func() {
		m := t.vectors(4)
		for i := range m {
			VCMPPS(lessOrEqual, Mem{Base: x, Disp: i * t.bytes}, lo, m[i])
		}
		a, b := t.vector(), t.vector()
		VORPS(m[0], m[1], a)
		VORPS(m[2], m[3], b)
		VORPS(a, b, a)
		VPTEST(a, a)
		JZ(LabelRef("next"))
		at := t.vector()
		VMOVDQA(ids, at)
		for i := range m {
			v, w, c := t.vector(), t.vector(), t.vector()
			VMOVUPS(Mem{Base: x, Disp: i * t.bytes}, v)
			VCMPPS(lessOrEqual, hi, v, c)
			VANDPS(c, m[i], c)
			hits := GP32()
			VMOVMSKPS(c, hits)
			VPMOVZXBD(Mem{Base: lanes, Index: hits, Scale: 8}, c)
			POPCNTL(hits, hits)
			VPERMPS(v, c, v)
			VPERMD(at, c, w)
			VMOVUPS(v, Mem{Base: z, Index: count, Scale: 4})
			VMOVDQU(w, Mem{Base: id, Index: count, Scale: 4})
			ADDQ(hits.As64(), count)
			if i < 3 {
				VPADDD(step, at, at)
			}
		}
		Label("next")
		VPADDD(step4, ids, ids)
		ADDQ(I32(4*t.bytes), x)
	})
	Store(count, ReturnIndex(0))
	end()
}
