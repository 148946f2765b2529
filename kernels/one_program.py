"""The textbook kernel: one program draws one row, streaming over the vocabulary.

It is the baseline of the benchmarks and follows the usual recipe: grid (rows,), a
greedy branch, blocks of BLOCK_V logits, a buffer of the K_MAX best tokens, top-p
and the draw on that buffer. Where the recipe rounds, the specification decides:
masses are integers, so nothing is renormalised; and where the buffer is too short
(a top_k above K_MAX, a flat nucleus, a draw from the tail) the place asked for is
found by halving the range of keys, a pass over the row for each half. The tokens
are those of SPEC.md.
"""

import triton
import triton.language as tl

from .common import (
    INT32_MAX,
    INVALID_PARAMS,
    KEY_MIN,
    NAN,
    NO_CANDIDATE,
    OK,
    from_key,
    key_of,
    load_scores,
    only_infinite,
    scale_of,
    share,
    units,
    weigh,
)
from .sample import draw_u, load_params

# A token as one number: its key above, INT32_MAX - id below. Larger comes first.
NO_TOKEN = tl.constexpr(-9223372036854775808)


@triton.jit
def load_block(
    first, row, logits_ptr, row_stride, n_vocab, bias_ptr, bias_stride,
    BLOCK_V: tl.constexpr, HAS_BIAS: tl.constexpr,
):  # fmt: skip
    """Ids and scores of section 1 for BLOCK_V tokens, and NaN flags."""
    ids = first + tl.arange(0, BLOCK_V)
    z, nan = load_scores(
        ids, ids < n_vocab, row, row, logits_ptr, row_stride, n_vocab,
        bias_ptr, bias_stride, bias_ptr, 0, bias_ptr, 0, 1.0, 0.0, 0.0, HAS_BIAS, False, False,
    )  # fmt: skip
    return ids, z, nan


@triton.jit
def merge(best, block, K_MAX: tl.constexpr):
    """The K_MAX largest of two descending runs of that length, descending."""
    return tl.sort(tl.maximum(best, tl.flip(block, 0)), descending=True)


@triton.jit
def amount_from(
    key, infinite, m, c, row, logits_ptr, row_stride, n_vocab, bias_ptr, bias_stride,
    BLOCK_V: tl.constexpr, HAS_BIAS: tl.constexpr,
):  # fmt: skip
    """Number and mass of the candidates whose key is at least key."""
    n = tl.full([], 0, tl.int32)
    mass = tl.full([], 0, tl.int64)
    for first in range(0, n_vocab, BLOCK_V):
        _ids, z, _nan = load_block(
            first, row, logits_ptr, row_stride, n_vocab, bias_ptr, bias_stride, BLOCK_V, HAS_BIAS
        )
        z = only_infinite(z, infinite)
        take = key_of(z) >= key
        n += tl.sum(take.to(tl.int32), axis=0)
        mass += tl.sum(tl.where(take, units(weigh(tl.where(take, z, m), m, c)), 0), axis=0)
    return n, mass


@triton.jit
def locate(
    by_count, goal, best, listed, infinite, m, c, row, logits_ptr, row_stride, n_vocab, bias_ptr, bias_stride,
    BLOCK_V: tl.constexpr, K_MAX: tl.constexpr, HAS_BIAS: tl.constexpr,
):  # fmt: skip
    """The first place of the order at which the count, or the mass, reaches goal,
    an int64 above 0 and within reach: how many tokens come up to it, their mass,
    the token there and its weight. best are the first listed tokens of the order."""
    i = tl.arange(0, K_MAX)
    w = tl.where(i < listed, units(weigh(tl.where(i < listed, from_key((best >> 32).to(tl.int32)), m), m, c)), 0)
    upto = tl.cumsum(w, axis=0)
    reached = tl.where(by_count, (i + 1).to(tl.int64), upto) >= goal
    at = tl.min(tl.where(reached & (i < listed), i, INT32_MAX), axis=0)
    if at < listed:
        token = tl.max(tl.where(i == at, (best & 0x7FFFFFFF).to(tl.int32) ^ 0x7FFFFFFF, -1), axis=0)
        weight = tl.sum(tl.where(i == at, w, 0), axis=0)
        mass = tl.sum(tl.where(i == at, upto, 0), axis=0)
        place = at + 1
    else:
        # The highest key from which on the goal is reached; it is the place's score.
        lo = tl.full([], KEY_MIN, tl.int64)
        hi = (tl.min(best, axis=0) >> 32) + 1
        while hi - lo > 1:
            mid = lo + (hi - lo) // 2
            n, mass = amount_from(
                mid.to(tl.int32), infinite, m, c, row, logits_ptr, row_stride, n_vocab, bias_ptr, bias_stride,
                BLOCK_V, HAS_BIAS,
            )  # fmt: skip
            enough = tl.where(by_count, n.to(tl.int64), mass) >= goal
            lo = tl.where(enough, mid, lo)
            hi = tl.where(enough, hi, mid)
        # Of the tokens with this score, so many in the order of their ids.
        place, mass = amount_from(
            hi.to(tl.int32), infinite, m, c, row, logits_ptr, row_stride, n_vocab, bias_ptr, bias_stride,
            BLOCK_V, HAS_BIAS,
        )  # fmt: skip
        weight = units(weigh(from_key(lo.to(tl.int32)), m, c))
        more = (goal - place).to(tl.int32)
        if by_count == 0:
            more = ((goal - mass + weight - 1) // tl.maximum(weight, 1)).to(tl.int32)
        token = tl.full([], -1, tl.int32)
        seen = tl.full([], 0, tl.int32)
        for first in range(0, n_vocab, BLOCK_V):
            ids, z, _nan = load_block(
                first, row, logits_ptr, row_stride, n_vocab, bias_ptr, bias_stride, BLOCK_V, HAS_BIAS
            )
            take = (key_of(only_infinite(z, infinite)) == lo.to(tl.int32)).to(tl.int32)
            nth = seen + tl.cumsum(take, axis=0)
            token = tl.maximum(token, tl.max(tl.where((take != 0) & (nth == more), ids, -1), axis=0))
            seen += tl.sum(take, axis=0)
        place += more
        mass += more.to(tl.int64) * weight
    return place, mass, token, weight


@triton.jit
def one_program_kernel(
    logits_ptr, row_stride, n_vocab,
    temperature_ptr, top_k_ptr, top_p_ptr, min_p_ptr, filter_order_ptr, seed_ptr, step_ptr, u_ptr,
    bias_ptr, bias_stride,
    token_ptr, status_ptr, kept_ptr, logprob_ptr,
    BLOCK_V: tl.constexpr, K_MAX: tl.constexpr, HAS_BIAS: tl.constexpr, HAS_U: tl.constexpr,
):  # fmt: skip
    """Grid (rows,). Parameters have one entry a row. 2 <= K_MAX <= BLOCK_V, both powers of 2."""
    row = tl.program_id(0).to(tl.int64)
    temperature, top_k, top_p, min_p, filter_order, _repetition, _frequency, _presence, valid = load_params(
        row, temperature_ptr, top_k_ptr, top_p_ptr, min_p_ptr, filter_order_ptr,
        temperature_ptr, temperature_ptr, temperature_ptr, False,
    )  # fmt: skip
    token = tl.full([], -1, tl.int32)
    status = tl.full([], INVALID_PARAMS, tl.int32)
    kept = tl.full([], 0, tl.int32)
    logprob = tl.full([], 0.0, tl.float32)

    if valid & ((temperature == 0) | (top_k == 1)):
        # The first of the highest scores. No weights, no random number.
        m = tl.full([], -float("inf"), tl.float32)
        has_nan = tl.full([], 0, tl.int32)
        for first in range(0, n_vocab, BLOCK_V):
            ids, z, nan = load_block(
                first, row, logits_ptr, row_stride, n_vocab, bias_ptr, bias_stride, BLOCK_V, HAS_BIAS
            )
            has_nan = tl.maximum(has_nan, tl.max(nan.to(tl.int32), axis=0))
            top = tl.max(z, axis=0)
            if top > m:
                m = top
                token = tl.min(tl.where(z == top, ids, INT32_MAX), axis=0)
        status = tl.where(token < 0, NO_CANDIDATE, tl.where(has_nan != 0, NAN, OK))
        kept = tl.where(token < 0, 0, 1)
    elif valid:
        # First pass: the maximum, to which all weights relate.
        m = tl.full([], -float("inf"), tl.float32)
        has_nan = tl.full([], 0, tl.int32)
        for first in range(0, n_vocab, BLOCK_V):
            _ids, z, nan = load_block(
                first, row, logits_ptr, row_stride, n_vocab, bias_ptr, bias_stride, BLOCK_V, HAS_BIAS
            )
            m = tl.maximum(m, tl.max(z, axis=0))
            has_nan = tl.maximum(has_nan, tl.max(nan.to(tl.int32), axis=0))
        status = tl.where(m == -float("inf"), NO_CANDIDATE, tl.where(has_nan != 0, NAN, OK))
        if m > -float("inf"):
            infinite = m == float("inf")
            m = tl.where(infinite, 0.0, m)
            c = scale_of(temperature)

            # Second pass: number and mass of the candidates, those that reach
            # min_p, and the K_MAX first of the order.
            n = tl.full([], 0, tl.int32)
            n_m = tl.full([], 0, tl.int32)
            total = tl.full([], 0, tl.int64)
            best = tl.full([K_MAX], NO_TOKEN, tl.int64)
            worst = tl.min(best, axis=0)
            for first in range(0, n_vocab, BLOCK_V):
                ids, z, _nan = load_block(
                    first, row, logits_ptr, row_stride, n_vocab, bias_ptr, bias_stride, BLOCK_V, HAS_BIAS
                )
                z = only_infinite(z, infinite)
                live = z > -float("inf")
                y = weigh(tl.where(live, z, m), m, c)
                n += tl.sum(live.to(tl.int32), axis=0)
                n_m += tl.sum((live & (y >= min_p)).to(tl.int32), axis=0)
                total += tl.sum(tl.where(live, units(y), 0), axis=0)
                packed = (key_of(z).to(tl.int64) << 32) | (ids ^ 0x7FFFFFFF).to(tl.int64)
                packed = tl.where(live, packed, NO_TOKEN)
                # Once the buffer is full, few blocks hold a better token.
                if tl.max(packed, axis=0) > worst:
                    best = merge(best, tl.topk(packed, K_MAX), K_MAX)
                    worst = tl.min(best, axis=0)
            listed = tl.minimum(n, K_MAX)

            # Sections 5 and 6 ask the order up to four times for a place. In a
            # loop, so that locate is compiled once.
            n_k = tl.where(top_k > 0, tl.minimum(top_k, n), n)
            kept = tl.minimum(n_k, n_m)
            u = draw_u(row, row, seed_ptr, step_ptr, step_ptr, u_ptr, False, HAS_U)
            base = total
            mass = total
            weight = total
            goal = total
            stage = tl.full([], 0, tl.int32)
            while stage < 4:
                by_count = (stage == 0) | (stage == 2)
                if stage == 0:
                    # The mass of the first top_k, as top_p's base.
                    ask = (top_p < 1.0) & (filter_order == 1) & (n_k < n)
                    goal = n_k.to(tl.int64)
                elif stage == 1:
                    # The end of the nucleus.
                    ask = top_p < 1.0
                    goal = tl.maximum(share(top_p, base), 1)
                elif stage == 2:
                    # The mass of what is kept.
                    kept = tl.maximum(kept, 1)
                    ask = kept < n
                    goal = kept.to(tl.int64)
                else:
                    # The token.
                    ask = stage == 3
                    goal = tl.umulhi(u, mass.to(tl.uint64)).to(tl.int64) + 1
                if ask:
                    place, upto, found, weighs = locate(
                        by_count, goal, best, listed, infinite, m, c, row,
                        logits_ptr, row_stride, n_vocab, bias_ptr, bias_stride, BLOCK_V, K_MAX, HAS_BIAS,
                    )  # fmt: skip
                    if stage == 0:
                        base = upto
                    elif stage == 1:
                        kept = tl.minimum(kept, place)
                    elif stage == 2:
                        mass = upto
                    else:
                        token = found
                        weight = weighs
                stage += 1
            logprob = tl.log(weight.to(tl.float32) / mass.to(tl.float32))

    tl.store(token_ptr + row, token)
    tl.store(status_ptr + row, status)
    tl.store(kept_ptr + row, kept)
    tl.store(logprob_ptr + row, logprob)


def launch(
    logits, row_stride, rows, n_vocab, temperature, top_k, top_p, min_p, filter_order, seed, step,
    token, status, kept, logprob, u=None, bias=None, bias_stride=0, block_v=4096, k_max=1024, num_warps=8,
):  # fmt: skip
    """Draws a token for each row. Parameters are arrays on the device with one entry
    a row, as are the results; seed, step and u are the bits of uint64. A row's next
    token needs the next step: the caller counts."""
    block_v = min(block_v, max(16, triton.next_power_of_2(n_vocab)))
    one_program_kernel[(rows,)](
        logits, row_stride, n_vocab, temperature, top_k, top_p, min_p, filter_order, seed, step,
        seed if u is None else u, temperature if bias is None else bias, bias_stride,
        token, status, kept, logprob,
        BLOCK_V=block_v, K_MAX=min(k_max, block_v), HAS_BIAS=bias is not None, HAS_U=u is not None,
        num_warps=num_warps, enable_fp_fusion=False,
    )  # fmt: skip
