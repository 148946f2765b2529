package backendtest

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tokendraw/tokendraw"
	"github.com/tokendraw/tokendraw/oracle"
)

// invariance rearranges batches. The oracle's answer for a row is the right
// one wherever the row stands, so each arrangement is compared with it.
func (s *suite) invariance(t *testing.T) {
	names := []string{"tiny/3", "tiny/4", "tiny/11", "small/1", "small/5", "small/7", "small/10", "middle/1", "middle/7", "large/2"}
	if testing.Short() {
		names = names[:6]
	}
	if *only != "" {
		names = []string{*only}
	}
	var out results
	for i, name := range names {
		c, err := generated(name)
		if err != nil {
			t.Fatal(err)
		}
		if c.batch.Logits.Vocab > s.maxVocab {
			continue
		}
		x := s.sampler(t)
		r := rng{rand.New(rand.NewPCG(0x696e76, uint64(i)))}
		for _, a := range arrangements(r, c) {
			if !s.run(t, x, a, &out) {
				return
			}
		}
	}
	s.history(t)
}

// arrangements returns batches made of a case's rows.
func arrangements(r rng, c *Case) (list []*Case) {
	b := &c.batch
	rows, vocab := b.Logits.Rows, b.Logits.Vocab
	add := func(what string, order []int, stride int) {
		list = append(list, &Case{
			name: c.name + " " + what, batch: selection(b, order, stride), want: choose(c.want, order),
		})
	}
	all := make([]int, rows)
	for i := range all {
		all[i] = i
	}
	add("in order", all, 0)
	backwards := slices.Clone(all)
	slices.Reverse(backwards)
	add("backwards", backwards, 0)
	for range 3 {
		add("shuffled", r.Perm(rows), vocab+r.IntN(200))
	}
	for range 3 {
		add("in part", r.Perm(rows)[:1+r.IntN(rows)], 0)
	}
	for i := range rows {
		add("alone", []int{i}, 0)
	}
	// Every row several times, but for those whose number is their own.
	var often []int
	for i := range rows {
		often = append(often, slices.Repeat([]int{i}, 1+r.IntN(5))...)
	}
	r.Shuffle(len(often), func(i, j int) { often[i], often[j] = often[j], often[i] })
	add("repeated", often, 0)
	for _, pad := range []int{1, 2, 7, 31, 129} {
		add("padded", all, vocab+pad)
	}

	// Narrow types as float32.
	if b.Logits.F32 == nil {
		wide := selection(b, all, 0)
		wide.Logits.F32 = []float32{}
		for i := range rows {
			wide.Logits.F32 = b.Logits.AppendRow(wide.Logits.F32, i)
		}
		wide.Logits.F16, wide.Logits.BF16 = nil, nil
		list = append(list, &Case{name: c.name + " as float32", batch: wide, want: c.want})
	}
	// A view into a larger slice, not aligned to anything.
	for _, off := range []int{1, 3} {
		moved := selection(b, all, 0)
		l := &moved.Logits
		switch {
		case l.F32 != nil:
			l.F32 = append(slices.Repeat([]float32{nan}, off), l.F32...)[off:]
		case l.F16 != nil:
			l.F16 = append(slices.Repeat([]uint16{0x7e00}, off), l.F16...)[off:]
		default:
			l.BF16 = append(slices.Repeat([]uint16{0x7fc0}, off), l.BF16...)[off:]
		}
		list = append(list, &Case{name: c.name + " moved", batch: moved, want: c.want})
	}
	return list
}

// history draws from one sampler the same batches in many orders: nothing may
// be left of earlier rows, larger or smaller ones, or of refused batches.
func (s *suite) history(t *testing.T) {
	var list []*Case
	for _, class := range []string{"tiny", "small", "middle"} {
		for i := 20; i < 40; i++ {
			c, err := generated(caseName(class, i%classes[0].short))
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, c)
			if class == "middle" && i == 25 {
				break
			}
		}
	}
	x := s.sampler(t)
	r := rng{rand.New(rand.NewPCG(0x686973, 0))}
	var out results
	if testing.Short() {
		list = slices.DeleteFunc(list, func(c *Case) bool { return c.batch.Logits.Vocab > 4097 })
	}
	for range 3 {
		r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		for _, c := range list {
			bad := c.batch
			bad.Requests = append(slices.Clone(bad.Requests), tokendraw.Request{Params: tokendraw.Params{TopP: 7}})
			_ = x.Sample(&bad, make([]tokendraw.Draw, bad.Logits.Rows))
			if !s.run(t, x, c, &out) {
				return
			}
		}
	}
}

// requests gives requests several rows, no row, and rows in any place. Each
// row must be what it is alone at its own step.
func (s *suite) requests(t *testing.T) {
	x := s.sampler(t)
	var out results
	n := 60 / s.every
	if testing.Short() {
		n = 20 / s.every
	}
	for i := range n + 1 {
		r := rng{rand.New(rand.NewPCG(0x726571, uint64(i)))}
		rows, vocab := 1+r.IntN(40), pick(r, 1, 5, 33, 200)
		b := tokendraw.Batch{Logits: tokendraw.Logits{Rows: rows, Vocab: vocab, Stride: vocab + r.IntN(3)}}
		c := &Case{name: caseName("requests", i), kinds: fillLogits(r, &b.Logits, nil)}
		owners := 1 + r.IntN(6)
		for range owners {
			req := makeRequest(r, b.Logits.AppendRow(nil, r.IntN(rows)))
			b.Requests = append(b.Requests, req)
		}
		b.RowRequest = make([]int32, rows)
		for row := range b.RowRequest {
			b.RowRequest[row] = int32(r.IntN(owners))
		}
		// The oracle is asked row by row, and knows nothing of the map.
		var last = map[int32]uint64{}
		for row, owner := range b.RowRequest {
			step := b.Requests[owner].Step + last[owner]
			last[owner]++
			c.want = append(c.want, expected(oracle.Row(b.Logits.AppendRow(nil, row), &b.Requests[owner], step)))
		}
		c.batch = b
		if !s.run(t, x, c, &out) {
			return
		}
	}
}
