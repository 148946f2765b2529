package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/attr"
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Most vectors have no hit: four are tested together. A few hits are taken one
// by one. If there are more, each vector stores all its lanes, the hits first,
// behind the earlier hits. Since there are never more hits than elements read,
// that stays inside the outputs.
const fewHits = 2

func (t target) gather() {
	var table Mem
	if !t.wide {
		table = hitTable()
	}
	iota := GLOBL(fmt.Sprintf("iota%d", t.lanes), attr.RODATA|attr.NOPTR)
	for i := range t.lanes {
		DATA(4*i, U32(uint32(i)))
	}

	t.text("gatherSteps", "(z *float32, id *uint32, x *float32, n int, first uint32, lo, hi float32) int",
		fmt.Sprintf("is Gather for n elements, a multiple of %d above 0.", 4*t.lanes))
	z := Load(Param("z"), GP64())
	id := Load(Param("id"), GP64())
	x := Load(Param("x"), GP64())
	n := Load(Param("n"), GP64()).(reg.GPVirtual)
	first := Load(Param("first"), GP32()).(reg.GPVirtual)
	lo, hi := t.spreadParam("lo"), t.spreadParam("hi")
	var lanes reg.GPVirtual
	if !t.wide {
		lanes = GP64()
		LEAQ(table, lanes)
	}
	count := GP64()
	XORQ(count, count)

	loop("turn", n, 4*t.lanes, func() {
		at := func(i int) Mem { return Mem{Base: x, Disp: i * t.bytes} }
		k := []reg.OpmaskVirtual{K(), K(), K(), K()}
		m := t.vectors(4)
		for i := range 4 {
			if t.wide {
				VCMPPS(lessOrEqual, at(i), lo, k[i])
			} else {
				VCMPPS(lessOrEqual, at(i), lo, m[i])
			}
		}
		if t.wide {
			a, b := K(), K()
			KORW(k[0], k[1], a)
			KORW(k[2], k[3], b)
			KORTESTW(a, b)
		} else {
			a, b := t.vector(), t.vector()
			VORPS(m[0], m[1], a)
			VORPS(m[2], m[3], b)
			VORPS(a, b, a)
			VPTEST(a, a)
		}
		JZ(LabelRef("next"))

		// The hits, a bit each.
		hits := GP64()
		for i := range 4 {
			part := hits
			if i > 0 {
				part = GP64()
			}
			if t.wide {
				VCMPPS(greaterOrEqual, at(i), hi, k[i], k[i])
				KMOVW(k[i], part.As32())
			} else {
				c := t.vector()
				VCMPPS(greaterOrEqual, at(i), hi, c)
				VANDPS(c, m[i], m[i])
				VMOVMSKPS(m[i], part.As32())
			}
			if i > 0 {
				SHLQ(U8(i*t.lanes), part)
				ORQ(part, hits)
			}
		}
		number := GP64()
		POPCNTQ(hits, number)
		JZ(LabelRef("next"))
		CMPQ(number, U8(fewHits))
		JBE(LabelRef("hit"))

		ids := t.vector()
		low := XMM()
		VMOVD(first, low)
		VPBROADCASTD(low, ids)
		VPADDD(iota, ids, ids)
		step := t.spread(uint32(t.lanes))
		for i := range 4 {
			v, w := t.vector(), t.vector()
			bits := GP64()
			to := Mem{Base: z, Index: count, Scale: 4}
			toID := Mem{Base: id, Index: count, Scale: 4}
			if t.wide {
				KMOVW(k[i], bits.As32())
				POPCNTL(bits.As32(), bits.As32())
				VMOVUPS(at(i), v)
				VCOMPRESSPS_Z(v, k[i], v)
				VPCOMPRESSD_Z(ids, k[i], w)
				VMOVUPS(v, to)
				VMOVDQU32(w, toID)
			} else {
				VMOVMSKPS(m[i], bits.As32())
				VPMOVZXBD(Mem{Base: lanes, Index: bits, Scale: 8}, m[i])
				POPCNTL(bits.As32(), bits.As32())
				VPERMPS(at(i), m[i], v)
				VPERMD(ids, m[i], w)
				VMOVUPS(v, to)
				VMOVDQU(w, toID)
			}
			ADDQ(bits, count)
			if i < 3 {
				VPADDD(step, ids, ids)
			}
		}
		JMP(LabelRef("next"))

		Label("hit")
		i, v := GP64(), GP32()
		BSFQ(hits, i)
		MOVL(Mem{Base: x, Index: i, Scale: 4}, v)
		MOVL(v, Mem{Base: z, Index: count, Scale: 4})
		ADDL(first, i.As32())
		MOVL(i.As32(), Mem{Base: id, Index: count, Scale: 4})
		INCQ(count)
		LEAQ(Mem{Base: hits, Disp: -1}, i)
		ANDQ(i, hits)
		JNZ(LabelRef("hit"))

		Label("next")
		ADDL(U32(uint32(4*t.lanes)), first)
		ADDQ(I32(4*t.bytes), x)
	})
	Store(count, ReturnIndex(0))
	end()
}

// hitTable moves hits to the front: for each set of hits the eight lanes to
// take, a byte each.
func hitTable() Mem {
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
	return table
}
