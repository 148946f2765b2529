package main

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestVisible(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", ""}, {" plain ", " plain "}, {"a\nb\r\tc", `a\nb\r\tc`}, {"\x1b[31m", `\x1b[31m`},
		{"\u009b", `\xc2\x9b`}, {"\u202e", `\xe2\x80\xae`}, {"\xe3\x81", `\xe3\x81`}, {"猫", "猫"},
		{"\ufffd", "\ufffd"}, {"e\u0301", "e\u0301"}, {`\n`, `\n`}, {"\x7f", `\x7f`},
	} {
		if got := visible(c.text); got != c.want {
			t.Errorf("%q: %q, want %q", c.text, got, c.want)
		}
	}
}

func TestHeadAndTail(t *testing.T) {
	for _, c := range []struct {
		text       string
		w          int
		head, tail string
	}{
		{"abc", 3, "abc", "abc"},
		{"abcd", 3, "ab…", "…cd"},
		{"猫である", 5, "猫で…", "…ある"},
		{"猫である", 4, "猫…", "…る"},
		{"e\u0301e\u0301e\u0301", 2, "e\u0301…", "…e\u0301"},
		{"", 3, "", ""},
	} {
		if got := head(c.text, c.w); got != c.head || width(got) > c.w {
			t.Errorf("head(%q, %d) = %q, want %q", c.text, c.w, got, c.head)
		}
		if got := tail(c.text, c.w); got != c.tail || width(got) > c.w {
			t.Errorf("tail(%q, %d) = %q, want %q", c.text, c.w, got, c.tail)
		}
	}
	long := strings.Repeat("猫 and dog ", 100000)
	if got := tail(long, 10); width(got) > 10 || !strings.HasSuffix(got, " dog ") {
		t.Errorf("the tail of a long text: %q", got)
	}
}

func TestPercent(t *testing.T) {
	for _, c := range []struct {
		p    float64
		want string
	}{
		{1, "100 %"}, {0.9999999, ">99.9 %"}, {0.9994, "99.9 %"}, {0.5, "50.0 %"}, {0.001, "0.1 %"},
		{0.0005, "0.05 %"}, {1e-9, "1e-07 %"}, {0, "0 %"},
	} {
		if got := percent(c.p); got != c.want {
			t.Errorf("%v: %q, want %q", c.p, got, c.want)
		}
	}
}

func TestBar(t *testing.T) {
	for _, c := range []struct {
		p    float64
		want string
	}{{0, ""}, {1e-9, "▏"}, {0.125, "▌"}, {0.5, "██"}, {1, "████"}, {0.999, "████"}} {
		if got := bar(c.p, 4); got != c.want {
			t.Errorf("%v: %q, want %q", c.p, got, c.want)
		}
	}
}

func TestGrouped(t *testing.T) {
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1 000", 1234567: "1 234 567", -1000: "-1 000", -100: "-100"} {
		if got := grouped(n); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}

// Whatever a flag is given becomes a JSON value, so that no value can add a
// parameter or hide one.
func FuzzParamFlags(f *testing.F) {
	for _, text := range []string{"", "1", "-.5", "+1", "nan", "null", "1,2", "0x10", `"`, "17=-2.5,3=-inf", `{"1":2}`, "[1]", "1,\"top_k\":2", "\xff", "1 2", "-"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, p := range paramFlags {
			value, err := p.toJSON(text)
			if err == nil && !json.Valid([]byte(value)) {
				t.Fatalf("%s %q: %s is not JSON", p.name, text, value)
			}
		}
	})
}

func TestPainter(t *testing.T) {
	if got := (painter{}).bold("x"); got != "x" {
		t.Errorf("without colour: %q", got)
	}
	if got := (painter{colour: true}).red("x"); got != "\x1b[31mx\x1b[0m" {
		t.Errorf("with colour: %q", got)
	}
	if got := (painter{colour: true}).bold(""); got != "" {
		t.Errorf("of nothing: %q", got)
	}
}
