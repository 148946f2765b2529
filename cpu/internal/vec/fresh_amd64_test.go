//go:build !noasm

package vec

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The assembly is that of the generator as it is: go generate writes the
// digests of both.
func TestAssemblyIsFresh(t *testing.T) {
	list, err := os.ReadFile("amd64.sha256")
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	for line := range strings.Lines(string(list)) {
		want, name, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
		if !ok {
			t.Fatalf("not a line of sha256sum: %q", line)
		}
		listed[name] = true
		b, err := os.ReadFile(filepath.FromSlash(name))
		if err != nil {
			t.Fatal(err)
		}
		b = []byte(strings.ReplaceAll(string(b), "\r\n", "\n"))
		if got := fmt.Sprintf("%x", sha256.Sum256(b)); got != want {
			t.Errorf("%s changed: run go generate in cpu/internal/vec", name)
		}
	}
	for _, pattern := range []string{"../../_asm/*.go", "../../_asm/go.*", "avx*_amd64.*"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: no files, %v", pattern, err)
		}
		for _, name := range files {
			if !listed[filepath.ToSlash(name)] {
				t.Errorf("%s is not in amd64.sha256: run go generate in cpu/internal/vec", name)
			}
		}
	}
}
