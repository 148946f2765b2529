package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/tokendraw/tokendraw"
	"github.com/tokendraw/tokendraw/internal/tensorfile"
)

// source holds the flags that say what to draw from, and how.
type source struct {
	backend string
	workers int
	dtype   string
	tensor  string
	vocab   string
	params  string
	rows    string
	given   paramText
}

func (s *source) flags(f *flags) {
	s.backend = "auto"
	f.params(&s.given)
	f.text(&s.params, "params", "parameters from a JSON `FILE`: an object, or an array with one a row")
	f.text(&s.tensor, "tensor", "`NAME` of the tensor, where a .safetensors file holds several")
	f.text(&s.dtype, "dtype", "bf16: two-byte elements of a .npy file are bfloat16 (`TYPE`)")
	f.text(&s.vocab, "vocab", "token texts from `FILE`, one a line")
	f.text(&s.rows, "rows", "only these rows: `LIST` like 0,8-11")
	f.text(&s.backend, "backend", "`NAME` is cpu, cuda, oracle or auto")
	f.number(&s.workers, "workers", "most threads that the cpu uses: `N`, 0 for all")
}

// input is a file of logits with everything known about its rows.
type input struct {
	logits   tokendraw.Logits
	requests []tokendraw.Request // one a row
	rows     []int               // the rows asked for, ascending
	texts    vocabulary
	prompts  []string // one a row, or nil
	kinds    []string // one a row, or nil
}

// read reads the files that the arguments and flags name, and checks all
// parameters: after it, nothing but the machine can fail.
func (s *source) read(c *context, files []string) (*input, error) {
	if len(files) != 1 {
		return nil, usagef("%s: want one FILE, got %d (see tokendraw %s -h)", c.command.name, len(files), c.command.name)
	}
	if s.params != "" && s.given.first != "" {
		return nil, usagef("-%s and -params: give parameters in one of the two", s.given.first)
	}
	if s.params == "-" && files[0] == "-" {
		return nil, usagef("FILE and -params: only one of them can be standard input")
	}
	if s.dtype != "" && s.dtype != "bf16" {
		return nil, usagef("-dtype must be bf16, got %q", s.dtype)
	}
	t, err := s.readTensor(c, files[0])
	if err != nil {
		return nil, err
	}
	in := &input{logits: tokendraw.Logits{F32: t.F32, Rows: t.Rows, Vocab: t.Cols}}
	switch t.DType {
	case tensorfile.Float16:
		in.logits.F16 = t.U16
	case tensorfile.BFloat16:
		in.logits.BF16 = t.U16
	}
	if t.Cols > tokendraw.MaxVocab {
		return nil, fmt.Errorf("%s: rows of %d logits, the most is %d", files[0], t.Cols, tokendraw.MaxVocab)
	}
	if err := s.readParams(c, in); err != nil {
		return nil, err
	}
	if in.rows, err = parseRows(s.rows, t.Rows); err != nil {
		return nil, err
	}
	if err := s.readTexts(t.Metadata, in); err != nil {
		return nil, err
	}
	in.prompts = perRow(t.Metadata["prompts"], t.Rows)
	in.kinds = perRow(t.Metadata["kinds"], t.Rows)
	return in, nil
}

func (s *source) readTensor(c *context, file string) (*tensorfile.Tensor, error) {
	r, err := open(c, file)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	t, err := tensorfile.Read(r, tensorfile.Options{Name: s.tensor, BF16: s.dtype == "bf16"})
	var name *tensorfile.NameError
	switch {
	case errors.As(err, &name):
		return nil, usagef("%s: %v (see -tensor)", file, err)
	case err != nil && s.dtype == "" && strings.Contains(err.Error(), "bfloat16"):
		return nil, fmt.Errorf("%s: %w (see -dtype)", file, err)
	case err != nil:
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return t, nil
}

// open opens a file, or standard input for "-".
func open(c *context, file string) (io.ReadCloser, error) {
	if file == "-" {
		return io.NopCloser(c.stdin), nil
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	return f, nil
}

// readParams fills in the requests and checks them against the vocabulary.
func (s *source) readParams(c *context, in *input) error {
	text := s.given.json()
	if s.params != "" {
		r, err := open(c, s.params)
		if err != nil {
			return err
		}
		defer r.Close()
		const most = 256 << 20 // bytes, far above any text that is meant
		if text, err = io.ReadAll(io.LimitReader(r, most+1)); err != nil {
			return fmt.Errorf("%s: %w", s.params, err)
		}
		if len(text) > most {
			return fmt.Errorf("%s: over the limit of %d bytes for parameters", s.params, most)
		}
	}
	var err error
	in.requests, err = tokendraw.ParseRequests(text, in.logits.Rows)
	if err != nil {
		return err
	}
	// One object for all rows is checked even where there are no rows, and its
	// error names no row.
	if trimmed := strings.TrimLeft(string(text), " \t\r\n"); trimmed[0] != '[' {
		one, err := tokendraw.ParseRequests(text, 1)
		if err != nil {
			return err
		}
		return one[0].Check(in.logits.Vocab)
	}
	for row := range in.requests {
		if err := in.requests[row].Check(in.logits.Vocab); err != nil {
			var param *tokendraw.ParamError
			if errors.As(err, &param) {
				param.Row = row
			}
			return err
		}
	}
	return nil
}

// parseRows parses a list of rows and spans of rows. With "" it is all.
func parseRows(text string, n int) ([]int, error) {
	picked := make([]bool, n)
	bad := func(item string) error {
		return usagef("-rows must be rows in [0, %d) like 0,8-11, got %q", n, item)
	}
	for item := range strings.SplitSeq(text, ",") {
		from, to := 0, n-1
		if text != "" {
			first, last, span := strings.Cut(strings.TrimSpace(item), "-")
			if !span {
				last = first
			}
			a, errA := strconv.ParseUint(first, 10, 31)
			b, errB := strconv.ParseUint(last, 10, 31)
			if errA != nil || errB != nil || a > b || int(b) >= n {
				return nil, bad(item)
			}
			from, to = int(a), int(b)
		}
		for i := from; i <= to; i++ {
			picked[i] = true
		}
	}
	var rows []int
	for i, yes := range picked {
		if yes {
			rows = append(rows, i)
		}
	}
	return rows, nil
}

// readTexts finds the texts of the tokens.
func (s *source) readTexts(metadata map[string]string, in *input) error {
	if s.vocab == "" {
		if list := metadata["vocab"]; list != "" {
			in.texts = strings.Split(list, "\n")
		}
		return nil
	}
	f, err := os.Open(s.vocab)
	if err != nil {
		return err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		in.texts = append(in.texts, lines.Text())
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("%s: %w", s.vocab, err)
	}
	return nil
}

// perRow reads a JSON array with one text a row. Metadata are a courtesy: what
// does not fit is as if it were not there.
func perRow(text string, rows int) []string {
	var list []string
	if json.Unmarshal([]byte(text), &list) != nil || len(list) != rows {
		return nil
	}
	return list
}

// batch returns the given rows, which must be consecutive in in.rows, as a
// batch. Rows that are consecutive in the file stay where they are.
func (in *input) batches(limit int) []span {
	var spans []span
	for _, row := range in.rows {
		last := len(spans) - 1
		if last >= 0 && spans[last].to == row && spans[last].to-spans[last].from < limit {
			spans[last].to++
			continue
		}
		spans = append(spans, span{row, row + 1})
	}
	return spans
}

// span is a range of rows of the file, [from, to).
type span struct{ from, to int }

// batch returns a span of rows as a batch. The logits stay where they are.
func (in *input) batch(s span) tokendraw.Batch {
	l := in.logits
	l.Rows = s.to - s.from
	from, to := s.from*l.Vocab, s.to*l.Vocab
	switch l.DType() {
	case tokendraw.Float32:
		l.F32 = l.F32[from:to]
	case tokendraw.Float16:
		l.F16 = l.F16[from:to]
	case tokendraw.BFloat16:
		l.BF16 = l.BF16[from:to]
	}
	return tokendraw.Batch{Logits: l, Requests: in.requests[s.from:s.to]}
}

// explained calls f with the details of each row asked for, in order. Few rows
// are explained at a time: each may keep its whole vocabulary.
func (in *input) explained(c *context, sampler tokendraw.Sampler, f func(row int, d *tokendraw.Details) error) error {
	const together = 1 << 22 // logits
	limit := max(1, together/in.logits.Vocab)
	details := make([]tokendraw.Details, min(limit, len(in.rows)))
	done := 0
	for _, s := range in.batches(limit) {
		b := in.batch(s)
		if err := sampler.Explain(&b, details); err != nil {
			return err
		}
		for row := s.from; row < s.to; row++ {
			if err := f(row, &details[row-s.from]); err != nil {
				return err
			}
			done++
			c.notes.at("rows", done, len(in.rows))
		}
	}
	return nil
}
