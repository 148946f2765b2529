//go:build go1.27 && !noasm

#include "textflag.h"

// An operation on four vectors of four 32-bit lanes with one common operand:
// d = x op b.
#define FOUR(op, b, x0, x1, x2, x3, d0, d1, d2, d3) \
	op b.S4, x0.S4, d0.S4 \
	op b.S4, x1.S4, d1.S4 \
	op b.S4, x2.S4, d2.S4 \
	op b.S4, x3.S4, d3.S4

// The same with an operand for each: d = x op b.
#define PAIRS(op, b0, b1, b2, b3, x0, x1, x2, x3, d0, d1, d2, d3) \
	op b0.S4, x0.S4, d0.S4 \
	op b1.S4, x1.S4, d1.S4 \
	op b2.S4, x2.S4, d2.S4 \
	op b3.S4, x3.S4, d3.S4

// func maximaF32Blocks(dst, x *float32, blocks int) (lo float32)
//
// V0 to V3 hold the block's maxima, V28 to V31 the minima of all. VFMAX and
// VFMIN return a NaN if either operand is one, and order -0 below +0.
#define FOLDF32 \
	VLD1.P 64(R1), [V4.S4, V5.S4, V6.S4, V7.S4] \
	PAIRS(VFMAX, V4, V5, V6, V7, V0, V1, V2, V3, V0, V1, V2, V3) \
	PAIRS(VFMIN, V4, V5, V6, V7, V28, V29, V30, V31, V28, V29, V30, V31)

TEXT ·maximaF32Blocks(SB), NOSPLIT, $0-28
	MOVD dst+0(FP), R0
	MOVD x+8(FP), R1
	MOVD blocks+16(FP), R2
	MOVD $0x7f800000, R3            // +inf
	VDUP R3, V28.S4
	VDUP R3, V29.S4
	VDUP R3, V30.S4
	VDUP R3, V31.S4
block:
	VLD1.P 64(R1), [V0.S4, V1.S4, V2.S4, V3.S4]
	PAIRS(VFMIN, V0, V1, V2, V3, V28, V29, V30, V31, V28, V29, V30, V31)
	FOLDF32
	FOLDF32
	FOLDF32
	FOLDF32
	FOLDF32
	FOLDF32
	FOLDF32
	VFMAX V2.S4, V0.S4, V0.S4
	VFMAX V3.S4, V1.S4, V1.S4
	VST1.P [V0.S4, V1.S4], 32(R0)
	SUBS $1, R2
	BNE block
	VFMIN V29.S4, V28.S4, V28.S4
	VFMIN V31.S4, V30.S4, V30.S4
	VFMIN V30.S4, V28.S4, V28.S4
	VFMINV V28.S4, V28
	FMOVS F28, lo+24(FP)
	RET

// The 16-bit maxima work on the bits, eight at a time: the highest float is
// the largest of the signed integers, or if all have the sign bit the smallest
// of the unsigned. V0 and V1 hold the block's largest signed, V2 and V3 its
// smallest unsigned; V28 and V29 the largest unsigned of all, V30 the largest
// signed, V31 the smallest unsigned.

// d = op of d and four vectors, by way of two accumulators.
#define FOLD4(op, x0, x1, x2, x3, d0, d1) \
	op x0.H8, d0.H8, d0.H8 \
	op x1.H8, d1.H8, d1.H8 \
	op x2.H8, d0.H8, d0.H8 \
	op x3.H8, d1.H8, d1.H8

#define FOLD16 \
	VLD1.P 64(R1), [V4.H8, V5.H8, V6.H8, V7.H8] \
	FOLD4(VSMAX, V4, V5, V6, V7, V0, V1) \
	FOLD4(VUMIN, V4, V5, V6, V7, V2, V3) \
	FOLD4(VUMAX, V4, V5, V6, V7, V28, V29)

#define START16 \
	MOVD $0x8000, R3 \
	VEOR V28.B16, V28.B16, V28.B16 \
	VEOR V29.B16, V29.B16, V29.B16 \
	VDUP R3, V30.H8 \
	VCMEQ V31.H8, V31.H8, V31.H8

// Leaves the block's maxima in V0.
#define BLOCK16 \
	VLD1.P 64(R1), [V4.H8, V5.H8, V6.H8, V7.H8] \
	VSMAX V4.H8, V5.H8, V0.H8 \
	VSMAX V6.H8, V7.H8, V1.H8 \
	VUMIN V4.H8, V5.H8, V2.H8 \
	VUMIN V6.H8, V7.H8, V3.H8 \
	FOLD4(VUMAX, V4, V5, V6, V7, V28, V29) \
	FOLD16 \
	FOLD16 \
	FOLD16 \
	VSMAX V1.H8, V0.H8, V0.H8 \
	VUMIN V3.H8, V2.H8, V2.H8 \
	VSMAX V0.H8, V30.H8, V30.H8 \
	VUMIN V2.H8, V31.H8, V31.H8 \
	VSSHR $15, V0.H8, V1.H8 \
	VBIT V1.B16, V2.B16, V0.B16

#define END16 \
	VUMAX V29.H8, V28.H8, V28.H8 \
	VSMAXV V30.H8, V30 \
	VUMAXV V28.H8, V28 \
	VUMINV V31.H8, V31 \
	VMOV V30.H[0], R3 \
	VMOV V28.H[0], R4 \
	VMOV V31.H[0], R5

// fcvtl Vd.4S, Vn.4H and fcvtl2 Vd.4S, Vn.8H: the assembler knows only those
// from single to double precision. Arm Architecture Reference Manual, FCVTL:
// 0 Q 00 1110 0 sz 1 0000 1011 110 Rn Rd, with sz 0 from half precision.
#define FCVTL(n, d)  WORD $(0x0e217800 | n<<5 | d)
#define FCVTL2(n, d) WORD $(0x4e217800 | n<<5 | d)

// func maximaF16Blocks(dst *float32, x *uint16, blocks int) (top int16, far, near uint16)
TEXT ·maximaF16Blocks(SB), NOSPLIT, $0-30
	MOVD dst+0(FP), R0
	MOVD x+8(FP), R1
	MOVD blocks+16(FP), R2
	START16
block:
	BLOCK16
	FCVTL(0, 2)
	FCVTL2(0, 3)
	VST1.P [V2.S4, V3.S4], 32(R0)
	SUBS $1, R2
	BNE block
	END16
	MOVH R3, top+24(FP)
	MOVH R4, far+26(FP)
	MOVH R5, near+28(FP)
	RET

// func maximaBF16Blocks(dst *float32, x *uint16, blocks int) (top int16, far, near uint16)
TEXT ·maximaBF16Blocks(SB), NOSPLIT, $0-30
	MOVD dst+0(FP), R0
	MOVD x+8(FP), R1
	MOVD blocks+16(FP), R2
	START16
	VEOR V16.B16, V16.B16, V16.B16
block:
	BLOCK16
	VZIP1 V0.H8, V16.H8, V2.H8
	VZIP2 V0.H8, V16.H8, V3.H8
	VST1.P [V2.S4, V3.S4], 32(R0)
	SUBS $1, R2
	BNE block
	END16
	MOVH R3, top+24(FP)
	MOVH R4, far+26(FP)
	MOVH R5, near+28(FP)
	RET

// func convertF16Steps(dst *float32, x *uint16, n int)
TEXT ·convertF16Steps(SB), NOSPLIT, $0-24
	MOVD dst+0(FP), R0
	MOVD x+8(FP), R1
	MOVD n+16(FP), R2
step:
	VLD1.P 32(R1), [V0.H8, V1.H8]
	FCVTL(0, 2)
	FCVTL2(0, 3)
	FCVTL(1, 4)
	FCVTL2(1, 5)
	VST1.P [V2.S4, V3.S4, V4.S4, V5.S4], 64(R0)
	SUBS $16, R2
	BNE step
	RET

// func convertBF16Steps(dst *float32, x *uint16, n int)
TEXT ·convertBF16Steps(SB), NOSPLIT, $0-24
	MOVD dst+0(FP), R0
	MOVD x+8(FP), R1
	MOVD n+16(FP), R2
	VEOR V16.B16, V16.B16, V16.B16
step:
	VLD1.P 32(R1), [V0.H8, V1.H8]
	VZIP1 V0.H8, V16.H8, V2.H8
	VZIP2 V0.H8, V16.H8, V3.H8
	VZIP1 V1.H8, V16.H8, V4.H8
	VZIP2 V1.H8, V16.H8, V5.H8
	VST1.P [V2.S4, V3.S4, V4.S4, V5.S4], 64(R0)
	SUBS $16, R2
	BNE step
	RET

// func countGESteps(x *float32, n int, lo float32) int
TEXT ·countGESteps(SB), NOSPLIT, $0-32
	MOVD x+0(FP), R0
	MOVD n+8(FP), R1
	MOVWU lo+16(FP), R2
	VDUP R2, V16.S4
	VEOR V4.B16, V4.B16, V4.B16
	VEOR V5.B16, V5.B16, V5.B16
	VEOR V6.B16, V6.B16, V6.B16
	VEOR V7.B16, V7.B16, V7.B16
step:
	VLD1.P 64(R0), [V0.S4, V1.S4, V2.S4, V3.S4]
	FOUR(VFCMGE, V16, V0, V1, V2, V3, V0, V1, V2, V3)
	// What compares true is -1.
	PAIRS(VSUB, V0, V1, V2, V3, V4, V5, V6, V7, V4, V5, V6, V7)
	SUBS $16, R1
	BNE step
	VADD V5.S4, V4.S4, V4.S4
	VADD V7.S4, V6.S4, V6.S4
	VADD V6.S4, V4.S4, V4.S4
	VADDV V4.S4, V4
	VMOV V4.S[0], R2
	MOVD R2, ret+24(FP)
	RET

// func gatherSteps(z *float32, id *uint32, x *float32, n int, first uint32, lo, hi float32) int
TEXT ·gatherSteps(SB), NOSPLIT, $0-56
	MOVD z+0(FP), R0
	MOVD id+8(FP), R1
	MOVD x+16(FP), R2
	MOVD n+24(FP), R3
	MOVWU first+32(FP), R4
	MOVWU lo+36(FP), R5
	MOVWU hi+40(FP), R6
	VDUP R5, V16.S4
	VDUP R6, V17.S4
	MOVD R0, R7
	MOVD $0x1111111111111111, R8
step:
	VLD1 (R2), [V0.S4, V1.S4, V2.S4, V3.S4]
	FOUR(VFCMGE, V16, V0, V1, V2, V3, V4, V5, V6, V7)
	PAIRS(VFCMGE, V0, V1, V2, V3, V17, V17, V17, V17, V0, V1, V2, V3)
	VAND V0.B16, V4.B16, V4.B16
	VAND V1.B16, V5.B16, V5.B16
	VAND V2.B16, V6.B16, V6.B16
	VAND V3.B16, V7.B16, V7.B16
	// The sixteen results become four bits each.
	VUZP1 V5.H8, V4.H8, V4.H8
	VUZP1 V7.H8, V6.H8, V6.H8
	VUZP1 V6.B16, V4.B16, V4.B16
	VSHRN $4, V4.H8, V4.B8
	VMOV V4.D[0], R9
	ANDS R8, R9
	BEQ next
hit:
	RBIT R9, R10
	CLZ R10, R10
	LSR $2, R10
	SUB $1, R9, R11
	AND R11, R9
	MOVWU (R2)(R10<<2), R12
	ADD R4, R10
	MOVW.P R12, 4(R0)
	MOVW.P R10, 4(R1)
	CBNZ R9, hit
next:
	ADD $64, R2
	ADD $16, R4
	SUBS $16, R3
	BNE step
	SUB R7, R0
	LSR $2, R0
	MOVD R0, ret+48(FP)
	RET

// The constants of a weight, SPEC.md, section 3, and of adding weights up.
DATA weight<>+0(SB)/4, $0xc2200000  // -40
DATA weight<>+4(SB)/4, $0x4b400000  // 1.5*2^23
DATA weight<>+8(SB)/4, $0x3aad3eba  // C5
DATA weight<>+12(SB)/4, $0x3c1e771a // C4
DATA weight<>+16(SB)/4, $0x3d635d03 // C3
DATA weight<>+20(SB)/4, $0x3e75fcd8 // C2
DATA weight<>+24(SB)/4, $0x3f317214 // C1
DATA weight<>+28(SB)/4, $0x3f800000 // 1
DATA weight<>+32(SB)/4, $0x42400000 // 48
DATA weight<>+36(SB)/4, $0x39400000 // 1.5*2^-13
GLOBL weight<>(SB), RODATA|NOPTR, $40

// Sets V16 to V27 from m in R4, c in R5 and the table. Changes R6.
#define CONSTANTS \
	MOVD $weight<>(SB), R6 \
	VDUP R4, V16.S4 \
	VDUP R5, V17.S4 \
	VLD1R.P 4(R6), [V18.S4] \
	VLD1R.P 4(R6), [V19.S4] \
	VLD1R.P 4(R6), [V20.S4] \
	VLD1R.P 4(R6), [V21.S4] \
	VLD1R.P 4(R6), [V22.S4] \
	VLD1R.P 4(R6), [V23.S4] \
	VLD1R.P 4(R6), [V24.S4] \
	VLD1R.P 4(R6), [V25.S4] \
	VLD1R.P 4(R6), [V26.S4] \
	VLD1R (R6), [V27.S4]

// Turns the sixteen scores in V0 to V3 into weights in V8 to V11. Every
// product and sum is rounded on its own: never VFMLA. Changes V4 to V7.
// VFMAXNM prefers a number to NaN, as Exponent does.
#define WEIGHTS \
	FOUR(VFSUB, V16, V0, V1, V2, V3, V0, V1, V2, V3) \
	FOUR(VFMUL, V17, V0, V1, V2, V3, V0, V1, V2, V3) \
	FOUR(VFMAXNM, V18, V0, V1, V2, V3, V0, V1, V2, V3) \
	FOUR(VFADD, V19, V0, V1, V2, V3, V4, V5, V6, V7) \
	FOUR(VFSUB, V19, V4, V5, V6, V7, V8, V9, V10, V11) \
	PAIRS(VFSUB, V8, V9, V10, V11, V0, V1, V2, V3, V0, V1, V2, V3) \
	FOUR(VFMUL, V20, V0, V1, V2, V3, V8, V9, V10, V11) \
	FOUR(VFADD, V21, V8, V9, V10, V11, V8, V9, V10, V11) \
	PAIRS(VFMUL, V0, V1, V2, V3, V8, V9, V10, V11, V8, V9, V10, V11) \
	FOUR(VFADD, V22, V8, V9, V10, V11, V8, V9, V10, V11) \
	PAIRS(VFMUL, V0, V1, V2, V3, V8, V9, V10, V11, V8, V9, V10, V11) \
	FOUR(VFADD, V23, V8, V9, V10, V11, V8, V9, V10, V11) \
	PAIRS(VFMUL, V0, V1, V2, V3, V8, V9, V10, V11, V8, V9, V10, V11) \
	FOUR(VFADD, V24, V8, V9, V10, V11, V8, V9, V10, V11) \
	PAIRS(VFMUL, V0, V1, V2, V3, V8, V9, V10, V11, V8, V9, V10, V11) \
	FOUR(VFADD, V25, V8, V9, V10, V11, V8, V9, V10, V11) \
	VSHL $23, V4.S4, V4.S4 \
	VSHL $23, V5.S4, V5.S4 \
	VSHL $23, V6.S4, V6.S4 \
	VSHL $23, V7.S4, V7.S4 \
	PAIRS(VADD, V4, V5, V6, V7, V8, V9, V10, V11, V8, V9, V10, V11)

// func massSteps(x *float32, n int, m, c float32) uint64
//
// A weight y is split into h, rounded to a multiple of 2^-18, and l, the rest
// rounded to a multiple of 2^-36. The bits of y + 48 are those of 48 plus h in
// units of 2^-18, and the bits of (y - h) + 1.5*2^-13 are those of 1.5*2^-13
// plus l in units of 2^-36, from -2^17 to 2^17. The bits are added up as
// integers, V28 for h and V29 for l, and what is too much subtracted once.
TEXT ·massSteps(SB), NOSPLIT, $0-32
	MOVD x+0(FP), R0
	MOVD n+8(FP), R1
	MOVWU m+16(FP), R4
	MOVWU c+20(FP), R5
	CONSTANTS
	VEOR V28.B16, V28.B16, V28.B16
	VEOR V29.B16, V29.B16, V29.B16
	MOVD R1, R2
step:
	VLD1.P 64(R0), [V0.S4, V1.S4, V2.S4, V3.S4]
	WEIGHTS
	FOUR(VFADD, V26, V8, V9, V10, V11, V0, V1, V2, V3)
	FOUR(VFSUB, V26, V0, V1, V2, V3, V4, V5, V6, V7)
	PAIRS(VFSUB, V4, V5, V6, V7, V8, V9, V10, V11, V8, V9, V10, V11)
	FOUR(VFADD, V27, V8, V9, V10, V11, V8, V9, V10, V11)
	VADD V1.S4, V0.S4, V0.S4
	VADD V3.S4, V2.S4, V2.S4
	VADD V9.S4, V8.S4, V8.S4
	VADD V11.S4, V10.S4, V10.S4
	VADD V0.S4, V28.S4, V28.S4
	VADD V8.S4, V29.S4, V29.S4
	VADD V2.S4, V28.S4, V28.S4
	VADD V10.S4, V29.S4, V29.S4
	SUBS $16, R2
	BNE step
	// Each lane has n/4 too many of the bits of 48, and of those of 1.5*2^-13
	// less 2^17, which leaves l not negative.
	LSR $2, R1, R2
	MOVD $0x42400000, R3
	MOVD $0x393e0000, R4
	MUL R2, R3
	MUL R2, R4
	VDUP R3, V0.S4
	VDUP R4, V1.S4
	VSUB V0.S4, V28.S4, V28.S4
	VSUB V1.S4, V29.S4, V29.S4
	VUADDLV V28.S4, V28
	VUADDLV V29.S4, V29
	VMOV V28.D[0], R3
	VMOV V29.D[0], R4
	LSL $18, R3
	ADD R4, R3
	LSL $17, R1
	SUB R1, R3
	MOVD R3, ret+24(FP)
	RET

// func massLightSteps(x *float32, n int, m, c float32) uint64
//
// massSteps where all h are 0.
TEXT ·massLightSteps(SB), NOSPLIT, $0-32
	MOVD x+0(FP), R0
	MOVD n+8(FP), R1
	MOVWU m+16(FP), R4
	MOVWU c+20(FP), R5
	CONSTANTS
	VEOR V29.B16, V29.B16, V29.B16
	MOVD R1, R2
step:
	VLD1.P 64(R0), [V0.S4, V1.S4, V2.S4, V3.S4]
	WEIGHTS
	FOUR(VFADD, V27, V8, V9, V10, V11, V8, V9, V10, V11)
	VADD V9.S4, V8.S4, V8.S4
	VADD V11.S4, V10.S4, V10.S4
	VADD V8.S4, V29.S4, V29.S4
	VADD V10.S4, V29.S4, V29.S4
	SUBS $16, R2
	BNE step
	LSR $2, R1
	MOVD $0x39400000, R4
	MUL R1, R4
	VDUP R4, V1.S4
	VSUB V1.S4, V29.S4, V29.S4
	VUADDLV V29.S4, V29
	VMOV V29.D[0], R4
	MOVD R4, ret+24(FP)
	RET

// func weighSteps(y *float32, w *uint64, x *float32, n int, m, c float32)
//
// In double precision, the bits of y + 1.5*2^16 are those of 1.5*2^16 plus y
// in units of 2^-36.
TEXT ·weighSteps(SB), NOSPLIT, $0-40
	MOVD y+0(FP), R0
	MOVD w+8(FP), R1
	MOVD x+16(FP), R2
	MOVD n+24(FP), R3
	MOVWU m+32(FP), R4
	MOVWU c+36(FP), R5
	CONSTANTS
	MOVD $0x40f8000000000000, R6    // 1.5*2^16
	VDUP R6, V28.D2
step:
	VLD1.P 64(R2), [V0.S4, V1.S4, V2.S4, V3.S4]
	WEIGHTS
	VST1.P [V8.S4, V9.S4, V10.S4, V11.S4], 64(R0)
	VFCVTL V8.S2, V0.D2
	VFCVTL2 V8.S4, V1.D2
	VFCVTL V9.S2, V2.D2
	VFCVTL2 V9.S4, V3.D2
	VFCVTL V10.S2, V4.D2
	VFCVTL2 V10.S4, V5.D2
	VFCVTL V11.S2, V6.D2
	VFCVTL2 V11.S4, V7.D2
	VFADD V28.D2, V0.D2, V0.D2
	VFADD V28.D2, V1.D2, V1.D2
	VFADD V28.D2, V2.D2, V2.D2
	VFADD V28.D2, V3.D2, V3.D2
	VFADD V28.D2, V4.D2, V4.D2
	VFADD V28.D2, V5.D2, V5.D2
	VFADD V28.D2, V6.D2, V6.D2
	VFADD V28.D2, V7.D2, V7.D2
	VSUB V28.D2, V0.D2, V0.D2
	VSUB V28.D2, V1.D2, V1.D2
	VSUB V28.D2, V2.D2, V2.D2
	VSUB V28.D2, V3.D2, V3.D2
	VSUB V28.D2, V4.D2, V4.D2
	VSUB V28.D2, V5.D2, V5.D2
	VSUB V28.D2, V6.D2, V6.D2
	VSUB V28.D2, V7.D2, V7.D2
	VST1.P [V0.D2, V1.D2, V2.D2, V3.D2], 64(R1)
	VST1.P [V4.D2, V5.D2, V6.D2, V7.D2], 64(R1)
	SUBS $16, R3
	BNE step
	RET

// func digitsSteps(d *uint32, x *float32, n int, key int32, shift, last uint32)
//
// key is the top's; shift is at most 32.
TEXT ·digitsSteps(SB), NOSPLIT, $0-36
	MOVD d+0(FP), R0
	MOVD x+8(FP), R1
	MOVD n+16(FP), R2
	MOVW key+24(FP), R3
	MOVWU shift+28(FP), R4
	MOVWU last+32(FP), R5
	NEG R4, R4
	VDUP R3, V17.S4
	VDUP R4, V18.S4                 // a left shift by less than 0 is one to the right
	VDUP R5, V19.S4
	VEOR V16.B16, V16.B16, V16.B16
step:
	VLD1.P 64(R1), [V0.S4, V1.S4, V2.S4, V3.S4]
	// Adding 0 joins -0 to +0.
	FOUR(VFADD, V16, V0, V1, V2, V3, V0, V1, V2, V3)
	VSSHR $31, V0.S4, V4.S4
	VSSHR $31, V1.S4, V5.S4
	VSSHR $31, V2.S4, V6.S4
	VSSHR $31, V3.S4, V7.S4
	VUSHR $1, V4.S4, V4.S4
	VUSHR $1, V5.S4, V5.S4
	VUSHR $1, V6.S4, V6.S4
	VUSHR $1, V7.S4, V7.S4
	VEOR V4.B16, V0.B16, V0.B16
	VEOR V5.B16, V1.B16, V1.B16
	VEOR V6.B16, V2.B16, V2.B16
	VEOR V7.B16, V3.B16, V3.B16
	PAIRS(VSUB, V0, V1, V2, V3, V17, V17, V17, V17, V0, V1, V2, V3)
	FOUR(VUSHL, V18, V0, V1, V2, V3, V0, V1, V2, V3)
	FOUR(VUMIN, V19, V0, V1, V2, V3, V0, V1, V2, V3)
	VST1.P [V0.S4, V1.S4, V2.S4, V3.S4], 64(R0)
	SUBS $16, R2
	BNE step
	RET
