package peers

import (
	"math"
	"slices"

	"github.com/tokendraw/tokendraw"
)

// sortAll is what people write: the row sorted by slices.SortFunc, a softmax in
// float64 and cumulative sums. It is better than most in that it keeps its
// memory, and takes exponentials of no more than the filters need.
type sortAll struct {
	params tokendraw.Params
	pairs  []pair
	p      []float64
}

func (s *sortAll) Draw(logits []float32, u float64) (int32, int) {
	if s.params.Greedy() {
		return argmax(logits), 1
	}
	for i, z := range logits {
		s.pairs[i] = pair{int32(i), z}
	}
	slices.SortFunc(s.pairs, descending)
	return pick(&s.params, s.pairs, s.p, 0, u)
}

// heapFirst finds the top k with a heap, in one look at the row, and sorts
// those.
type heapFirst struct {
	params tokendraw.Params
	heap   []pair // the lowest score is first
	p      []float64
}

func (h *heapFirst) Draw(logits []float32, u float64) (int32, int) {
	h.heap = h.heap[:0]
	k := cap(h.heap)
	for i, z := range logits {
		if len(h.heap) < k {
			h.heap = append(h.heap, pair{int32(i), z})
			if len(h.heap) == k {
				for i := k/2 - 1; i >= 0; i-- {
					siftDown(h.heap, i)
				}
			}
		} else if z > h.heap[0].z {
			h.heap[0] = pair{int32(i), z}
			siftDown(h.heap, 0)
		}
	}
	slices.SortFunc(h.heap, descending)

	// The base of a joint top_p is the mass of the whole row.
	total := 0.0
	if h.params.TopPOn() && h.params.FilterOrder == tokendraw.Joint {
		m, t := float64(h.heap[0].z), float64(h.params.Temperature)
		for _, z := range logits {
			total += math.Exp((float64(z) - m) / t)
		}
	}
	return pick(&h.params, h.heap, h.p, total, u)
}

// pick applies the filters to sorted candidates and draws one. base is the mass
// that top_p is a share of, in units of the first one's; 0 means that of the
// candidates.
func pick(params *tokendraw.Params, sorted []pair, p []float64, base, u float64) (int32, int) {
	k := params.KLimit(len(sorted))
	if params.FilterOrder == tokendraw.TopKFirst || !params.TopPOn() || base > 0 {
		sorted = sorted[:k] // what comes later does not matter
	}
	m, t := float64(sorted[0].z), float64(params.Temperature)
	p = p[:len(sorted)]
	sum := 0.0
	for i, c := range sorted {
		p[i] = math.Exp((float64(c.z) - m) / t)
		sum += p[i]
	}
	if base == 0 {
		base = sum
	}
	kept := k
	if params.TopPOn() {
		goal, mass := float64(params.TopP)*base, 0.0
		for i := range p[:k] {
			mass += p[i]
			if mass >= goal {
				kept = i + 1
				break
			}
		}
	}
	if params.MinP > 0 {
		for kept > 1 && p[kept-1] < float64(params.MinP) {
			kept--
		}
	}
	mass := 0.0
	for _, w := range p[:kept] {
		mass += w
	}
	r := u * mass
	for i, w := range p[:kept] {
		if r < w {
			return sorted[i].id, kept
		}
		r -= w
	}
	return sorted[kept-1].id, kept
}

func argmax(logits []float32) int32 {
	best, m := 0, logits[0]
	for i, z := range logits {
		if z > m {
			best, m = i, z
		}
	}
	return int32(best)
}

func descending(a, b pair) int {
	switch {
	case a.z > b.z:
		return -1
	case a.z < b.z:
		return 1
	}
	return int(a.id - b.id)
}

// siftDown restores the order of a heap whose lowest score is first, but for
// the element i.
func siftDown(h []pair, i int) {
	x := h[i]
	for {
		child := 2*i + 1
		if child >= len(h) {
			break
		}
		if child+1 < len(h) && h[child+1].z < h[child].z {
			child++
		}
		if x.z <= h[child].z {
			break
		}
		h[i] = h[child]
		i = child
	}
	h[i] = x
}
