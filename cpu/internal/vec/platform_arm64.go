//go:build arm64 && go1.27 && !noasm

package vec

func platform() []*Funcs { return nil }
