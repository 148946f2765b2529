package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tokendraw/tokendraw"
)

const devicesHelp = `Lists the backends, and the reason where one does not work here. "auto" takes
the first that does.

With -json a backend is one line.`

// device is the JSON line of a backend.
type device struct {
	Backend   string   `json:"backend"`
	Available bool     `json:"available"`
	Auto      bool     `json:"auto"` // what -backend auto takes
	About     string   `json:"about"`
	Variants  []string `json:"variants,omitempty"` // the first is used
	Features  []string `json:"features,omitempty"`
	Workers   int      `json:"workers,omitempty"`
	Reason    string   `json:"reason,omitempty"` // why it is not available
}

func runDevices(c *context, args []string) error {
	var asJSON bool
	f := newFlags(c)
	f.yes(&asJSON, "json", "one JSON object a backend")
	if err := f.none(args); err != nil {
		return err
	}
	auto := true
	for _, b := range backends {
		d := device{Backend: b.name, About: b.about}
		s, err := b.open("", 0)
		if err != nil {
			d.Reason = strings.TrimPrefix(err.Error(), "backend "+b.name+": ")
		} else {
			d.Available = true
			d.Auto, auto = auto && b.name != "oracle", false
			d.look(b, s)
			s.Close()
		}
		if asJSON {
			line, err := json.Marshal(d)
			if err != nil {
				return err
			}
			c.out.Write(append(line, '\n'))
			continue
		}
		d.print(c)
	}
	return nil
}

// look fills in what an open sampler knows about itself.
func (d *device) look(b backend, s tokendraw.Sampler) {
	if x, ok := s.(interface{ Workers() int }); ok {
		d.Workers = x.Workers()
	}
	if b.name == "cpu" {
		d.Features = cpuFeatures()
		d.Variants = b.variants()
		// The variable of the environment may have picked another.
		if x, ok := s.(interface{ Variant() string }); ok {
			used := x.Variant()
			list := []string{used}
			for _, v := range d.Variants {
				if v != used {
					list = append(list, v)
				}
			}
			d.Variants = list
		}
	}
}

func (d *device) print(c *context) {
	line := padRight(d.Backend, 8)
	if !d.Available {
		fmt.Fprintln(c.out, line+c.paint.dim(d.Reason))
		return
	}
	line = c.paint.bold(line) + d.About
	if d.Auto {
		line += c.paint.green("  (auto)")
	}
	fmt.Fprintln(c.out, line)
	if len(d.Variants) > 0 {
		text := "variant " + d.Variants[0]
		if rest := d.Variants[1:]; len(rest) > 0 {
			text += ", also here: " + strings.Join(rest, ", ")
		}
		fmt.Fprintln(c.out, spaces(8)+text)
	}
	if d.Workers > 0 {
		fmt.Fprintln(c.out, spaces(8)+plural(d.Workers, "worker"))
	}
	if len(d.Features) > 0 {
		fmt.Fprintln(c.out, spaces(8)+"features "+strings.Join(d.Features, " "))
	}
}
