package backendtest

import (
	"testing"

	"github.com/tokendraw/tokendraw"
	"github.com/tokendraw/tokendraw/vectors"
)

// vectors draws the golden cases.
func (s *suite) vectors(t *testing.T) {
	list, err := vectors.Draws()
	if err != nil {
		t.Fatal(err)
	}
	x := s.sampler(t)
	rows := 0
	for i := range list {
		c := &list[i]
		large := c.Vocab > 20000
		if testing.Short() {
			large = c.Vocab > 5000
		}
		if c.Vocab > s.maxVocab || large && (testing.Short() || !s.chosen(i)) {
			continue
		}
		b, err := c.Batch()
		if err != nil {
			t.Fatal(err)
		}
		draws := make([]tokendraw.Draw, c.Rows())
		details := make([]tokendraw.Details, c.Rows())
		if err := x.Sample(b, draws); err != nil {
			t.Errorf("%s: Sample: %v", c.Name, err)
		} else if err := c.CheckDraws(draws); err != nil {
			t.Errorf("Sample: %v", err)
		}
		if err := x.Explain(b, details); err != nil {
			t.Errorf("%s: Explain: %v", c.Name, err)
		} else if err := c.CheckDetails(details); err != nil {
			t.Errorf("Explain: %v", err)
		}
		rows += c.Rows()
	}
	t.Logf("%d rows in %d cases", rows, len(list))
}
