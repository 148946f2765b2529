// Package generate writes the files of vectors/ from the oracle. Its output
// depends on nothing else: the same files every time, everywhere.
package generate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"github.com/tokendraw/tokendraw"
	"github.com/tokendraw/tokendraw/oracle"
	"github.com/tokendraw/tokendraw/vectors/internal/schema"
)

// Files returns the contents of the files by name.
func Files() (map[string][]byte, error) {
	draws, err := drawFile()
	if err != nil {
		return nil, err
	}
	all := map[string][]byte{"draws.jsonl": draws}
	for name, lines := range map[string][]any{
		"params.jsonl":  paramLines(),
		"philox.jsonl":  philoxLines(),
		"weights.jsonl": weightLines(),
		"formats.jsonl": formatLines(),
	} {
		if all[name], err = encode(lines); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return all, nil
}

// encode writes one line per value.
func encode(lines []any) ([]byte, error) {
	var buf bytes.Buffer
	e := json.NewEncoder(&buf)
	e.SetEscapeHTML(false)
	for _, line := range lines {
		if err := e.Encode(line); err != nil {
			return nil, err
		}
	}
	return buf.Bytes(), nil
}

// drawFile fills in the results of the cases by the oracle.
func drawFile() ([]byte, error) {
	s := oracle.New()
	defer s.Close()
	var lines []any
	names := map[string]bool{}
	for _, c := range drawCases() {
		if names[c.Name] {
			return nil, fmt.Errorf("%s: second case of this name", c.Name)
		}
		names[c.Name] = true
		c.Kind, _, _ = strings.Cut(c.Name, "/")
		if err := fillDigests(c); err != nil {
			return nil, fmt.Errorf("%s: %w", c.Name, err)
		}
		b, err := c.Batch()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.Name, err)
		}
		details := make([]tokendraw.Details, b.Logits.Rows)
		if err := s.Explain(b, details); err != nil {
			return nil, fmt.Errorf("%s: %w", c.Name, err)
		}
		c.Want = []schema.Want{}
		for i := range details {
			c.Want = append(c.Want, schema.WantOf(&details[i]))
		}
		lines = append(lines, c)
	}
	return encode(lines)
}

func fillDigests(c *schema.Draw) error {
	d, err := schema.ParseDType(c.DType)
	if err != nil {
		return err
	}
	var rows [][]uint32
	for i := range c.Rows {
		row, err := c.Rows[i].Elements(d, c.Vocab, rows)
		if err != nil {
			return fmt.Errorf("row %d: %w", i, err)
		}
		if !c.Rows[i].Copy() {
			c.Rows[i].Digest = schema.DigestElements(d, row)
		}
		rows = append(rows, row)
	}
	return nil
}

func philoxLines() (lines []any) {
	const known = "kat_vectors of Random123"
	for _, k := range []schema.Philox{
		{Source: known, Counter: "00000000000000000000000000000000", Key: "0000000000000000", Result: "6627e8d5e169c58dbc57ac4c9b00dbd8"},
		{Source: known, Counter: "ffffffffffffffffffffffffffffffff", Key: "ffffffffffffffff", Result: "408f276d41c83b0ea20bc7c66d5451fd"},
		{Source: known, Counter: "243f6a8885a308d313198a2e03707344", Key: "a4093822299f31d0", Result: "d16cfe0994fdcceb5001e42024126ea1"},
	} {
		lines = append(lines, k)
	}
	edges := []uint64{0, 1, 2, 3, 1<<31 - 1, 1 << 31, 1<<32 - 1, 1 << 32, 1<<32 + 1, 1 << 53, 1<<63 - 1, 1 << 63, math.MaxUint64 - 1, math.MaxUint64, 0x0123456789abcdef}
	for _, seed := range edges {
		for _, step := range edges {
			lines = append(lines, schema.Philox{
				Source: "oracle", Seed: fmt.Sprintf("%016x", seed), Step: fmt.Sprintf("%016x", step),
				U: fmt.Sprintf("%016x", oracle.Random(seed, step)),
			})
		}
	}
	return lines
}

// Temperatures are the awkward ones.
var temperatures = []float32{
	math.SmallestNonzeroFloat32, 1e-40, 1e-39, 4.2e-39, 4.3e-39, 1.1754942e-38, 1.17549435e-38, 1e-30, 1e-10, 1e-5, 1e-3, 0.01,
	0.1, 0.2, 0.3, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99999994, 1, 1.0000001, 1.1, 1.25, 1.3, 1.442695, 1.5, 1.7, 2, 3, 5, 10, 100,
	1e4, 1e10, 1e20, 1e30, 1.2e38, 1.3e38, 3e38, math.MaxFloat32,
}

func weightLines() (lines []any) {
	inf := float32(math.Inf(1))
	for i, temperature := range temperatures {
		for j, m := range []float32{0, 1, -3.1415927, 17.25, 65504, -1e-40, 3e38, inf}[:] {
			if i%3 != 0 && j >= 4 {
				continue // every third temperature has them all
			}
			c := oracle.Scale(temperature)
			scores := []float32{m, -inf}
			down := func(t float64) { // a score of about this exponent
				if z := float32(float64(m) - t*float64(temperature)/math.Log2E); z <= m {
					scores = append(scores, z)
				}
			}
			if m < inf {
				for k := uint64(0); k < 20; k++ { // spread over [0, 41]
					down(float64(schema.Mix(uint64(i*8+j), k)>>11) / (1 << 53) * 41)
				}
				for _, t := range []float64{1e-9, 3e-8, 6e-8, 1e-6, 0.25, 0.49999997, 0.5, 0.5000001, 1, 1.5, 2.5, 35.999, 36, 36.5, 37, 37.00001, 38, 39.5, 39.99999, 40, 40.00001} {
					down(t)
				}
				scores = append(scores, math.Nextafter32(m, -inf), -math.MaxFloat32)
			} else {
				scores = append(scores, math.MaxFloat32, 0, -1)
			}
			l := schema.Weights{Temperature: hex32(temperature), C: hex32(c), M: hex32(m)}
			for _, z := range scores {
				z += 0 // as spec 1 leaves it
				y, w := oracle.Weight(z, m, c)
				l.Z += hex32(z)
				l.Y += hex32(y)
				l.W += fmt.Sprintf("%010x", w)
			}
			lines = append(lines, l)
		}
	}
	return lines
}

func formatLines() (lines []any) {
	for _, d := range []tokendraw.DType{tokendraw.Float16, tokendraw.BFloat16} {
		l := schema.Formats{DType: d.String()}
		add := func(h uint16) {
			logits := tokendraw.Logits{Rows: 1, Vocab: 1}
			if d == tokendraw.Float16 {
				logits.F16 = []uint16{h}
			} else {
				logits.BF16 = []uint16{h}
			}
			if x := logits.AppendRow(nil, 0)[0]; x == x {
				l.From += fmt.Sprintf("%04x", h)
				l.To += hex32(x)
			}
		}
		for _, h := range []uint16{
			0, 1, 2, 3, 0x1ff, 0x200, 0x3fe, 0x3ff, 0x400, 0x401, 0x7ff, 0x800, 0x3bff, 0x3c00, 0x3c01, 0x7bff, 0x7c00,
			0x007f, 0x0080, 0x0081, 0x3f7f, 0x3f80, 0x3f81, 0x7f7f, 0x7f80,
		} {
			add(h)
			add(h | 0x8000)
		}
		for k := uint64(0); k < 100; k++ {
			add(uint16(schema.Mix(uint64(d), k)))
		}
		lines = append(lines, l)
	}
	return lines
}

func hex32(x float32) string { return fmt.Sprintf("%08x", math.Float32bits(x)) }
