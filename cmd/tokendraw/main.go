// Command tokendraw draws tokens from files of logits, explains the draws, and
// proves and measures the backends of this machine.
//
//	tokendraw help
//
// Exit status: 0 done; 1 a check failed or the work could not be done; 2 usage
// or a parameter; 3 the backend asked for is not available here.
package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"

	"github.com/tokendraw/tokendraw"
)

func main() { os.Exit(run(os.Args[1:])) }

// The exit statuses.
const (
	exitDone = iota
	exitFailed
	exitUsage
	exitNotAvailable
)

// A command is one of the words after "tokendraw".
type command struct {
	name  string
	files string // what follows the flags, for the help
	short string // one line
	long  string // the rest of the help
	run   func(c *context, args []string) error
}

// commands is a function, for the help command is in it and uses it.
func commands() []command {
	return []command{
		{"sample", "FILE", "draw one token per row", sampleHelp, runSample},
		{"explain", "FILE", "show what each row would draw from, and why", explainHelp, runExplain},
		{"verify", "", "prove the backends of this machine", verifyHelp, runVerify},
		{"bench", "", "measure the backends of this machine", benchHelp, runBench},
		{"devices", "", "list the backends of this machine", devicesHelp, runDevices},
	}
}

// context is what a command works with.
type context struct {
	command command
	stdin   io.Reader
	out     *bufio.Writer // results; flushed by run
	stderr  io.Writer
	paint   painter   // colour for out
	notes   *progress // how far long work has come
}

// usageError is an error of the command line itself.
type usageError struct{ text string }

func (e *usageError) Error() string { return e.text }

func usagef(format string, args ...any) error {
	return &usageError{fmt.Sprintf(format, args...)}
}

// errFailed ends a command whose failure its results already tell.
var errFailed = errors.New("a check failed")

func run(args []string) int {
	keepBrokenPipe()
	notes := newProgress(os.Stderr)
	c := &context{
		stdin:  os.Stdin,
		out:    bufio.NewWriterSize(clearing{os.Stdout, notes}, 1<<16),
		stderr: os.Stderr,
		paint:  painter{colour: colourWanted(os.Stdout)},
		notes:  notes,
	}
	err := dispatch(c, args)
	c.notes.clear()
	if flushed := c.out.Flush(); err == nil {
		err = flushed
	}
	if err != nil && err != errFailed && !brokenPipe(err) {
		fmt.Fprintf(c.stderr, "tokendraw: %v\n", err)
	}
	return status(err)
}

// status returns the exit status for an error.
func status(err error) int {
	var usage *usageError
	var param *tokendraw.ParamError
	var shape *tokendraw.ShapeError
	var syntax *tokendraw.SyntaxError
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &usage), errors.As(err, &param), errors.As(err, &shape), errors.As(err, &syntax):
		return exitUsage
	case errors.Is(err, tokendraw.ErrNotAvailable):
		return exitNotAvailable
	}
	return exitFailed
}

func dispatch(c *context, args []string) error {
	if len(args) == 0 {
		return usagef("want a command: %s (see tokendraw help)", commandNames())
	}
	name, rest := args[0], args[1:]
	switch name {
	case "help", "-h", "-help", "--help":
		return help(c, rest)
	case "version", "-version", "--version":
		fmt.Fprintln(c.out, "tokendraw", version())
		return nil
	}
	for _, cmd := range commands() {
		if cmd.name == name {
			c.command = cmd
			err := cmd.run(c, rest)
			if errors.Is(err, flag.ErrHelp) {
				return nil // printed by the flags
			}
			return err
		}
	}
	return usagef("unknown command %q, want %s (see tokendraw help)", name, commandNames())
}

func commandNames() string {
	var names []string
	for _, cmd := range commands() {
		names = append(names, cmd.name)
	}
	return strings.Join(names, ", ")
}

// version returns the module's version, and the revision where the build
// recorded one.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "(unknown)"
	}
	v := info.Main.Version
	if v == "" {
		v = "(devel)"
	}
	return v + " " + info.GoVersion
}
