package measure

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/tokendraw/tokendraw"
	"github.com/tokendraw/tokendraw/bench/internal/rows"
)

// Llama is the program llamacpp/chain, which times llama.cpp's samplers.
type Llama struct {
	// Version is that of the package that llama.cpp came with.
	Version string

	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Scanner
}

// StartLlama starts the program of the given path.
func StartLlama(program string) (*Llama, error) {
	version, err := os.ReadFile(program + ".version")
	if err != nil {
		return nil, err
	}
	l := &Llama{Version: strings.TrimSpace(string(version)), cmd: exec.Command(program)}
	l.cmd.Stderr = os.Stderr
	if l.in, err = l.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := l.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	l.out = bufio.NewScanner(out)
	return l, l.cmd.Start()
}

// Close ends the program.
func (l *Llama) Close() error {
	l.in.Close()
	return l.cmd.Wait()
}

// Can reports whether llama.cpp has the setting: its top_p is always a share of
// what top_k left, and this program gives it no bias, mask or penalty.
func (l *Llama) Can(s rows.Setting) bool { return s != rows.Joint && s != rows.Adjusted }

// Load hands over rows.
func (l *Llama) Load(logits []float32, n, vocab int) error {
	dir, err := os.MkdirTemp("", "tokendraw-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	name := filepath.Join(dir, "rows")
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(f, 1<<20)
	if err := binary.Write(w, binary.NativeEndian, logits[:n*vocab]); err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return l.ok("rows %s %d %d", name, n, vocab)
}

// Chain sets up the samplers of a setting.
func (l *Llama) Chain(p *tokendraw.Params) error {
	return l.ok("chain %v %d %v %v", p.Temperature, p.TopK, p.TopP, p.MinP)
}

func (l *Llama) ok(format string, args ...any) error {
	answer, err := l.ask(format, args...)
	if err == nil && answer != "ok" {
		err = fmt.Errorf("llama.cpp: answered %q", answer)
	}
	return err
}

func (l *Llama) ask(format string, args ...any) (string, error) {
	if _, err := fmt.Fprintf(l.in, format+"\n", args...); err != nil {
		return "", fmt.Errorf("llama.cpp: %w", err)
	}
	if !l.out.Scan() {
		return "", fmt.Errorf("llama.cpp: the program ended")
	}
	return l.out.Text(), nil
}

// whole draws as a program does that has a row of logits: it fills the array of
// candidates and applies the chain.
func (l *Llama) whole(row, calls int) (time.Duration, int) {
	whole, _, kept := l.run(row, calls)
	return whole, kept
}

// chain is the time of the chain alone.
func (l *Llama) chain(row, calls int) (time.Duration, int) {
	_, chain, kept := l.run(row, calls)
	return chain, kept
}

func (l *Llama) run(row, calls int) (whole, chain time.Duration, kept int) {
	answer, err := l.ask("run %d %d", row, calls)
	if err == nil {
		_, err = fmt.Sscan(answer, &whole, &chain, &kept)
	}
	if err != nil {
		panic(err)
	}
	return whole, chain, kept
}
