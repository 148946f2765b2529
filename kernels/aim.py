"""Where to look in a row whose head does not decide.

The end of the kept prefix and the drawn token lie at some mass, or count, of the
order. From a sample of the row's tokens two brackets of keys are guessed that hold
these places; one pass over the row then collects what lies inside exactly, and
settle (wide.py) checks that the guess was right. A guess costs time, never a
token.
"""

import triton
import triton.language as tl

from .common import INT32_MAX, KEY_MIN, from_key, key_of, load_scores, only_infinite, weigh
from .select import HEAD, NO_CANDIDATE_KEY

SAMPLE = tl.constexpr(4096)

# What settle has to ask for the end of the kept prefix.
ASK_NOTHING = tl.constexpr(0)  # all candidates are kept
ASK_MASS = tl.constexpr(1)  # top_p
ASK_COUNT = tl.constexpr(2)  # top_k
ASK_ALL = tl.constexpr(3)  # several filters act: no bracket, the slow way


@triton.jit
def question(top_k, top_p, min_p):
    """Which of the four a row has, from its parameters."""
    p_on = top_p < 1.0
    k_on = top_k > 0
    several = (min_p > 0) | (p_on & k_on)
    return tl.where(several, ASK_ALL, tl.where(p_on, ASK_MASS, tl.where(k_on, ASK_COUNT, ASK_NOTHING)))


@triton.jit
def aim(
    n, cut, m, c, infinite, top_k, top_p, min_p, total, u, list_ptr,
    row, slot, logits_ptr, row_stride, n_vocab,
    bias_ptr, bias_stride, bitmask_ptr, bitmask_stride, counts_ptr, counts_stride,
    repetition, frequency, presence,
    HAS_BIAS: tl.constexpr, HAS_BITMASK: tl.constexpr, HAS_COUNTS: tl.constexpr,
):  # fmt: skip
    """Keys [low, high] of the bracket around the end and of that around the token,
    as a vector low, high, low, high.

    The first n <= HEAD tokens of the order are listed, those whose key reaches cut;
    with n > HEAD there is no list.
    """
    # What is listed is known exactly and kept out of the sample.
    i = tl.arange(0, HEAD)
    listed = tl.load(list_ptr + i, mask=(i < n) & (n <= HEAD), other=NO_CANDIDATE_KEY)
    z_listed = from_key((listed >> 32).to(tl.int32))
    known = tl.sum(tl.where(listed != NO_CANDIDATE_KEY, weigh(z_listed, m, c), 0.0), axis=0)
    known_n = tl.where(n <= HEAD, n, 0)
    cut = tl.where(n <= HEAD, cut, INT32_MAX)

    s = tl.arange(0, SAMPLE)
    ids = s
    if n_vocab > SAMPLE:
        ids = (s.to(tl.int64) * n_vocab // SAMPLE).to(tl.int32)
    z, _ = load_scores(
        ids, ids < n_vocab, row, slot, logits_ptr, row_stride, n_vocab,
        bias_ptr, bias_stride, bitmask_ptr, bitmask_stride, counts_ptr, counts_stride,
        repetition, frequency, presence, HAS_BIAS, HAS_BITMASK, HAS_COUNTS,
    )  # fmt: skip
    z = only_infinite(z, infinite)
    key = key_of(z)
    use = (z > -float("inf")) & (key < cut)
    y = tl.where(use, weigh(tl.where(use, z, m), m, c), 0.0)
    one = tl.where(use, 1.0, 0.0)
    sum_y = tl.maximum(tl.sum(y, axis=0), 1e-30)
    sum_yy = tl.sum(y * y, axis=0)
    # An n_vocab of 1 is a constant to the compiler, without methods.
    vocab = tl.full([], 0.0, tl.float32) + n_vocab
    per_n = tl.maximum(vocab / SAMPLE, 1.0)

    # All masses as multiples of the best token's weight.
    whole = total.to(tl.float32) * 1.4551915228366852e-11
    ask = question(top_k, top_p, min_p)
    per_y = per_n
    if ask != ASK_COUNT:
        per_y = tl.maximum(whole - known, 0.0) / sum_y
    whole = tl.where(ask == ASK_COUNT, known + per_y * sum_y, whole)
    end = tl.where(ask == ASK_COUNT, top_k.to(tl.float32), top_p * whole)
    end_part = tl.where(ask == ASK_COUNT, end / vocab, top_p)
    kept_mass = tl.where(ask == ASK_MASS, end, whole)
    if ask == ASK_COUNT:
        kept_mass = whole * tl.minimum(1.0, 0.05 + end_part)
    token = (u >> 40).to(tl.float32) * 5.960464477539063e-08 * kept_mass
    error_y = per_y * tl.sqrt(sum_yy)
    error_n = per_n * tl.sqrt(tl.sum(one, axis=0))

    lane = tl.arange(0, 4)
    by_n = (lane < 2) & (ask == ASK_COUNT)
    part = tl.where(lane < 2, end_part, token / tl.maximum(whole, 1e-30))
    part = tl.minimum(tl.maximum(part, 0.0), 1.0)
    margin = (2.5 * tl.sqrt(part * (1.0 - part)) + 0.1) * tl.where(by_n, error_n, error_y)
    # Above a bracket lies less than the goal, down to its end more.
    goal = tl.where(lane < 2, end, token) + tl.where(lane % 2 == 0, margin, -margin)
    scale = tl.where(by_n, per_n, per_y)
    start = tl.where(by_n, known_n.to(tl.float32), known)

    low = tl.full([4], KEY_MIN, tl.int64)
    high = tl.zeros([4], tl.int64) + tl.minimum(cut.to(tl.int64), key_of(m).to(tl.int64) + 1)
    for _ in range(32):
        mid = low + (high - low) // 2
        reach = key[None, :].to(tl.int64) >= mid[:, None]
        amount = tl.where(by_n[:, None], one[None, :], y[None, :])
        above = start + scale * tl.sum(tl.where(reach, amount, 0.0), axis=1)
        enough = above >= goal
        low = tl.where(enough, mid, low)
        high = tl.where(enough, high, mid)
    # Even lanes: the last key with more than enough mass is the low end. Odd
    # lanes: the first key with too little mass lies just above the high end.
    return tl.where(lane % 2 == 0, low, high - 1).to(tl.int32)
