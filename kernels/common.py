"""Scores, keys, weights and random numbers: what every stage computes alike.

The arithmetic is SPEC.md's, one rounding an operation. Compile with
``enable_fp_fusion=False``: a fused multiply-add rounds once where the
specification rounds twice.
"""

import triton
import triton.language as tl

# Status codes, SPEC.md section 8.
OK = tl.constexpr(0)
NAN = tl.constexpr(1)
NO_CANDIDATE = tl.constexpr(2)
INVALID_PARAMS = tl.constexpr(3)

FILTER_JOINT = tl.constexpr(0)
FILTER_TOP_K_FIRST = tl.constexpr(1)

MAX_FLOAT = tl.constexpr(3.4028234663852886e38)
LOG2E = tl.constexpr(1.44269502162933349609375)  # 0x3fb8aa3b
TO_INTEGER = tl.constexpr(12582912.0)  # 1.5 * 2^23
TO_HIGH = tl.constexpr(48.0)  # (y + 48) - 48 rounds y to 2^-18
TO_LOW = tl.constexpr(0.00018310546875)  # 1.5 * 2^-13, the same for 2^-36

KEY_MIN = tl.constexpr(-2139095040)  # key of the lowest finite score
KEY_NEG_INF = tl.constexpr(-2139095041)
INT32_MAX = tl.constexpr(2147483647)


@triton.jit
def key_of(z):
    """An int32 that orders scores as floats do. No z is -0."""
    i = z.to(tl.int32, bitcast=True)
    return tl.where(i < 0, i ^ 0x7FFFFFFF, i)


@triton.jit
def from_key(k):
    return tl.where(k < 0, k ^ 0x7FFFFFFF, k).to(tl.float32, bitcast=True)


@triton.jit
def load_scores(
    ids, live, row, slot, logits_ptr, row_stride, n_vocab,
    bias_ptr, bias_stride, bitmask_ptr, bitmask_stride, counts_ptr, counts_stride,
    repetition, frequency, presence,
    HAS_BIAS: tl.constexpr, HAS_BITMASK: tl.constexpr, HAS_COUNTS: tl.constexpr,
):  # fmt: skip
    """Scores of section 1 for a block of ids, -inf where not live, and NaN flags.

    ids is int32 of any shape; live is of the same shape and false for lanes that
    hold no token. row and slot are int64.
    """
    z = tl.load(logits_ptr + row * row_stride + ids, mask=live, other=-float("inf")).to(tl.float32)
    nan = z != z
    z = tl.where(nan, -float("inf"), z)
    if HAS_BIAS:
        z = z + tl.load(bias_ptr + slot * bias_stride + ids, mask=live, other=0.0)
    if HAS_BITMASK:
        # Words that do not exist forbid.
        word = ids >> 5
        bits = tl.load(bitmask_ptr + slot * bitmask_stride + word, mask=live & (word < bitmask_stride), other=0)
        z = tl.where(((bits >> (ids & 31)) & 1) != 0, z, -float("inf"))
    if HAS_COUNTS:
        # Twice the occurrences in the output, plus 1 for a token seen at all.
        count = tl.load(counts_ptr + slot * counts_stride + ids, mask=live, other=0)
        if repetition != 1.0:
            penalized = tl.where(z > 0, tl.div_rn(z, repetition), z * repetition)
            z = tl.where((count & 1) != 0, penalized, z)
        n = count >> 1
        if frequency != 0.0:
            z = tl.where(n > 0, z - n.to(tl.float32) * frequency, z)
        z = tl.where(n > 0, z - presence, z)
    if HAS_BIAS or HAS_COUNTS:
        z = tl.where(z != z, -float("inf"), z)
    return z + 0.0, nan


@triton.jit
def only_infinite(z, infinite):
    """Scores as they count in a row whose maximum is +inf: 0 for the
    candidates, which are the +inf, and -inf for all others."""
    return tl.where(infinite, tl.where(z == float("inf"), 0.0, -float("inf")), z)


@triton.jit
def scale_of(temperature):
    """c of section 3."""
    return tl.minimum(tl.div_rn(LOG2E, temperature), MAX_FLOAT)


@triton.jit
def weigh(z, m, c):
    """y of section 3, the weight as float32."""
    t = tl.maximum((z - m) * c, -40.0)
    s = t + TO_INTEGER
    f = t - (s - TO_INTEGER)
    p = f * 0.0013217546511441469 + 0.009671950712800026
    p = p * f + 0.05550862476229668
    p = p * f + 0.24022233486175537
    p = p * f + 0.6931469440460205
    p = p * f + 1.0
    # The low bits of s are n; in the exponent's place they scale p.
    bits = p.to(tl.int32, bitcast=True) + (s.to(tl.int32, bitcast=True) << 23)
    return bits.to(tl.float32, bitcast=True)


@triton.jit
def split(y):
    """A weight as its multiple of 2^-18 and the rest as a multiple of 2^-36."""
    h = (y + TO_HIGH) - TO_HIGH
    l = ((y - h) + TO_LOW) - TO_LOW
    return h, l


@triton.jit
def join(h, l):
    """Sums of such parts in units of 2^-36, int64."""
    return ((h * 262144.0).to(tl.int64) << 18) + (l * 68719476736.0).to(tl.int64)


@triton.jit
def units(y):
    """w of section 3, the weight in units of 2^-36, int64."""
    h, l = split(y)
    return join(h, l)


@triton.jit
def share(p, base):
    """The mass that top_p asks for: floor(base * floor(p * 2^64) / 2^64)."""
    q = (p * 18446744073709551616.0).to(tl.uint64)
    return tl.umulhi(base.to(tl.uint64), q).to(tl.int64)


@triton.jit
def random_u(seed, step):
    """u of section 7 from uint64 seed and step."""
    x0, x1, x2, x3 = tl.philox(seed, step.to(tl.uint32), (step >> 32).to(tl.uint32), tl.zeros_like(step).to(tl.uint32), tl.zeros_like(step).to(tl.uint32))
    return x0.to(tl.uint64) | (x1.to(tl.uint64) << 32)
