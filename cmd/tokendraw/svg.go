package main

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"strconv"
	"strings"

	"github.com/tokendraw/tokendraw"
)

// maxPanels is the most rows that a picture holds.
const maxPanels = 16

// Sizes of a panel in pixels.
const (
	svgWidth  = 860
	margin    = 24
	barLeft   = 250 // where bars begin
	barRight  = 690 // where the longest ends
	lineStep  = 24
	panelGap  = 28
	removedUp = 5 // removed tokens to show below the cut
)

const svgStyle = `
  svg { background: #ffffff; color: #1f2328 }
  text { font: 13px ui-sans-serif, system-ui, sans-serif; fill: currentColor }
  .token { font-family: ui-monospace, monospace; text-anchor: end; white-space: pre }
  .prompt { font-size: 15px; font-weight: 600; white-space: pre }
  .note { fill: #656d76 }
  .number { text-anchor: end; font-variant-numeric: tabular-nums }
  .before { fill: #afb8c1 }
  .after { fill: #0969da }
  .drawn { font-weight: 700 }
  .cut { stroke: #cf222e; stroke-width: 1; stroke-dasharray: 4 3 }
  @media (prefers-color-scheme: dark) {
    svg { background: #0d1117; color: #e6edf3 }
    .note { fill: #8d96a0 }
    .before { fill: #484f58 }
    .after { fill: #4493f8 }
    .cut { stroke: #f85149 }
  }
`

// drawing collects the elements of a picture from the top down.
type drawing struct {
	bytes.Buffer
	y int // where the next element goes
}

// text writes a text at x on the current line. The text is not trusted.
func (d *drawing) text(x int, class, text string) {
	fmt.Fprintf(d, `  <text x="%d" y="%d" class="%s">`, x, d.y, class)
	// A bytes.Buffer takes everything.
	_ = xml.EscapeText(d, []byte(text))
	d.WriteString("</text>\n")
}

// bar writes a horizontal bar for a share of 1, relative to the longest.
func (d *drawing) bar(class string, share float64, up, height int) {
	w := share * (barRight - barLeft)
	if w > 0 && w < 1 {
		w = 1
	}
	fmt.Fprintf(d, `  <rect x="%d" y="%d" width="%.1f" height="%d" rx="2" class="%s"/>`+"\n", barLeft, d.y-up, w, height, class)
}

// drawSVG draws each row's distribution before and after the filters.
func drawSVG(c *context, sampler tokendraw.Sampler, in *input, limit int) ([]byte, error) {
	var d drawing
	d.y = margin + 4
	d.text(margin, "note", "probability of each token before and after the filters")
	fmt.Fprintf(&d, `  <rect x="%d" y="%d" width="14" height="9" rx="2" class="after"/>`+"\n", barRight-110, d.y-9)
	d.text(barRight-90, "", "after")
	fmt.Fprintf(&d, `  <rect x="%d" y="%d" width="14" height="9" rx="2" class="before"/>`+"\n", barRight-36, d.y-9)
	d.text(barRight-16, "", "before")
	d.y += panelGap

	all := unfiltered(in)
	var whole [1]tokendraw.Details
	err := in.explained(c, sampler, func(row int, kept *tokendraw.Details) error {
		b := all.batch(span{row, row + 1})
		if err := sampler.Explain(&b, whole[:]); err != nil {
			return err
		}
		d.panel(in, row, kept, &whole[0], limit)
		return nil
	})
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img">`+"\n",
		svgWidth, d.y, svgWidth, d.y)
	out.WriteString("  <title>probability of each token before and after the filters</title>\n")
	out.WriteString("  <style>" + svgStyle + "  </style>\n")
	out.Write(d.Bytes())
	out.WriteString("</svg>\n")
	return out.Bytes(), nil
}

// panel draws one row: kept are its details, whole those without filters.
func (d *drawing) panel(in *input, row int, kept, whole *tokendraw.Details, limit int) {
	title := "row " + strconv.Itoa(row)
	if in.prompts != nil {
		title += "  " + tail(visible(in.prompts[row]), 80)
	}
	d.text(margin, "prompt", title)
	d.y += lineStep
	r := &in.requests[row]
	d.text(margin, "note", summary(r, kept))
	d.y += lineStep + 6
	if len(whole.Tokens) == 0 {
		d.y += panelGap
		return
	}

	n, m := len(whole.Tokens), len(kept.Tokens)
	shown := min(n, m+removedUp, limit)
	most := whole.Tokens[0].Prob
	if m > 0 {
		most = max(most, kept.Tokens[0].Prob)
	}
	for i, t := range whole.Tokens[:shown] {
		class := "token"
		if t.Token == kept.Token {
			class += " drawn"
		}
		name := in.texts.text(t.Token)
		if name == "" {
			name = strconv.Itoa(int(t.Token))
		}
		d.text(barLeft-10, class, head(name, 28))
		d.bar("before", t.Prob/most, 2, 6)
		after := "-"
		if i < m {
			d.bar("after", kept.Tokens[i].Prob/most, 11, 8)
			after = percent(kept.Tokens[i].Prob)
		}
		d.text(svgWidth-margin-75, "number", after)
		d.text(svgWidth-margin, "number note", percent(t.Prob))
		d.y += lineStep
		if i == m-1 && m < n {
			fmt.Fprintf(d, `  <line x1="%d" y1="%d" x2="%d" y2="%d" class="cut"/>`+"\n", margin, d.y-lineStep+9, svgWidth-margin, d.y-lineStep+9)
		}
	}
	switch {
	case m > shown:
		d.text(barLeft, "note", fmt.Sprintf("and %s more kept, %s removed", grouped(m-shown), grouped(n-m)))
	case n > shown:
		d.text(barLeft, "note", fmt.Sprintf("and %s more removed", grouped(n-shown)))
	}
	d.y += panelGap
}

// summary says in a line what a row's filters are and what they left.
func summary(r *tokendraw.Request, d *tokendraw.Details) string {
	parts := []string{"temperature " + float(r.Temperature)}
	if r.TopK > 0 {
		parts = append(parts, "top_k "+strconv.Itoa(r.TopK))
	}
	if r.MinP > 0 {
		parts = append(parts, "min_p "+float(r.MinP))
	}
	if r.TopPOn() {
		parts = append(parts, "top_p "+float(r.TopP))
	}
	text := strings.Join(parts, ", ")
	switch {
	case d.Status == tokendraw.NoCandidate:
		return text + ": no candidate"
	case d.Greedy:
		return text + ": greedy"
	}
	return fmt.Sprintf("%s: %s of %s tokens kept, with %s of the probability",
		text, grouped(len(d.Tokens)), grouped(d.Candidates), percent(float64(d.Mass)/float64(d.Total)))
}
