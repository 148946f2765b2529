package main

import (
	"errors"
	"fmt"
	"runtime"
	"strings"

	"github.com/tokendraw/tokendraw"
	"github.com/tokendraw/tokendraw/cpu"
	"github.com/tokendraw/tokendraw/oracle"
)

// A backend is a value of -backend. A new one is a new entry of the table.
type backend struct {
	name string
	// open returns an error that wraps tokendraw.ErrNotAvailable where the
	// backend does not work. Variant "" is the best one.
	open func(variant string, workers int) (tokendraw.Sampler, error)
	// variants returns the names of the ways to compute that work here, all
	// with the same results, the best first.
	variants func() []string
	about    string
}

// backends are in the order in which auto tries them; auto stops before oracle.
var backends = []backend{
	{
		name:     "cuda",
		open:     openCUDA,
		variants: func() []string { return nil },
		about:    "NVIDIA GPU",
	},
	{
		name: "cpu",
		open: func(variant string, workers int) (tokendraw.Sampler, error) {
			s, err := cpu.New(cpu.Config{Variant: variant, Workers: workers})
			if err != nil {
				return nil, err // a nil *cpu.Sampler is not a nil Sampler
			}
			return s, nil
		},
		variants: cpu.Variants,
		about:    "Go and vector code",
	},
	{
		name:     "oracle",
		open:     func(string, int) (tokendraw.Sampler, error) { return oracle.New(), nil },
		variants: func() []string { return []string{""} },
		about:    "the slow, obvious sampler that judges the others",
	},
}

func openCUDA(string, int) (tokendraw.Sampler, error) {
	return nil, fmt.Errorf("backend cuda: this build has no GPU code: %w", tokendraw.ErrNotAvailable)
}

// opened is a sampler that knows its backend's name.
type opened struct {
	tokendraw.Sampler
	name string
}

// openBackend opens a backend by the value of -backend.
func openBackend(name string, workers int) (*opened, error) {
	if workers < 0 {
		return nil, usagef("-workers must be at least 0, got %d", workers)
	}
	var err error // why auto found nothing, in the end
	for _, b := range backends {
		switch {
		case name == "auto" && b.name == "oracle":
			return nil, err
		case name != "auto" && name != b.name:
			continue
		}
		var s tokendraw.Sampler
		if s, err = b.open("", workers); err == nil {
			return &opened{s, b.name}, nil
		}
		if name == b.name || !errors.Is(err, tokendraw.ErrNotAvailable) {
			return nil, err
		}
	}
	return nil, unknownBackend(name, "auto")
}

// pickBackends returns the backends that a check or a measurement is about:
// with "all" every one that works here.
func pickBackends(name string) ([]backend, error) {
	var picked []backend
	for _, b := range backends {
		if name != "all" && name != b.name {
			continue
		}
		// By name, so that the environment does not decide.
		variant := ""
		if list := b.variants(); len(list) > 0 {
			variant = list[0]
		}
		s, err := b.open(variant, 0)
		if err != nil {
			if name == "all" && errors.Is(err, tokendraw.ErrNotAvailable) {
				continue
			}
			return nil, err
		}
		s.Close()
		picked = append(picked, b)
	}
	if len(picked) == 0 {
		return nil, unknownBackend(name, "all")
	}
	return picked, nil
}

func unknownBackend(name string, more ...string) error {
	for _, b := range backends {
		more = append(more, b.name)
	}
	return usagef("-backend must be one of %s, got %q", strings.Join(more, ", "), name)
}

// String returns the backend's name, with the variant and workers of the cpu.
func (o *opened) String() string {
	if c, ok := o.Sampler.(*cpu.Sampler); ok {
		return fmt.Sprintf("%s (%s, %s, %s)", o.name, c.Variant(), plural(c.Workers(), "worker"), runtime.GOARCH)
	}
	return o.name
}

// workers returns the most goroutines that work on a batch.
func (o *opened) workers() int {
	if c, ok := o.Sampler.(*cpu.Sampler); ok {
		return c.Workers()
	}
	return 1
}
