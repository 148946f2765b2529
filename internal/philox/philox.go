// Package philox is the counter-based generator Philox4x32-10 of Salmon,
// Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3" (SC
// 2011), and its use in section 7 of SPEC.md.
package philox

import "math/bits"

const (
	mul0, mul1   = 0xD2511F53, 0xCD9E8D57 // multipliers of the round function
	weyl0, weyl1 = 0x9E3779B9, 0xBB67AE85 // increments of the key schedule
)

// Block returns the four words that the generator makes of one counter.
func Block(key [2]uint32, ctr [4]uint32) [4]uint32 {
	k0, k1 := key[0], key[1]
	x0, x1, x2, x3 := ctr[0], ctr[1], ctr[2], ctr[3]
	for range 10 {
		hi0, lo0 := bits.Mul32(mul0, x0)
		hi1, lo1 := bits.Mul32(mul1, x2)
		x0, x1, x2, x3 = hi1^x1^k0, lo1, hi0^x3^k1, lo0
		k0 += weyl0
		k1 += weyl1
	}
	return [4]uint32{x0, x1, x2, x3}
}

// Draw returns the 64-bit random integer of purpose 0 for a request's seed and
// step.
func Draw(seed, step uint64) uint64 {
	x := Block(
		[2]uint32{uint32(seed), uint32(seed >> 32)},
		[4]uint32{uint32(step), uint32(step >> 32), 0, 0})
	return uint64(x[0]) | uint64(x[1])<<32
}
