//go:build unix

package main

import (
	"errors"
	"os/signal"
	"syscall"
)

// keepBrokenPipe makes writing to a pipe that nobody reads an error instead of
// the end of the process, so that the exit status is ours.
func keepBrokenPipe() { signal.Ignore(syscall.SIGPIPE) }

func brokenPipe(err error) bool { return errors.Is(err, syscall.EPIPE) }
