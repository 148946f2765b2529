// Package half converts the two 16-bit float formats to float32. Both
// conversions are exact; NaN stays NaN.
package half

import "math"

// Float16 returns the float32 value of IEEE 754 binary16 bits.
func Float16(h uint16) float32 {
	sign := uint32(h&0x8000) << 16
	// Exponent and fraction in float32's places read as a number that is 2^112
	// too small; one exact multiplication mends that, for subnormals too.
	x := math.Float32frombits(uint32(h&0x7fff)<<13) * 0x1p112
	b := math.Float32bits(x)
	if h&0x7c00 == 0x7c00 { // infinity or NaN
		b = 0x7f800000 | uint32(h&0x03ff)<<13
	}
	return math.Float32frombits(sign | b)
}

// BFloat16 returns the float32 value of bfloat16 bits.
func BFloat16(h uint16) float32 {
	return math.Float32frombits(uint32(h) << 16)
}
