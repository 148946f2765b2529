package oracle_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/tokendraw/tokendraw"
	"github.com/tokendraw/tokendraw/internal/reference"
	"github.com/tokendraw/tokendraw/oracle"
)

var (
	inf = float32(math.Inf(+1))
	nan = float32(math.NaN())
)

// row draws with the number u.
func row(logits []float32, req tokendraw.Request, u uint64) tokendraw.Details {
	req.U = &u
	if err := req.Check(len(logits)); err != nil {
		panic(err)
	}
	return oracle.Row(logits, &req, 0)
}

func ids(d tokendraw.Details) []int32 {
	list := []int32{}
	for _, t := range d.Tokens {
		list = append(list, t.Token)
	}
	return list
}

// randomRow returns a row and a request that Check accepts, with many ties and
// now and then a hostile number.
func randomRow(rng *rand.Rand) ([]float32, tokendraw.Request) {
	vocab := 1 + rng.IntN(60)
	if rng.IntN(10) == 0 {
		vocab = 1 + rng.IntN(1000)
	}
	z := make([]float32, vocab)
	scale := math.Exp(rng.NormFloat64() * 1.5)
	grid := []float64{0, 1, 4, 64}[rng.IntN(4)]
	for i := range z {
		x := rng.NormFloat64() * scale
		if grid != 0 {
			x = math.Round(x*grid) / grid
		}
		z[i] = float32(x)
		if rng.IntN(200) == 0 {
			z[i] = []float32{-inf, nan, inf, 0, -3e38}[rng.IntN(5)]
		}
	}
	req := tokendraw.Request{Seed: rng.Uint64(), Step: rng.Uint64()}
	chance := func(n int) bool { return rng.IntN(n) == 0 }
	id := func() int32 { return int32(rng.IntN(vocab)) }

	req.Temperature = float32(math.Exp(rng.NormFloat64()))
	if chance(30) {
		req.Temperature = []float32{0, 1e-3, 1e6, 1e30}[rng.IntN(4)]
	}
	if chance(2) {
		req.TopK = rng.IntN(vocab+3) - 1
	}
	if chance(2) {
		req.TopP = 1 - rng.Float32()
	}
	if chance(3) {
		req.MinP = float32(math.Exp(-3 * rng.ExpFloat64()))
	}
	req.FilterOrder = tokendraw.FilterOrder(rng.IntN(2))
	if chance(3) {
		req.RepetitionPenalty = float32(math.Exp(rng.NormFloat64() / 2))
	}
	if chance(3) {
		req.FrequencyPenalty = rng.Float32()*4 - 2
	}
	if chance(3) {
		req.PresencePenalty = rng.Float32()*4 - 2
	}
	for range rng.IntN(6) {
		req.PromptTokens = append(req.PromptTokens, id())
		req.OutputTokens = append(req.OutputTokens, id(), id())
		req.Counts = append(req.Counts, tokendraw.TokenCount{Token: id(), Output: rng.Int32N(4)})
	}
	if chance(4) {
		bias := map[int32]float32{id(): -inf}
		for range 3 {
			bias[id()] = float32(rng.NormFloat64())
		}
		req.LogitBias = tokendraw.SortedBias(bias)
	}
	if chance(6) {
		for range 1 + rng.IntN(vocab) {
			req.AllowedTokens = append(req.AllowedTokens, id())
		}
	}
	if chance(6) {
		for range rng.IntN(vocab/32 + 2) {
			req.Bitmask = append(req.Bitmask, rng.Uint32())
		}
	}
	return z, req
}

// The oracle draws from the distribution of the textbook.
func TestAgainstReference(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	const rows = 20000
	unsure := 0
	worst := 0.0
	for range rows {
		z, req := randomRow(rng)
		if err := req.Check(len(z)); err != nil {
			t.Fatal(err)
		}
		want := reference.Of(z, &req)
		if want.Unsure {
			// Too close to call: compare without filters, and greedy not at all.
			unsure++
			if req.Greedy() {
				continue
			}
			req.TopK, req.TopP, req.MinP = 0, 0, 0
			if want = reference.Of(z, &req); want.Unsure {
				t.Fatalf("no filter, and unsure: %v %+v", z, req)
			}
		}
		got := oracle.Row(z, &req, 5)

		if want.Candidates == 0 {
			if got.Status != tokendraw.NoCandidate {
				t.Fatalf("status %v, want no_candidate: %v %+v", got.Status, z, req)
			}
			continue
		}
		if (got.Status == tokendraw.NaN) != want.NaN || got.Candidates != want.Candidates && !got.Greedy {
			t.Fatalf("status %v with %d candidates, want %v and %d: %v %+v", got.Status, got.Candidates, want.NaN, want.Candidates, z, req)
		}
		if int(got.Kept) != len(want.Order) || len(got.Tokens) != len(want.Order) {
			t.Fatalf("kept %d, want %d: %v %+v", got.Kept, len(want.Order), z, req)
		}
		drawn := false
		for _, x := range got.Tokens {
			p := want.Prob[x.Token]
			if d := math.Abs(x.Prob - p); !(d <= p*want.Rel+want.Abs) {
				t.Fatalf("token %d: probability %v, want %v within %v: %v %+v", x.Token, x.Prob, p, want.Rel, z, req)
			} else if p > 1e-6 {
				worst = max(worst, d/p)
			}
			drawn = drawn || x.Token == got.Token && x.Weight > 0
		}
		if !drawn {
			t.Fatalf("token %d is not among the kept ones: %v %+v", got.Token, z, req)
		}
	}
	t.Logf("%d rows; %d of them with a filter's edge too close to call; largest relative difference %.3g", rows, unsure, worst)
	if unsure > rows/50 {
		t.Errorf("%d of %d rows were not compared with their filters", unsure, rows)
	}
}

// Each case is a rule of SPEC.md that is easily got wrong.
func TestRules(t *testing.T) {
	type (
		req    = tokendraw.Request
		params = tokendraw.Params
	)
	one := params{Temperature: 1}
	for _, c := range []struct {
		name   string
		logits []float32
		req    req
		u      uint64
		status tokendraw.Status
		token  int32
		kept   []int32
	}{
		{"nan is never drawn", []float32{nan, 1, nan}, req{Params: one}, math.MaxUint64, tokendraw.NaN, 1, []int32{1}},
		{"only nan", []float32{nan, nan}, req{Params: one}, 0, tokendraw.NoCandidate, -1, []int32{}},
		{"only nan, greedy", []float32{nan, nan}, req{}, 0, tokendraw.NoCandidate, -1, []int32{}},
		{"a forbidden nan flags", []float32{nan, 1, 2}, req{Params: one, AllowedTokens: []int32{1}}, 0, tokendraw.NaN, 1, []int32{1}},
		{"a biased nan stays out", []float32{nan, 1}, req{LogitBias: []tokendraw.Bias{{Token: 0, Value: 100}}}, 0, tokendraw.NaN, 1, []int32{1}},
		{"+inf takes all", []float32{1, inf, 3, inf}, req{Params: one}, math.MaxUint64, tokendraw.OK, 3, []int32{1, 3}},
		{"+inf, greedy", []float32{1, inf, 3, inf}, req{}, math.MaxUint64, tokendraw.OK, 1, []int32{1}},
		{"+inf under top_p", []float32{1, inf, inf, inf}, req{Params: params{Temperature: 1, TopP: 0.5}}, math.MaxUint64, tokendraw.OK, 2, []int32{1, 2}},
		{"+inf under top_k and min_p", []float32{1, inf, inf, inf}, req{Params: params{Temperature: 9, TopK: 3, MinP: 1}}, math.MaxUint64, tokendraw.OK, 3, []int32{1, 2, 3}},
		{"+inf with bias -inf is forbidden", []float32{inf, 2}, req{LogitBias: []tokendraw.Bias{{Token: 0, Value: -inf}}}, 0, tokendraw.OK, 1, []int32{1}},
		{"+inf forbidden by the mask", []float32{inf, 2}, req{Params: one, Bitmask: []uint32{2}}, 0, tokendraw.OK, 1, []int32{1}},
		{"-inf is never drawn", []float32{-inf, -5, -inf}, req{Params: params{Temperature: 3e38}}, math.MaxUint64, tokendraw.OK, 1, []int32{1}},
		{"a row of -inf", []float32{-inf, -inf}, req{Params: one}, 0, tokendraw.NoCandidate, -1, []int32{}},
		{"an empty bitmask forbids all", []float32{1, 2}, req{Params: one, Bitmask: []uint32{}}, 0, tokendraw.NoCandidate, -1, []int32{}},
		{"bits past the vocabulary do not count", []float32{1, 2}, req{Params: one, Bitmask: []uint32{0xfffffffc, 7}}, 0, tokendraw.NoCandidate, -1, []int32{}},
		{"both masks must allow", []float32{1, 2, 3}, req{Params: one, Bitmask: []uint32{3}, AllowedTokens: []int32{2, 1}}, 0, tokendraw.OK, 1, []int32{1}},
		{"-0 is 0", []float32{float32(math.Copysign(0, -1)), 0}, req{}, 0, tokendraw.OK, 0, []int32{0}},
		{"-0 is 0, reversed", []float32{0, float32(math.Copysign(0, -1))}, req{Params: params{Temperature: 1, TopK: 1}}, 0, tokendraw.OK, 0, []int32{0}},

		{"temperature 1e-39 takes the best", []float32{1, 1.0000001, 1}, req{Params: params{Temperature: 1e-39}}, math.MaxUint64, tokendraw.OK, 1, []int32{1, 0, 2}},
		{"temperature 1e-39 shares among equals", []float32{2, 1, 2}, req{Params: params{Temperature: 1e-39}}, math.MaxUint64, tokendraw.OK, 2, []int32{0, 2, 1}},
		{"temperature 3e38 is flat", []float32{-100, 100}, req{Params: params{Temperature: 3e38, MinP: 1}}, 0, tokendraw.OK, 1, []int32{1, 0}},
		{"subnormal scores at a subnormal temperature", []float32{0, 1e-40}, req{Params: params{Temperature: 1e-39, MinP: 0.98}}, math.MaxUint64, tokendraw.OK, 1, []int32{1}},
		{"subnormal scores at temperature 1", []float32{0, 1e-45}, req{Params: params{Temperature: 1, MinP: 1}}, math.MaxUint64, tokendraw.OK, 0, []int32{1, 0}},
		{"a difference beyond float32", []float32{-3e38, 3e38}, req{Params: params{Temperature: 3e38, MinP: 1e-9}}, 0, tokendraw.OK, 1, []int32{1}},
		{"min_p below 2^-40 keeps all", []float32{-3e38, 1}, req{Params: params{Temperature: 1, MinP: 9e-13}}, 0, tokendraw.OK, 1, []int32{1, 0}},

		{"top_k cuts a tie", []float32{1, 1, 1, 1}, req{Params: params{Temperature: 1, TopK: 3}}, math.MaxUint64, tokendraw.OK, 2, []int32{0, 1, 2}},
		{"top_k above the vocabulary", []float32{1, 2}, req{Params: params{Temperature: 1, TopK: math.MaxInt}}, 0, tokendraw.OK, 1, []int32{1, 0}},
		{"top_k -1 is off", []float32{1, 2}, req{Params: params{Temperature: 1, TopK: -1}}, 0, tokendraw.OK, 1, []int32{1, 0}},
		{"top_p at a sum stops there", []float32{1, 1, 1, 1}, req{Params: params{Temperature: 1, TopP: 0.5}}, math.MaxUint64, tokendraw.OK, 1, []int32{0, 1}},
		{"top_p above a sum takes one more", []float32{1, 1, 1, 1}, req{Params: params{Temperature: 1, TopP: math.Nextafter32(0.5, 1)}}, math.MaxUint64, tokendraw.OK, 2, []int32{0, 1, 2}},
		{"the smallest top_p keeps one", []float32{1, 1}, req{Params: params{Temperature: 1, TopP: math.SmallestNonzeroFloat32}}, math.MaxUint64, tokendraw.OK, 0, []int32{0}},
		{"top_p 1 keeps weights of 0", []float32{0, -1000}, req{Params: params{Temperature: 1, TopP: 1}}, math.MaxUint64, tokendraw.OK, 0, []int32{0, 1}},
		{"top_p below 1 cuts weights of 0", []float32{0, -1000}, req{Params: params{Temperature: 1, TopP: math.Nextafter32(1, 0)}}, math.MaxUint64, tokendraw.OK, 0, []int32{0}},
		{"joint takes p of the whole", []float32{3, 2, 1, 0}, req{Params: params{Temperature: 100, TopK: 3, TopP: 0.5}}, 0, tokendraw.OK, 0, []int32{0, 1}},
		{"top_k_first takes p of the rest", []float32{3, 2, 1, 0}, req{Params: params{Temperature: 100, TopK: 2, TopP: 0.5, FilterOrder: tokendraw.TopKFirst}}, 0, tokendraw.OK, 0, []int32{0}},
		{"joint beyond top_k keeps top_k", []float32{3, 2, 1, 0}, req{Params: params{Temperature: 100, TopK: 2, TopP: 0.9}}, 0, tokendraw.OK, 0, []int32{0, 1}},
		{"min_p 1 keeps the best and its equals", []float32{2, 1, 2}, req{Params: params{Temperature: 1, MinP: 1}}, math.MaxUint64, tokendraw.OK, 2, []int32{0, 2}},
		{"min_p at a power of two", []float32{0, -1, -2, 0}, req{Params: params{Temperature: 1.442695, MinP: 0.25}}, 0, tokendraw.OK, 0, []int32{0, 3, 1, 2}},

		{"repetition divides and multiplies", []float32{2, -1, 0.9, -1.5}, req{Params: params{Temperature: 1, RepetitionPenalty: 2}, PromptTokens: []int32{0, 1, 1}}, 0, tokendraw.OK, 0, []int32{0, 2, 3, 1}},
		{"repetition overflows to +inf", []float32{1e38, 5}, req{Params: params{Temperature: 1, RepetitionPenalty: 1e-30}, PromptTokens: []int32{0}}, math.MaxUint64, tokendraw.OK, 0, []int32{0}},
		{"repetition overflows to -inf", []float32{-1e38, -2e38}, req{Params: params{Temperature: 1, RepetitionPenalty: 1e30}, PromptTokens: []int32{0}}, 0, tokendraw.OK, 1, []int32{1}},
		{"frequency overflows to -inf", []float32{5, -5}, req{Params: params{FrequencyPenalty: 3e38}, OutputTokens: []int32{0, 0}}, 0, tokendraw.OK, 1, []int32{1}},
		{"frequency overflows both ways: out", []float32{inf, -5}, req{Params: params{FrequencyPenalty: 3e38}, OutputTokens: []int32{0, 0}}, 0, tokendraw.OK, 1, []int32{1}},
		{"presence counts once", []float32{1, 0, -0.5}, req{Params: params{PresencePenalty: 1.25}, OutputTokens: []int32{0, 0, 0, 0}}, 0, tokendraw.OK, 1, []int32{1}},
		{"the prompt has no presence", []float32{1, 0}, req{Params: params{PresencePenalty: 9, FrequencyPenalty: 9}, PromptTokens: []int32{0}}, 0, tokendraw.OK, 0, []int32{0}},
		{"counts and lists add up", []float32{5, 2.5}, req{Params: params{FrequencyPenalty: 1}, OutputTokens: []int32{0}, Counts: []tokendraw.TokenCount{{Token: 0, Output: 1}, {Token: 0, Output: 1}}}, 0, tokendraw.OK, 1, []int32{1}},
		{"a count of 0 is a token of the prompt", []float32{3, 2}, req{Params: params{RepetitionPenalty: 2, FrequencyPenalty: 9}, Counts: []tokendraw.TokenCount{{Token: 0, Output: 0}}}, 0, tokendraw.OK, 1, []int32{1}},
		{"bias comes before the repetition penalty", []float32{1, 0}, req{Params: params{RepetitionPenalty: 4}, PromptTokens: []int32{0}, LogitBias: []tokendraw.Bias{{Token: 0, Value: -2}, {Token: 1, Value: -3}}}, 0, tokendraw.OK, 1, []int32{1}},
		{"a negative penalty rewards", []float32{0, 1}, req{Params: params{FrequencyPenalty: -0.75}, OutputTokens: []int32{0, 0}}, 0, tokendraw.OK, 0, []int32{0}},

		{"u = 0 is the first token", []float32{1, 2}, req{Params: one}, 0, tokendraw.OK, 1, []int32{1, 0}},
		{"u = 2^64-1 is the last token with weight", []float32{1, 2, -1000}, req{Params: one}, math.MaxUint64, tokendraw.OK, 0, []int32{1, 0, 2}},
		{"u = 1/2 of two equals is the second", []float32{1, 1}, req{Params: one}, 1 << 63, tokendraw.OK, 1, []int32{0, 1}},
		{"u below 1/2 of two equals is the first", []float32{1, 1}, req{Params: one}, 1<<63 - 1, tokendraw.OK, 0, []int32{0, 1}},
		{"one token", []float32{-7}, req{Params: one}, math.MaxUint64, tokendraw.OK, 0, []int32{0}},
		{"greedy by temperature, lowest id", []float32{1, 3, 3}, req{Params: params{TopP: 0.1, MinP: 1}}, math.MaxUint64, tokendraw.OK, 1, []int32{1}},
		{"greedy by top_k, lowest id", []float32{1, 3, 3}, req{Params: params{Temperature: 5, TopK: 1}}, math.MaxUint64, tokendraw.OK, 1, []int32{1}},
	} {
		d := row(c.logits, c.req, c.u)
		if d.Status != c.status || d.Token != c.token || !slices.Equal(ids(d), c.kept) || int(d.Kept) != len(c.kept) {
			t.Errorf("%s: token %d, status %v, kept %d %v; want %d, %v, %v", c.name, d.Token, d.Status, d.Kept, ids(d), c.token, c.status, c.kept)
		}
	}
}

// Details add up, for greedy rows and rows without a candidate too.
func TestDetails(t *testing.T) {
	d := row([]float32{1, 2, 2, -inf}, tokendraw.Request{}, 0)
	want := tokendraw.Details{
		Draw:   tokendraw.Draw{Token: 1, Kept: 1},
		Greedy: true, Candidates: 3, TopK: 3, MinP: 3, TopP: 3,
		Total: oracle.One, Mass: oracle.One,
		Tokens: []tokendraw.TokenProb{{Token: 1, Score: 2, Weight: oracle.One, Prob: 1}},
	}
	if !reflect.DeepEqual(d, want) {
		t.Errorf("greedy: %+v, want %+v", d, want)
	}
	if d := row([]float32{-inf, nan}, tokendraw.Request{}, 0); !reflect.DeepEqual(d, tokendraw.Details{
		Draw: tokendraw.Draw{Token: -1, Status: tokendraw.NoCandidate},
	}) {
		t.Errorf("no candidate: %+v", d)
	}

	rng := rand.New(rand.NewPCG(3, 1))
	for range 2000 {
		z, req := randomRow(rng)
		d := oracle.Row(z, &req, req.Step)
		if d.Status == tokendraw.NoCandidate {
			continue
		}
		var mass uint64
		prob := 0.0
		for i, x := range d.Tokens {
			mass += x.Weight
			prob += x.Prob
			if i > 0 {
				y := d.Tokens[i-1]
				if !(y.Score > x.Score || y.Score == x.Score && y.Token < x.Token) {
					t.Fatalf("tokens are out of order: %v", d.Tokens)
				}
			}
			if x.Token == d.Token {
				if got := math.Log(x.Prob); math.Abs(got-float64(d.LogProb)) > 1e-6*(1-got) {
					t.Fatalf("logprob %v of probability %v", d.LogProb, x.Prob)
				}
			}
		}
		if mass != d.Mass || d.Mass > d.Total || math.Abs(prob-1) > 1e-12 || d.Tokens[0].Weight != oracle.One {
			t.Fatalf("masses do not add up: %+v", d)
		}
		if n := max(1, min(d.TopK, d.MinP, d.TopP)); !d.Greedy && n != int(d.Kept) {
			t.Fatalf("kept %d of %+v", n, d)
		}
	}
}

// Every number of r's range is hit by as many u as any other, to within one.
func TestDrawIsEven(t *testing.T) {
	w := []uint64{3, 0, 2, 1, 0}
	var first [7]uint64 // least u that draws each place; 6 parts of 2^64
	for place := range w {
		lo, hi := uint64(0), uint64(math.MaxUint64)
		for lo < hi {
			mid := lo + (hi-lo)/2
			if oracle.Draw(w, mid) >= place {
				hi = mid
			} else {
				lo = mid + 1
			}
		}
		first[place] = lo
	}
	if oracle.Draw(w, math.MaxUint64) != 3 {
		t.Errorf("u = 2^64-1 draws %d", oracle.Draw(w, math.MaxUint64))
	}
	const sixth = math.MaxUint64/6 + 1
	for place, want := range []uint64{0, 3 * (sixth - 1), 3 * (sixth - 1), 5 * (sixth - 1)} {
		if d := int64(first[place] - want); d < 0 || d > 6 {
			t.Errorf("place %d begins at u = %d, want about %d", place, first[place], want)
		}
	}
}

// Philox4x32-10 on the known answers that its authors publish
// (kat_vectors of Random123).
func TestPhilox(t *testing.T) {
	const f = 0xffffffff
	for _, c := range []struct {
		ctr  [4]uint32
		key  [2]uint32
		want [4]uint32
	}{
		{[4]uint32{}, [2]uint32{}, [4]uint32{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
		{[4]uint32{f, f, f, f}, [2]uint32{f, f}, [4]uint32{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
		{
			[4]uint32{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, [2]uint32{0xa4093822, 0x299f31d0},
			[4]uint32{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1},
		},
	} {
		if got := oracle.Philox(c.key, c.ctr); got != c.want {
			t.Errorf("Philox(%x, %x) = %x, want %x", c.key, c.ctr, got, c.want)
		}
	}
	x := oracle.Philox([2]uint32{0x89abcdef, 0x01234567}, [4]uint32{0x76543210, 0xfedcba98, 0, 0})
	if got, want := oracle.Random(0x01234567_89abcdef, 0xfedcba98_76543210), uint64(x[1])<<32|uint64(x[0]); got != want {
		t.Errorf("Random = %#x, want %#x", got, want)
	}
}

// A batch that does not fit leaves the results alone; a closed sampler too.
func TestNothingWritten(t *testing.T) {
	s := oracle.New()
	b := tokendraw.Batch{
		Logits:   tokendraw.Logits{F32: []float32{1, 2, 3, 4}, Rows: 2, Vocab: 2},
		Requests: []tokendraw.Request{{}, {Params: tokendraw.Params{TopP: 1.5}}},
	}
	poison := tokendraw.Draw{Token: 77, Kept: 77}
	draws := []tokendraw.Draw{poison, poison, poison}
	details := []tokendraw.Details{{Draw: poison}, {Draw: poison}}

	var param *tokendraw.ParamError
	if err := s.Sample(&b, draws); !errors.As(err, &param) || param.Row != 1 || param.Field != "top_p" {
		t.Errorf("Sample: %v", err)
	}
	if err := s.Explain(&b, details); !errors.As(err, &param) || param.Row != 1 {
		t.Errorf("Explain: %v", err)
	}
	b.Requests[1].TopP = 0.5
	var shape *tokendraw.ShapeError
	if err := s.Sample(&b, draws[:1]); !errors.As(err, &shape) {
		t.Errorf("Sample into too few: %v", err)
	}
	if draws[0] != poison || draws[1] != poison || details[0].Draw != poison {
		t.Errorf("an error wrote %v %v", draws, details)
	}
	if err := s.Sample(&b, draws); err != nil || draws[0].Token != 1 || draws[1].Token != 1 || draws[2] != poison {
		t.Errorf("Sample: %v %v", draws, err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	draws[0] = poison
	if err := s.Sample(&b, draws); !errors.Is(err, tokendraw.ErrClosed) || draws[0] != poison {
		t.Errorf("Sample after Close: %v %v", draws, err)
	}
	if err := s.Explain(&b, details); !errors.Is(err, tokendraw.ErrClosed) {
		t.Errorf("Explain after Close: %v", err)
	}
}

// Rows of one request take its steps in row order, wherever they stand.
func TestRowMap(t *testing.T) {
	const vocab = 50
	z := make([]float32, vocab)
	var logits []float32
	for range 5 {
		logits = append(logits, z...)
		logits = append(logits, nan, nan) // between rows
	}
	b := tokendraw.Batch{
		Logits: tokendraw.Logits{F32: logits, Rows: 5, Vocab: vocab, Stride: vocab + 2},
		Requests: []tokendraw.Request{
			{Params: tokendraw.Params{Temperature: 1}, Seed: 8, Step: math.MaxUint64},
			{Params: tokendraw.Params{Temperature: 1}, Seed: 9, Step: 4},
		},
		RowRequest: []int32{1, 0, 1, 0, 0},
	}
	draws := make([]tokendraw.Draw, 5)
	if err := oracle.New().Sample(&b, draws); err != nil {
		t.Fatal(err)
	}
	for i, step := range []uint64{4, math.MaxUint64, 5, 0, 1} {
		if want := oracle.Row(z, b.Request(i), step).Draw; draws[i] != want || want.Status != tokendraw.OK {
			t.Errorf("row %d: %v, want %v", i, draws[i], want)
		}
	}
}

// No request that Check accepts makes the oracle panic.
func FuzzRow(f *testing.F) {
	f.Add([]byte{0, 0, 0x80, 0x7f, 1, 2, 3, 4}, float32(1), 3, float32(.5), float32(.1), float32(2), float32(1), float32(1), uint64(1))
	f.Add([]byte{0, 0, 0xc0, 0x7f}, float32(1e-39), -1, float32(1e-40), float32(0), float32(1e-40), float32(-3e38), float32(3e38), uint64(math.MaxUint64))
	f.Fuzz(func(t *testing.T, data []byte, temperature float32, topK int, topP, minP, rep, pres, freq float32, u uint64) {
		var z []float32
		for ; len(data) >= 4; data = data[4:] {
			z = append(z, math.Float32frombits(uint32(data[0])|uint32(data[1])<<8|uint32(data[2])<<16|uint32(data[3])<<24))
		}
		if len(z) == 0 {
			return
		}
		req := tokendraw.Request{
			Params: tokendraw.Params{
				Temperature: temperature, TopK: topK, TopP: topP, MinP: minP, FilterOrder: tokendraw.FilterOrder(u & 1),
				RepetitionPenalty: rep, PresencePenalty: pres, FrequencyPenalty: freq,
			},
			U:      &u,
			Counts: []tokendraw.TokenCount{{Token: 0, Output: int32(u >> 40)}},
		}
		if req.Check(len(z)) != nil {
			return
		}
		d := oracle.Row(z, &req, 0)
		if (d.Token < 0) != (d.Status == tokendraw.NoCandidate) || int(d.Token) >= len(z) || d.LogProb > 0 || d.LogProb != d.LogProb {
			t.Errorf("%+v", d)
		}
	})
}
