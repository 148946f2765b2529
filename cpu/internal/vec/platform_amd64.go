//go:build amd64 && !noasm

package vec

func platform() []*Funcs { return nil }
