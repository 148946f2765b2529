package half

import (
	"math"
	"testing"

	"github.com/x448/float16"
)

func TestFloat16All(t *testing.T) {
	for i := range 1 << 16 {
		got, want := Float16(uint16(i)), float16.Frombits(uint16(i)).Float32()
		if math.IsNaN(float64(want)) {
			if !math.IsNaN(float64(got)) {
				t.Fatalf("Float16(%#04x) = %v, want NaN", i, got)
			}
			continue
		}
		if math.Float32bits(got) != math.Float32bits(want) {
			t.Fatalf("Float16(%#04x) = %v, want %v", i, got, want)
		}
	}
}

func TestBFloat16(t *testing.T) {
	for bits, want := range map[uint16]float32{
		0x3f80: 1, 0xbf80: -1, 0x0001: 0x1p-133, 0x7f80: float32(math.Inf(1)), 0xff80: float32(math.Inf(-1)), 0x4049: 3.140625,
	} {
		if got := BFloat16(bits); got != want {
			t.Errorf("BFloat16(%#04x) = %v, want %v", bits, got, want)
		}
	}
	if got := BFloat16(0x7fc0); got == got {
		t.Errorf("BFloat16(0x7fc0) = %v, want NaN", got)
	}
}
