package main

import (
	"fmt"
	"io"
	"os"
	"time"
)

// progress is one line on standard error that says how far long work has come.
// It shows nothing unless that is a terminal. A library would bring five more
// modules for these few lines.
type progress struct {
	w     io.Writer // nil: show nothing
	next  time.Time // when to show the line again
	shown bool
}

// The line appears once work has taken a while, and changes seldom.
const (
	progressAfter = 500 * time.Millisecond
	progressEvery = 100 * time.Millisecond
)

func newProgress(f *os.File) *progress {
	p := &progress{next: time.Now().Add(progressAfter)}
	if isTerminal(f) {
		p.w = f
	}
	return p
}

// at says that done of total parts of the work are done.
func (p *progress) at(what string, done, total int) {
	if p.w == nil || total == 0 || time.Now().Before(p.next) {
		return
	}
	p.next = time.Now().Add(progressEvery)
	p.shown = true
	fmt.Fprintf(p.w, "\r\x1b[Ktokendraw: %s: %d of %d (%d%%)", what, done, total, 100*done/total)
}

// clear removes the line.
func (p *progress) clear() {
	if p.shown {
		fmt.Fprint(p.w, "\r\x1b[K")
		p.shown = false
	}
}

// clearing is a writer of results that removes the line first, for both may go
// to one terminal.
type clearing struct {
	w io.Writer
	p *progress
}

func (c clearing) Write(data []byte) (int, error) {
	c.p.clear()
	return c.w.Write(data)
}
