// Command cpu measures the CPU sampler beside others and writes a data file.
//
//	go run ./cmd/cpu [flags]
//
// It first compares the draws with the oracle's and times nothing if one
// differs. It ends with the project's bars, judged.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/klauspost/cpuid/v2"
	"github.com/tokendraw/tokendraw/bench/internal/floor"
	"github.com/tokendraw/tokendraw/bench/internal/measure"
	"github.com/tokendraw/tokendraw/bench/internal/record"
	"github.com/tokendraw/tokendraw/bench/internal/tables"
	"github.com/tokendraw/tokendraw/cpu"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "cpu:", err)
		os.Exit(1)
	}
}

func run() error {
	var (
		out      = flag.String("o", "", "data `file` to write; data/cpu-DATE.json by default, none with -run")
		variants = flag.String("variants", strings.Join(cpu.Variants(), ","), "variants of the vector code, comma-separated")
		only     = flag.String("run", "", "measure the cases whose name this `regexp` matches: single/captured/128256/1/greedy")
		llama    = flag.String("llamacpp", "llamacpp/chain", "`program` that times llama.cpp, left out if it does not exist; see llamacpp/build.sh")
		rounds   = flag.Int("rounds", 40, "rounds of a case")
		sample   = flag.Duration("sample", 300*time.Microsecond, "least length of a sample")
		list     = flag.Bool("list", false, "print the names of the cases and end")
	)
	flag.Parse()
	if flag.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flag.Arg(0))
	}
	pattern, err := regexp.Compile(*only)
	if err != nil {
		return err
	}
	cases := slices.DeleteFunc(measure.Cases(), func(c measure.Case) bool { return !pattern.MatchString(name(&c)) })
	if *list {
		for i := range cases {
			fmt.Println(name(&cases[i]))
		}
		return nil
	}

	o := measure.Options{Variants: strings.Split(*variants, ","), Rounds: *rounds, Rows: 8, Sample: *sample}
	f := &record.File{
		Date:     time.Now().UTC().Format(time.RFC3339),
		Revision: revision(),
		Go:       runtime.Version() + " " + runtime.GOOS + "/" + runtime.GOARCH,
		Modules:  modules(),
		Machine: record.Machine{
			CPU: cpuid.CPU.BrandName, Cores: runtime.NumCPU(), Variants: cpu.Variants(), Floor: floor.Name(),
			L1: cpuid.CPU.Cache.L1D, L2: cpuid.CPU.Cache.L2, L3: cpuid.CPU.Cache.L3, Load: load(),
		},
		Method: record.Method{Rounds: o.Rounds, Rows: o.Rows, SampleNS: o.Sample.Nanoseconds()},
	}
	fmt.Printf("%s, %d cores, load %s\n", f.Machine.CPU, f.Machine.Cores, f.Machine.Load)
	if _, err := os.Stat(*llama); err == nil {
		if o.Llama, err = measure.StartLlama(*llama); err != nil {
			return err
		}
		defer o.Llama.Close()
		f.Machine.LlamaCPP = o.Llama.Version
	} else {
		fmt.Printf("without llama.cpp: %v\n", err)
	}

	for i := range cases {
		n, err := measure.Gate(&cases[i], &o, 2)
		f.Gate.Draws += n
		if err != nil {
			return errors.Join(errors.New("the sampler is wrong, nothing was timed"), err)
		}
	}
	fmt.Printf("gate: %d draws equal the oracle's\n", f.Gate.Draws)

	start := time.Now()
	for i := range cases {
		lines, err := measure.Run(&cases[i], &o)
		if err != nil {
			return err
		}
		f.Lines = append(f.Lines, lines...)
		fmt.Printf("%4.0fs %3d/%d %s\n", time.Since(start).Seconds(), i+1, len(cases), name(&cases[i]))
		for _, l := range lines {
			fmt.Printf("    %-16s %-8s w%d %10.1f us  %8.2f of a read  kept %.0f\n",
				l.Sampler, l.DType, l.Workers, l.Median/1e3, l.ToFloor, l.Kept)
		}
	}
	fmt.Printf("\n%s\n", tables.Bars(f))
	if *out == "" && *only == "" {
		*out = "data/cpu-" + f.Date[:len(time.DateOnly)] + ".json"
	}
	if *out == "" {
		return nil // part of a run is no run
	}
	if err := os.MkdirAll(filepath.Dir(*out), 0o777); err != nil {
		return err
	}
	fmt.Println("writes", *out)
	return record.Write(*out, f)
}

// name is what the flag -run matches.
func name(c *measure.Case) string {
	return fmt.Sprintf("%s/%s/%d/%d/%s", c.Group, c.Kind, c.Vocab, c.Batch, c.Setting)
}

// modules returns the versions of what was measured and what measured.
func modules() map[string]string {
	m := map[string]string{}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return m
	}
	for _, d := range info.Deps {
		m[d.Path] = d.Version
	}
	return m
}

// revision returns the commit of the working tree, or "".
func revision() string {
	out, err := exec.Command("git", "rev-parse", "--short=12", "HEAD").Output()
	if err != nil {
		return ""
	}
	rev := strings.TrimSpace(string(out))
	// What is measured lies outside bench.
	if exec.Command("git", "diff", "--quiet", "HEAD", "--", "..", ":!.").Run() != nil {
		rev += "-dirty"
	}
	return rev
}

// load returns the load averages, or "".
func load() string {
	data, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return ""
	}
	return strings.Join(strings.Fields(string(data))[:3], " ")
}
