package main

import (
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"

	"github.com/tokendraw/tokendraw"
)

const explainHelp = `Shows for each row of FILE how many tokens each filter leaves, which filter
decides, and the tokens that are kept, most probable first, with their
probabilities. FILE is as for tokendraw sample.

With -json a row is one line, with all kept tokens in order:
  {"row":0,"status":"ok","kept":[{"token":5,"prob":0.41},{"token":2,"prob":0.33}]}
With -svg a picture of each row before and after the filters is written, too;
-rows picks the rows.`

func runExplain(c *context, args []string) error {
	var src source
	var json bool
	var svg string
	limit := 20
	f := newFlags(c)
	f.yes(&json, "json", "one JSON object a row")
	f.number(&limit, "limit", "show at most `N` tokens a row to people and in pictures")
	f.text(&svg, "svg", "draw the rows into `FILE`")
	src.flags(f)
	files, err := f.parse(args)
	if err != nil {
		return err
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
	if svg != "" {
		if len(in.rows) > maxPanels {
			return usagef("-svg draws at most %d rows, got %d: pick some with -rows", maxPanels, len(in.rows))
		}
		picture, err := drawSVG(c, sampler, in, limit)
		if err != nil {
			return err
		}
		if err := os.WriteFile(svg, picture, 0o666); err != nil {
			return err
		}
	}
	if json {
		var line []byte
		return in.explained(c, sampler, func(row int, d *tokendraw.Details) error {
			line = appendExplained(line[:0], row, d)
			_, err := c.out.Write(line)
			return err
		})
	}
	return explainTables(c, sampler, in, limit)
}

// appendExplained appends the JSON line of a row.
func appendExplained(dst []byte, row int, d *tokendraw.Details) []byte {
	dst = append(dst, `{"row":`...)
	dst = strconv.AppendInt(dst, int64(row), 10)
	dst = append(dst, `,"status":"`...)
	dst = append(dst, d.Status.String()...)
	dst = append(dst, `","kept":[`...)
	for i := range d.Tokens {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, `{"token":`...)
		dst = strconv.AppendInt(dst, int64(d.Tokens[i].Token), 10)
		dst = append(dst, `,"prob":`...)
		dst = strconv.AppendFloat(dst, d.Tokens[i].Prob, 'g', -1, 64)
		dst = append(dst, '}')
	}
	return append(dst, "]}\n"...)
}

// unfiltered returns in with every row's filters off, so that its details are
// of all candidates. A greedy row is seen at temperature 1, for at 0 there
// are no probabilities to speak of.
func unfiltered(in *input) *input {
	out := *in
	out.requests = make([]tokendraw.Request, len(in.requests))
	for i, r := range in.requests {
		if r.Temperature == 0 {
			r.Temperature = 1
		}
		r.TopK, r.TopP, r.MinP = 0, 0, 0
		out.requests[i] = r
	}
	return &out
}

func explainTables(c *context, sampler tokendraw.Sampler, in *input, limit int) error {
	all := unfiltered(in)
	var whole [1]tokendraw.Details
	return in.explained(c, sampler, func(row int, d *tokendraw.Details) error {
		b := all.batch(span{row, row + 1})
		if err := sampler.Explain(&b, whole[:]); err != nil {
			return err
		}
		rowHeading(c, in, row, d.Status)
		for _, line := range reasons(in, row, d, &whole[0]) {
			fmt.Fprintln(c.out, "  "+line)
		}
		for i := range d.Tokens {
			t := &d.Tokens[i]
			if i == limit {
				fmt.Fprintln(c.out, c.paint.dim(fmt.Sprintf("  ... and %s more", grouped(len(d.Tokens)-limit))))
				break
			}
			tokenLine(c, in, padLeft(strconv.Itoa(i+1), 9), t.Prob, t.Prob/d.Tokens[0].Prob, t.Token)
		}
		fmt.Fprintln(c.out)
		return nil
	})
}

// reasons says in lines what each filter left and what was drawn. Whole are the
// details of all candidates.
func reasons(in *input, row int, d, whole *tokendraw.Details) []string {
	r := &in.requests[row]
	var lines []string
	if changes := scoreChanges(r); len(changes) > 0 {
		lines = append(lines, "scores changed by "+strings.Join(changes, ", "))
	}
	if d.Status == tokendraw.NoCandidate {
		return append(lines, "no candidate: every token is forbidden, -inf or NaN")
	}
	if d.Greedy {
		why := "temperature 0"
		if r.Temperature != 0 {
			why = "top_k 1"
		}
		lines = append(lines,
			fmt.Sprintf("%s candidates, %s is greedy: the highest score, no filter and no random number", grouped(d.Candidates), why),
			fmt.Sprintf("the token has %s at temperature %s", percent(whole.Tokens[0].Prob), float(whole2temp(r))))
		return append(lines, "takes "+in.tokenName(d.Token))
	}

	// The share of all candidates' mass that the first n tokens have.
	share := func(n int) string {
		sum := uint64(0)
		for i := range whole.Tokens[:min(n, len(whole.Tokens))] {
			sum += whole.Tokens[i].Weight
		}
		return percent(float64(sum) / float64(whole.Total))
	}
	kept := len(d.Tokens)
	stage := func(name string, n int, note string) {
		line := padRight(name, 34) + padLeft(grouped(n), 8) + padLeft(share(n), 10)
		if note != "" {
			line += "  " + note
		}
		lines = append(lines, line)
	}
	stage("candidates at temperature "+float(r.Temperature), d.Candidates, "")
	for _, f := range []struct {
		on   bool
		name string
		n    int
	}{
		{r.TopK > 0, "top_k " + strconv.Itoa(r.TopK) + " leaves", d.TopK},
		{r.MinP > 0, "min_p " + float(r.MinP) + " leaves", d.MinP},
		{r.TopPOn(), "top_p " + float(r.TopP) + orderNote(r) + " leaves", d.TopP},
	} {
		note := ""
		if f.n <= kept && f.n < d.Candidates {
			note = "decides"
		}
		if f.on {
			stage(f.name, f.n, note)
		}
	}
	note := ""
	if kept == d.Candidates {
		note = "nothing is cut"
	}
	stage("kept", kept, note)
	how := fmt.Sprintf("seed %d, step %d", r.Seed, r.Step)
	if r.U != nil {
		how = fmt.Sprintf("u %.6g", math.Ldexp(float64(*r.U), -64))
	}
	return append(lines, how+" draws "+in.tokenName(d.Token))
}

func orderNote(r *tokendraw.Request) string {
	if r.FilterOrder == tokendraw.TopKFirst {
		return " of top_k's"
	}
	return ""
}

// whole2temp is the temperature at which unfiltered looks at a greedy row.
func whole2temp(r *tokendraw.Request) float32 {
	if r.Temperature == 0 {
		return 1
	}
	return r.Temperature
}

// scoreChanges names what may change the scores of a row.
func scoreChanges(r *tokendraw.Request) (list []string) {
	if n := len(r.LogitBias); n > 0 {
		list = append(list, "logit_bias of "+plural(n, "token"))
	}
	if n := len(r.AllowedTokens); n > 0 {
		list = append(list, "allowed_token_ids ("+grouped(n)+")")
	}
	if r.Bitmask != nil {
		list = append(list, "bitmask")
	}
	if r.Penalized() {
		if r.RepetitionOn() {
			list = append(list, "repetition_penalty "+float(r.RepetitionPenalty))
		}
		if r.FrequencyPenalty != 0 {
			list = append(list, "frequency_penalty "+float(r.FrequencyPenalty))
		}
		if r.PresencePenalty != 0 {
			list = append(list, "presence_penalty "+float(r.PresencePenalty))
		}
	}
	return list
}

func (in *input) tokenName(token int32) string {
	name := "token " + strconv.Itoa(int(token))
	if text := in.texts.text(token); text != "" {
		name += " " + quoted(text)
	}
	return name
}

func float(x float32) string { return strconv.FormatFloat(float64(x), 'g', -1, 32) }
