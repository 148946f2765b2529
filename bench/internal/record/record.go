// Package record is the form in which measurements are kept: one JSON file a
// run, with everything that a reader needs to judge it.
package record

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// Names of samplers that are not variants of tokendraw.
const (
	Floor         = "floor"           // one read of the rows
	LlamaCPP      = "llama.cpp"       // candidate array filled, then the chain
	LlamaCPPChain = "llama.cpp chain" // the chain alone
)

// Groups of lines.
const (
	Single = "single" // one row a call, one thread, float32
	DTypes = "dtypes" // one row a call, one thread, the three element types
	Batch  = "batch"  // many rows a call, one and two workers
)

// File is one run.
type File struct {
	Date     string            `json:"date"`     // UTC, RFC 3339
	Revision string            `json:"revision"` // of the repository; "-dirty" with changes
	Go       string            `json:"go"`       // version, GOOS/GOARCH
	Modules  map[string]string `json:"modules"`  // path -> version
	Machine  Machine           `json:"machine"`
	Method   Method            `json:"method"`
	Gate     Gate              `json:"gate"`
	Lines    []Line            `json:"lines"`
}

// Machine is where it ran.
type Machine struct {
	CPU      string   `json:"cpu"`
	Cores    int      `json:"cores"` // that this process may use
	L1       int      `json:"l1d_bytes"`
	L2       int      `json:"l2_bytes"`
	L3       int      `json:"l3_bytes"`
	Variants []string `json:"variants"` // of the vector code, the fastest first
	Floor    string   `json:"floor"`    // what the one-read floor is written in
	LlamaCPP string   `json:"llama_cpp,omitempty"`
	Load     string   `json:"load"` // load averages at the start, which should be near 0
}

// Method is how it was measured.
type Method struct {
	Rounds   int   `json:"rounds"`    // of the fast samplers
	Rows     int   `json:"rows"`      // different rows that rounds of one row a call go through
	SampleNS int64 `json:"sample_ns"` // least length of a sample, in which one call is repeated
}

// Gate is what was compared with the oracle before anything was timed.
type Gate struct {
	Draws    int `json:"draws"`
	Failures int `json:"failures"`
}

// Line is one sampler on one case. Times are of one call, in nanoseconds.
type Line struct {
	Group   string  `json:"group"`
	Rows    string  `json:"rows"` // kind of rows
	Vocab   int     `json:"vocab"`
	Batch   int     `json:"batch"`
	DType   string  `json:"dtype"`
	Setting string  `json:"setting"`
	Sampler string  `json:"sampler"`
	Workers int     `json:"workers"`
	Rounds  int     `json:"rounds"`
	Reps    int     `json:"reps"` // calls in one sample
	P10     float64 `json:"p10_ns"`
	Median  float64 `json:"median_ns"`
	P90     float64 `json:"p90_ns"`
	PerRow  float64 `json:"ns_per_row"`     // median / batch
	ToFloor float64 `json:"ratio_to_floor"` // median over the rounds of the ratio to the floor of the same round
	Kept    float64 `json:"kept"`           // median number of tokens kept; 0 where the sampler does not tell
}

// Case returns what is the same for all samplers that ran side by side.
func (l *Line) Case() Case {
	return Case{l.Group, l.Rows, l.Vocab, l.Batch, l.DType, l.Setting}
}

// Case names what is drawn from, and how.
type Case struct {
	Group, Rows  string
	Vocab, Batch int
	DType        string
	Setting      string
}

// Find returns the line of a sampler on a case, or nil.
func (f *File) Find(c Case, sampler string, workers int) *Line {
	for i := range f.Lines {
		if l := &f.Lines[i]; l.Sampler == sampler && l.Workers == workers && l.Case() == c {
			return l
		}
	}
	return nil
}

// Samplers returns the names of the samplers in the group, in the order in
// which they come.
func (f *File) Samplers(group string) []string {
	var names []string
	for _, l := range f.Lines {
		if l.Group == group && !slices.Contains(names, l.Sampler) {
			names = append(names, l.Sampler)
		}
	}
	return names
}

// Read reads a file.
func Read(name string) (*File, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var f File
	if err := json.Unmarshal(data, &f); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return &f, nil
}

// Write writes a file, with a line of text for each line measured.
func Write(name string, f *File) error {
	head := *f
	head.Lines = nil
	data, err := json.MarshalIndent(head, "", "  ")
	if err != nil {
		return err
	}
	const empty = `"lines": null` + "\n}"
	data = append(data[:len(data)-len(empty)], `"lines": [`...)
	for i := range f.Lines {
		line, err := json.Marshal(f.Lines[i])
		if err != nil {
			return err
		}
		if i > 0 {
			data = append(data, ',')
		}
		data = append(append(data, "\n    "...), line...)
	}
	data = append(data, "\n  ]\n}\n"...)
	return os.WriteFile(name, data, 0o666)
}

// Newest returns the name of the newest file of data in a folder, by its name
// "cpu-2026-12-01.json", or "" if there is none.
func Newest(dir string) string {
	names, _ := filepath.Glob(filepath.Join(dir, "cpu-*.json"))
	if len(names) == 0 {
		return ""
	}
	return slices.Max(names)
}
