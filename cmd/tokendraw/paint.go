package main

import "os"

// painter colours text for a terminal.
type painter struct{ colour bool }

func (p painter) wrap(code, text string) string {
	if !p.colour || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (p painter) bold(text string) string  { return p.wrap("1", text) }
func (p painter) dim(text string) string   { return p.wrap("2", text) }
func (p painter) red(text string) string   { return p.wrap("31", text) }
func (p painter) green(text string) string { return p.wrap("32", text) }
func (p painter) cyan(text string) string  { return p.wrap("36", text) }

// colourWanted honours NO_COLOR (https://no-color.org).
func colourWanted(f *os.File) bool {
	return os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && isTerminal(f)
}

// isTerminal takes any character device for a terminal; what goes to the null
// device is seen by nobody.
func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
