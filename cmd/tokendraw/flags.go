package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// flags is a flag set that finds its flags before, between and after the other
// arguments, with one dash or two, and with "_" for "-" in names.
type flags struct {
	*flag.FlagSet
	c     *context
	order []string // names in the order of the help
}

func newFlags(c *context) *flags {
	f := &flags{FlagSet: flag.NewFlagSet(c.command.name, flag.ContinueOnError), c: c}
	f.SetOutput(io.Discard) // errors go through main, help through help.go
	return f
}

// define adds a flag whose value parse takes. Usage has the name of the value in
// backquotes, as in package flag. Aliases are not in the help.
func (f *flags) define(name, usage string, parse func(string) error, aliases ...string) {
	f.Func(name, usage, parse)
	f.order = append(f.order, name)
	aliases = append(aliases, strings.ReplaceAll(name, "-", "_"))
	for _, alias := range aliases {
		if f.Lookup(alias) == nil {
			f.Func(alias, usage, parse)
		}
	}
}

func (f *flags) text(p *string, name, usage string) {
	f.StringVar(p, name, *p, usage)
	f.order = append(f.order, name)
}

func (f *flags) number(p *int, name, usage string) {
	f.IntVar(p, name, *p, usage)
	f.order = append(f.order, name)
}

func (f *flags) yes(p *bool, name, usage string) {
	f.BoolVar(p, name, *p, usage)
	f.order = append(f.order, name)
}

// parse returns the arguments that are not flags. All after "--" are none.
func (f *flags) parse(args []string) (files []string, err error) {
	for {
		err := f.Parse(args)
		if errors.Is(err, flag.ErrHelp) {
			f.help()
			return nil, err
		}
		if err != nil {
			return nil, usagef("%s: %v (see tokendraw %s -h)", f.Name(), err, f.Name())
		}
		rest := f.Args()
		if n := len(args) - len(rest); n > 0 && args[n-1] == "--" {
			return append(files, rest...), nil
		}
		if len(rest) == 0 {
			return files, nil
		}
		files, args = append(files, rest[0]), rest[1:]
	}
}

// none parses the arguments of a command that takes no files.
func (f *flags) none(args []string) error {
	files, err := f.parse(args)
	if err == nil && len(files) > 0 {
		return usagef("%s: unexpected argument %q (see tokendraw %s -h)", f.Name(), files[0], f.Name())
	}
	return err
}

// paramFlags are the flags for parameters, by their names in the wire form.
var paramFlags = []struct {
	name, usage string
	toJSON      func(text string) (string, error)
	aliases     []string
}{
	{"temperature", "divides the scores, 0 is greedy: `T`, 1 if not given", number, []string{"temp"}},
	{"top_k", "keep the best `K`; 0 and -1 are off", number, nil},
	{"top_p", "keep the best whose mass reaches the share `P` in (0, 1]", number, nil},
	{"min_p", "keep those at least `P` times as probable as the best", number, nil},
	{"filter_order", "what top_p is a share of: `ORDER` is joint or top_k_first", name, nil},
	{"repetition_penalty", "for tokens in prompt or output: `R` > 0, 1 is off", number, []string{"repeat-penalty", "repeat_penalty"}},
	{"presence_penalty", "subtracted for tokens in the output: `X`", number, nil},
	{"frequency_penalty", "subtracted per occurrence in the output: `X`", number, nil},
	{"logit_bias", "added to logits: `LIST` like 17=-2.5,3=-inf, or JSON", biasList, nil},
	{"allowed_token_ids", "only these tokens: `IDS` like 3,17, or JSON", integerList, nil},
	{"bitmask", "32-bit `WORDS`, lowest bit first, set = allowed, like 0xff,3", integerList, nil},
	{"prompt_tokens", "the text before, for penalties: `IDS`", integerList, nil},
	{"output_tokens", "the output so far, for penalties: `IDS`", integerList, nil},
	{"seed", "of the random numbers, the same for every row, 0 if not given: `N`", number, []string{"sampling-seed", "sampling_seed"}},
	{"step", "number of the token in its request: `N`", number, nil},
	{"u", "a number in [0, 1) instead of a random one: `U`", number, nil},
}

// paramText collects parameters given as flags into a JSON object.
type paramText struct {
	members []string
	first   string // the first flag given
}

func (t *paramText) json() []byte { return []byte("{" + strings.Join(t.members, ",") + "}") }

func (f *flags) params(t *paramText) {
	for _, p := range paramFlags {
		dashed := strings.ReplaceAll(p.name, "_", "-")
		f.define(dashed, p.usage, func(text string) error {
			value, err := p.toJSON(strings.TrimSpace(text))
			if err != nil {
				return err
			}
			if t.first == "" {
				t.first = dashed
			}
			// A flag given twice is a name given twice, which the parser refuses.
			t.members = append(t.members, strconv.Quote(p.name)+":"+value)
			return nil
		}, p.aliases...)
	}
}

// number passes numbers on. What is not one becomes a string, which the parser
// refuses by the name of the parameter.
func number(text string) (string, error) {
	trimmed := strings.TrimPrefix(text, "+")
	sign := ""
	if rest, ok := strings.CutPrefix(trimmed, "-"); ok {
		sign, trimmed = "-", rest
	}
	if strings.HasPrefix(trimmed, ".") {
		trimmed = "0" + trimmed
	}
	if trimmed != "" && trimmed[0] >= '0' && trimmed[0] <= '9' && json.Valid([]byte(trimmed)) {
		return sign + trimmed, nil
	}
	return name(text)
}

func name(text string) (string, error) {
	quoted, err := json.Marshal(text)
	return string(quoted), err
}

// biasList turns 17=-2.5,3=-inf into an object.
func biasList(text string) (string, error) {
	if strings.HasPrefix(text, "{") {
		return whole(text)
	}
	var members []string
	for item := range strings.SplitSeq(text, ",") {
		id, value, ok := strings.Cut(item, "=")
		if !ok {
			return "", fmt.Errorf("%q is not ID=VALUE", item)
		}
		key, _ := name(strings.TrimSpace(id))
		x, _ := number(strings.TrimSpace(value))
		members = append(members, key+":"+x)
	}
	return "{" + strings.Join(members, ",") + "}", nil
}

// integerList turns 3,17,0xff into an array.
func integerList(text string) (string, error) {
	if strings.HasPrefix(text, "[") {
		return whole(text)
	}
	var items []string
	for item := range strings.SplitSeq(text, ",") {
		item = strings.TrimSpace(item)
		if x, err := strconv.ParseUint(item, 0, 32); err == nil && strings.HasPrefix(item, "0x") {
			item = strconv.FormatUint(x, 10)
		}
		x, _ := number(item)
		items = append(items, x)
	}
	return "[" + strings.Join(items, ",") + "]", nil
}

// whole refuses text that would not stay one member of an object.
func whole(text string) (string, error) {
	if !json.Valid([]byte(text)) {
		return "", errors.New("not JSON")
	}
	return text, nil
}

// numbers parses a list of integers in [lo, hi], for sizes.
func numbers(text string, lo, hi int) ([]int, error) {
	var list []int
	for item := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(item))
		if err != nil || n < lo || n > hi {
			return nil, fmt.Errorf("want integers in [%d, %d]", lo, hi)
		}
		list = append(list, n)
	}
	return list, nil
}

// given reports whether a flag was set.
func given(f *flags, name string) (yes bool) {
	f.Visit(func(x *flag.Flag) { yes = yes || x.Name == name })
	return yes
}
