package vectors

import (
	"bytes"
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/tokendraw/tokendraw"
	"github.com/tokendraw/tokendraw/internal/reference"
	"github.com/tokendraw/tokendraw/oracle"
	"github.com/tokendraw/tokendraw/vectors/internal/generate"
	"github.com/tokendraw/tokendraw/vectors/internal/schema"
)

// The files are what the generator writes, and what is embedded.
func TestFresh(t *testing.T) {
	want, err := generate.Files()
	if err != nil {
		t.Fatal(err)
	}
	got, err := Files()
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != len(want) {
		t.Errorf("%d files, want %d", len(got), len(want))
	}
	for name, data := range want {
		if bytes.Equal(got[name], data) {
			continue
		}
		a, b := bytes.Split(got[name], []byte("\n")), bytes.Split(data, []byte("\n"))
		for i := range min(len(a), len(b)) {
			if !bytes.Equal(a[i], b[i]) {
				t.Errorf("%s, line %d differs: %.300s, want %.300s", name, i+1, a[i], b[i])
				break
			}
		}
		t.Errorf("%s is not what go run ./_gen writes (%d and %d lines)", name, len(a), len(b))
	}
}

func draws(t *testing.T) []Case {
	t.Helper()
	cases, err := Draws()
	if err != nil {
		t.Fatal(err)
	}
	return cases
}

// Results agree with the float64 softmax, where no filter's edge is too close.
func TestAgainstReference(t *testing.T) {
	rows, unsure, outside := 0, 0, 0
	for _, c := range draws(t) {
		if c.Vocab > 5003 {
			continue // the same kinds of rows, only longer
		}
		b, err := c.Batch()
		if err != nil {
			t.Fatal(err)
		}
		for i := range c.Rows() {
			z := b.Logits.AppendRow(nil, i)
			ref := reference.Of(z, b.Request(i))
			want := &c.Want[i]
			rows++
			switch {
			case ref.Candidates == 0 || want.Status == tokendraw.NoCandidate:
				if ref.Candidates != 0 || want.Status != tokendraw.NoCandidate {
					t.Errorf("%s: row %d: status %v with %d candidates", c.Name, i, want.Status, ref.Candidates)
				}
				continue
			case math.IsInf(ref.Rel, +1):
				outside++ // scores or temperatures where float32 saturates
				continue
			case ref.NaN != (want.Status == tokendraw.NaN) || ref.Candidates != want.Candidates:
				t.Errorf("%s: row %d: %v with %d candidates, want %v with %d", c.Name, i, want.Status, want.Candidates, ref.NaN, ref.Candidates)
			case ref.Unsure:
				unsure++
				continue
			case len(ref.Order) != int(want.Kept):
				t.Errorf("%s: row %d: kept %d, want %d", c.Name, i, want.Kept, len(ref.Order))
			}
			for _, x := range want.Tokens {
				p := ref.Prob[x.Token]
				if d := math.Abs(x.Prob - p); !(d <= p*ref.Rel+ref.Abs) {
					t.Errorf("%s: row %d: token %d has probability %v, want %v within %v", c.Name, i, x.Token, x.Prob, p, ref.Rel)
				}
			}
			if want.Greedy {
				continue
			}
			if p := ref.Prob[want.Token]; !(math.Abs(math.Exp(float64(want.LogProb))-p) <= p*(ref.Rel+1e-6)+ref.Abs) {
				t.Errorf("%s: row %d: logprob %v of probability %v", c.Name, i, want.LogProb, p)
			}
		}
	}
	// The cases seek the edges, so many lie on one.
	t.Logf("%d rows; %d with a filter's edge too close to call, %d beyond float32's range", rows, unsure, outside)
	if unsure > rows/6 || outside > rows/20 {
		t.Errorf("of %d rows %d and %d were not compared", rows, unsure, outside)
	}
}

// Every kind of fault that samplers are known for has cases.
func TestKinds(t *testing.T) {
	have := map[string]int{}
	for _, c := range draws(t) {
		if have[c.Kind]++; !strings.HasPrefix(c.Name, c.Kind+"/") || c.About == "" {
			t.Errorf("case %q of kind %q", c.Name, c.Kind)
		}
	}
	params, err := Params()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range params {
		have[p.Kind]++
	}
	for _, kind := range []string{
		"all-masked", "api-surprise", "batch-variance", "bias-range", "cumsum-precision", "determinism", "dtype-precision",
		"empty-batch", "large-b-v-overflow", "logprobs", "mask-alignment", "mirostat-typical-minp-xtc-dry", "mixture", "nan-inf",
		"order-semantics", "param-validation", "penalty-semantics", "seed-rng", "sizes", "temperature-edge", "ties", "topk-gt-v", "topp-edge",
	} {
		if have[kind] == 0 {
			t.Errorf("no case of kind %s", kind)
		}
		delete(have, kind)
	}
	for kind := range have {
		t.Errorf("kind %s is not on the list", kind)
	}
}

// The oracle passes through the public face, and a changed result does not.
func TestCheck(t *testing.T) {
	s := oracle.New()
	defer s.Close()
	for _, c := range draws(t) {
		if c.Vocab > 600 {
			continue // TestFresh made the results with the oracle
		}
		b, err := c.Batch()
		if err != nil {
			t.Fatal(err)
		}
		draws := make([]tokendraw.Draw, c.Rows())
		details := make([]tokendraw.Details, c.Rows())
		if err := errors.Join(s.Sample(b, draws), s.Explain(b, details), c.CheckDraws(draws), c.CheckDetails(details)); err != nil {
			t.Error(err)
		}
		for i := range draws {
			for what, change := range map[string]func(d *tokendraw.Draw){
				"token":   func(d *tokendraw.Draw) { d.Token++ },
				"status":  func(d *tokendraw.Draw) { d.Status ^= 1 },
				"kept":    func(d *tokendraw.Draw) { d.Kept++ },
				"logprob": func(d *tokendraw.Draw) { d.LogProb += 1e-4 },
				"nan":     func(d *tokendraw.Draw) { d.LogProb = float32(math.NaN()) },
			} {
				old := draws[i]
				if change(&draws[i]); c.CheckDraws(draws) == nil {
					t.Errorf("%s: row %d: another %s passes", c.Name, i, what)
				}
				draws[i] = old
			}
			if n := len(details[i].Tokens); n > 0 {
				x := &details[i].Tokens[n-1]
				if x.Weight++; c.CheckDetails(details) == nil {
					t.Errorf("%s: row %d: another weight passes", c.Name, i)
				}
				x.Weight--
			}
			if details[i].MinP++; c.CheckDetails(details) == nil {
				t.Errorf("%s: row %d: another n_m passes", c.Name, i)
			}
			details[i].MinP--
		}
		if len(draws) > 0 && (c.CheckDraws(draws[1:]) == nil || c.CheckDetails(details[1:]) == nil) {
			t.Errorf("%s: too few results pass", c.Name)
		}
	}
	if _, err := new(Case).Batch(); err == nil {
		t.Error("a case from nowhere gives a batch")
	}
}

// Parameters are read as the cases say.
func TestParams(t *testing.T) {
	cases, err := Params()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		requests, err := c.Requests, error(nil)
		if requests == nil {
			requests, err = tokendraw.ParseRequests([]byte(c.JSON), c.Rows)
		}
		if err == nil {
			b := tokendraw.Batch{
				Logits:   tokendraw.Logits{F32: make([]float32, c.Rows*c.Vocab), Rows: c.Rows, Vocab: c.Vocab},
				Requests: requests,
			}
			err = b.Check(c.Rows)
		}
		switch {
		case !c.Refused && err != nil:
			t.Errorf("%s: %s: %v", c.Name, c.JSON, err)
		case !c.Refused && len(requests) != len(c.Want):
			t.Errorf("%s: %s: %d requests, want %d", c.Name, c.JSON, len(requests), len(c.Want))
		case !c.Refused:
			for i := range requests {
				if got, want := plain(requests[i]), plain(c.Want[i]); !reflect.DeepEqual(got, want) {
					t.Errorf("%s: %s: row %d is %+v, want %+v", c.Name, c.JSON, i, got, want)
				}
			}
		case err == nil:
			t.Errorf("%s: %s is not refused (%s): %+v", c.Name, c.JSON, c.About, requests)
		default:
			var param *tokendraw.ParamError
			if !errors.As(err, &param) {
				if c.Field != "" {
					t.Errorf("%s: %s: %v does not name %s", c.Name, c.JSON, err, c.Field)
				}
			} else if c.Field != "" && param.Field != c.Field || c.Row >= 0 && param.Row != c.Row {
				t.Errorf("%s: %s: %v, want field %s and row %d", c.Name, c.JSON, err, c.Field, c.Row)
			}
		}
	}
}

// plain makes requests of one meaning equal.
func plain(r tokendraw.Request) tokendraw.Request {
	if len(r.PromptTokens) == 0 {
		r.PromptTokens = nil
	}
	if len(r.OutputTokens) == 0 {
		r.OutputTokens = nil
	}
	if len(r.LogitBias) == 0 {
		r.LogitBias = nil
	}
	return r
}

func TestSmallFiles(t *testing.T) {
	blocks, numbers, err := Philox()
	if err != nil {
		t.Fatal(err)
	}
	if len(blocks) != 3 || len(numbers) < 200 {
		t.Errorf("%d blocks and %d numbers", len(blocks), len(numbers))
	}
	for _, b := range blocks {
		if got := oracle.Philox(b.Key, b.Counter); got != b.Result {
			t.Errorf("Philox(%x, %x) = %x, want %x", b.Key, b.Counter, got, b.Result)
		}
	}
	for _, n := range numbers {
		if got := oracle.Random(n.Seed, n.Step); got != n.U {
			t.Errorf("Random(%x, %x) = %x, want %x", n.Seed, n.Step, got, n.U)
		}
	}
	weights, err := Weights()
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range weights {
		if y, i := oracle.Weight(w.Z, w.M, w.C); y != w.Y || i != w.W || oracle.Scale(w.Temperature) != w.C {
			t.Errorf("%+v: %v, %d", w, y, i)
		}
	}
	conversions, err := Conversions()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range conversions {
		// Independently of the tables: the value that the bits spell.
		var want float64
		exp, frac := int(c.From>>10&31), float64(c.From&0x3ff)/1024
		bias, top := 15, 31
		if c.DType == tokendraw.BFloat16 {
			exp, frac, bias, top = int(c.From>>7&255), float64(c.From&0x7f)/128, 127, 255
		}
		switch exp {
		case 0:
			want = math.Ldexp(frac, 1-bias)
		case top:
			want = math.Inf(1)
		default:
			want = math.Ldexp(1+frac, exp-bias)
		}
		if c.From>>15 == 1 {
			want = -want
		}
		if c.To != math.Float32bits(float32(want)) {
			t.Errorf("%v %#04x is %#08x, want %v", c.DType, c.From, c.To, want)
		}
	}
	if n := len(weights); n < 5000 || len(conversions) < 200 {
		t.Errorf("%d weights and %d conversions", n, len(conversions))
	}
}

// A damaged line is an error that says where.
func TestDamage(t *testing.T) {
	all, err := Files()
	if err != nil {
		t.Fatal(err)
	}
	line, _, _ := bytes.Cut(all["draws.jsonl"], []byte("\n"))
	read := func(data []byte) error {
		return eachLine("draws.jsonl", data, func(d *schema.Draw) error {
			for i := range d.Want {
				if _, _, err := d.Want[i].Expand(); err != nil {
					return err
				}
			}
			_, err := d.Batch()
			return err
		})
	}
	if err := read(line); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ old, new string }{
		{"{", "["}, {`"name"`, `"nome"`}, {`"float32"`, `"float64"`}, {`"7fc00000`, `"7fc0000g`}, {`"7fc00000`, `"7fc`}, {`"7fc00000`, `"7fc00001`},
		{`"vocab":5`, `"vocab":6`}, {`"vocab":5`, `"vocab":-1`}, {`"vocab":5`, `"vocab":5,"stride":3`}, {`"same":0`, `"same":7`}, {`"same":0`, `"same":-1`},
		{`"temperature":"3f800000"`, `"temperature":"3f8"`}, {`"u":"0`, `"u":"`}, {`"status":"nan"`, `"status":"NaN"`}, {`"weight":"1`, `"weight":"`},
		{`"total":"0`, `"total":"`}, {"}", "} {}"}, {`"same":0`, `"ramp":{"start":1,"step":1,"shift":200}`}, {`"same":0`, `"uniform":{"seed":0,"lo":1,"hi":0,"shift":0}`},
		{`"same":0`, `"bell":{"seed":0,"drop":99,"shift":0}`}, {`"same":0`, `"set":[]`}, {`"same":0`, `"same":0,"set":[{"first":0,"last":5,"bits":"00000000"}]`},
	} {
		bad := bytes.Replace(line, []byte(c.old), []byte(c.new), 1)
		if c.old == "}" {
			bad = append(slices.Clone(line), " {}"...)
		}
		if bytes.Equal(bad, line) {
			t.Errorf("no %s to replace", c.old)
			continue
		}
		if err := read(append(append(slices.Clone(line), '\n'), bad...)); err == nil || !strings.Contains(err.Error(), "draws.jsonl, line 2") {
			t.Errorf("%s for %s: error %v", c.new, c.old, err)
		}
	}
}
