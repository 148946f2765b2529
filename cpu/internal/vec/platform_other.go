//go:build noasm || (!amd64 && !(arm64 && go1.27))

package vec

// platform returns the variants in assembly: none here.
func platform() []*Funcs { return nil }
