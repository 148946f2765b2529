package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/tokendraw/tokendraw/internal/tensorfile"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"tokendraw": main})
}

// The scenarios are in testdata/script.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"exits":    exits,
			"mktensor": mktensor,
			"validxml": validXML,
		},
		Condition: func(cond string) (bool, error) {
			if cond == "short" {
				return testing.Short(), nil
			}
			return false, fmt.Errorf("unknown condition %q", cond)
		},
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
	})
}

// exits CODE PROGRAM ARGS... runs a program and checks its exit status.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM ARGS...")
	}
	err := ts.Exec(args[1], args[2:]...)
	code := 0
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		code = exit.ExitCode()
	case err != nil:
		ts.Fatalf("%v", err)
	}
	if strconv.Itoa(code) != args[0] {
		ts.Fatalf("exit status %d, want %s", code, args[0])
	}
}

// mktensor FILE DTYPE [KEY=VALUE...] ROW... writes a tensor file. A row is a
// list of numbers in one argument; VxN is N times V. The keys are cols, for a
// tensor without rows, name, and those of the metadata.
func mktensor(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: mktensor FILE DTYPE [KEY=VALUE...] ROW...")
	}
	t := &tensorfile.Tensor{Metadata: map[string]string{}}
	var values []float32
	for _, arg := range args[2:] {
		if key, value, ok := strings.Cut(arg, "="); ok {
			switch key {
			case "cols":
				t.Cols, _ = strconv.Atoi(value)
			case "name":
				t.Name = value
			default:
				t.Metadata[key] = strings.ReplaceAll(value, `|`, "\n")
			}
			continue
		}
		before := len(values)
		for item := range strings.FieldsSeq(arg) {
			number, times, _ := strings.Cut(item, "x")
			x, err := strconv.ParseFloat(number, 32)
			ts.Check(err)
			n := 1
			if times != "" {
				n, err = strconv.Atoi(times)
				ts.Check(err)
			}
			for range n {
				values = append(values, float32(x))
			}
		}
		t.Rows++
		t.Cols = len(values) - before
	}
	switch args[1] {
	case "f32":
		t.DType, t.F32 = tensorfile.Float32, append([]float32{}, values...)
	case "f16":
		t.DType, t.U16 = tensorfile.Float16, []uint16{}
		for _, x := range values {
			t.U16 = append(t.U16, shortFloat16(x))
		}
	case "bf16":
		t.DType, t.U16 = tensorfile.BFloat16, []uint16{}
		for _, x := range values {
			t.U16 = append(t.U16, uint16(math.Float32bits(x)>>16))
		}
	default:
		ts.Fatalf("dtype %s", args[1])
	}
	var file bytes.Buffer
	if strings.HasSuffix(args[0], ".npy") {
		ts.Check(tensorfile.WriteNPY(&file, t))
	} else {
		ts.Check(tensorfile.WriteSafetensors(&file, t))
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), file.Bytes(), 0o666))
}

// validxml FILE checks that a file is XML.
func validXML(ts *testscript.TestScript, neg bool, args []string) {
	d := xml.NewDecoder(strings.NewReader(ts.ReadFile(args[0])))
	for {
		_, err := d.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		ts.Check(err)
	}
}
