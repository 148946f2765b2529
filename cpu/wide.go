package cpu

import (
	"math"
	"math/bits"

	"github.com/tokendraw/tokendraw"
	"github.com/tokendraw/tokendraw/cpu/internal/vec"
)

// The wide path serves rows whose answer lies deep in the order: flat nuclei,
// plateaus, a large top_k. It counts and weighs the candidates in one histogram
// over their scores' keys. Every question is then the same: at which place of
// the order does the count, or the mass, reach a goal? The histogram names the
// bucket; the bucket's tokens are gathered and, if still many, counted again
// within their own narrower range, at most four times on any input.

const buckets = 1024 // packed twice, 16 kB: with a tile's weights they stay in the first cache

// sortMost is the most tokens of a bucket that are sorted instead of counted
// again.
const sortMost = 1024

type bucket struct {
	mass uint64 // sum of the weights
	n    uint64 // number of tokens
}

// digits says how scores fall into buckets: a score's bucket is the distance
// of its key from that of top, shifted right.
type digits struct {
	top   float32
	shift uint32
}

// digitsFor returns the finest digits under which the keys from hi down to lo
// fit the buckets.
func digitsFor(lo, hi float32) digits {
	span := uint32(vec.Key(hi) - vec.Key(lo)) // wraps to the right number
	return digits{top: hi, shift: uint32(max(0, bits.Len32(span)-bits.Len32(buckets-1)))}
}

// span returns the lowest and the highest score that bucket b can hold. The
// last bucket also holds all that is lower.
func (d digits) span(b int) (lo, hi float32) {
	top := int64(vec.Key(d.top))
	highest := top - int64(b)<<d.shift
	lowest := highest - int64(1)<<d.shift + 1
	if least := int64(vec.Key(-math.MaxFloat32)); b == buckets-1 || lowest < least {
		lowest = least
	}
	// -0 has the key of +0, so the float of key -1, which is -0, stands for no
	// score, and compared as a float it would take the zeros in.
	if highest == -1 {
		highest = -2
	}
	return vec.FromKey(int32(lowest)), vec.FromKey(int32(highest))
}

// place is a place in the order.
type place struct {
	n    int    // how many tokens come up to it
	mass uint64 // S_n
	id   uint32 // the n-th token
	z    float32
}

// wide draws from any row.
func (w *worker) wide(f *filters) drawn {
	// Below the last score with a weight, buckets need no detail.
	floor := max(w.lo, scoreAt(w.m, w.c, vec.ZeroBound), -math.MaxFloat32)
	w.digits = digitsFor(min(floor, w.m), w.m)
	w.run(histPass, w.blocks(), digitCost)
	f.total = 0
	for i := range w.hist {
		f.total += w.hist[i].mass
	}

	all := w.candidates()
	first := f.KLimit(all)
	limit := first
	if f.MinP > 0 {
		limit = min(limit, w.countMinP(f.MinP))
	}
	end := place{mass: f.total, n: all}
	if f.TopPOn() {
		base := f.total
		if f.FilterOrder == tokendraw.TopKFirst && first < all {
			base = w.locate(goal{count: first}).mass
		}
		if mass := target(f.TopP, base); mass > 0 {
			end = w.locate(goal{mass: mass})
		} else {
			end.n = 0
		}
	}
	if limit = max(1, limit); end.n == 0 || limit < end.n {
		end = w.locate(goal{count: min(limit, max(1, end.n))})
	}
	r, _ := bits.Mul64(f.u, end.mass)
	hit := w.locate(goal{mass: r + 1})
	return drawn{id: hit.id, weight: vec.Units(vec.Weight(hit.z, w.m, w.c)), kept: end.n, mass: end.mass}
}

// histRange counts and weighs the tokens of the blocks [from, to).
func (w *worker) histRange(of *worker, from, to int) {
	clear(w.hist[:])
	last := min(to*vec.Block, of.row.n)
	for at := from * vec.Block; at < last; at += tile {
		w.histAdd(&w.hist, w.part(&of.row, at, min(at+tile, last)), of.digits, of.m, of.c)
	}
	w.histFlush(&w.hist)
}

// packed counts and weighs tokens until there are packedMost of them: a weight,
// at most 2^36, shifted by packedShift, plus 1 for the token, so that a token
// costs one addition to memory. Neighbours take turns, since on a plateau each
// addition waits for the one before to reach memory and come back.
type packed struct {
	sums [2][buckets]uint64
	n    int
}

const (
	packedShift = 14
	packedMost  = 8 * tile // half of it in one sum: below 2^(12+36+14)
)

// histAdd adds at most a tile of tokens to a histogram, which is complete after
// histFlush.
func (w *worker) histAdd(hist *[buckets]bucket, x []float32, d digits, m, c float32) {
	p := &w.packed
	if p.n+len(x) > packedMost {
		w.histFlush(hist)
	}
	p.n += len(x)
	w.vec.Weigh(w.y, w.w, x, m, c)
	w.vec.Digits(w.digit, x, d.top, d.shift, buckets-1)
	weights, digit := w.w[:len(x)], w.digit[:len(x)]
	for len(digit) >= 2 && len(weights) >= 2 {
		p.sums[0][digit[0]%buckets] += weights[0]<<packedShift + 1
		p.sums[1][digit[1]%buckets] += weights[1]<<packedShift + 1
		digit, weights = digit[2:], weights[2:]
	}
	for i, b := range digit {
		p.sums[0][b%buckets] += weights[i]<<packedShift + 1
	}
}

// histFlush moves what is packed to the histogram.
func (w *worker) histFlush(hist *[buckets]bucket) {
	const mask = 1<<packedShift - 1
	for i := range hist {
		a, b := w.packed.sums[0][i], w.packed.sums[1][i]
		hist[i].mass += a>>packedShift + b>>packedShift
		hist[i].n += a&mask + b&mask
	}
	w.packed = packed{}
}

// countMinP returns the number of tokens whose weight reaches y.
func (w *worker) countMinP(y float32) int {
	// Clearly above the threshold only the count matters, near it the weight.
	below, above := minPScores(w.m, w.c, y)
	n := 0
	for at := 0; at < w.row.n; at += tile {
		x := w.part(&w.row, at, min(at+tile, w.row.n))
		sure := w.vec.CountGE(x, above)
		n += sure
		if w.vec.CountGE(x, below) > sure {
			near := w.vec.Gather(w.z, w.id, x, 0, below, above)
			w.vec.Weigh(w.y, w.w, w.z[:near], w.m, w.c)
			for i, weight := range w.y[:near] {
				if weight >= y && w.z[i] < above {
					n++
				}
			}
		}
	}
	return n
}

// goal is a count or, if that is 0, a mass, both above 0 and within reach.
type goal struct {
	count int
	mass  uint64
}

// reached reports whether p is at the goal or behind it.
func (g goal) reached(p place) bool {
	if g.count > 0 {
		return p.n >= g.count
	}
	return p.mass >= g.mass
}

// beyond returns how many tokens of one weight it takes from before to the goal.
func (g goal) beyond(before place, weight uint64) int {
	if g.count > 0 {
		return g.count - before.n
	}
	return int((g.mass - before.mass + weight - 1) / weight)
}

// locate returns the first place of the order that reaches the goal. It uses
// the histogram of the whole row and leaves it as it was.
func (w *worker) locate(g goal) place {
	// The tokens of the bucket that reaches the goal, in the order of ids.
	before, b := g.bucket(&w.hist)
	lo, hi := w.digits.span(b)
	n := w.collect(lo, hi, w.row.n)
	for n > sortMost {
		if p, left, ok := w.aroundPlateau(g, &before, n); ok {
			if left == 0 {
				return p
			}
			n = left
			continue
		}
		n = w.narrow(g, &before, n, digitsFor(w.bounds(n)))
	}
	w.sort(n)
	w.vec.Weigh(w.y, w.w, w.z[:n], w.m, w.c)
	p := before
	for i, weight := range w.w[:n] {
		p.n++
		p.mass += weight
		p.id, p.z = w.id[i], w.z[i]
		if g.reached(p) {
			break
		}
	}
	return p
}

// bucket returns the bucket in which the goal is reached and the place before
// it.
func (g goal) bucket(hist *[buckets]bucket) (before place, b int) {
	for b := range buckets - 1 {
		p := place{n: before.n + int(hist[b].n), mass: before.mass + hist[b].mass}
		if g.reached(p) {
			return before, b
		}
		before = p
	}
	return before, buckets - 1
}

// narrow keeps, of the n gathered tokens, those of the bucket in which the goal
// is reached, adds what comes before them to before, and returns their number.
func (w *worker) narrow(g goal, before *place, n int, d digits) int {
	clear(w.within[:])
	for at := 0; at < n; at += tile {
		w.histAdd(&w.within, w.z[at:min(at+tile, n)], d, w.m, w.c)
	}
	w.histFlush(&w.within)
	rest := goal{count: g.count, mass: g.mass}
	if g.count > 0 {
		rest.count -= before.n
	} else {
		rest.mass -= before.mass
	}
	within, b := rest.bucket(&w.within)
	before.n += within.n
	before.mass += within.mass
	kept := 0
	for at := 0; at < n; at += tile {
		x := w.z[at:min(at+tile, n)]
		w.vec.Digits(w.digit, x, d.top, d.shift, buckets-1)
		for i, digit := range w.digit[:len(x)] {
			w.z[kept], w.id[kept] = x[i], w.id[at+i]
			if int(digit) == b {
				kept++
			}
		}
	}
	return kept
}

// aroundPlateau splits the n gathered tokens at a score that more than half of
// them have, if the one in the middle of the list has it, and reports whether.
// It returns the place of the goal if that is on the plateau, and else keeps the
// tokens on the goal's side of it and returns their number.
func (w *worker) aroundPlateau(g goal, before *place, n int) (p place, left int, ok bool) {
	z := w.z[n/2]
	above := math.Nextafter32(z, float32(math.Inf(1)))
	higher := w.vec.CountGE(w.z[:n], above)
	equal := w.vec.CountGE(w.z[:n], z) - higher
	if equal <= n/2 {
		return p, 0, false
	}
	top := place{n: before.n + higher, mass: before.mass}
	for at := 0; at < n && higher > 0; at += tile {
		k := w.vec.Gather(w.y, w.digit, w.z[at:min(at+tile, n)], 0, above, w.m)
		top.mass += w.vec.Mass(w.y[:k], w.m, w.c)
	}
	weight := vec.Units(vec.Weight(z, w.m, w.c))
	end := place{n: top.n + equal, mass: top.mass + uint64(equal)*weight}
	switch {
	case higher > 0 && g.reached(top):
		return p, w.keep(n, above, w.m), true
	case !g.reached(end):
		*before = end
		return p, w.keep(n, -math.MaxFloat32, math.Nextafter32(z, negInf)), true
	}
	more := g.beyond(top, weight)
	p = place{n: top.n + more, mass: top.mass + uint64(more)*weight, z: z}
	for at := 0; ; at += tile {
		k := w.vec.Gather(w.y, w.digit, w.z[at:min(at+tile, n)], uint32(at), z, z)
		if more <= k {
			p.id = w.id[w.digit[more-1]]
			return p, 0, true
		}
		more -= k
	}
}

// keep keeps, of the n gathered tokens, those with lo <= score <= hi, and returns
// their number.
func (w *worker) keep(n int, lo, hi float32) (left int) {
	for at := 0; at < n; at += tile {
		k := w.vec.Gather(w.y, w.digit, w.z[at:min(at+tile, n)], uint32(at), lo, hi)
		copy(w.z[left:], w.y[:k])
		for i, from := range w.digit[:k] {
			w.id[left+i] = w.id[from]
		}
		left += k
	}
	return left
}

// bounds returns the lowest and the highest score of the n gathered tokens, at
// least a block of them.
func (w *worker) bounds(n int) (lo, hi float32) {
	maxima := w.hot.z[:n/vec.Block*vec.Lanes]
	lo, _ = w.vec.MaximaF32(maxima, w.z[:n/vec.Block*vec.Block])
	hi = negInf
	for _, z := range maxima {
		hi = max(hi, z)
	}
	for _, z := range w.z[n/vec.Block*vec.Block : n] {
		lo, hi = min(lo, z), max(hi, z)
	}
	return lo, hi
}
