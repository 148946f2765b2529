package main

import (
	"fmt"
	"math"
	"strconv"

	"github.com/tokendraw/tokendraw"
)

const sampleHelp = `Draws one token from each row of FILE and prints a line for it. With -draws N,
draws N tokens from each row, at the steps step, step+1, ..., and prints how
often each came.

FILE is .npy (<f4, <f2, and <V2 with -dtype bf16) or .safetensors (F32, F16,
BF16), "-" for standard input. Every row is one request.

With -json a row is one line:
  {"row":0,"token":5,"status":"ok","kept":3,"logprob":-0.89}
and with -draws:
  {"row":0,"status":"ok","counts":{"5":123,"9":4}}
The status is ok, nan (a NaN was seen, and a token drawn from the rest) or
no_candidate (nothing can be drawn, the token is -1).`

func runSample(c *context, args []string) error {
	var src source
	var draws int
	var json bool
	f := newFlags(c)
	f.number(&draws, "draws", "draw `N` tokens from each row")
	f.yes(&json, "json", "one JSON object a row")
	limit := 10
	f.number(&limit, "limit", "with -draws, show at most `N` tokens a row to people")
	src.flags(f)
	files, err := f.parse(args)
	if err != nil {
		return err
	}
	if draws < 0 || draws == 0 && given(f, "draws") {
		return usagef("-draws must be at least 1, got %d", draws)
	}
	if limit < 1 {
		return usagef("-limit must be at least 1, got %d", limit)
	}
	sampler, err := openBackend(src.backend, src.workers)
	if err != nil {
		return err
	}
	defer sampler.Close()
	in, err := src.read(c, files)
	if err != nil || len(in.rows) == 0 {
		return err
	}
	if draws > 0 {
		return drawMany(c, sampler, in, draws, limit, json)
	}
	results := make([]tokendraw.Draw, in.logits.Rows)
	for _, s := range in.batches(in.logits.Rows) {
		b := in.batch(s)
		if err := sampler.Sample(&b, results[s.from:s.to]); err != nil {
			return err
		}
	}
	if json {
		for _, row := range in.rows {
			c.out.Write(appendSample(c.out.AvailableBuffer(), row, results[row]))
		}
		return nil
	}
	sampleTable(c, in, results)
	return nil
}

// appendSample appends the JSON line of a row.
func appendSample(dst []byte, row int, d tokendraw.Draw) []byte {
	dst = append(dst, `{"row":`...)
	dst = strconv.AppendInt(dst, int64(row), 10)
	dst = append(dst, `,"token":`...)
	dst = strconv.AppendInt(dst, int64(d.Token), 10)
	dst = append(dst, `,"status":"`...)
	dst = append(dst, d.Status.String()...)
	dst = append(dst, `","kept":`...)
	dst = strconv.AppendInt(dst, int64(d.Kept), 10)
	dst = append(dst, `,"logprob":`...)
	dst = strconv.AppendFloat(dst, float64(d.LogProb)+0, 'g', -1, 32) // -0 + 0 is 0
	return append(dst, "}\n"...)
}

// Widths of the columns of the table.
const (
	promptWidth = 40
	textWidth   = 18
)

// sampleTable prints the draws for people: the prompt's end and right behind it
// the token.
func sampleTable(c *context, in *input, results []tokendraw.Draw) {
	withText := in.texts != nil
	rowWidth := max(3, len(strconv.Itoa(in.rows[len(in.rows)-1])))
	heading := padLeft("row", rowWidth)
	if withText && in.prompts != nil {
		heading += "  " + padLeft("prompt", promptWidth) + "│" + padRight("token", textWidth)
	} else if withText {
		heading += "  " + padRight("token", textWidth)
	} else if in.prompts != nil {
		heading += "  " + padLeft("prompt", promptWidth)
	}
	heading += padLeft("id", 8) + padLeft("kept", 9) + padLeft("probability", 13) + "  status"
	fmt.Fprintln(c.out, c.paint.dim(heading))

	for _, row := range in.rows {
		d := results[row]
		line := c.paint.dim(padLeft(strconv.Itoa(row), rowWidth))
		if in.prompts != nil {
			line += "  " + padLeft(tail(visible(in.prompts[row]), promptWidth), promptWidth)
		}
		if withText {
			if in.prompts != nil {
				line += c.paint.dim("│")
			} else {
				line += "  "
			}
			text := head(in.texts.text(d.Token), textWidth)
			line += c.paint.bold(text) + spaces(textWidth-width(text))
		}
		line += padLeft(strconv.Itoa(int(d.Token)), 8) + padLeft(strconv.Itoa(int(d.Kept)), 9)
		probability := "-"
		if d.Token >= 0 {
			probability = percent(math.Exp(float64(d.LogProb)))
		}
		line += padLeft(probability, 13) + "  " + c.statusText(d.Status)
		fmt.Fprintln(c.out, line)
	}
}

func (c *context) statusText(s tokendraw.Status) string {
	if s == tokendraw.OK {
		return c.paint.dim(s.String())
	}
	return c.paint.red(s.String())
}
