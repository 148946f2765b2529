package peers

import (
	"math"
	"slices"

	"github.com/tokendraw/tokendraw"
)

// llamaOrder does the work of llama.cpp's chain top_k, top_p, min_p, temp, dist
// in its order, in Go of our own:
//
//   - the row is copied to an array of candidates of id, logit and probability;
//   - top_k: a heap for k up to 128, else 128 buckets of the logit, of which the
//     highest that hold k are sorted;
//   - top_p: a softmax at temperature 1 and its cumulative sums; candidates that
//     no top_k sorted are sorted as far as the first 256, and if these do not
//     reach p all of them;
//   - min_p: a threshold of the logit, without a sort;
//   - temp divides the logits, and dist takes the softmax again and draws.
//
// As there, top_p and min_p see the distribution at temperature 1.
type llamaOrder struct {
	params tokendraw.Params
	data   []candidate
	spare  []candidate
	bucket []uint8
}

type candidate struct {
	id int32
	z  float32
	p  float32
}

const (
	heapLimit = 128 // top_k above it uses buckets
	presorted = 256 // candidates that top_p sorts at first
	nBuckets  = 128
)

func newLlamaOrder(p tokendraw.Params, vocab int) *llamaOrder {
	return &llamaOrder{
		params: p, data: make([]candidate, vocab),
		spare: make([]candidate, vocab), bucket: make([]uint8, vocab),
	}
}

func (l *llamaOrder) Draw(logits []float32, u float64) (int32, int) {
	c := l.data[:len(logits)]
	for i, z := range logits {
		c[i] = candidate{id: int32(i), z: z}
	}
	if l.params.Greedy() {
		best := 0
		for i := range c {
			if c[i].z > c[best].z {
				best = i
			}
		}
		return c[best].id, 1
	}
	sorted := false
	if k := l.params.TopK; k > 0 {
		k = min(k, len(c))
		c, sorted = l.first(c, k), true
	}
	if l.params.TopPOn() {
		c = l.topP(c, sorted)
		sorted = true
	}
	if l.params.MinP > 0 {
		c = minP(c, l.params.MinP, sorted)
	}
	for i := range c {
		c[i].z /= l.params.Temperature
	}
	softmax(c, sorted)
	r, sum := float32(u), float32(0)
	for i := range c {
		sum += c[i].p
		if r < sum {
			return c[i].id, len(c)
		}
	}
	return c[len(c)-1].id, len(c)
}

// first returns the k highest candidates, in order. It may reorder c, and what
// it returns may share its memory.
func (l *llamaOrder) first(c []candidate, k int) []candidate {
	switch {
	case k == len(c):
		slices.SortFunc(c, falling)
	case k <= heapLimit:
		heapSelect(c, k)
	default:
		return l.bucketSelect(c, k)
	}
	return c[:k]
}

// heapSelect is a partial sort: a heap of the first k, through which the others
// pass.
func heapSelect(c []candidate, k int) {
	h := c[:k]
	down := func(i int) {
		x := h[i]
		for {
			child := 2*i + 1
			if child >= k {
				break
			}
			if child+1 < k && h[child+1].z < h[child].z {
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
	for i := k/2 - 1; i >= 0; i-- {
		down(i)
	}
	for i := k; i < len(c); i++ {
		if c[i].z > h[0].z {
			h[0], c[i] = c[i], h[0]
			down(0)
		}
	}
	slices.SortFunc(h, falling)
}

// bucketSelect distributes the candidates over buckets of the logit, from -10
// to 10, copies the buckets that hold the k highest and sorts each.
func (l *llamaOrder) bucketSelect(c []candidate, k int) []candidate {
	const low, scale = -10, nBuckets / 20.0
	var count [nBuckets]int
	for i := range c {
		b := int(scale * (c[i].z - low))
		b = max(0, min(nBuckets-1, b))
		l.bucket[i] = uint8(b)
		count[b]++
	}
	// The buckets that hold the k highest, from the top.
	var from [nBuckets]int
	lowest, n := nBuckets-1, 0
	for ; lowest >= 0; lowest-- {
		from[lowest] = n
		n += count[lowest]
		if n >= k {
			break
		}
	}
	next := from
	for i := range c {
		if b := l.bucket[i]; int(b) >= lowest {
			l.spare[next[b]] = c[i]
			next[b]++
		}
	}
	for b := nBuckets - 1; b > lowest; b-- {
		slices.SortFunc(l.spare[from[b]:from[b]+count[b]], falling)
	}
	rest := k - from[lowest]
	if last := l.spare[from[lowest]:n]; rest < len(last) {
		heapSelectOrSort(last, rest)
	} else {
		slices.SortFunc(last, falling)
	}
	return l.spare[:k]
}

// heapSelectOrSort sorts c as far as its first k; for many a full sort is
// faster.
func heapSelectOrSort(c []candidate, k int) {
	if k > len(c)/8 {
		slices.SortFunc(c, falling)
		return
	}
	heapSelect(c, k)
}

// topP keeps the shortest prefix that reaches p, sorted.
func (l *llamaOrder) topP(c []candidate, sorted bool) []candidate {
	softmax(c, sorted)
	if !sorted && len(c) > 4*presorted {
		if head, reached := reach(l.first(c, presorted), l.params.TopP); reached {
			return head
		}
	}
	if !sorted {
		slices.SortFunc(c, falling)
	}
	c, _ = reach(c, l.params.TopP)
	return c
}

// reach returns the shortest prefix that reaches the mass p, or all.
func reach(c []candidate, p float32) (prefix []candidate, reached bool) {
	sum := float32(0)
	for i := range c {
		sum += c[i].p
		if sum >= p {
			return c[:i+1], true
		}
	}
	return c, false
}

// minP drops the candidates whose logit is too far below the best.
func minP(c []candidate, p float32, sorted bool) []candidate {
	low := highest(c, sorted) + float32(math.Log(float64(p)))
	n := 0
	for i := range c {
		if c[i].z >= low {
			c[n] = c[i]
			n++
		}
	}
	return c[:n]
}

func softmax(c []candidate, sorted bool) {
	m, sum := highest(c, sorted), float32(0)
	for i := range c {
		c[i].p = float32(math.Exp(float64(c[i].z - m)))
		sum += c[i].p
	}
	for i := range c {
		c[i].p /= sum
	}
}

func highest(c []candidate, sorted bool) float32 {
	m := c[0].z
	if sorted {
		return m
	}
	for i := range c {
		m = max(m, c[i].z)
	}
	return m
}

func falling(a, b candidate) int {
	switch {
	case a.z > b.z:
		return -1
	case a.z < b.z:
		return 1
	}
	return 0
}
