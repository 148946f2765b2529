package cpu

import (
	"math"

	"github.com/tokendraw/tokendraw/cpu/internal/vec"
)

// A pass goes over the blocks of a row. The first worker may share it with the
// others: each takes a range of blocks, and the results are added up. They are
// integers, minima or flags, so the split does not show.
type pass struct {
	kind   passKind
	blocks int

	lo    float32 // foldPass: the lowest score
	nan   bool    // foldPass: there is a NaN
	total uint64  // massPass: sum of the weights
	n     int     // countPass: scores that are not -Inf
}

type passKind uint8

const (
	foldPass passKind = iota
	massPass
	countPass
	histPass // fills worker.hist
)

// lead makes w the worker that shares its passes with mates, of which it is
// the first.
func (w *worker) lead(t *team, mates []*worker) {
	w.team, w.mates, w.share = t, mates, w.shared
}

// run makes one pass over the first blocks blocks of w's row, a logit of which
// costs that many nanoseconds. The results are in w.pass and w.hist.
func (w *worker) run(kind passKind, blocks int, cost float64) {
	w.pass = pass{kind: kind, blocks: blocks}
	if len(w.mates) < 2 || w.team.busy() || float64(blocks*vec.Block)*cost < splitFrom {
		w.do(w, 0, blocks)
		return
	}
	w.team.parts(len(w.mates), w.share)
	for _, mate := range w.mates[1:] {
		w.pass.lo = min(w.pass.lo, mate.pass.lo)
		w.pass.nan = w.pass.nan || mate.pass.nan
		w.pass.total += mate.pass.total
		w.pass.n += mate.pass.n
		if kind == histPass {
			for i := range w.hist {
				w.hist[i].n += mate.hist[i].n
				w.hist[i].mass += mate.hist[i].mass
			}
		}
	}
}

// shared does the i-th worker's part of w's pass.
func (w *worker) shared(i int) {
	mate, parts, blocks := w.mates[i], len(w.mates), w.pass.blocks
	if i > 0 {
		mate.pass = pass{}
	}
	mate.do(w, blocks*i/parts, blocks*(i+1)/parts)
}

// do makes the pass over the blocks [from, to) of another worker's row, with
// w's own memory.
func (w *worker) do(of *worker, from, to int) {
	switch of.pass.kind {
	case foldPass:
		w.foldRange(of, from, to)
	case massPass:
		w.massRange(of, from, to)
	case countPass:
		for at := from * vec.Block; at < min(to*vec.Block, of.row.n); at += tile {
			w.pass.n += w.vec.CountGE(w.part(&of.row, at, min(at+tile, to*vec.Block, of.row.n)), -math.MaxFloat32)
		}
	case histPass:
		w.histRange(of, from, to)
	}
}

// foldRange stores the maxima of whole blocks.
func (w *worker) foldRange(of *worker, from, to int) {
	if from == to {
		w.pass.lo = float32(math.Inf(1))
		return
	}
	dst := of.groups[from*vec.Lanes : to*vec.Lanes]
	s, from, to := &of.row, from*vec.Block, to*vec.Block
	switch {
	case s.f32 != nil:
		w.pass.lo, w.pass.nan = w.vec.MaximaF32(dst, s.f32[from:to])
	case s.bf:
		w.pass.lo, w.pass.nan = w.vec.MaximaBF16(dst, s.u16[from:to])
	default:
		w.pass.lo, w.pass.nan = w.vec.MaximaF16(dst, s.u16[from:to])
	}
}

// massRange adds up weights. Most tiles of a real row are so far below its
// maximum that a cheaper sum does, or none at all.
func (w *worker) massRange(of *worker, from, to int) {
	const blocks = tile / vec.Block
	light, zero := scoreAt(of.m, of.c, vec.LightBound), scoreAt(of.m, of.c, vec.ZeroBound)
	total := uint64(0)
	for from < to {
		next := min(from+blocks, to)
		high := negInf
		for _, z := range of.groups[from*vec.Lanes : next*vec.Lanes] {
			if z > high {
				high = z
			}
		}
		if high > zero {
			x := w.part(&of.row, from*vec.Block, min(next*vec.Block, of.row.n))
			if high > light {
				total += w.vec.Mass(x, of.m, of.c)
			} else {
				total += w.vec.MassLight(x, of.m, of.c)
			}
		}
		from = next
	}
	w.pass.total = total
}

// scoreAt returns a score whose exponent, and so that of all scores below it,
// is at most t. It is close to the highest such score, or -Inf.
func scoreAt(m, c, t float32) float32 {
	z := float32(float64(m) + float64(t)/float64(c))
	for range 8 {
		if vec.Exponent(z, m, c) <= t {
			return z
		}
		z = math.Nextafter32(z, negInf)
	}
	return negInf
}
