package cpu

import (
	"testing"

	"github.com/tokendraw/tokendraw"
	"github.com/tokendraw/tokendraw/internal/backendtest"
)

// FuzzSample draws with all variants, and with helpers where that makes a
// difference, from what the fuzzer's bytes decode to.
func FuzzSample(f *testing.F) {
	backendtest.Fuzz(f, func(t testing.TB) tokendraw.Sampler {
		var all several
		for _, variant := range Variants() {
			all = append(all, open(t, Config{Workers: 2, Variant: variant}))
		}
		return all
	})
}

// several is one sampler made of some that ought to be equal: a result in
// which one differs from the first is spoiled, so that it shows.
type several []*Sampler

func (all several) Sample(b *tokendraw.Batch, draws []tokendraw.Draw) error {
	if err := all[0].Sample(b, draws); err != nil {
		return err
	}
	again := make([]tokendraw.Draw, b.Logits.Rows)
	for _, s := range all[1:] {
		if err := s.Sample(b, again); err != nil {
			return err
		}
		for i, d := range again {
			if d != draws[i] {
				draws[i].Token = -99
			}
		}
	}
	return nil
}

func (all several) Explain(b *tokendraw.Batch, details []tokendraw.Details) error {
	if err := all[0].Explain(b, details); err != nil {
		return err
	}
	again := make([]tokendraw.Details, b.Logits.Rows)
	for _, s := range all[1:] {
		if err := s.Explain(b, again); err != nil {
			return err
		}
		for i, d := range again {
			if d.Draw != details[i].Draw || d.Total != details[i].Total || d.Mass != details[i].Mass || d.MinP != details[i].MinP {
				details[i].Token = -99
			}
		}
	}
	return nil
}

func (all several) Close() error {
	for _, s := range all {
		s.Close()
	}
	return nil
}
