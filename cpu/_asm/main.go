// Command _asm writes the amd64 assembly of package cpu/internal/vec. Run it
// by go generate there.
package main

import (
	"flag"
	"log"
	"strings"

	"github.com/mmcloughlin/avo/attr"
	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/gotypes"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// A target is a variant's vectors and how its loops are unrolled.
type target struct {
	name   string // suffix of the functions
	wide   bool   // 512 bits, with AVX-512
	lanes  int    // 32-bit elements of a vector
	bytes  int    // of a vector
	weighs int    // vectors of weights that are worked on side by side
}

var targets = map[string]target{
	"avx2":   {name: "AVX2", lanes: 8, bytes: 32, weighs: 4},
	"avx512": {name: "AVX512", wide: true, lanes: 16, bytes: 64, weighs: 8},
}

func main() {
	variant := flag.String("variant", "avx2", "avx2 or avx512")
	flag.Parse()
	t, ok := targets[*variant]
	if !ok {
		log.Fatalf("variant: must be avx2 or avx512, got %q", *variant)
	}
	ConstraintExpr("amd64,!noasm")
	t.readMax()
	t.maximaF32()
	t.convert(true)
	t.convert(false)
	t.countGE()
	t.mass(false)
	t.mass(true)
	t.weigh()
	t.digits()
	t.gather()
	if !t.wide {
		t.maxima16(true)
		t.maxima16(false)
		hasF16C()
	}
	Generate()
}

// vector returns a new vector register.
func (t target) vector() reg.VecVirtual {
	if t.wide {
		return ZMM()
	}
	return YMM()
}

func (t target) vectors(n int) []reg.VecVirtual {
	v := make([]reg.VecVirtual, n)
	for i := range v {
		v[i] = t.vector()
	}
	return v
}

func (t target) text(name, signature, doc string) {
	TEXT(name+t.name, attr.NOSPLIT, "func"+signature)
	Pragma("noescape")
	Doc(strings.Split(name+t.name+" "+doc, "\n")...)
}

// spread fills a vector with 32 bits.
func (t target) spread(b uint32) reg.VecVirtual {
	v := t.vector()
	g, x := GP32(), XMM()
	MOVL(U32(b), g)
	VMOVD(g, x)
	VPBROADCASTD(x, v)
	return v
}

// spreadParam fills a vector with a parameter of 32 bits.
func (t target) spreadParam(name string) reg.VecVirtual {
	p, err := Param(name).Resolve()
	if err != nil {
		log.Fatal(err)
	}
	v := t.vector()
	// By the float instruction, for go vet's sake: it knows the size.
	VBROADCASTSS(p.Addr, v)
	return v
}

// clear zeroes a vector.
func (t target) clear(v reg.VecVirtual) {
	if t.wide {
		VPXORD(v, v, v)
	} else {
		VPXOR(v, v, v)
	}
}

// loop emits a loop that runs while n, a multiple of step, is above 0. Memory
// is addressed by pointers that body moves itself.
func loop(name string, n reg.GPVirtual, step int, body func()) {
	Label(name)
	body()
	SUBQ(I32(step), n)
	JNZ(LabelRef(name))
}

// fold reduces registers to the first by op, pairwise.
func fold(op func(...Op), v []reg.VecVirtual) {
	for n := len(v); n > 1; n = (n + 1) / 2 {
		for i := range n / 2 {
			op(v[n-1-i], v[i], v[i])
		}
	}
}

// foldLanes reduces the lanes of v to its lowest by op; v is lost.
func (t target) foldLanes(op func(...Op), v reg.VecVirtual) {
	if t.wide {
		h := YMM()
		VEXTRACTF64X4(U8(1), v, h)
		op(h, v.AsY(), v.AsY())
	}
	x := XMM()
	VEXTRACTF128(U8(1), v.AsY(), x)
	op(x, v.AsX(), v.AsX())
	VPSHUFD(U8(0x0e), v.AsX(), x)
	op(x, v.AsX(), v.AsX())
	VPSHUFD(U8(0x01), v.AsX(), x)
	op(x, v.AsX(), v.AsX())
}

// storeFloat returns the lowest lane of v. build.Store would use an SSE
// instruction, which is slow while the vector registers' upper halves are used.
func storeFloat(v reg.VecVirtual, to gotypes.Component) {
	p, err := to.Resolve()
	if err != nil {
		log.Fatal(err)
	}
	VMOVSS(v.AsX(), p.Addr)
}

// end returns from a function, without the penalty for half-used registers.
func end() {
	VZEROUPPER()
	RET()
}

// hasF16C emits the question that golang.org/x/sys/cpu does not answer.
func hasF16C() {
	TEXT("hasF16C", attr.NOSPLIT, "func() bool")
	Doc("hasF16C tells whether the CPU converts 16-bit floats.")
	MOVL(U32(1), reg.EAX)
	XORL(reg.ECX, reg.ECX)
	CPUID()
	SHRL(U8(29), reg.ECX)
	ANDL(U8(1), reg.ECX)
	Store(reg.CL, ReturnIndex(0))
	RET()
}
