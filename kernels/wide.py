"""The rows that no head decides: flat nuclei, plateaus, a large top_k.

Two launches, of which other rows' programs leave at once.

hist    counts and weighs a row's candidates in BUCKETS buckets over the keys of
        the scores that weigh anything. Integer atomics: the order of additions
        does not matter.
settle  one program a row asks the histogram at which place of the order a count
        or a mass is reached, once for the filters and once for the draw. It
        gathers the bucket's tokens and ranks them; a bucket with too many is
        narrowed by halving its range of keys, and tokens of equal score are
        counted by id. Work is bounded on any input.

The histograms are all 0 before and after.
"""

import triton
import triton.language as tl

from .common import (
    KEY_MIN,
    MAX_FLOAT,
    from_key,
    key_of,
    load_scores,
    only_infinite,
    scale_of,
    share,
    units,
    weigh,
)
from .sample import draw_u, load_params, put, row_max
from .select import HEAD, ranks

BUCKETS = tl.constexpr(2048)


@triton.jit
def digit_shift(m, c):
    """How far the distance of a key from the highest is shifted to give its
    bucket: the least that lets all scores with a weight fit. The last bucket
    also holds the others."""
    lowest = (m.to(tl.float64) - 37.5 / c.to(tl.float64)).to(tl.float32)
    span = key_of(m).to(tl.int64) - key_of(tl.maximum(lowest, -MAX_FLOAT) + 0.0).to(tl.int64)
    shift = tl.full([], 0, tl.int64)
    while (span >> shift) >= BUCKETS:
        shift += 1
    return shift


@triton.jit
def hist_kernel(
    logits_ptr, row_stride, n_vocab, row_slot_ptr,
    temperature_ptr, top_k_ptr, top_p_ptr, min_p_ptr, filter_order_ptr,
    bias_ptr, bias_stride, bitmask_ptr, bitmask_stride, counts_ptr, counts_stride,
    repetition_ptr, frequency_ptr, presence_ptr,
    tile_max_ptr, hist_mass_ptr, hist_n_ptr, open_ptr,
    TILES: tl.constexpr, TILES_P2: tl.constexpr, TILE: tl.constexpr, HAS_SLOTS: tl.constexpr,
    HAS_BIAS: tl.constexpr, HAS_BITMASK: tl.constexpr, HAS_COUNTS: tl.constexpr,
):  # fmt: skip
    """Grid (rows * TILES,)."""
    row = (tl.program_id(0) // TILES).to(tl.int64)
    tile = tl.program_id(0) % TILES
    if tl.load(open_ptr + row) != 0:
        slot = row
        if HAS_SLOTS:
            slot = tl.load(row_slot_ptr + row).to(tl.int64)
        temperature, _, _, _, _, repetition, frequency, presence, _ = load_params(
            slot, temperature_ptr, top_k_ptr, top_p_ptr, min_p_ptr, filter_order_ptr,
            repetition_ptr, frequency_ptr, presence_ptr, HAS_COUNTS,
        )  # fmt: skip
        m, infinite = row_max(row, tile_max_ptr, TILES, TILES_P2)
        c = scale_of(temperature)
        shift = digit_shift(m, c)
        ids = tile * TILE + tl.arange(0, TILE)
        z, _ = load_scores(
            ids, ids < n_vocab, row, slot, logits_ptr, row_stride, n_vocab,
            bias_ptr, bias_stride, bitmask_ptr, bitmask_stride, counts_ptr, counts_stride,
            repetition, frequency, presence, HAS_BIAS, HAS_BITMASK, HAS_COUNTS,
        )  # fmt: skip
        z = only_infinite(z, infinite)
        live = z > -float("inf")
        w = tl.where(live, units(weigh(tl.where(live, z, m), m, c)), 0)
        far = (key_of(m).to(tl.int64) - key_of(z).to(tl.int64)) >> shift
        digit = tl.minimum(far, BUCKETS - 1).to(tl.int32)
        low = tl.min(tl.where(live, digit, BUCKETS), axis=0)
        high = tl.max(tl.where(live, digit, -1), axis=0)
        if low == high:
            # A plateau: one addition instead of a queue of them.
            tl.atomic_add(hist_mass_ptr + row * BUCKETS + low, tl.sum(w, axis=0))
            tl.atomic_add(hist_n_ptr + row * BUCKETS + low, tl.sum(live.to(tl.int32), axis=0))
        else:
            tl.atomic_add(hist_mass_ptr + row * BUCKETS + digit, w, mask=live & (w > 0))
            tl.atomic_add(hist_n_ptr + row * BUCKETS + digit, 1, mask=live)


@triton.jit
def halves(
    low, mid, high, infinite, row, slot, logits_ptr, row_stride, n_vocab,
    bias_ptr, bias_stride, bitmask_ptr, bitmask_stride, counts_ptr, counts_stride,
    repetition, frequency, presence, m, c,
    TILE: tl.constexpr, HAS_BIAS: tl.constexpr, HAS_BITMASK: tl.constexpr, HAS_COUNTS: tl.constexpr,
):  # fmt: skip
    """Of the candidates with mid <= key <= high: number, mass, lowest and highest
    key; and the lowest and highest key with low <= key < mid."""
    n = tl.full([], 0, tl.int32)
    mass = tl.full([], 0, tl.int64)
    upper_least = tl.full([], 2147483647, tl.int32)
    upper_most = tl.full([], -2147483648, tl.int32)
    lower_least = tl.full([], 2147483647, tl.int32)
    lower_most = tl.full([], -2147483648, tl.int32)
    for first in range(0, n_vocab, TILE):
        ids = first + tl.arange(0, TILE)
        z, _ = load_scores(
            ids, ids < n_vocab, row, slot, logits_ptr, row_stride, n_vocab,
            bias_ptr, bias_stride, bitmask_ptr, bitmask_stride, counts_ptr, counts_stride,
            repetition, frequency, presence, HAS_BIAS, HAS_BITMASK, HAS_COUNTS,
        )  # fmt: skip
        k = key_of(only_infinite(z, infinite))
        upper = (k >= mid) & (k <= high)
        lower = (k >= low) & (k < mid)
        n += tl.sum(upper.to(tl.int32), axis=0)
        mass += tl.sum(tl.where(upper, units(weigh(tl.where(upper, from_key(k), m), m, c)), 0), axis=0)
        upper_least = tl.minimum(upper_least, tl.min(tl.where(upper, k, 2147483647), axis=0))
        upper_most = tl.maximum(upper_most, tl.max(tl.where(upper, k, -2147483648), axis=0))
        lower_least = tl.minimum(lower_least, tl.min(tl.where(lower, k, 2147483647), axis=0))
        lower_most = tl.maximum(lower_most, tl.max(tl.where(lower, k, -2147483648), axis=0))
    return n, mass, upper_least, upper_most, lower_least, lower_most


@triton.jit
def count_min_p(
    min_p, infinite, row, slot, logits_ptr, row_stride, n_vocab,
    bias_ptr, bias_stride, bitmask_ptr, bitmask_stride, counts_ptr, counts_stride,
    repetition, frequency, presence, m, c,
    TILE: tl.constexpr, HAS_BIAS: tl.constexpr, HAS_BITMASK: tl.constexpr, HAS_COUNTS: tl.constexpr,
):  # fmt: skip
    """n_m of section 5: the number of candidates whose y reaches min_p."""
    n = tl.full([], 0, tl.int32)
    for first in range(0, n_vocab, TILE):
        ids = first + tl.arange(0, TILE)
        z, _ = load_scores(
            ids, ids < n_vocab, row, slot, logits_ptr, row_stride, n_vocab,
            bias_ptr, bias_stride, bitmask_ptr, bitmask_stride, counts_ptr, counts_stride,
            repetition, frequency, presence, HAS_BIAS, HAS_BITMASK, HAS_COUNTS,
        )  # fmt: skip
        z = only_infinite(z, infinite)
        live = z > -float("inf")
        y = weigh(tl.where(live, z, m), m, c)
        n += tl.sum((live & (y >= min_p)).to(tl.int32), axis=0)
    return n


@triton.jit
def locate(
    by_count, goal, counts, masses, shift, infinite, row, slot, logits_ptr, row_stride, n_vocab,
    bias_ptr, bias_stride, bitmask_ptr, bitmask_stride, counts_ptr, counts_stride,
    repetition, frequency, presence, m, c, list_ptr,
    TILE: tl.constexpr, HAS_BIAS: tl.constexpr, HAS_BITMASK: tl.constexpr, HAS_COUNTS: tl.constexpr,
):  # fmt: skip
    """The first place of the order at which the count, or the mass, reaches goal,
    an int64 above 0 and within reach: how many tokens come up to it, their
    mass, the token there, and its weight."""
    b = tl.arange(0, BUCKETS)
    reached = tl.cumsum(tl.where(by_count, counts.to(tl.int64), masses), axis=0) >= goal
    bucket = tl.min(tl.where(reached, b, BUCKETS - 1), axis=0)
    n = tl.sum(tl.where(b < bucket, counts, 0), axis=0)
    mass = tl.sum(tl.where(b < bucket, masses, 0), axis=0)
    inside = tl.sum(tl.where(b == bucket, counts, 0), axis=0)
    top = key_of(m).to(tl.int64)
    high = top - (bucket.to(tl.int64) << shift)
    low = tl.maximum(high - (tl.full([], 1, tl.int64) << shift) + 1, KEY_MIN)
    low = tl.where(bucket == BUCKETS - 1, KEY_MIN, low)

    # Narrow the range until its tokens can be ranked or all have one score.
    while (inside > HEAD) & (low < high):
        mid = low + (high - low + 1) // 2
        upper_n, upper_mass, upper_least, upper_most, lower_least, lower_most = halves(
            low.to(tl.int32), mid.to(tl.int32), high.to(tl.int32), infinite, row, slot, logits_ptr, row_stride, n_vocab,
            bias_ptr, bias_stride, bitmask_ptr, bitmask_stride, counts_ptr, counts_stride,
            repetition, frequency, presence, m, c, TILE, HAS_BIAS, HAS_BITMASK, HAS_COUNTS,
        )  # fmt: skip
        here = tl.where(by_count, (n + upper_n).to(tl.int64), mass + upper_mass)
        if (here >= goal) & (upper_n > 0):
            inside = upper_n
            low = upper_least.to(tl.int64)
            high = upper_most.to(tl.int64)
        else:
            n += upper_n
            mass += upper_mass
            inside -= upper_n
            low = lower_least.to(tl.int64)
            high = lower_most.to(tl.int64)

    place = n
    token = tl.full([], -1, tl.int32)
    weight = tl.full([], 0, tl.int64)
    if inside <= HEAD:
        # Collect them, rank them, and look.
        found = tl.full([], 0, tl.int32)
        for first in range(0, n_vocab, TILE):
            ids = first + tl.arange(0, TILE)
            z, _ = load_scores(
                ids, ids < n_vocab, row, slot, logits_ptr, row_stride, n_vocab,
                bias_ptr, bias_stride, bitmask_ptr, bitmask_stride, counts_ptr, counts_stride,
                repetition, frequency, presence, HAS_BIAS, HAS_BITMASK, HAS_COUNTS,
            )  # fmt: skip
            k = key_of(only_infinite(z, infinite)).to(tl.int64)
            take = ((k >= low) & (k <= high)).to(tl.int32)
            some = tl.sum(take, axis=0)
            if some > 0:
                at = found + tl.cumsum(take, axis=0) - 1
                tl.store(list_ptr + at, (k << 32) | (ids ^ 0x7FFFFFFF).to(tl.int64), mask=(take != 0) & (at < HEAD))
                found += some
        tl.debug_barrier()
        ids, _, w, rank, before = ranks(list_ptr, found, m, c, HEAD, 8)
        here = tl.where(by_count, (n + rank + 1).to(tl.int64), mass + before + w)
        rank_hit = tl.min(tl.where((rank < found) & (here >= goal), rank, HEAD), axis=0)
        hit = rank == rank_hit
        place = n + rank_hit + 1
        token = tl.max(tl.where(hit, ids, -1), axis=0)
        weight = tl.sum(tl.where(hit, w, 0), axis=0)
        mass += tl.sum(tl.where(hit, before + w, 0), axis=0)
    else:
        # One score: the place among its tokens follows by division, and the
        # token by counting ids.
        weight = units(weigh(from_key(low.to(tl.int32)), m, c))
        more = (goal - n).to(tl.int32)
        if by_count == 0:
            more = ((goal - mass + weight - 1) // tl.maximum(weight, 1)).to(tl.int32)
        seen = tl.full([], 0, tl.int32)
        first = 0
        while (seen < more) & (first < n_vocab):
            ids = first + tl.arange(0, TILE)
            z, _ = load_scores(
                ids, ids < n_vocab, row, slot, logits_ptr, row_stride, n_vocab,
                bias_ptr, bias_stride, bitmask_ptr, bitmask_stride, counts_ptr, counts_stride,
                repetition, frequency, presence, HAS_BIAS, HAS_BITMASK, HAS_COUNTS,
            )  # fmt: skip
            take = (key_of(only_infinite(z, infinite)).to(tl.int64) == low).to(tl.int32)
            upto = seen + tl.cumsum(take, axis=0)
            token = tl.maximum(token, tl.max(tl.where((take != 0) & (upto == more), ids, -1), axis=0))
            seen += tl.sum(take, axis=0)
            first += TILE
        place = n + more
        mass += more.to(tl.int64) * weight
    return place, mass, token, weight


@triton.jit
def settle_kernel(
    logits_ptr, row_stride, n_vocab, row_slot_ptr,
    temperature_ptr, top_k_ptr, top_p_ptr, min_p_ptr, filter_order_ptr,
    seed_ptr, step_ptr, row_step_ptr, u_ptr,
    bias_ptr, bias_stride, bitmask_ptr, bitmask_stride, counts_ptr, counts_stride,
    repetition_ptr, frequency_ptr, presence_ptr,
    tile_max_ptr, hist_mass_ptr, hist_n_ptr, list_ptr,
    token_ptr, status_ptr, kept_ptr, logprob_ptr, open_ptr,
    TILES: tl.constexpr, TILES_P2: tl.constexpr, TILE: tl.constexpr,
    HAS_SLOTS: tl.constexpr, HAS_ROW_STEP: tl.constexpr, HAS_U: tl.constexpr,
    HAS_BIAS: tl.constexpr, HAS_BITMASK: tl.constexpr, HAS_COUNTS: tl.constexpr, ADVANCE: tl.constexpr,
):  # fmt: skip
    """Grid (rows,)."""
    row = tl.program_id(0).to(tl.int64)
    if tl.load(open_ptr + row) != 0:
        slot = row
        if HAS_SLOTS:
            slot = tl.load(row_slot_ptr + row).to(tl.int64)
        temperature, top_k, top_p, min_p, filter_order, repetition, frequency, presence, _ = load_params(
            slot, temperature_ptr, top_k_ptr, top_p_ptr, min_p_ptr, filter_order_ptr,
            repetition_ptr, frequency_ptr, presence_ptr, HAS_COUNTS,
        )  # fmt: skip
        m, infinite = row_max(row, tile_max_ptr, TILES, TILES_P2)
        c = scale_of(temperature)
        shift = digit_shift(m, c)
        b = tl.arange(0, BUCKETS)
        counts = tl.load(hist_n_ptr + row * BUCKETS + b)
        masses = tl.load(hist_mass_ptr + row * BUCKETS + b)
        tl.store(hist_n_ptr + row * BUCKETS + b, tl.zeros([BUCKETS], tl.int32))
        tl.store(hist_mass_ptr + row * BUCKETS + b, tl.zeros([BUCKETS], tl.int64))

        everything = tl.sum(counts, axis=0)
        total = tl.sum(masses, axis=0)
        n_k = tl.where(top_k > 0, tl.minimum(top_k, everything), everything)
        limit = n_k
        if min_p > 0:
            n_m = count_min_p(
                min_p, infinite, row, slot, logits_ptr, row_stride, n_vocab,
                bias_ptr, bias_stride, bitmask_ptr, bitmask_stride, counts_ptr, counts_stride,
                repetition, frequency, presence, m, c, TILE, HAS_BIAS, HAS_BITMASK, HAS_COUNTS,
            )  # fmt: skip
            limit = tl.minimum(limit, n_m)

        # Three questions to the order, of which most rows ask two: the mass of
        # the first top_k as a base, the end of the kept prefix, the token. With
        # top_p the end takes a second look where another filter keeps less.
        kept = everything
        mass = total
        base = total
        goal = tl.full([], 0, tl.int64)
        stage = tl.full([], 0, tl.int32)
        token = tl.full([], -1, tl.int32)
        weight = tl.full([], 1, tl.int64)
        while stage < 4:
            ask = stage > 4  # false
            by_count = stage > 4
            if stage == 0:
                ask = (top_p < 1.0) & (filter_order == 1) & (n_k < everything)
                by_count = stage == 0
                goal = n_k.to(tl.int64)
            elif stage == 1:
                goal = share(top_p, base)
                ask = (top_p < 1.0) & (goal > 0)
                if (top_p < 1.0) & (goal == 0):
                    kept = everything * 0
            elif stage == 2:
                target_n = tl.maximum(1, tl.minimum(limit, kept))
                ask = target_n != kept
                by_count = stage == 2
                goal = target_n.to(tl.int64)
            else:
                u = draw_u(row, slot, seed_ptr, step_ptr, row_step_ptr, u_ptr, HAS_ROW_STEP, HAS_U)
                goal = tl.umulhi(u, mass.to(tl.uint64)).to(tl.int64) + 1
                ask = stage == 3
            if ask:
                place, upto, found, weighs = locate(
                    by_count, goal, counts, masses, shift, infinite, row, slot, logits_ptr, row_stride, n_vocab,
                    bias_ptr, bias_stride, bitmask_ptr, bitmask_stride, counts_ptr, counts_stride,
                    repetition, frequency, presence, m, c, list_ptr + row * HEAD,
                    TILE, HAS_BIAS, HAS_BITMASK, HAS_COUNTS,
                )  # fmt: skip
                if stage == 0:
                    base = upto
                elif stage == 3:
                    token = found
                    weight = weighs
                else:
                    kept = place
                    mass = upto
            stage += 1
        put(
            row, slot, token, tl.load(status_ptr + row), kept, weight, mass,
            token_ptr, status_ptr, kept_ptr, logprob_ptr, open_ptr, step_ptr, ADVANCE,
        )  # fmt: skip
