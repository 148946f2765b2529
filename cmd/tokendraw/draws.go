package main

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"
	"sort"
	"strconv"

	"github.com/tokendraw/tokendraw"
	"github.com/tokendraw/tokendraw/internal/philox"
)

// tally says how often a token was drawn.
type tally struct {
	token int32
	times int
}

// drawMany draws n tokens from each row. What a row keeps does not depend on
// the step, so one look at the row serves all its draws.
func drawMany(c *context, sampler tokendraw.Sampler, in *input, n, limit int, json bool) error {
	return in.explained(c, sampler, func(row int, d *tokendraw.Details) error {
		list := drawFrom(c, d, &in.requests[row], n)
		if json {
			_, err := c.out.Write(appendCounts(c.out.AvailableBuffer(), row, d.Status, list))
			return err
		}
		countsTable(c, in, row, d, list, n, limit)
		return nil
	})
}

// drawFrom draws n tokens as the specification's sections 6 and 7 say, at the
// steps of the request and after. The tallies come most frequent first.
func drawFrom(c *context, d *tokendraw.Details, req *tokendraw.Request, n int) []tally {
	if len(d.Tokens) == 0 {
		return nil
	}
	masses := make([]uint64, len(d.Tokens)) // S_1, S_2, ...
	sum := uint64(0)
	for i := range d.Tokens {
		sum += d.Tokens[i].Weight
		masses[i] = sum
	}
	times := make([]int, len(d.Tokens))
	for i := range n {
		u := philox.Draw(req.Seed, req.Step+uint64(i))
		if req.U != nil {
			u = *req.U
		}
		r, _ := bits.Mul64(u, sum)
		times[sort.Search(len(masses), func(j int) bool { return masses[j] > r })]++
		if i&0xfffff == 0xfffff {
			c.notes.at("draws from a row", i+1, n)
		}
	}
	var list []tally
	for i, t := range times {
		if t > 0 {
			list = append(list, tally{d.Tokens[i].Token, t})
		}
	}
	slices.SortFunc(list, func(a, b tally) int {
		return cmp.Or(cmp.Compare(b.times, a.times), cmp.Compare(a.token, b.token))
	})
	return list
}

// appendCounts appends the JSON line of a row.
func appendCounts(dst []byte, row int, status tokendraw.Status, list []tally) []byte {
	dst = append(dst, `{"row":`...)
	dst = strconv.AppendInt(dst, int64(row), 10)
	dst = append(dst, `,"status":"`...)
	dst = append(dst, status.String()...)
	dst = append(dst, `","counts":{`...)
	for i, t := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, '"')
		dst = strconv.AppendInt(dst, int64(t.token), 10)
		dst = append(dst, `":`...)
		dst = strconv.AppendInt(dst, int64(t.times), 10)
	}
	return append(dst, "}}\n"...)
}

// countsTable prints the most frequent tokens of a row for people.
func countsTable(c *context, in *input, row int, d *tokendraw.Details, list []tally, n, limit int) {
	rowHeading(c, in, row, d.Status)
	if d.Status == tokendraw.NoCandidate {
		fmt.Fprintln(c.out)
		return
	}
	fmt.Fprintf(c.out, "  %s, %s, of %d kept\n", plural(n, "draw"), plural(len(list), "different token"), d.Kept)
	most := list[0].times
	for i, t := range list {
		if i == limit {
			fmt.Fprintln(c.out, c.paint.dim(fmt.Sprintf("  ... and %s more", grouped(len(list)-limit))))
			break
		}
		tokenLine(c, in, padLeft(grouped(t.times), 9), float64(t.times)/float64(n), float64(t.times)/float64(most), t.token)
	}
	fmt.Fprintln(c.out)
}

// rowHeading prints which row comes, and the end of its prompt.
func rowHeading(c *context, in *input, row int, status tokendraw.Status) {
	line := c.paint.bold("row " + strconv.Itoa(row))
	if in.prompts != nil {
		line += "  " + tail(visible(in.prompts[row]), 70)
	}
	if status != tokendraw.OK {
		line += "  " + c.statusText(status)
	}
	fmt.Fprintln(c.out, line)
}

// tokenLine prints one token of a list with a bar: first a column that the
// caller made, then its share and the bar's length, each of 1.
func tokenLine(c *context, in *input, first string, share, length float64, token int32) {
	const barWidth = 32
	b := bar(length, barWidth)
	line := first + padLeft(percent(share), 10) + "  " + c.paint.cyan(b) + spaces(barWidth-width(b)) + padLeft(strconv.Itoa(int(token)), 8)
	if in.texts != nil {
		line += "  " + c.paint.bold(quoted(in.texts.text(token)))
	}
	fmt.Fprintln(c.out, line)
}

// quoted shows where a text begins and ends.
func quoted(text string) string {
	if text == "" {
		return ""
	}
	return "│" + head(text, 30) + "│"
}
