package cpu

import (
	"math"
	"math/bits"

	"github.com/tokendraw/tokendraw"
	"github.com/tokendraw/tokendraw/cpu/internal/vec"
	"github.com/tokendraw/tokendraw/internal/philox"
)

// draw draws one row.
func (w *worker) draw(l *tokendraw.Logits, row int, req *tokendraw.Request, step uint64) tokendraw.Draw {
	status := w.load(l, row, req)
	if status == tokendraw.NoCandidate {
		return tokendraw.Draw{Token: -1, Status: status}
	}
	if req.Greedy() {
		return tokendraw.Draw{Token: w.best(), Status: status, Kept: 1}
	}
	w.c = vec.Scale(req.Temperature)
	f := filters{Params: &req.Params, u: random(req, step)}
	var d drawn
	if w.lo == w.m {
		d = w.level(&f)
	} else if head, ok := w.head(&f); ok {
		d = head
	} else {
		d = w.wide(&f)
	}
	return tokendraw.Draw{
		Token: int32(d.id), Status: status, Kept: int32(d.kept),
		LogProb: float32(math.Log(float64(d.weight) / float64(d.mass))),
	}
}

// drawn is a token with what its result needs.
type drawn struct {
	id     uint32
	weight uint64
	kept   int    // n
	mass   uint64 // S_n
}

// filters are a row's parameters with what is known of its masses.
type filters struct {
	*tokendraw.Params
	u     uint64 // the random number
	total uint64 // mass of all candidates, where needsTotal says so
}

func random(req *tokendraw.Request, step uint64) uint64 {
	if req.U != nil {
		return *req.U
	}
	return philox.Draw(req.Seed, step)
}

// needsTotal reports whether a draw needs the mass of the whole row: as the
// base of top_p, or because no filter keeps less.
func needsTotal(p *tokendraw.Params) bool {
	if p.TopPOn() {
		return p.FilterOrder == tokendraw.Joint || p.TopK <= 0
	}
	return p.TopK <= 0 && p.MinP == 0
}

// target returns the mass that top_p asks for, a share of base.
func target(p float32, base uint64) uint64 {
	share := math.Ldexp(float64(p), 64) // exact; below 2^64 as p is below 1
	hi, _ := bits.Mul64(base, uint64(share))
	return hi
}

// best returns the first token with the highest score.
func (w *worker) best() int32 {
	for block := 0; ; block++ {
		for _, z := range w.groups[block*vec.Lanes : (block+1)*vec.Lanes] {
			if z != w.m {
				continue
			}
			from := block * vec.Block
			for i, z := range w.part(&w.row, from, min(from+vec.Block, w.row.n)) {
				if z == w.m {
					return int32(from + i)
				}
			}
		}
	}
}

// head draws from the first tokens of the order where these decide: it finds a
// score that enough groups reach, gathers the tokens that reach it, which are
// a prefix of the order, and sorts them. It reports false where they are too
// many or their mass too little.
func (w *worker) head(f *filters) (drawn, bool) {
	if f.TopK > headMax && f.MinP == 0 {
		return drawn{}, false // nothing bounds the tokens to so few
	}
	lo, bounded := w.bound(f)
	if !bounded && w.looksFlat(f) {
		return drawn{}, false
	}
	if needsTotal(f.Params) {
		w.run(massPass, w.blocks(), weighCost)
		f.total = w.pass.total
	}
	if bounded {
		n, ok := w.gather(lo)
		if !ok {
			n, ok = w.gatherFirst(f, lo)
		}
		if !ok {
			return drawn{}, false
		}
		return w.finish(f, n, true)
	}
	// A mass that is to be reached bounds the tokens only by trying: first a
	// few, then many.
	for _, k := range [...]int{128, headMax / 8, headMax / 2} {
		if n, ok := w.gather(w.threshold(k)); ok {
			if d, ok := w.finish(f, n, false); ok {
				return d, true
			}
		}
	}
	return drawn{}, false
}

// looksFlat guesses from a sixteenth of the row whether its head is too light
// to decide, so that trying it would be in vain. A wrong guess costs time only.
func (w *worker) looksFlat(f *filters) bool {
	if w.row.n < 16*tile {
		return false
	}
	share := float64(f.u) / (1 << 64)
	if f.TopPOn() {
		share = float64(f.TopP)
	}
	sample := uint64(0)
	for at := 0; at+vec.Block <= w.row.n; at += 16 * vec.Block {
		sample += w.vec.Mass(w.part(&w.row, at, at+vec.Block), w.m, w.c)
	}
	best := uint64(0)
	for i := 0; i < len(w.coarse); i += tile {
		best += w.vec.Mass(w.coarse[i:min(i+tile, len(w.coarse))], w.m, w.c)
	}
	return share*16*float64(sample) > 8*float64(best)
}

// bound returns a score that every token reaches which top_k and min_p leave.
// It reports false if neither acts: each alone bounds the tokens that matter.
func (w *worker) bound(f *filters) (lo float32, ok bool) {
	if f.TopK <= 0 && f.MinP == 0 {
		return 0, false
	}
	lo = -math.MaxFloat32
	if f.TopK > 0 && f.TopK <= headMax {
		lo = w.threshold(f.TopK)
	}
	if f.MinP == 0 {
		return lo, true
	}
	// Weights next to min_p need not fall with the score, to the last bit, so
	// all tokens there are to be counted, or none.
	below, above := minPScores(w.m, w.c, f.MinP)
	switch {
	case lo > above:
	case f.TopK > 0 && f.TopPOn() && f.FilterOrder == tokendraw.TopKFirst:
		lo = min(lo, below) // the base of top_p is the mass of all that top_k leaves
	default:
		lo = below
	}
	return lo, true
}

// level draws from a row of equal scores, where all follows by division.
func (w *worker) level(f *filters) drawn {
	const one = 1 << 36 // every token's weight
	kept := f.KLimit(w.row.n)
	if f.TopPOn() {
		base := uint64(w.row.n) * one
		if f.FilterOrder == tokendraw.TopKFirst {
			base = uint64(kept) * one
		}
		kept = min(kept, int((target(f.TopP, base)+one-1)/one))
	}
	kept = max(kept, 1)
	r, _ := bits.Mul64(f.u, uint64(kept)*one)
	return drawn{id: uint32(r / one), weight: one, kept: kept, mass: uint64(kept) * one}
}

// blocks returns the number of the row's blocks, the shorter last one included.
func (w *worker) blocks() int { return (w.row.n + vec.Block - 1) / vec.Block }

// threshold returns a score above -Inf that at least k tokens reach and, on
// most rows, not many more, or the lowest finite score where that many groups
// have none. The k-th highest of the maxima of disjoint groups is such a score.
func (w *worker) threshold(k int) float32 {
	// The coarse groups are fewer, hence faster to search, but the bound is
	// close only if k is a small part of their number.
	groups := w.coarse
	if k > len(groups)/4 {
		groups = w.groups
	}
	return kthReached(w.vec, groups, k, w.lo, w.m)
}

// kthReached returns a score above -Inf that at least k of x reach, or the
// lowest finite float32 if fewer are above -Inf. It is at most the k-th highest
// of x and as a rule close to it. No element lies outside [lo, hi].
func kthReached(v *vec.Funcs, x []float32, k int, lo, hi float32) float32 {
	lo = max(lo, -math.MaxFloat32)
	if v.CountGE(x, lo) < k {
		return -math.MaxFloat32
	}
	// At least k reach lo; fewer than k reach anything above hi, but perhaps hi.
	if v.CountGE(x, hi) >= k {
		return hi
	}
	enough := k + k/4
	for i := 0; ; i++ {
		// Halve the interval of values, which is quick on real rows, and after
		// some rounds that of floats, which always ends.
		mid := lo + (hi-lo)/2
		if i >= 16 || !(mid > lo && mid < hi) {
			a, b := int64(vec.Key(lo)), int64(vec.Key(hi))
			if b-a <= 1 {
				return lo
			}
			k := a + (b-a)/2
			// The float of key -1 is -0, which no comparison tells from +0.
			if k == -1 {
				k = 0
			}
			if k == b {
				return lo
			}
			mid = vec.FromKey(int32(k))
		}
		n := v.CountGE(x, mid)
		switch {
		case n < k:
			hi = mid
		case n <= enough:
			return mid
		default:
			lo = mid
		}
	}
}

// minPScores returns a score below which no weight reaches y, in (0, 1], and
// one from which all do. Between them lies little. The margin of 2^-8 octaves
// is far above the rounding of a weight and its exponent.
func minPScores(m, c, y float32) (below, above float32) {
	const margin = 1.0 / 256
	if y <= 0x1p-40 {
		return -math.MaxFloat32, -math.MaxFloat32 // no weight is less
	}
	at := math.Log2(float64(y))
	below = float32(float64(m) + (at-margin)/float64(c))
	above = float32(float64(m) + (at+margin)/float64(c))
	// A difference beyond float32 makes the least weight, however high the
	// temperature.
	above = max(above, float32(float64(m)-math.MaxFloat32))
	return max(math.Nextafter32(below, negInf), -math.MaxFloat32), min(math.Nextafter32(above, m), m)
}

// gather collects the tokens whose score reaches lo, in the order of ids, and
// reports false if they are more than headMax.
func (w *worker) gather(lo float32) (n int, ok bool) {
	n = w.collect(lo, w.m, headMax)
	return n, n <= headMax
}

// collect collects the tokens with lo <= score <= hi, in the order of ids, and
// returns their number. It may stop once they are more than most.
func (w *worker) collect(lo, hi float32, most int) (n int) {
	for blocks := w.hotBlocks(lo); len(blocks) > 0 && n <= most; {
		from, to, rest := w.stretch(blocks)
		n += w.vec.Gather(w.z[n:], w.id[n:], w.part(&w.row, from, to), uint32(from), lo, hi)
		blocks = rest
	}
	return n
}

// stretch returns the logits [from, to) of the first of the blocks and of those
// that follow it in the row, at most a tile, and the other blocks.
func (w *worker) stretch(blocks []uint32) (from, to int, rest []uint32) {
	n := 1
	for n < len(blocks) && n < tile/vec.Block && blocks[n] == blocks[0]+uint32(n) {
		n++
	}
	from = int(blocks[0]) * vec.Block
	return from, min(from+n*vec.Block, w.row.n), blocks[n:]
}

// gatherFirst collects the first top_k tokens of the order where too many reach
// lo, a score that at least top_k reach, because they are equal: all above lo
// and, of those at lo, as many as are missing, by id.
func (w *worker) gatherFirst(f *filters, lo float32) (n int, ok bool) {
	if f.TopK <= 0 || f.TopK > headMax || f.MinP > 0 || lo == -math.MaxFloat32 {
		return 0, false
	}
	if lo < w.m {
		n, ok = w.gather(math.Nextafter32(lo, w.m))
		if !ok || n >= f.TopK {
			return n, ok
		}
	}
	for _, block := range w.hotBlocks(lo) {
		from := int(block) * vec.Block
		x := w.part(&w.row, from, min(from+vec.Block, w.row.n))
		n += w.vec.Gather(w.z[n:], w.id[n:], x, uint32(from), lo, lo)
		if n >= f.TopK {
			return f.TopK, true
		}
	}
	return 0, false
}

// hotBlocks returns the blocks with a score of at least lo.
func (w *worker) hotBlocks(lo float32) []uint32 {
	h := &w.hot
	hits := w.vec.Gather(h.z, h.id, w.groups, 0, lo, w.m)
	// Groups of one block follow each other.
	n := 0
	for _, group := range h.id[:hits] {
		block := group / vec.Lanes
		h.id[n] = block
		if n == 0 || h.id[n-1] != block {
			n++
		}
	}
	return h.id[:n]
}

// finish draws from the n gathered tokens, a prefix of the order. bounded says
// that no filter keeps more than these; else it reports false if it takes more
// to decide.
func (w *worker) finish(f *filters, n int, bounded bool) (drawn, bool) {
	w.sort(n)
	limit := n
	if f.TopK > 0 {
		limit = min(limit, f.TopK)
	}
	if f.MinP > 0 {
		w.vec.Weigh(w.y, w.w, w.z[:n], w.m, w.c)
		limit = max(1, min(limit, w.vec.CountGE(w.y[:n], f.MinP)))
	} else {
		w.vec.Weigh(w.y, w.w, w.z[:limit], w.m, w.c)
	}

	kept, mass := limit, uint64(0)
	switch {
	case f.TopPOn():
		base := f.total
		if !needsTotal(f.Params) {
			// top_k_first: all of the first top_k are in the list, see head.
			for _, weight := range w.w[:min(n, f.TopK)] {
				base += weight
			}
		}
		goal, reached := target(f.TopP, base), false
		for i, weight := range w.w[:limit] {
			mass += weight
			if mass >= goal {
				kept, reached = i+1, true
				break
			}
		}
		if !reached && !bounded {
			return drawn{}, false
		}
	case bounded:
		for _, weight := range w.w[:limit] {
			mass += weight
		}
	default:
		// No filter: all candidates are kept, and the list is their head.
		kept, mass = w.candidates(), f.total
	}

	r, _ := bits.Mul64(f.u, mass)
	for i, weight := range w.w[:min(kept, limit)] {
		if r < weight {
			return drawn{id: w.id[i], weight: weight, kept: kept, mass: mass}, true
		}
		r -= weight
	}
	return drawn{}, false
}

// candidates returns the number of scores above -Inf.
func (w *worker) candidates() int {
	if w.lo > negInf {
		return w.row.n
	}
	w.run(countPass, w.blocks(), readCost)
	return w.pass.n
}
