package rows

import (
	"math"
	"slices"
	"testing"

	"github.com/tokendraw/tokendraw"
	"github.com/tokendraw/tokendraw/cpu"
)

func TestRowIsAFunction(t *testing.T) {
	for _, kind := range Kinds {
		for _, vocab := range []int{100, 60000} {
			a, b := Row(kind, vocab, 3), Row(kind, vocab, 3)
			if len(a) != vocab || !slices.Equal(a, b) {
				t.Errorf("%s: two rows of one number differ", kind)
			}
			if kind != Equal && slices.Equal(a, Row(kind, vocab, 4)) {
				t.Errorf("%s: rows of two numbers are equal", kind)
			}
			for i, z := range a {
				if math.IsNaN(float64(z)) || math.IsInf(float64(z), 0) {
					t.Fatalf("%s: logit %d is %v", kind, i, z)
				}
			}
		}
	}
}

// The documentation of the kinds promises these.
func TestNucleus(t *testing.T) {
	s, err := cpu.New(cpu.Config{Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	kept := func(kind Kind, setting Setting) int32 {
		const vocab = 128256
		b := tokendraw.Batch{
			Logits:   Stack(kind, vocab, 0, 1, tokendraw.Float32),
			Requests: []tokendraw.Request{setting.Request(vocab)},
		}
		var d [1]tokendraw.Draw
		if err := s.Sample(&b, d[:]); err != nil || d[0].Status != tokendraw.OK {
			t.Fatal(err, d)
		}
		return d[0].Kept
	}
	for _, c := range []struct {
		kind     Kind
		setting  Setting
		from, to int32
	}{
		{Captured, TopP, 1, 3000},
		{LM, TopP, 50, 200},
		{Peaked, Plain, 128256, 128256},
		{Peaked, TopP, 1, 1},
		{Flat, TopP, 83000, 85000},
		{Half, MinP, 128256, 128256},
		{Equal, TopP, 121843, 121844},
		{Captured, HalfK, 64128, 64128},
		{Captured, Adjusted, 1, 40},
	} {
		if n := kept(c.kind, c.setting); n < c.from || n > c.to {
			t.Errorf("%s, %s: %d kept, want %d to %d", c.kind, c.setting, n, c.from, c.to)
		} else {
			t.Logf("%s, %s: %d kept", c.kind, c.setting, n)
		}
	}
}

// The copies of a captured row leave the model's distribution nearly as it is.
func TestCapturedCopies(t *testing.T) {
	worst := 0.0
	for row := range 8 {
		x := Row(Captured, 128256, row)
		top, model, all := slices.Max(x), 0.0, 0.0
		for i, z := range x {
			w := math.Exp(float64(z - top))
			all += w
			if i < 49152 {
				model += w
			}
		}
		worst = max(worst, 1-model/all)
	}
	if worst < 0.01 || worst > 0.03 {
		t.Errorf("the copies have up to %.3f of the mass, documented as about 0.02", worst)
	}
}

func TestBFloat16(t *testing.T) {
	for _, c := range []struct {
		z    float32
		want uint16
	}{
		{1, 0x3f80}, {-2, 0xc000},
		{math.Float32frombits(0x3f808000), 0x3f80}, // halfway to even: down
		{math.Float32frombits(0x3f818000), 0x3f82}, // halfway to even: up
		{math.Float32frombits(0x3f808001), 0x3f81},
	} {
		if got := toBFloat16(c.z); got != c.want {
			t.Errorf("%v: got %04x, want %04x", c.z, got, c.want)
		}
	}
}
