// Command tables writes the tables of measurements into a document, between
// the markers <!-- bench:cpu:begin --> and <!-- bench:cpu:end -->, from the
// newest data file.
//
//	go run ./cmd/tables            rewrite ../README.md
//	go run ./cmd/tables -check     only say whether it is fresh
//	go run ./cmd/tables -bars      print the project's bars, judged
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"

	"github.com/tokendraw/tokendraw/bench/internal/record"
	"github.com/tokendraw/tokendraw/bench/internal/tables"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "tables:", err)
		os.Exit(1)
	}
}

func run() error {
	doc := flag.String("doc", "../README.md", "document to rewrite, a `file`")
	data := flag.String("data", "", "data `file`; the newest in data/ by default")
	check := flag.Bool("check", false, "change nothing, fail if the document is not fresh")
	bars := flag.Bool("bars", false, "print the project's bars and change nothing")
	flag.Parse()
	if *data == "" {
		*data = record.Newest("data")
	}
	if *data == "" {
		return errors.New("no data file; go run ./cmd/cpu makes one")
	}
	f, err := record.Read(*data)
	if err != nil {
		return err
	}
	if *bars {
		fmt.Print(tables.Bars(f))
		return nil
	}
	old, err := os.ReadFile(*doc)
	if err != nil {
		return err
	}
	fresh, err := tables.Update(old, f, tables.Source(*data))
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", *doc, err)
	case bytes.Equal(old, fresh):
		return nil
	case *check:
		return fmt.Errorf("%s: tables are not those of %s", *doc, *data)
	}
	return os.WriteFile(*doc, fresh, 0o666)
}
