// Command plot draws the newest data: the time per row of every sampler on
// every setting, for rows of a real model at V = 128256 on one thread.
//
//	go run ./cmd/plot        writes data/cpu.svg
package main

import (
	"errors"
	"flag"
	"fmt"
	"image/color"
	"os"
	"slices"

	"github.com/tokendraw/tokendraw/bench/internal/record"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "plot:", err)
		os.Exit(1)
	}
}

// marks are the samplers and how they look: ours filled, in colours; others in
// outline.
var marks = []struct {
	sampler string
	color   color.RGBA
	shape   draw.GlyphDrawer
}{
	{record.Floor, color.RGBA{A: 255}, draw.PlusGlyph{}},
	{"avx512", color.RGBA{R: 0x1b, G: 0x7f, B: 0x3b, A: 255}, draw.CircleGlyph{}},
	{"avx2", color.RGBA{R: 0x1f, G: 0x5f, B: 0xb4, A: 255}, draw.CircleGlyph{}},
	{"neon", color.RGBA{R: 0x1f, G: 0x5f, B: 0xb4, A: 255}, draw.CircleGlyph{}},
	{"generic", color.RGBA{R: 0x7b, G: 0x3f, B: 0xa0, A: 255}, draw.CircleGlyph{}},
	{record.LlamaCPPChain, color.RGBA{R: 0xd9, G: 0x5f, B: 0x02, A: 255}, draw.SquareGlyph{}},
	{"llama order", color.RGBA{R: 0xb8, G: 0x86, B: 0x0b, A: 255}, draw.TriangleGlyph{}},
	{"ollama", color.RGBA{R: 0x99, G: 0x33, B: 0x33, A: 255}, draw.RingGlyph{}},
	{"sort", color.RGBA{R: 0x66, G: 0x66, B: 0x66, A: 255}, draw.CrossGlyph{}},
}

func run() error {
	data := flag.String("data", "", "data `file`; the newest in data/ by default")
	out := flag.String("o", "data/cpu.svg", "`file` to write; its ending chooses the format")
	flag.Parse()
	if *data == "" {
		*data = record.Newest("data")
	}
	if *data == "" {
		return errors.New("no data file; go run ./cmd/cpu makes one")
	}
	f, err := record.Read(*data)
	if err != nil {
		return err
	}

	shown := func(l *record.Line) bool {
		return l.Group == record.Single && l.Rows == "captured" && l.Vocab == 128256
	}
	var settings []string // from the top
	for i := range f.Lines {
		if l := &f.Lines[i]; shown(l) && !slices.Contains(settings, l.Setting) {
			settings = append(settings, l.Setting)
		}
	}
	if len(settings) == 0 {
		return fmt.Errorf("%s: no captured rows at V = 128256", *data)
	}
	slices.Reverse(settings)

	p := plot.New()
	p.Title.Text = "One row, V = 128256, one thread: " + f.Machine.CPU
	p.X.Label.Text = "microseconds per row"
	p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
	p.NominalY(settings...)
	p.Legend.Top, p.Legend.Left = false, false
	p.Add(plotter.NewGrid())
	for _, m := range marks {
		var at plotter.XYs
		for i := range f.Lines {
			if l := &f.Lines[i]; shown(l) && l.Sampler == m.sampler {
				at = append(at, plotter.XY{X: l.PerRow / 1e3, Y: float64(slices.Index(settings, l.Setting))})
			}
		}
		if len(at) == 0 {
			continue
		}
		dots, err := plotter.NewScatter(at)
		if err != nil {
			return err
		}
		dots.GlyphStyle = draw.GlyphStyle{Color: m.color, Radius: 3.5, Shape: m.shape}
		p.Add(dots)
		p.Legend.Add(m.sampler, dots)
	}
	p.Y.Min, p.Y.Max = -0.5, float64(len(settings))-0.5
	p.X.Max *= 12 // room for the legend
	return p.Save(9*vg.Inch, 4.5*vg.Inch, *out)
}
