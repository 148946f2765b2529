package main

import (
	"flag"
	"fmt"
	"strings"
)

const helpText = `tokendraw draws the next token of each request from a batch of logits, exactly:
a token depends on the row's logits, parameters, seed and step, and on nothing
else.

Usage:

`

const helpEnd = `
"tokendraw COMMAND -h" says more. Flags may come before and after FILE, with one
dash or two; "-" is standard input, and what follows "--" is no flag.

Exit status:
  0  done; what became of a row is data, and no_candidate is no failure
  1  a check failed, or the work could not be done: a file that cannot be read,
     or that is not what it should be
  2  usage or a parameter; then nothing was printed
  3  the backend asked for is not available here

Environment:
  NO_COLOR       no colour, which only a terminal gets anyway
  TOKENDRAW_CPU  the variant of the cpu's vector code, see tokendraw devices
`

// help prints the help of the program, or of the command named.
func help(c *context, args []string) error {
	if len(args) > 0 {
		return dispatch(c, []string{args[0], "-h"})
	}
	fmt.Fprint(c.out, helpText)
	for _, cmd := range commands() {
		line := "  tokendraw " + padRight(cmd.name, 8)
		if cmd.name != "devices" {
			line += "[flags] "
		}
		fmt.Fprintln(c.out, padRight(line+cmd.files, 36)+cmd.short)
	}
	fmt.Fprintln(c.out, padRight("  tokendraw help [COMMAND]", 36)+"show this, or what a command does")
	fmt.Fprintln(c.out, padRight("  tokendraw version", 36)+"show the version")
	fmt.Fprint(c.out, helpEnd)
	return nil
}

// help prints the help of the flags' command.
func (f *flags) help() {
	cmd, out := f.c.command, f.c.out
	fmt.Fprintf(out, "Usage: tokendraw %s [flags] %s\n\n%s\n\nFlags:\n", cmd.name, cmd.files, cmd.long)
	for _, name := range f.order {
		x := f.Lookup(name)
		value, usage := flag.UnquoteUsage(x)
		head := "  -" + name
		if value != "" {
			head += " " + value
		}
		if x.DefValue != "" && x.DefValue != "0" && x.DefValue != "false" && !strings.Contains(usage, "not given") {
			usage += " (" + x.DefValue + " if not given)"
		}
		fmt.Fprintf(out, "%s %s\n", padRight(head, 27), usage)
	}
}
