package main

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// vocabulary has the text of each token, as far as it is known.
type vocabulary []string

// text returns a token's text for people, on one line.
func (v vocabulary) text(token int32) string {
	if token < 0 || int(token) >= len(v) {
		return ""
	}
	return visible(v[token])
}

// visible escapes what would not show or would disturb a line: a file's text
// is not trusted with the terminal.
func visible(text string) string {
	var b strings.Builder
	for i, r := range text {
		switch {
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == utf8.RuneError:
			// Either that character itself or a byte that is no UTF-8.
			_, n := utf8.DecodeRuneInString(text[i:])
			if n == 1 {
				fmt.Fprintf(&b, `\x%02x`, text[i])
			} else {
				b.WriteRune(r)
			}
		case r == ' ' || unicode.IsPrint(r) || unicode.Is(unicode.Mn, r):
			b.WriteRune(r)
		default:
			for _, x := range []byte(string(r)) {
				fmt.Fprintf(&b, `\x%02x`, x)
			}
		}
	}
	return b.String()
}

// width returns the number of terminal cells that a text takes.
func width(text string) int { return uniseg.StringWidth(text) }

// head returns the text cut to w cells, ending in "…" where it is cut.
func head(text string, w int) string {
	if width(text) <= w {
		return text
	}
	var b strings.Builder
	left := w - 1
	for g := uniseg.NewGraphemes(text); g.Next(); {
		if left -= g.Width(); left < 0 {
			break
		}
		b.WriteString(g.Str())
	}
	return b.String() + "…"
}

// tail returns the end of the text in w cells, beginning with "…" where it is
// cut.
func tail(text string, w int) string {
	if width(text) <= w {
		return text
	}
	// Only the last bytes can matter.
	if far := len(text) - 32*w; far > 0 {
		for far < len(text) && !utf8.RuneStart(text[far]) {
			far++
		}
		text = text[far:]
	}
	var parts []string
	for g := uniseg.NewGraphemes(text); g.Next(); {
		parts = append(parts, g.Str())
	}
	left, from := w-1, len(parts)
	for from > 0 {
		if left -= width(parts[from-1]); left < 0 {
			break
		}
		from--
	}
	return "…" + strings.Join(parts[from:], "")
}

func padRight(text string, w int) string { return text + spaces(w-width(text)) }

func padLeft(text string, w int) string { return spaces(w-width(text)) + text }

func spaces(n int) string { return strings.Repeat(" ", max(n, 0)) }

// percent returns a share of 1 for people.
func percent(p float64) string {
	switch {
	case p == 1:
		return "100 %"
	case p >= 0.9995:
		return ">99.9 %" // not all of it
	case p >= 0.001:
		return strconv.FormatFloat(100*p, 'f', 1, 64) + " %"
	case p == 0:
		return "0 %"
	}
	return strconv.FormatFloat(100*p, 'g', 1, 64) + " %"
}

// bar returns a horizontal bar for a share of 1, w cells at most, in eighths.
func bar(p float64, w int) string {
	eighths := int(p*float64(8*w) + 0.5)
	if eighths == 0 && p > 0 {
		eighths = 1
	}
	full, part := eighths/8, eighths%8
	text := strings.Repeat("█", full)
	if part > 0 {
		text += string([]rune("▏▎▍▌▋▊▉")[part-1])
	}
	return text
}

// grouped returns n with spaces between groups of three digits.
func grouped(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + " " + s[i:]
	}
	return s
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return grouped(n) + " " + noun + "s"
}
