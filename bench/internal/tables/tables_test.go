package tables

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tokendraw/tokendraw/bench/internal/record"
)

// sample is a run with few lines.
func sample() *record.File {
	f := &record.File{
		Date: "2026-12-01T10:00:00Z", Revision: "0123456789ab", Go: "go1.26.8 linux/amd64",
		Machine: record.Machine{CPU: "A CPU", Variants: []string{"avx512", "avx2", "generic"}},
	}
	line := func(group, setting, sampler string, batch, workers int, us, toFloor float64) {
		f.Lines = append(f.Lines, record.Line{
			Group: group, Rows: "captured", Vocab: 128256, Batch: batch, DType: "float32", Setting: setting,
			Sampler: sampler, Workers: workers, Median: us * 1e3, PerRow: us * 1e3 / float64(batch), ToFloor: toFloor,
		})
	}
	for _, setting := range []string{"greedy", "p .95"} {
		line(record.Single, setting, "floor", 1, 1, 8, 1)
		line(record.Single, setting, "avx512", 1, 1, 10, 1.25)
		line(record.Single, setting, "avx2", 1, 1, 12.5, 1.5625)
		line(record.Single, setting, "generic", 1, 1, 100, 12.5)
		line(record.Single, setting, "llama.cpp chain", 1, 1, 80, 10)
	}
	line(record.Single, "p .95", "sort", 1, 1, 26123, 3265)
	line(record.Batch, "greedy", "avx512", 64, 1, 1280, 1.3)
	line(record.Batch, "greedy", "avx512", 64, 2, 640, 0.65)
	line(record.Batch, "greedy", "avx2", 64, 1, 1280, 1.3)
	line(record.Batch, "greedy", "avx2", 64, 2, 1000, 1)
	return f
}

const document = "# Title\n\nBefore.\n\n" + Begin + "\nold\n" + End + "\n\nAfter.\n"

func TestUpdate(t *testing.T) {
	f := sample()
	got, err := Update([]byte(document), f, "bench/data/cpu-2026-12-01.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"# Title\n\nBefore.\n\n" + Begin + "\n",
		"| | one read | AVX-512 | AVX2 | plain Go | its chain only | sort |\n",
		"| greedy | 8.0 | 10 | 12 | 100 | 80 |  |\n",
		"| T .8, p .95 | 8.0 | 10 | 12 | 100 | 80 | 26120 |\n",
		"| V = 128256, float32, greedy | 20 | 10 | 2.00 |\n",
		"Data: `bench/data/cpu-2026-12-01.json`, revision 0123456789ab.",
		End + "\n\nAfter.\n",
	} {
		if !strings.Contains(string(got), want) {
			t.Errorf("the document lacks %q:\n%s", want, got)
		}
	}
	if strings.Contains(string(got), "old") {
		t.Error("the old table is still there")
	}
	again, err := Update(got, f, "bench/data/cpu-2026-12-01.json")
	if err != nil || !bytes.Equal(again, got) {
		t.Errorf("a second update changes the document (error %v)", err)
	}
}

func TestUpdateErrors(t *testing.T) {
	for _, doc := range []string{"", Begin, End, End + Begin, document + document} {
		if _, err := Update([]byte(doc), sample(), ""); err == nil {
			t.Errorf("no error for %q", doc)
		}
	}
}

func TestBars(t *testing.T) {
	got := Bars(sample())
	for _, want := range []string{
		"| captured rows, V = 128256, greedy: time of one read | at most 1.5 | 1.56 | not met | 1.25 |\n",
		"| captured rows, V = 128256, p .95: speed of sort | at least 15 | 2089.84 | met | 2612.30 |\n",
		"| captured rows, V = 128256, greedy: 64 rows on two cores, speed of one | at least 1.6 | 1.28 | not met | 2.00 |\n",
		"| plain Go: speed of llama.cpp chain (worst at captured rows, V = 128256, greedy) | at least 1 | 0.80 | not met | 0.80 |\n",
		"plain Go has 0.80 of the speed of llama.cpp's chain: captured rows, V = 128256, p .95.\n",
		" without data.\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("lacks %q:\n%s", want, got)
		}
	}
}

// A README with markers has the tables of the newest data. Without markers, or
// without data, there is nothing to be fresh.
func TestReadmeIsFresh(t *testing.T) {
	readme, err := os.ReadFile("../../../README.md")
	if err != nil {
		t.Skip(err)
	}
	data := record.Newest("../../data")
	if data == "" || !bytes.Contains(readme, []byte(Begin)) {
		t.Skip("no data, or no tables in README.md")
	}
	f, err := record.Read(data)
	if err != nil {
		t.Fatal(err)
	}
	fresh, err := Update(readme, f, Source(data))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(readme, fresh) {
		t.Error("README.md: tables are not those of the newest data; cd bench && go run ./cmd/tables")
	}
}

// A file is read as it was written.
func TestRecord(t *testing.T) {
	name := filepath.Join(t.TempDir(), "cpu-2026-12-01.json")
	f := sample()
	if err := record.Write(name, f); err != nil {
		t.Fatal(err)
	}
	got, err := record.Read(name)
	if err != nil {
		t.Fatal(err)
	}
	if Markdown(got, "") != Markdown(f, "") || len(got.Lines) != len(f.Lines) || Bars(got) != Bars(f) {
		t.Error("the file read differs from the one written")
	}
	if record.Newest(filepath.Dir(name)) != name {
		t.Error("Newest does not find the only file")
	}
}
