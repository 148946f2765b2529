// Package vectors holds the golden cases of SPEC.md: inputs, and the results
// that every conforming sampler gives for them. README.md describes the files
// for readers in other languages.
//
// The cases are made from package oracle and checked against a float64
// softmax. They are never edited to make a test pass.
package vectors

import (
	"bufio"
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"io"
	"math"

	"github.com/tokendraw/tokendraw"
	"github.com/tokendraw/tokendraw/vectors/internal/schema"
)

//go:embed draws.jsonl params.jsonl philox.jsonl weights.jsonl formats.jsonl
var files embed.FS

// Version is the version of SPEC.md that the cases belong to.
const Version = 1

// LogProbTolerance is by how much a log-probability may be off (spec 8).
const LogProbTolerance = 1e-5

// A Case is a batch and the results of its rows.
type Case struct {
	Name  string // "ties/top-k-cuts", unique
	Kind  string // what goes wrong where the case fails: "ties"
	About string // one sentence
	DType tokendraw.DType
	Vocab int
	Want  []Want // one a row

	draw *schema.Draw
}

// Want is the right result of one row.
type Want struct {
	// Details hold the exact results. Tokens are the first of the kept tokens,
	// all of them only where there are as many as Kept.
	tokendraw.Details

	// Digest is that of all kept tokens in order: FNV-1a of their ids, score
	// bits and weights. See DigestOf.
	Digest uint64
}

// Draws returns the cases of draws.jsonl, in the order of the file. An error
// means that the package was built from a damaged file.
func Draws() ([]Case, error) {
	var cases []Case
	err := lines("draws.jsonl", func(d *schema.Draw) error {
		dtype, err := schema.ParseDType(d.DType)
		if err != nil {
			return fmt.Errorf("%s: %w", d.Name, err)
		}
		if len(d.Want) != len(d.Rows) {
			return fmt.Errorf("%s: %d results for %d rows", d.Name, len(d.Want), len(d.Rows))
		}
		c := Case{Name: d.Name, Kind: d.Kind, About: d.About, DType: dtype, Vocab: d.Vocab, draw: d}
		for row := range d.Want {
			details, digest, err := d.Want[row].Expand()
			if err != nil {
				return fmt.Errorf("%s: row %d: %w", d.Name, row, err)
			}
			c.Want = append(c.Want, Want{details, digest})
		}
		cases = append(cases, c)
		return nil
	})
	return cases, err
}

// Rows returns the number of rows of the batch.
func (c *Case) Rows() int { return len(c.Want) }

// Batch returns the input, in memory that the caller may change. What lies
// between the rows of a padded matrix is NaN.
func (c *Case) Batch() (*tokendraw.Batch, error) {
	if c.draw == nil {
		return nil, fmt.Errorf("vectors: case %q does not come from Draws", c.Name)
	}
	b, err := c.draw.Batch()
	if err != nil {
		return nil, fmt.Errorf("vectors: %s: %w", c.Name, err)
	}
	return b, nil
}

// CheckDraws compares what Sample gave with the right results. The error names
// the case, the row and both values.
func (c *Case) CheckDraws(got []tokendraw.Draw) error {
	if len(got) < len(c.Want) {
		return fmt.Errorf("%s: %d results for %d rows", c.Name, len(got), len(c.Want))
	}
	for row := range c.Want {
		if err := checkDraw(got[row], c.Want[row].Draw); err != nil {
			return fmt.Errorf("%s: row %d: %w", c.Name, row, err)
		}
	}
	return nil
}

// CheckDetails compares what Explain gave with the right results, down to the
// scores and weights of all kept tokens.
func (c *Case) CheckDetails(got []tokendraw.Details) error {
	if len(got) < len(c.Want) {
		return fmt.Errorf("%s: %d results for %d rows", c.Name, len(got), len(c.Want))
	}
	for row := range c.Want {
		if err := checkDetails(&got[row], &c.Want[row]); err != nil {
			return fmt.Errorf("%s: row %d: %w", c.Name, row, err)
		}
	}
	return nil
}

func checkDraw(got, want tokendraw.Draw) error {
	exact := got
	exact.LogProb = want.LogProb
	if exact != want {
		return fmt.Errorf("token %d, status %v, kept %d; want %d, %v, %d", got.Token, got.Status, got.Kept, want.Token, want.Status, want.Kept)
	}
	if d := math.Abs(float64(got.LogProb) - float64(want.LogProb)); !(d <= LogProbTolerance) {
		return fmt.Errorf("logprob %v, want %v", got.LogProb, want.LogProb)
	}
	return nil
}

func checkDetails(got *tokendraw.Details, want *Want) error {
	if err := checkDraw(got.Draw, want.Draw); err != nil {
		return err
	}
	if got.Greedy != want.Greedy {
		return fmt.Errorf("greedy %v, want %v", got.Greedy, want.Greedy)
	}
	for _, n := range []struct {
		name      string
		got, want uint64
	}{
		{"candidates", uint64(got.Candidates), uint64(want.Candidates)},
		{"n_k", uint64(got.TopK), uint64(want.TopK)},
		{"n_m", uint64(got.MinP), uint64(want.MinP)},
		{"n_p", uint64(got.TopP), uint64(want.TopP)},
		{"total", got.Total, want.Total},
		{"mass", got.Mass, want.Mass},
		{"kept tokens", uint64(len(got.Tokens)), uint64(want.Kept)},
	} {
		if n.got != n.want {
			return fmt.Errorf("%s %d, want %d", n.name, n.got, n.want)
		}
	}
	for i, t := range got.Tokens {
		if p := float64(t.Weight) / float64(got.Mass); !(math.Abs(t.Prob-p) <= 1e-6*p) {
			return fmt.Errorf("kept token %d: probability %v of %v / %v", i, t.Prob, t.Weight, got.Mass)
		}
		if i >= len(want.Tokens) {
			continue
		}
		w := want.Tokens[i]
		if t.Token != w.Token || math.Float32bits(t.Score) != math.Float32bits(w.Score) || t.Weight != w.Weight {
			return fmt.Errorf("kept token %d is {id %d, score %v, weight %#x}, want {id %d, score %v, weight %#x}", i, t.Token, t.Score, t.Weight, w.Token, w.Score, w.Weight)
		}
	}
	if d := DigestOf(got.Tokens); d != want.Digest {
		return fmt.Errorf("digest of the kept tokens %#x, want %#x", d, want.Digest)
	}
	return nil
}

// DigestOf returns the 64-bit FNV-1a hash of kept tokens in order: of each the
// id and the score's bits in four bytes and the weight in eight, lowest first.
func DigestOf(tokens []tokendraw.TokenProb) uint64 { return schema.DigestKept(tokens) }

// A ParamCase is a set of parameters that must be read in one way or refused.
type ParamCase struct {
	Name, Kind, About string

	Rows, Vocab int // of the logits that the parameters are for

	// JSON is the text for ParseRequests. With "" the case is Requests.
	JSON     string
	Requests []tokendraw.Request

	// Refused says that there must be an error, before anything is drawn.
	// Field is the parameter that it names, "" for any; Row the row, or -1 for
	// any.
	Refused bool
	Field   string
	Row     int

	// Want is what JSON means, one a row, if it is not refused.
	Want []tokendraw.Request
}

// Params returns the cases of params.jsonl.
func Params() ([]ParamCase, error) {
	var cases []ParamCase
	err := lines("params.jsonl", func(p *schema.Params) error {
		c := ParamCase{
			Name: p.Name, Kind: p.Kind, About: p.About, Rows: p.Rows, Vocab: p.Vocab,
			JSON: p.JSON, Refused: p.Refused != nil, Row: -1,
		}
		if p.Refused != nil {
			c.Field = p.Refused.Field
			if p.Refused.Row != nil {
				c.Row = *p.Refused.Row
			}
		}
		if p.Request != nil {
			r, err := p.Request.Expand()
			if err != nil {
				return fmt.Errorf("%s: %w", p.Name, err)
			}
			c.Requests = append(c.Requests, r)
		}
		for i := range p.Want {
			r, err := p.Want[i].Expand()
			if err != nil {
				return fmt.Errorf("%s: row %d: %w", p.Name, i, err)
			}
			c.Want = append(c.Want, r)
		}
		cases = append(cases, c)
		return nil
	})
	return cases, err
}

// A Block is a known answer of Philox4x32-10 (spec 7).
type Block struct {
	Key     [2]uint32
	Counter [4]uint32
	Result  [4]uint32
}

// A Random is the number of a seed and a step (spec 7).
type Random struct{ Seed, Step, U uint64 }

// Philox returns the cases of philox.jsonl.
func Philox() (blocks []Block, numbers []Random, err error) {
	err = lines("philox.jsonl", func(p *schema.Philox) error {
		if p.Key != "" {
			var b Block
			for _, f := range []struct {
				s   string
				dst []uint32
			}{{p.Key, b.Key[:]}, {p.Counter, b.Counter[:]}, {p.Result, b.Result[:]}} {
				list, err := schema.Hex(f.s, 8)
				if err != nil {
					return err
				}
				if len(list) != len(f.dst) {
					return fmt.Errorf("%d words, want %d", len(list), len(f.dst))
				}
				for i, x := range list {
					f.dst[i] = uint32(x)
				}
			}
			blocks = append(blocks, b)
			return nil
		}
		var n Random
		for _, f := range []struct {
			s   string
			dst *uint64
		}{{p.Seed, &n.Seed}, {p.Step, &n.Step}, {p.U, &n.U}} {
			x, err := schema.Hex1(f.s, 16)
			if err != nil {
				return err
			}
			*f.dst = x
		}
		numbers = append(numbers, n)
		return nil
	})
	return blocks, numbers, err
}

// A Weight is what spec 3 makes of a score z beside the maximum M.
type Weight struct {
	Temperature, C float32
	Z, M           float32
	Y              float32
	W              uint64
}

// Weights returns the cases of weights.jsonl.
func Weights() ([]Weight, error) {
	var cases []Weight
	err := lines("weights.jsonl", func(l *schema.Weights) error {
		var lists [6][]uint64
		for i, f := range []struct {
			s      string
			digits int
		}{{l.Temperature, 8}, {l.C, 8}, {l.M, 8}, {l.Z, 8}, {l.Y, 8}, {l.W, 10}} {
			list, err := schema.Hex(f.s, f.digits)
			if err != nil {
				return err
			}
			if want := len(lists[3]); i < 3 && len(list) != 1 || i > 3 && len(list) != want {
				return fmt.Errorf("list %d has %d numbers", i, len(list))
			}
			lists[i] = list
		}
		f := func(b uint64) float32 { return math.Float32frombits(uint32(b)) }
		for i, z := range lists[3] {
			cases = append(cases, Weight{
				Temperature: f(lists[0][0]), C: f(lists[1][0]), M: f(lists[2][0]),
				Z: f(z), Y: f(lists[4][i]), W: lists[5][i],
			})
		}
		return nil
	})
	return cases, err
}

// A Conversion is an element of a narrow type and the float32 that it is.
type Conversion struct {
	DType tokendraw.DType
	From  uint16
	To    uint32 // bits
}

// Conversions returns the cases of formats.jsonl.
func Conversions() ([]Conversion, error) {
	var cases []Conversion
	err := lines("formats.jsonl", func(l *schema.Formats) error {
		d, err := schema.ParseDType(l.DType)
		if err != nil {
			return err
		}
		from, err := schema.Hex(l.From, 4)
		if err != nil {
			return err
		}
		to, err := schema.Hex(l.To, 8)
		if err != nil {
			return err
		}
		if len(from) != len(to) {
			return fmt.Errorf("%d elements and %d values", len(from), len(to))
		}
		for i := range from {
			cases = append(cases, Conversion{d, uint16(from[i]), uint32(to[i])})
		}
		return nil
	})
	return cases, err
}

// Files returns the names and contents of the files, as they were embedded.
func Files() (map[string][]byte, error) {
	entries, err := files.ReadDir(".")
	if err != nil {
		return nil, err
	}
	all := make(map[string][]byte)
	for _, e := range entries {
		if all[e.Name()], err = files.ReadFile(e.Name()); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// lines calls f for each line of a file, read strictly.
func lines[T any](name string, f func(*T) error) error {
	data, err := files.ReadFile(name)
	if err != nil {
		return err
	}
	return eachLine(name, data, f)
}

func eachLine[T any](name string, data []byte, f func(*T) error) error {
	s := bufio.NewScanner(bytes.NewReader(data))
	s.Buffer(nil, len(data)+1)
	for n := 1; s.Scan(); n++ {
		d := json.NewDecoder(bytes.NewReader(s.Bytes()))
		d.DisallowUnknownFields()
		var x T
		err := d.Decode(&x)
		if err == nil {
			if _, more := d.Token(); more != io.EOF {
				err = fmt.Errorf("more than one value on the line")
			}
		}
		if err == nil {
			err = f(&x)
		}
		if err != nil {
			return fmt.Errorf("vectors: %s, line %d: %w", name, n, err)
		}
	}
	if err := s.Err(); err != nil {
		return fmt.Errorf("vectors: %s: %w", name, err)
	}
	return nil
}
