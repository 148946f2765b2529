package reference

import (
	"math"
	"testing"

	"github.com/tokendraw/tokendraw"
)

// Rows whose distributions are known without a computer.
func TestOf(t *testing.T) {
	log := func(x float64) float32 { return float32(math.Log(x)) }
	inf := float32(math.Inf(+1))
	row := []float32{log(1), log(4), log(2), log(3)} // 0.1 0.4 0.2 0.3
	type params = tokendraw.Params
	for _, c := range []struct {
		name   string
		logits []float32
		req    tokendraw.Request
		want   []float64
	}{
		{"softmax", row, tokendraw.Request{Params: params{Temperature: 1}}, []float64{.1, .4, .2, .3}},
		{"temperature", row, tokendraw.Request{Params: params{Temperature: 0.5}}, []float64{1. / 30, 16. / 30, 4. / 30, 9. / 30}},
		{"greedy", row, tokendraw.Request{}, []float64{0, 1, 0, 0}},
		{"top_k", row, tokendraw.Request{Params: params{Temperature: 1, TopK: 2}}, []float64{0, 4. / 7, 0, 3. / 7}},
		{"top_p", row, tokendraw.Request{Params: params{Temperature: 1, TopP: 0.65}}, []float64{0, 4. / 7, 0, 3. / 7}},
		{"joint", row, tokendraw.Request{Params: params{Temperature: 1, TopK: 3, TopP: 0.75}}, []float64{0, 4. / 9, 2. / 9, 3. / 9}},
		{"top_k_first", row, tokendraw.Request{Params: params{Temperature: 1, TopK: 3, TopP: 0.75, FilterOrder: tokendraw.TopKFirst}}, []float64{0, 4. / 7, 0, 3. / 7}},
		{"min_p", row, tokendraw.Request{Params: params{Temperature: 1, MinP: 0.6}}, []float64{0, 4. / 7, 0, 3. / 7}},
		{"ties", []float32{1, 1, 1}, tokendraw.Request{Params: params{Temperature: 1, TopK: 2}}, []float64{.5, .5, 0}},
		{"infinities", []float32{inf, 1, inf, -inf}, tokendraw.Request{Params: params{Temperature: 1}}, []float64{.5, 0, .5, 0}},
		{"nothing", []float32{-inf, float32(math.NaN())}, tokendraw.Request{Params: params{Temperature: 1}}, []float64{0, 0}},
	} {
		d := Of(c.logits, &c.req)
		for i, p := range c.want {
			if math.Abs(d.Prob[i]-p) > 1e-6 {
				t.Errorf("%s: probability of %d is %v, want %v", c.name, i, d.Prob[i], p)
			}
		}
	}
}
