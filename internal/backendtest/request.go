package backendtest

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"

	"github.com/tokendraw/tokendraw"
	"github.com/tokendraw/tokendraw/oracle"
)

// makeRequest returns a random request that a row of these logits may have.
// Half of its lists are about the tokens that matter most.
func makeRequest(r rng, logits []float32) tokendraw.Request {
	vocab := len(logits)
	req := tokendraw.Request{Seed: r.Uint64(), Step: pick(r, 0, 1, r.Uint64(), math.MaxUint64)}

	req.Temperature = pick[float32](r, 1, 1, 0.8, 0.8, 0.3, 1.5, 0.05, 3, float32(math.Exp(r.NormFloat64())))
	if r.chance(4) {
		req.Temperature = pick[float32](r, 0, 1e-45, 1e-39, 1e-38, 1e-30, 1e-3, 30, 1e4, 1e30, 1e38, 1.8e38, 3e38, math.MaxFloat32)
	}
	if r.chance(2) {
		req.TopK = pick(r, -1, 1, 2, 3, 10, 40, 50, 1000, 1+r.IntN(vocab), 1+r.IntN(vocab), vocab/2, vocab-1, vocab, vocab+1, math.MaxInt)
		if r.chance(3) && vocab > 500 {
			// Where a backend may change its mind: group counts, powers of two.
			near := pick(r, vocab/128, vocab/64, vocab/16, vocab/8, 64, 128, 256, 512, 1024, 2048, 4096, 8192)
			req.TopK = near + r.IntN(5) - 2
		}
		req.TopK = max(req.TopK, -1)
	}
	if r.chance(2) {
		req.TopP = pick(r, 0.5, 0.9, 0.95, 0.95, 0.99, 0.999, 0.999999, 0.1, 1, math.Nextafter32(1, 0), math.SmallestNonzeroFloat32, 1e-30, 1-r.Float32())
	}
	if r.chance(3) {
		req.MinP = pick(r, 0.05, 0.1, 0.02, 0.5, 1, math.Nextafter32(1, 0), 0.9, 0.70710677, 1e-6, 1e-9, 1e-11,
			0x1p-37, 0x1p-40, 0x1.000002p-40, 9e-13, 1e-20, math.SmallestNonzeroFloat32, float32(math.Exp(-5*r.ExpFloat64())))
	}
	req.FilterOrder = tokendraw.FilterOrder(r.IntN(2))
	if r.chance(4) {
		deep(r, &req, logits)
	}

	top := bestIDs(logits)
	id := func() int32 {
		if r.chance(2) && len(top) > 0 {
			return top[r.IntN(len(top))]
		}
		return int32(r.IntN(vocab))
	}
	if r.chance(4) {
		penalties(r, &req, id)
	}
	if r.chance(5) {
		bias(r, &req, logits, id)
	}
	if r.chance(8) {
		req.AllowedTokens = []int32{}
		for range 1 + r.IntN(pick(r, 1, 3, 30, min(vocab, 5000))) {
			req.AllowedTokens = append(req.AllowedTokens, id())
		}
	}
	if r.chance(6) {
		bitmask(r, &req, vocab, id)
	}
	return req
}

// deep gives a request parameters that keep much of the row: a temperature
// as wide as its scores, and filters that cut far down or hardly at all.
func deep(r rng, req *tokendraw.Request, logits []float32) {
	lo, hi := float32(math.MaxFloat32), float32(-math.MaxFloat32)
	for _, x := range logits {
		if x >= -math.MaxFloat32 && x <= math.MaxFloat32 { // neither NaN nor infinite
			lo, hi = min(lo, x), max(hi, x)
		}
	}
	if lo < hi {
		// Not as float32, in which the difference may be infinite.
		spread := (float64(hi) - float64(lo)) * pick(r, 10, 1, 0.3, 0.1, 0.03)
		req.Temperature = float32(min(max(spread, 1e-45), math.MaxFloat32))
	}
	vocab := len(logits)
	req.TopK, req.TopP, req.MinP = 0, 0, 0
	if r.chance(2) {
		req.TopK = pick(r, vocab-1, vocab-2, vocab, vocab-vocab/8, vocab/2)
		req.TopK = max(req.TopK, -1)
	}
	if r.chance(2) {
		req.TopP = pick[float32](r, 0.5, 0.9, 0.99, 0.9999)
	}
	if r.chance(2) {
		req.MinP = pick[float32](r, 0.5, 0.1, 0.01, 1e-6, 1e-11)
	}
}

// invert gives a request the temperature at which scores are exponents, and
// filters that act near each other.
func invert(r rng, req *tokendraw.Request) {
	req.Temperature = math.Float32frombits(0x3fb8aa3b)
	req.TopK = pick(r, 0, 2, 3, 4, 1+r.IntN(20))
	req.TopP = pick[float32](r, 0, 0.9, 0.99, 0.999, 1)
	req.MinP = 0.8
}

// bestIDs returns the ids of some of the highest logits.
func bestIDs(logits []float32) []int32 {
	const n = 20
	var top []int32
	for i, x := range logits {
		if x != x || len(top) == n && !(x > logits[top[n-1]]) {
			continue
		}
		at := len(top)
		for at > 0 && x > logits[top[at-1]] {
			at--
		}
		top = slices.Insert(top, at, int32(i))
		top = top[:min(len(top), n)]
	}
	return top
}

func penalties(r rng, req *tokendraw.Request, id func() int32) {
	if r.chance(2) {
		req.RepetitionPenalty = pick[float32](r, 1.1, 1.3, 0.7, 2, 1, 1e30, 1e-30, 1e-45, 3e38)
	}
	if r.chance(2) {
		req.FrequencyPenalty = pick(r, 0.5, -0.25, 2, 3e38, -3e38, 1e-45, 1e-3, float32(r.NormFloat64()))
	}
	if r.chance(2) {
		req.PresencePenalty = pick(r, 0.5, -0.5, 2, 3e38, -3e38, 1e-45, float32(r.NormFloat64()))
	}
	n := pick(r, 1, 3, 30, 300)
	for range r.IntN(n + 1) {
		req.PromptTokens = append(req.PromptTokens, id())
	}
	for range r.IntN(n + 1) {
		req.OutputTokens = append(req.OutputTokens, id())
	}
	if r.chance(2) {
		for range r.IntN(n + 1) {
			req.Counts = append(req.Counts, tokendraw.TokenCount{Token: id(), Output: r.Int32N(4)})
		}
	}
	if r.chance(5) {
		// Counts that float32 has to round, and the most there can be.
		most := int32(math.MaxInt32) - int32(len(req.OutputTokens))
		for _, c := range req.Counts {
			most -= c.Output
		}
		req.Counts = append(req.Counts, tokendraw.TokenCount{Token: id(), Output: pick(r, 16777217, 33554435, most)})
	}
}

func bias(r rng, req *tokendraw.Request, logits []float32, id func() int32) {
	m := map[int32]float32{}
	switch {
	case len(logits) <= 2048 && r.chance(3):
		// All scores become one, or nearly.
		c := pick[float32](r, 0, 5, -100)
		for i, x := range logits {
			if d := c - x; d == d && d <= math.MaxFloat32 && d >= -math.MaxFloat32 {
				m[int32(i)] = d
			}
		}
	default:
		for range 1 + r.IntN(pick(r, 1, 10, 300)) {
			m[id()] = pick(r, 1, -1, 100, -100, negInf, 3e38, -math.MaxFloat32, 1e-45, 0, float32(r.NormFloat64()))
		}
	}
	req.LogitBias = tokendraw.SortedBias(m)
}

func bitmask(r rng, req *tokendraw.Request, vocab int, id func() int32) {
	words := (vocab + 31) / 32
	n := pick(r, words, words, words, words+1, words+9, r.IntN(words+1), 0)
	req.Bitmask = make([]uint32, n)
	switch r.IntN(4) {
	case 0:
		for i := range req.Bitmask {
			req.Bitmask[i] = r.Uint32()
		}
	case 1:
		for i := range req.Bitmask {
			req.Bitmask[i] = math.MaxUint32
		}
		for range 20 {
			if t := int(id()); t/32 < n {
				req.Bitmask[t/32] &^= 1 << (t % 32)
			}
		}
	case 2:
		for range 1 + r.IntN(100) {
			if t := int(id()); t/32 < n {
				req.Bitmask[t/32] |= 1 << (t % 32)
			}
		}
	case 3:
		// Only ids that do not exist.
		if n >= words && words > 0 && vocab%32 != 0 {
			req.Bitmask[words-1] = math.MaxUint32 << (vocab % 32)
		}
	}
}

// aim moves top_p, min_p and the random number of a request onto edges of this
// row: sums of weights, weights, borders between tokens. Without own the
// request keeps the numbers of its seed.
func aim(r rng, logits []float32, req *tokendraw.Request, own bool) {
	if r.chance(3) {
		return
	}
	z, _ := oracle.Scores(logits, req)
	order := oracle.Order(z)
	if len(order) == 0 || req.Greedy() {
		return
	}
	y, w := oracle.Weights(z, order, req.Temperature)
	sum := make([]uint64, len(w)+1)
	for i := range w {
		sum[i+1] = sum[i] + w[i]
	}
	n := len(order)

	if req.TopPOn() && r.chance(2) {
		base := sum[n]
		if req.FilterOrder == tokendraw.TopKFirst {
			base = sum[req.KLimit(n)]
		}
		at := pick(r, 1+r.IntN(n), 1+r.IntN(min(n, 40)), req.KLimit(n), min(n, max(1, 4094+r.IntN(6))))
		p := float32(float64(sum[at]) / float64(base))
		p = pick(r, p, up(p), down(p))
		if p > 0 && p < 1 {
			req.TopP = p
		}
	}
	if req.MinP != 0 && r.chance(2) {
		x := y[pick(r, r.IntN(n), r.IntN(min(n, 40)), min(n-1, 4094+r.IntN(6)))]
		req.MinP = min(1, pick(r, x, up(x), down(x)))
	}
	if req.MinP != 0 && r.chance(2) {
		// Between two weights that fall where the score rises.
		for j := range min(n, 5000) - 1 {
			if y[j] < y[j+1] && r.chance(2) {
				req.MinP = y[j+1]
				if req.TopK > 1 && r.chance(2) {
					req.TopK = max(2, j+1)
				}
				break
			}
		}
	}
	if !own || !r.chance(3) {
		return
	}
	u := pick(r, 0, math.MaxUint64, r.Uint64())
	if r.chance(2) {
		// The least u that falls behind a place, or the one before.
		k := oracle.Kept(y, w, &req.Params)
		at := pick(r, r.IntN(k.N), r.IntN(min(k.N, 40)))
		if s := sum[at]; s > 0 && s < k.Mass {
			q, rest := bits.Div64(s, 0, k.Mass)
			if rest > 0 {
				q++
			}
			u = q - uint64(r.IntN(2))
		}
	}
	req.U = &u
}

// describeRequest returns one line. Long lists are counted.
func describeRequest(req *tokendraw.Request) string {
	var b strings.Builder
	p := func(format string, args ...any) { fmt.Fprintf(&b, format, args...) }
	p("temperature %v (%#08x)", req.Temperature, math.Float32bits(req.Temperature))
	if req.TopK != 0 {
		p(", top_k %d", req.TopK)
	}
	if req.TopP != 0 {
		p(", top_p %v (%#08x)", req.TopP, math.Float32bits(req.TopP))
	}
	if req.MinP != 0 {
		p(", min_p %v (%#08x)", req.MinP, math.Float32bits(req.MinP))
	}
	p(", %v", req.FilterOrder)
	if req.RepetitionPenalty != 0 || req.FrequencyPenalty != 0 || req.PresencePenalty != 0 {
		p(", penalties %v %v %v", req.RepetitionPenalty, req.FrequencyPenalty, req.PresencePenalty)
	}
	if req.U != nil {
		p(", u %#x", *req.U)
	} else {
		p(", seed %#x, step %#x", req.Seed, req.Step)
	}
	list(&b, "bias", req.LogitBias)
	list(&b, "allowed", req.AllowedTokens)
	list(&b, "bitmask", req.Bitmask)
	list(&b, "prompt", req.PromptTokens)
	list(&b, "output", req.OutputTokens)
	list(&b, "counts", req.Counts)
	return b.String()
}

func list[T any](b *strings.Builder, name string, x []T) {
	switch {
	case x == nil:
	case len(x) <= 8:
		fmt.Fprintf(b, ", %s %v", name, x)
	default:
		fmt.Fprintf(b, ", %s of %d", name, len(x))
	}
}
