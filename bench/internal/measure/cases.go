package measure

import (
	"github.com/tokendraw/tokendraw"
	"github.com/tokendraw/tokendraw/bench/internal/record"
	"github.com/tokendraw/tokendraw/bench/internal/rows"
)

// Case is what some samplers are compared on.
type Case struct {
	Group   string
	Kind    rows.Kind
	Vocab   int
	Batch   int
	DTypes  []tokendraw.DType // side by side
	Setting rows.Setting
}

var float32Only = []tokendraw.DType{tokendraw.Float32}

// Cases returns all cases.
func Cases() []Case {
	const vocab = 128256
	var list []Case
	add := func(group string, vocab, batch int, dtypes []tokendraw.DType, kinds []rows.Kind, settings ...rows.Setting) {
		for _, kind := range kinds {
			for _, s := range settings {
				list = append(list, Case{group, kind, vocab, batch, dtypes, s})
			}
		}
	}
	common := []rows.Setting{rows.Greedy, rows.MinP, rows.TopKP, rows.Joint, rows.TopP, rows.Plain, rows.TopK1000}
	plateau := []rows.Setting{rows.Greedy, rows.MinP, rows.TopKP, rows.TopP, rows.Plain}
	real := []rows.Kind{rows.Captured}

	add(record.Single, vocab, 1, float32Only, []rows.Kind{rows.Captured, rows.LM, rows.Peaked}, common...)
	add(record.Single, vocab, 1, float32Only, real, rows.HalfK, rows.Adjusted)
	add(record.Single, vocab, 1, float32Only, []rows.Kind{rows.Flat, rows.Half, rows.Equal}, plateau...)
	for _, v := range []int{32000, 262144} {
		add(record.Single, v, 1, float32Only, []rows.Kind{rows.Captured, rows.LM}, common...)
		add(record.Single, v, 1, float32Only, []rows.Kind{rows.Flat}, rows.TopP)
	}

	three := []tokendraw.DType{tokendraw.Float32, tokendraw.Float16, tokendraw.BFloat16}
	add(record.DTypes, vocab, 1, three, real, common...)

	for _, batch := range []int{8, 64} {
		add(record.Batch, vocab, batch, float32Only, real, rows.Greedy, rows.TopKP, rows.TopP, rows.Plain)
		for _, v := range []int{32000, 262144} {
			add(record.Batch, v, batch, float32Only, real, rows.TopKP, rows.TopP)
		}
		add(record.Batch, vocab, batch, []tokendraw.DType{tokendraw.BFloat16}, real, rows.TopKP, rows.TopP)
	}
	return list
}
