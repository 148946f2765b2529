// The program _gen writes the files of vectors/. Run it in that directory:
//
//	go run ./_gen
//
// An argument is another directory to write to.
package main

import (
	"log"
	"os"
	"path/filepath"

	"github.com/tokendraw/tokendraw/vectors/internal/generate"
)

func main() {
	log.SetFlags(0)
	dir := "."
	if len(os.Args) > 1 {
		dir = os.Args[1]
	}
	files, err := generate.Files()
	if err != nil {
		log.Fatal(err)
	}
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o666); err != nil {
			log.Fatal(err)
		}
	}
}
