package measure

import (
	"math/rand/v2"
	"time"

	"github.com/tokendraw/tokendraw"
	"github.com/tokendraw/tokendraw/bench/internal/floor"
	"github.com/tokendraw/tokendraw/bench/internal/peers"
	"github.com/tokendraw/tokendraw/bench/internal/record"
	"github.com/tokendraw/tokendraw/bench/internal/rows"
	"github.com/tokendraw/tokendraw/cpu"
)

// contestants returns all that have something to show on a case.
func contestants(c *Case, o *Options) ([]contestant, error) {
	var list []contestant
	stacked := c.Batch
	if c.Batch == 1 {
		stacked = o.Rows
	}
	for _, dtype := range c.DTypes {
		l := rows.Stack(c.Kind, c.Vocab, 0, stacked, dtype)
		first := len(list)
		add := func(sampler string, workers int, trash bool, draw func(row, calls int) (time.Duration, int)) {
			list = append(list, contestant{
				line: record.Line{
					Group: c.Group, Rows: string(c.Kind), Vocab: c.Vocab, Batch: c.Batch, DType: dtype.String(),
					Setting: string(c.Setting), Sampler: sampler, Workers: workers,
				},
				floor: first, trash: trash, draw: draw,
			})
		}
		add(record.Floor, 1, false, timed(readOnce(&l, c.Batch)))

		workers := []int{1}
		if c.Group == record.Batch {
			workers = []int{1, 2}
		}
		for _, variant := range o.Variants {
			for _, n := range workers {
				s, err := cpu.New(cpu.Config{Workers: n, Variant: variant})
				if err != nil {
					return nil, err
				}
				add(variant, n, false, timed(sampleCall(s, &l, c)))
			}
		}
		if c.Group != record.Single {
			continue // the others draw from one float32 row
		}
		for _, name := range peers.Names {
			req := c.Setting.Request(c.Vocab)
			p := peers.New(name, &req, c.Vocab)
			if p == nil {
				continue
			}
			u := rand.New(rand.NewPCG(7, 7))
			add(name, 1, name == "ollama", timed(func(row int) int {
				_, kept := p.Draw(l.F32[row*c.Vocab:][:c.Vocab], u.Float64())
				return kept
			}))
		}
		if o.Llama != nil && o.Llama.Can(c.Setting) {
			if err := o.Llama.Load(l.F32, stacked, c.Vocab); err != nil {
				return nil, err
			}
			req := c.Setting.Request(c.Vocab)
			if err := o.Llama.Chain(&req.Params); err != nil {
				return nil, err
			}
			add(record.LlamaCPP, 1, false, o.Llama.whole)
			add(record.LlamaCPPChain, 1, false, o.Llama.chain)
		}
	}
	return list, nil
}

// timed makes a draw of a function that draws once.
func timed(call func(row int) (kept int)) func(row, calls int) (time.Duration, int) {
	return func(row, calls int) (time.Duration, int) {
		kept := 0
		start := time.Now()
		for range calls {
			kept = call(row)
		}
		return time.Since(start), kept
	}
}

// view returns batch rows of l, from the row-th.
func view(l *tokendraw.Logits, row, batch int) tokendraw.Logits {
	v := tokendraw.Logits{Rows: batch, Vocab: l.Vocab}
	from, to := row*l.Vocab, (row+batch)*l.Vocab
	switch l.DType() {
	case tokendraw.Float32:
		v.F32 = l.F32[from:to]
	case tokendraw.Float16:
		v.F16 = l.F16[from:to]
	case tokendraw.BFloat16:
		v.BF16 = l.BF16[from:to]
	}
	return v
}

// from is the row of l that a contestant is to start at: a batch is whole.
func from(row, batch int) int {
	if batch > 1 {
		return 0
	}
	return row
}

func readOnce(l *tokendraw.Logits, batch int) func(row int) int {
	short := make([]int16, 0, len(l.F16)+len(l.BF16))
	for _, u := range l.F16 {
		short = append(short, int16(u))
	}
	for _, u := range l.BF16 {
		short = append(short, int16(u))
	}
	return func(row int) int {
		row = from(row, batch)
		for i := row; i < row+batch; i++ {
			if l.F32 != nil {
				floor.Read(l.F32[i*l.Vocab:][:l.Vocab])
			} else {
				floor.Read16(short[i*l.Vocab:][:l.Vocab])
			}
		}
		return 0
	}
}

// sampleCall returns a function that draws once from every row of a batch.
// Each call takes the next step, so that it needs other random numbers.
func sampleCall(s tokendraw.Sampler, l *tokendraw.Logits, c *Case) func(row int) int {
	b := tokendraw.Batch{Requests: requests(c)}
	draws := make([]tokendraw.Draw, c.Batch)
	return func(row int) int {
		b.Logits = view(l, from(row, c.Batch), c.Batch)
		for i := range b.Requests {
			b.Requests[i].Step++
		}
		if err := s.Sample(&b, draws); err != nil {
			panic(err)
		}
		return int(draws[0].Kept)
	}
}

// requests returns the requests of a batch, which differ in the seed.
func requests(c *Case) []tokendraw.Request {
	list := make([]tokendraw.Request, c.Batch)
	for i := range list {
		list[i] = c.Setting.Request(c.Vocab)
		list[i].Seed += uint64(i)
	}
	return list
}
