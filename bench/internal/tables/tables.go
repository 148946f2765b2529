// Package tables writes Markdown tables of measurements, and keeps those of a
// document fresh.
package tables

import (
	"bytes"
	"fmt"
	"math"
	"path/filepath"
	"strings"

	"github.com/tokendraw/tokendraw/bench/internal/record"
)

// The tables stand between these lines of a document.
const (
	Begin = "<!-- bench:cpu:begin -->"
	End   = "<!-- bench:cpu:end -->"
)

// Update returns doc with the tables of f between its markers.
func Update(doc []byte, f *record.File, source string) ([]byte, error) {
	if bytes.Count(doc, []byte(Begin)) != 1 || bytes.Count(doc, []byte(End)) != 1 {
		return nil, fmt.Errorf("tables: the document needs %s and %s, each once", Begin, End)
	}
	from, to := bytes.Index(doc, []byte(Begin))+len(Begin), bytes.Index(doc, []byte(End))
	if to < from {
		return nil, fmt.Errorf("tables: %s comes before %s", End, Begin)
	}
	var out bytes.Buffer
	out.Write(doc[:from])
	out.WriteString("\n" + Markdown(f, source))
	out.Write(doc[to:])
	return out.Bytes(), nil
}

// row is a line of the README's main table: a case and how to call it.
type row struct {
	label string
	c     record.Case
}

func single(label, rows string, vocab int, setting string) row {
	return row{label, record.Case{Group: record.Single, Rows: rows, Vocab: vocab, Batch: 1, DType: "float32", Setting: setting}}
}

// shown are the cases of the README. The data file has all.
var shown = []row{
	single("greedy", "captured", 128256, "greedy"),
	single("min_p .05", "captured", 128256, "min_p .05"),
	single("T .8, k 40, p .95 of the top k", "captured", 128256, "k 40, p .95, k first"),
	single("T .8, k 40, p .95 of all", "captured", 128256, "k 40, p .95, joint"),
	single("T .8, p .95", "captured", 128256, "p .95"),
	single("T 1, no filter", "captured", 128256, "no filter"),
	single("T .8, k 1000, p .95", "captured", 128256, "k 1000, p .95, k first"),
	single("k = V/2", "captured", 128256, "k = V/2"),
	single("k 40, p .95, with bias, mask and penalties", "captured", 128256, "k 40, p .95, adjusted"),
	single("T .8, p .95, V = 32000", "captured", 32000, "p .95"),
	single("T .8, p .95, V = 262144", "captured", 262144, "p .95"),
	single("T .8, p .95, flat row", "flat", 128256, "p .95"),
	single("T .8, p .95, all logits equal", "equal", 128256, "p .95"),
}

// columns are the samplers of the README's table, and their titles.
var columns = []struct{ sampler, title string }{
	{record.Floor, "one read"},
	{"avx512", "AVX-512"}, {"avx2", "AVX2"}, {"neon", "NEON"}, {"generic", "plain Go"},
	{record.LlamaCPP, "llama.cpp"}, {record.LlamaCPPChain, "its chain only"},
	{"llama order", "its order of work in Go"},
	{"ollama", "Ollama"}, {"heap", "heap of k"}, {"sort", "sort"},
}

// Markdown returns the tables, with a note of where the numbers come from.
func Markdown(f *record.File, source string) string {
	var b strings.Builder
	m := &f.Machine
	fmt.Fprintf(&b, "Microseconds per row, one thread, float32, V = 128256 where not said, rows of a real\n")
	fmt.Fprintf(&b, "model where not said; medians of interleaved rounds. %s, %s, %s.\n", m.CPU, goVersion(f), date(f))
	fmt.Fprintf(&b, "Data: `%s`, revision %s.\n\n", source, f.Revision)

	var cols []int
	for i, c := range columns {
		for j := range f.Lines {
			if l := &f.Lines[j]; l.Group == record.Single && l.Sampler == c.sampler {
				cols = append(cols, i)
				break
			}
		}
	}
	b.WriteString("| |")
	for _, i := range cols {
		fmt.Fprintf(&b, " %s |", columns[i].title)
	}
	b.WriteString("\n| --- |" + strings.Repeat(" --: |", len(cols)) + "\n")
	for _, r := range shown {
		fmt.Fprintf(&b, "| %s |", r.label)
		for _, i := range cols {
			cell := ""
			if l := f.Find(r.c, columns[i].sampler, 1); l != nil {
				cell = number(l.PerRow / 1e3)
			}
			fmt.Fprintf(&b, " %s |", cell)
		}
		b.WriteString("\n")
	}
	b.WriteString(batches(f))
	return b.String()
}

// batches is the table of large batches, of the fastest variant.
func batches(f *record.File) string {
	if len(f.Machine.Variants) == 0 {
		return ""
	}
	variant := f.Machine.Variants[0]
	var b strings.Builder
	for _, l := range f.Lines {
		if l.Group != record.Batch || l.Batch != 64 || l.Sampler != variant || l.Workers != 2 {
			continue
		}
		one := f.Find(l.Case(), variant, 1)
		if one == nil {
			continue
		}
		fmt.Fprintf(&b, "| V = %d, %s, %s | %s | %s | %.2f |\n",
			l.Vocab, l.DType, l.Setting, number(one.PerRow/1e3), number(l.PerRow/1e3), one.Median/l.Median)
	}
	if b.Len() == 0 {
		return ""
	}
	return fmt.Sprintf("\n| 64 rows a call, %s | one core | two cores | speed |\n| --- | --: | --: | --: |\n", title(variant)) + b.String()
}

// Bars returns the table of the project's bars, with the fastest variant's
// result beside that of the variant that they are for. Those without data are
// only counted.
func Bars(f *record.File) string {
	var b strings.Builder
	bars := record.Bars(f, record.Variant)
	fmt.Fprintf(&b, "| | bar | %s | |", title(record.Variant))
	var fastest []record.Bar
	if v := f.Machine.Variants; len(v) > 0 && v[0] != record.Variant {
		fastest = record.Bars(f, v[0])
		fmt.Fprintf(&b, " %s |", title(v[0]))
	}
	b.WriteString("\n| --- | --- | --: | --- |")
	if fastest != nil {
		b.WriteString(" --: |")
	}
	b.WriteString("\n")
	met, known := 0, 0
	for i, bar := range bars {
		if math.IsNaN(bar.Got) {
			continue
		}
		known++
		verdict := "not met"
		if bar.OK {
			verdict = "met"
			met++
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |", bar.What, bar.Want, ratio(bar.Got), verdict)
		if fastest != nil {
			fmt.Fprintf(&b, " %s |", ratio(fastest[i].Got))
		}
		b.WriteString("\n")
	}
	fmt.Fprintf(&b, "\n%d of %d bars met, %d without data.\n", met, len(bars), len(bars)-known)
	for _, sampler := range []string{"generic", record.Variant} {
		for _, s := range record.Slower(f, sampler, record.LlamaCPPChain, 1) {
			fmt.Fprintf(&b, "%s has %.2f of the speed of llama.cpp's chain: %s rows, V = %d, %s.\n",
				title(sampler), s.Ratio, s.Rows, s.Vocab, s.Setting)
		}
	}
	return b.String()
}

func title(sampler string) string {
	for _, c := range columns {
		if c.sampler == sampler {
			return c.title
		}
	}
	return sampler
}

// number prints microseconds with two or three digits that mean something.
func number(us float64) string {
	switch {
	case us < 10:
		return fmt.Sprintf("%.1f", us)
	case us < 1000:
		return fmt.Sprintf("%.0f", us)
	}
	return fmt.Sprintf("%.0f", math.Round(us/10)*10)
}

func ratio(x float64) string {
	if math.IsNaN(x) {
		return "-"
	}
	return fmt.Sprintf("%.2f", x)
}

func goVersion(f *record.File) string {
	version, _, _ := strings.Cut(f.Go, " ")
	return "Go " + strings.TrimPrefix(version, "go")
}

func date(f *record.File) string {
	day, _, _ := strings.Cut(f.Date, "T")
	return day
}

// Source returns what a document calls a data file: its path from the root of
// the repository.
func Source(file string) string { return "bench/data/" + filepath.Base(file) }
