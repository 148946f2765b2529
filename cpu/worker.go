package cpu

import (
	"math"

	"github.com/tokendraw/tokendraw"
	"github.com/tokendraw/tokendraw/cpu/internal/vec"
)

const (
	tile = 1024 // logits that are converted or weighed at a time, a multiple of vec.Block

	// headMax is the most tokens that are sorted to draw from them. More take
	// the wide path.
	headMax = 8192
)

var negInf = float32(math.Inf(-1))

// worker draws rows, one after another. It owns all the memory for that.
type worker struct {
	vec *vec.Funcs

	// team and mates are set in the first worker only: the others that help it
	// with a row when the batch has few.
	team  *team
	mates []*worker
	share func(i int) // w.shared, bound once so that no call allocates

	// The row at hand.
	row   source    // its logits, or its scores once those are not the logits
	score []float32 // [vocab] scores, where bias, masks or penalties act
	m     float32   // the highest score
	lo    float32   // the lowest score
	c     float32   // scale of the weights
	inf   bool      // the scores +Inf were written as 0 and the others as -Inf

	groups []float32 // maxima of the row's blocks, vec.Lanes of each
	coarse []float32 // maxima of the groups, folded like logits
	tail   [vec.Block]float32

	// The candidates under consideration: scores and ids. In between, score.go
	// keeps the counts of tokens in id.
	z  []float32
	id []uint32

	hot struct { // groups that reach a threshold
		z  []float32
		id []uint32
	}

	keys, spare []uint64 // candidates as sortable numbers
	count       [1 << 11]uint32

	floats []float32 // [tile] logits as float32
	digit  []uint32  // [tile] buckets, or places in a tile
	y      []float32 // [headMax] weights as float32
	w      []uint64  // [headMax] weights in units of 2^-36

	digits digits // wide.go: how the row's scores fall into hist
	hist   [buckets]bucket
	within [buckets]bucket // wide.go: a histogram of some of the tokens
	packed packed
	pass   pass // pass.go
}

func newWorker(v *vec.Funcs) *worker {
	return &worker{
		vec:    v,
		keys:   make([]uint64, headMax),
		spare:  make([]uint64, headMax),
		floats: make([]float32, tile),
		y:      make([]float32, headMax),
		w:      make([]uint64, headMax),
		digit:  make([]uint32, tile),
	}
}

// reserve makes sure that drawing from rows of vocab logits allocates nothing.
func (w *worker) reserve(vocab int) {
	groups := (vocab + vec.Block - 1) / vec.Block * vec.Lanes
	w.groups = grow(w.groups, groups)
	w.coarse = grow(w.coarse, (groups+vec.Block-1)/vec.Block*vec.Lanes)
	w.hot.z, w.hot.id = grow(w.hot.z, groups), grow(w.hot.id, groups)
	w.score = grow(w.score, vocab)
	w.z, w.id = grow(w.z, max(vocab, headMax+tile)), grow(w.id, max(vocab, headMax+tile))
}

// source is a row of logits in any of the three types.
type source struct {
	n   int
	f32 []float32
	u16 []uint16
	bf  bool // u16 holds bfloat16, not float16
}

func rowOf(l *tokendraw.Logits, i int) source {
	from := i * l.RowStride()
	to := from + l.Vocab
	switch l.DType() {
	case tokendraw.Float16:
		return source{n: l.Vocab, u16: l.F16[from:to]}
	case tokendraw.BFloat16:
		return source{n: l.Vocab, u16: l.BF16[from:to], bf: true}
	}
	return source{n: l.Vocab, f32: l.F32[from:to]}
}

// part returns the logits [from, to) as float32. It is valid until the next
// call; to-from is at most tile where the row is not float32 already.
func (w *worker) part(s *source, from, to int) []float32 {
	if s.f32 != nil {
		return s.f32[from:to]
	}
	w.convert(w.floats, s, from, to)
	return w.floats[:to-from]
}

// convert stores the logits [from, to) in dst as float32.
func (w *worker) convert(dst []float32, s *source, from, to int) {
	switch {
	case s.f32 != nil:
		copy(dst, s.f32[from:to])
	case s.bf:
		w.vec.ConvertBF16(dst, s.u16[from:to])
	default:
		w.vec.ConvertF16(dst, s.u16[from:to])
	}
}

// grow returns s with length n, keeping its memory where that is enough.
func grow[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

// fold computes the maxima of the row's groups, the highest and the lowest
// score. It reports whether the row has a NaN; then only that is valid.
func (w *worker) fold() (nan bool) {
	s := &w.row
	whole := s.n / vec.Block // blocks without the shorter one at the end
	all := w.blocks()
	w.groups = w.groups[:all*vec.Lanes]
	w.run(foldPass, whole, readCost)
	lo, nan := w.pass.lo, w.pass.nan

	if rest := s.n - whole*vec.Block; rest > 0 {
		w.convert(w.tail[:], s, whole*vec.Block, s.n)
		for _, z := range w.tail[:rest] {
			nan = nan || z != z
			lo = min(lo, z)
		}
		// The end is filled up with what is never drawn.
		for i := rest; i < vec.Block; i++ {
			w.tail[i] = negInf
		}
		w.vec.MaximaF32(w.groups[whole*vec.Lanes:], w.tail[:])
	}
	if nan {
		return true
	}
	w.lo = lo
	w.foldGroups()
	return false
}

// foldGroups computes the coarse maxima and the highest score of the row.
func (w *worker) foldGroups() {
	n := len(w.groups)
	whole := n / vec.Block
	w.vec.MaximaF32(w.coarse, w.groups[:whole*vec.Block])
	if rest := n - whole*vec.Block; rest > 0 {
		copy(w.tail[:], w.groups[whole*vec.Block:])
		for i := rest; i < vec.Block; i++ {
			w.tail[i] = negInf
		}
		w.vec.MaximaF32(w.coarse[whole*vec.Lanes:], w.tail[:])
	}
	m := negInf
	for _, z := range w.coarse {
		if z > m {
			m = z
		}
	}
	w.m = m + 0 // -0 becomes +0
}
