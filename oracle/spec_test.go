package oracle_test

import (
	"flag"
	"fmt"
	"math"
	"math/bits"
	"os"
	"strings"
	"testing"

	"github.com/tokendraw/tokendraw"
	"github.com/tokendraw/tokendraw/oracle"
)

var update = flag.Bool("update", false, "rewrite the worked example of SPEC.md")

const specFile = "../SPEC.md"

// example computes SPEC.md's section 13.
func example() string {
	logits := []float32{2, 1, 0.5, 3, -1, 2.5, 4, 2}
	req := tokendraw.Request{
		Params: tokendraw.Params{
			Temperature: 0.8, TopK: 5, TopP: 0.9, MinP: 0.1,
			RepetitionPenalty: 1.2, FrequencyPenalty: 0.25, PresencePenalty: 0.5,
		},
		Seed: 42, Step: 7,
		LogitBias:    []tokendraw.Bias{{Token: 2, Value: 1.5}},
		Bitmask:      []uint32{0xffffffbf},
		PromptTokens: []int32{3, 4}, OutputTokens: []int32{5, 5},
	}
	var b strings.Builder
	p := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	hex := math.Float32bits

	list := func(x any) string { return strings.ReplaceAll(fmt.Sprint(x), " ", ", ") }
	p("logits             %s", list(logits))
	p("temperature        %v (%08x)   top_k %d   top_p %v (%08x)   min_p %v (%08x)   filter_order %v", req.Temperature, hex(req.Temperature),
		req.TopK, req.TopP, hex(req.TopP), req.MinP, hex(req.MinP), req.FilterOrder)
	p("repetition_penalty %v (%08x)   frequency_penalty %v   presence_penalty %v", req.RepetitionPenalty, hex(req.RepetitionPenalty), req.FrequencyPenalty, req.PresencePenalty)
	p("logit_bias         {2: 1.5}   bitmask [%08x]   prompt_tokens %s   output_tokens %s   seed %d   step %d",
		req.Bitmask[0], list(req.PromptTokens), list(req.OutputTokens), req.Seed, req.Step)

	z, _ := oracle.Scores(logits, &req)
	p("\n1  id  logit  z         bits")
	for i := range z {
		p("   %-2d  %-5v  %-8v  %08x", i, logits[i], z[i], hex(z[i]))
	}

	order := oracle.Order(z)
	c := oracle.Scale(req.Temperature)
	m := z[order[0]]
	y, w := oracle.Weights(z, order, req.Temperature)
	p("\n3  m = %v (%08x), c = %v (%08x), candidates in the order of section 4:", m, hex(m), c, hex(c))
	p("   id  t           bits      n    f         P         y         w           S")
	sum := uint64(0)
	for i, id := range order {
		t := oracle.Exponent(z[id], m, c)
		n := float32(math.RoundToEven(float64(t)))
		f := t - n
		sum += w[i]
		p("   %-2d  %-10v  %08x  %-3v  %08x  %08x  %08x  %09x  %10x", id, t, hex(t), n, hex(f), hex(float32(math.Ldexp(float64(y[i]), -int(n)))), hex(y[i]), w[i], sum)
	}

	k := oracle.Kept(y, w, &req.Params)
	q := uint64(math.Ldexp(float64(req.TopP), 64))
	p("\n5  N = %d, n_k = %d, n_m = %d", len(order), k.TopK, k.MinP)
	p("   S_N = %x, Q = %016x, target = %x, n_p = %d", k.Total, q, k.Target, k.TopP)
	p("   n = %d", k.N)
	first := req.Params
	first.FilterOrder = tokendraw.TopKFirst
	k2 := oracle.Kept(y, w, &first)
	p("   (top_k_first instead: target = %x, n_p = %d, n = %d)", k2.Target, k2.TopP, k2.N)

	x := oracle.Philox([2]uint32{uint32(req.Seed), uint32(req.Seed >> 32)}, [4]uint32{uint32(req.Step), uint32(req.Step >> 32), 0, 0})
	p("\n7  philox(counter %08x 00000000 00000000 00000000, key %08x 00000000) = %08x", uint32(req.Step), uint32(req.Seed), x)
	u := oracle.Uniform(&req, req.Step)
	r, _ := bits.Mul64(u, k.Mass)
	p("   u = %016x", u)

	d := oracle.Row(logits, &req, req.Step)
	p("\n6  M = %x, r = %x", k.Mass, r)
	p("\n8  token %d, status %v, kept %d, logprob %.5f", d.Token, d.Status, d.Kept, d.LogProb)
	return b.String()
}

// block returns the text of SPEC.md around its example.
func block(t *testing.T) (before, text, after string) {
	data, err := os.ReadFile(specFile)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(data), "```example\n")
	text, after, ok2 := strings.Cut(rest, "```")
	if !ok || !ok2 {
		t.Fatal("SPEC.md has no example block")
	}
	return before + "```example\n", text, "```" + after
}

func TestSpecExample(t *testing.T) {
	before, text, after := block(t)
	want := example()
	if *update {
		if err := os.WriteFile(specFile, []byte(before+want+after), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	if text != want {
		t.Errorf("SPEC.md, section 13 says\n%s\nthe oracle\n%s", text, want)
	}
}

// The table of constants agrees with itself.
func TestSpecConstants(t *testing.T) {
	before, _, _ := block(t)
	found := 0
	for _, line := range strings.Split(before, "\n") {
		var name string
		var b uint32
		var num float64
		var shift int
		var value float64
		if n, _ := fmt.Sscanf(strings.ReplaceAll(line, "`", ""), "| %s | 0x%x | %f / 2^%d = %f |", &name, &b, &num, &shift, &value); n == 5 {
			found++
			x := float64(math.Float32frombits(b))
			if x != math.Ldexp(num, -shift) || x != value {
				t.Errorf("%s: bits %#x are %v, table says %v / 2^%d and %v", name, b, x, num, shift, value)
			}
		}
	}
	if found != 6 {
		t.Errorf("found %d constants, want 6", found)
	}
}
