"""The rows that few tokens do not decide: flat nuclei, plateaus, a large top_k.

Three launches, of which other rows' programs leave at once.

long     one program a row draws from a list of up to HEAD tokens, where that
         decides; else it guesses from a sample where to look (aim.py).
collect  goes over the row once more. Of the two brackets of keys that were guessed
         it collects the tokens, and adds up what lies above.
settle   one program a row finds the end of the kept prefix and the token among
         the collected tokens. Where a guess was wrong, or a row asks for more than
         brackets can tell, it halves the range of keys over the whole row: slow,
         and as exact. Work is bounded on any input.
"""

import triton
import triton.language as tl

from .aim import ASK_ALL, ASK_COUNT, ASK_MASS, aim, question
from .common import FILTER_TOP_K_FIRST, INT32_MAX, KEY_MIN, from_key, key_of, load_scores, only_infinite, scale_of, share, units, weigh
from .sample import draw_u, load_params, needs_total, put, row_max
from .select import HEAD, NO_CANDIDATE_KEY, RANKED, decide_long, locate, ranks

LONG = tl.constexpr(8192)  # entries of a bracket's list
SUMS = tl.constexpr(8)  # int64 sums of a row, see collect_kernel


@triton.jit
def long_kernel(
    logits_ptr, row_stride, n_vocab, row_slot_ptr,
    temperature_ptr, top_k_ptr, top_p_ptr, min_p_ptr, filter_order_ptr,
    seed_ptr, step_ptr, row_step_ptr, u_ptr,
    bias_ptr, bias_stride, bitmask_ptr, bitmask_stride, counts_ptr, counts_stride,
    repetition_ptr, frequency_ptr, presence_ptr,
    tile_max_ptr, tile_mass_ptr, tile_count_ptr, list_ptr, short_ptr, cut_ptr, bracket_ptr, sums_ptr,
    token_ptr, status_ptr, kept_ptr, logprob_ptr, open_ptr,
    TILES: tl.constexpr, TILES_P2: tl.constexpr,
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
        t = tl.arange(0, TILES_P2)
        total = tl.full([], 0, tl.int64)
        n_candidates = tl.full([], 0, tl.int32)
        if needs_total(top_k, top_p, min_p, filter_order):
            total = tl.sum(tl.load(tile_mass_ptr + row * TILES + t, mask=t < TILES, other=0), axis=0)
            if top_p >= 1.0:
                n_candidates = tl.sum(tl.load(tile_count_ptr + row * TILES + t, mask=t < TILES, other=0), axis=0)
        u = draw_u(row, slot, seed_ptr, step_ptr, row_step_ptr, u_ptr, HAS_ROW_STEP, HAS_U)
        n = tl.load(cut_ptr + row * 2)
        done = top_k < -1  # false
        if n <= HEAD:
            first = (top_k > 0) & (top_p < 1.0) & (filter_order == FILTER_TOP_K_FIRST)
            done, token, weight, kept, mass = decide_long(
                list_ptr + row * HEAD, short_ptr + row * RANKED, n, m, c, top_k, top_p, min_p,
                first, total, n_candidates, u, (top_k > 0) | (min_p > 0), HEAD,
            )  # fmt: skip
            if done:
                put(
                    row, slot, token, tl.load(status_ptr + row), kept, weight, mass,
                    token_ptr, status_ptr, kept_ptr, logprob_ptr, open_ptr, step_ptr, ADVANCE,
                )  # fmt: skip
        if done == 0:
            bracket = aim(
                n, tl.load(cut_ptr + row * 2 + 1), m, c, infinite, top_k, top_p, min_p, total, u,
                list_ptr + row * HEAD, row, slot, logits_ptr, row_stride, n_vocab,
                bias_ptr, bias_stride, bitmask_ptr, bitmask_stride, counts_ptr, counts_stride,
                repetition, frequency, presence, HAS_BIAS, HAS_BITMASK, HAS_COUNTS,
            )  # fmt: skip
            tl.store(bracket_ptr + row * 4 + tl.arange(0, 4), bracket)
            lane = tl.arange(0, 8)
            sums = tl.where(lane == 6, n_candidates.to(tl.int64), tl.where(lane == 7, total, 0))
            tl.store(sums_ptr + row * SUMS + lane, sums)


@triton.jit
def collect_bracket(
    key, live, w, ids, low, high, sums_ptr, count_ptr, list_ptr,
):  # fmt: skip
    """Adds the tile's part of a bracket: sums_ptr[0:3] are the number and the mass
    above it and the number inside; tokens inside go to list_ptr, or, where the
    bracket is one key, their number to count_ptr."""
    above = live & (key > high)
    inside = live & (key >= low) & (key <= high)
    n_above = tl.sum(above.to(tl.int32), axis=0)
    n_inside = tl.sum(inside.to(tl.int32), axis=0)
    tl.store(count_ptr, n_inside)
    if n_above > 0:
        tl.atomic_add(sums_ptr, n_above.to(tl.int64), sem="relaxed")
        tl.atomic_add(sums_ptr + 1, tl.sum(tl.where(above, w, 0), axis=0), sem="relaxed")
    if n_inside > 0:
        first = tl.atomic_add(sums_ptr + 2, n_inside.to(tl.int64), sem="relaxed")
        if low < high:
            at = first + tl.cumsum(inside.to(tl.int32), axis=0) - 1
            packed = (key.to(tl.int64) << 32) | (ids ^ 0x7FFFFFFF).to(tl.int64)
            tl.store(list_ptr + at, packed, mask=inside & (at < LONG))


@triton.jit
def collect_kernel(
    logits_ptr, row_stride, n_vocab, row_slot_ptr,
    temperature_ptr, top_k_ptr, top_p_ptr, min_p_ptr, filter_order_ptr,
    bias_ptr, bias_stride, bitmask_ptr, bitmask_stride, counts_ptr, counts_stride,
    repetition_ptr, frequency_ptr, presence_ptr,
    tile_max_ptr, tile_best_ptr, tile_count_ptr, bracket_ptr, sums_ptr, long_ptr, open_ptr,
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
        temperature, top_k, top_p, min_p, _, repetition, frequency, presence, _ = load_params(
            slot, temperature_ptr, top_k_ptr, top_p_ptr, min_p_ptr, filter_order_ptr,
            repetition_ptr, frequency_ptr, presence_ptr, HAS_COUNTS,
        )  # fmt: skip
        ask = question(top_k, top_p, min_p)
        if ask != ASK_ALL:
            m, infinite = row_max(row, tile_max_ptr, TILES, TILES_P2)
            c = scale_of(temperature)
            ids = tile * TILE + tl.arange(0, TILE)
            z, _nan = load_scores(
                ids, ids < n_vocab, row, slot, logits_ptr, row_stride, n_vocab,
                bias_ptr, bias_stride, bitmask_ptr, bitmask_stride, counts_ptr, counts_stride,
                repetition, frequency, presence, HAS_BIAS, HAS_BITMASK, HAS_COUNTS,
            )  # fmt: skip
            z = only_infinite(z, infinite)
            live = z > -float("inf")
            key = key_of(z)
            w = units(weigh(z, m, c))
            at = bracket_ptr + row * 4
            if ask != 0:
                collect_bracket(
                    key, live, w, ids, tl.load(at), tl.load(at + 1), sums_ptr + row * SUMS,
                    tile_best_ptr + row * TILES + tile, long_ptr + row * 2 * LONG,
                )  # fmt: skip
            collect_bracket(
                key, live, w, ids, tl.load(at + 2), tl.load(at + 3), sums_ptr + row * SUMS + 3,
                tile_count_ptr + row * TILES + tile, long_ptr + row * 2 * LONG + LONG,
            )  # fmt: skip


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
def survey(
    min_p, infinite, row, slot, logits_ptr, row_stride, n_vocab,
    bias_ptr, bias_stride, bitmask_ptr, bitmask_stride, counts_ptr, counts_stride,
    repetition, frequency, presence, m, c,
    TILE: tl.constexpr, HAS_BIAS: tl.constexpr, HAS_BITMASK: tl.constexpr, HAS_COUNTS: tl.constexpr,
):  # fmt: skip
    """Number and mass of the row's candidates, and n_m of section 5."""
    n = tl.full([], 0, tl.int32)
    n_m = tl.full([], 0, tl.int32)
    mass = tl.full([], 0, tl.int64)
    for first in range(0, n_vocab, TILE):
        ids = first + tl.arange(0, TILE)
        z, _ = load_scores(
            ids, ids < n_vocab, row, slot, logits_ptr, row_stride, n_vocab,
            bias_ptr, bias_stride, bitmask_ptr, bitmask_stride, counts_ptr, counts_stride,
            repetition, frequency, presence, HAS_BIAS, HAS_BITMASK, HAS_COUNTS,
        )  # fmt: skip
        z = only_infinite(z, infinite)
        live = z > -float("inf")
        y = weigh(z, m, c)
        n += tl.sum(live.to(tl.int32), axis=0)
        n_m += tl.sum((live & (y >= min_p)).to(tl.int32), axis=0)
        mass += tl.sum(units(y), axis=0)
    return n, mass, n_m


@triton.jit
def search(
    by_count, goal, infinite, row, slot, logits_ptr, row_stride, n_vocab,
    bias_ptr, bias_stride, bitmask_ptr, bitmask_stride, counts_ptr, counts_stride,
    repetition, frequency, presence, m, c, list_ptr,
    TILE: tl.constexpr, HAS_BIAS: tl.constexpr, HAS_BITMASK: tl.constexpr, HAS_COUNTS: tl.constexpr,
):  # fmt: skip
    """select.locate over the whole row, read again for every halving."""
    n = tl.full([], 0, tl.int32)
    mass = tl.full([], 0, tl.int64)
    inside = tl.full([], 0, tl.int32) + n_vocab  # or less
    low = tl.full([], KEY_MIN, tl.int64)
    high = key_of(m).to(tl.int64)
    while (inside > RANKED) & (low < high):
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
    if inside <= RANKED:
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
            at = found + tl.cumsum(take, axis=0) - 1
            tl.store(list_ptr + at, (k << 32) | (ids ^ 0x7FFFFFFF).to(tl.int64), mask=(take != 0) & (at < RANKED))
            found += tl.sum(take, axis=0)
        tl.debug_barrier()
        ids, _, w, rank, before = ranks(list_ptr, found, m, c, RANKED, 64)
        here = tl.where(by_count, (n + rank + 1).to(tl.int64), mass + before + w)
        first_rank = tl.min(tl.where((rank < found) & (here >= goal), rank, RANKED), axis=0)
        hit = rank == first_rank
        place = n + first_rank + 1
        token = tl.max(tl.where(hit, ids, -1), axis=0)
        weight = tl.sum(tl.where(hit, w, 0), axis=0)
        mass += tl.sum(tl.where(hit, before + w, 0), axis=0)
    else:
        place, mass, token, weight = plateau(
            n, mass, by_count, goal, low, infinite, row, slot, logits_ptr, row_stride, n_vocab,
            bias_ptr, bias_stride, bitmask_ptr, bitmask_stride, counts_ptr, counts_stride,
            repetition, frequency, presence, m, c, TILE, HAS_BIAS, HAS_BITMASK, HAS_COUNTS,
        )  # fmt: skip
    return place, mass, token, weight


@triton.jit
def plateau(
    n, mass, by_count, goal, key, infinite, row, slot, logits_ptr, row_stride, n_vocab,
    bias_ptr, bias_stride, bitmask_ptr, bitmask_stride, counts_ptr, counts_stride,
    repetition, frequency, presence, m, c,
    TILE: tl.constexpr, HAS_BIAS: tl.constexpr, HAS_BITMASK: tl.constexpr, HAS_COUNTS: tl.constexpr,
):  # fmt: skip
    """The place of the goal among tokens of one key that follow n others: by
    division; and the token there, by counting ids."""
    weight = units(weigh(from_key(key.to(tl.int32)), m, c))
    more = (goal - n).to(tl.int32)
    if by_count == 0:
        more = ((goal - mass + weight - 1) // tl.maximum(weight, 1)).to(tl.int32)
    token = tl.full([], -1, tl.int32)
    seen = tl.full([], 0, tl.int32)
    first = tl.full([], 0, tl.int32)
    while (seen < more) & (first < n_vocab):
        ids = first + tl.arange(0, TILE)
        z, _ = load_scores(
            ids, ids < n_vocab, row, slot, logits_ptr, row_stride, n_vocab,
            bias_ptr, bias_stride, bitmask_ptr, bitmask_stride, counts_ptr, counts_stride,
            repetition, frequency, presence, HAS_BIAS, HAS_BITMASK, HAS_COUNTS,
        )  # fmt: skip
        take = (key_of(only_infinite(z, infinite)).to(tl.int64) == key).to(tl.int32)
        upto = seen + tl.cumsum(take, axis=0)
        token = tl.maximum(token, tl.max(tl.where((take != 0) & (upto == more), ids, -1), axis=0))
        seen += tl.sum(take, axis=0)
        first += TILE
    return n + more, mass + more.to(tl.int64) * weight, token, weight


@triton.jit
def within(
    by_count, goal, low, high, sums_ptr, tile_n_ptr, list_ptr, short_ptr, infinite, row, slot, logits_ptr, row_stride, n_vocab,
    bias_ptr, bias_stride, bitmask_ptr, bitmask_stride, counts_ptr, counts_stride,
    repetition, frequency, presence, m, c, TILES: tl.constexpr, TILES_P2: tl.constexpr,
    TILE: tl.constexpr, HAS_BIAS: tl.constexpr, HAS_BITMASK: tl.constexpr, HAS_COUNTS: tl.constexpr,
):  # fmt: skip
    """The place of the goal, if it lies in the bracket and the bracket is listed.
    Returns whether it does, and place, mass, token, weight."""
    n = tl.load(sums_ptr).to(tl.int32)
    mass = tl.load(sums_ptr + 1)
    inside = tl.load(sums_ptr + 2).to(tl.int32)
    good = (tl.where(by_count, n.to(tl.int64), mass) < goal) & (inside > 0)
    token = tl.full([], -1, tl.int32)
    weight = tl.full([], 0, tl.int64)
    place = n
    upto = mass
    if good:
        if low == high:
            weight = units(weigh(from_key(low), m, c))
            more = (goal - n).to(tl.int32)
            if by_count == 0:
                more = tl.minimum((goal - mass + weight - 1) // tl.maximum(weight, 1), 4194304).to(tl.int32)
            good = more <= inside
            if good:
                # Which tile, then which of its tokens.
                t = tl.arange(0, TILES_P2)
                tile_n = tl.load(tile_n_ptr + t, mask=t < TILES, other=0)
                ends = tl.cumsum(tile_n, axis=0)
                tile = tl.min(tl.where(ends >= more, t, TILES_P2), axis=0)
                rest = more - tl.sum(tl.where(t < tile, tile_n, 0), axis=0)
                ids = tile * TILE + tl.arange(0, TILE)
                z, _ = load_scores(
                    ids, ids < n_vocab, row, slot, logits_ptr, row_stride, n_vocab,
                    bias_ptr, bias_stride, bitmask_ptr, bitmask_stride, counts_ptr, counts_stride,
                    repetition, frequency, presence, HAS_BIAS, HAS_BITMASK, HAS_COUNTS,
                )  # fmt: skip
                take = (key_of(only_infinite(z, infinite)) == low) & (ids < n_vocab)
                nth = tl.cumsum(take.to(tl.int32), axis=0)
                token = tl.max(tl.where(take & (nth == rest), ids, -1), axis=0)
                place = n + more
                upto = mass + more.to(tl.int64) * weight
        else:
            good = inside <= LONG
            if good:
                i = tl.arange(0, LONG)
                packed = tl.load(list_ptr + i, mask=i < inside, other=NO_CANDIDATE_KEY)
                listed = i < inside
                w = tl.where(listed, units(weigh(tl.where(listed, from_key((packed >> 32).to(tl.int32)), m), m, c)), 0)
                good = tl.where(by_count, (n + inside).to(tl.int64), mass + tl.sum(w, axis=0)) >= goal
                if good:
                    place, upto, token, weight = locate(packed, w, inside, n, mass, by_count, goal, short_ptr, m, c)
    return good, place, upto, token, weight


@triton.jit
def settle_kernel(
    logits_ptr, row_stride, n_vocab, row_slot_ptr,
    temperature_ptr, top_k_ptr, top_p_ptr, min_p_ptr, filter_order_ptr,
    seed_ptr, step_ptr, row_step_ptr, u_ptr,
    bias_ptr, bias_stride, bitmask_ptr, bitmask_stride, counts_ptr, counts_stride,
    repetition_ptr, frequency_ptr, presence_ptr,
    tile_max_ptr, tile_best_ptr, tile_count_ptr, bracket_ptr, sums_ptr, long_ptr, short_ptr,
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
        ask_end = question(top_k, top_p, min_p)
        everything = tl.load(sums_ptr + row * SUMS + 6).to(tl.int32)
        total = tl.load(sums_ptr + row * SUMS + 7)
        n_m = everything
        if (ask_end == ASK_ALL) | (ask_end == ASK_COUNT):
            everything, total, n_m = survey(
                min_p, infinite, row, slot, logits_ptr, row_stride, n_vocab,
                bias_ptr, bias_stride, bitmask_ptr, bitmask_stride, counts_ptr, counts_stride,
                repetition, frequency, presence, m, c, TILE, HAS_BIAS, HAS_BITMASK, HAS_COUNTS,
            )  # fmt: skip
        n_k = tl.where(top_k > 0, tl.minimum(top_k, everything), everything)
        limit = tl.where(ask_end == ASK_MASS, INT32_MAX, n_k)
        if min_p > 0:
            limit = tl.minimum(limit, n_m)

        # Up to four questions to the order: the mass of the first top_k as
        # top_p's base, the end of the nucleus, the end of a shorter prefix, the
        # token. Most rows have two, and brackets for them.
        kept = everything
        mass = total
        base = total
        goal = tl.full([], 0, tl.int64)
        token = tl.full([], -1, tl.int32)
        weight = tl.full([], 1, tl.int64)
        stage = tl.full([], 0, tl.int32)
        while stage < 4:
            ask = stage > 4  # false
            by_count = stage > 4
            bracket = 0
            if stage == 0:
                ask = (top_p < 1.0) & (filter_order == 1) & (n_k < everything)
                by_count = stage == 0
                goal = n_k.to(tl.int64)
            elif stage == 1:
                goal = tl.maximum(share(top_p, base), 1)
                ask = top_p < 1.0
            elif stage == 2:
                shorter = tl.maximum(1, tl.minimum(limit, kept))
                ask = shorter != kept
                by_count = stage == 2
                goal = shorter.to(tl.int64)
            else:
                u = draw_u(row, slot, seed_ptr, step_ptr, row_step_ptr, u_ptr, HAS_ROW_STEP, HAS_U)
                goal = tl.umulhi(u, mass.to(tl.uint64)).to(tl.int64) + 1
                ask = stage == 3
                bracket = 1
            if ask:
                good = stage > 4  # false
                place = kept
                upto = mass
                found = token
                weighs = weight
                if ask_end != ASK_ALL:
                    at = bracket_ptr + row * 4 + 2 * bracket
                    tile_n_ptr = tile_best_ptr
                    if bracket == 1:
                        tile_n_ptr = tile_count_ptr
                    good, place, upto, found, weighs = within(
                        by_count, goal, tl.load(at), tl.load(at + 1), sums_ptr + row * SUMS + 3 * bracket,
                        tile_n_ptr + row * TILES, long_ptr + row * 2 * LONG + LONG * bracket, short_ptr + row * RANKED,
                        infinite, row, slot, logits_ptr, row_stride, n_vocab,
                        bias_ptr, bias_stride, bitmask_ptr, bitmask_stride, counts_ptr, counts_stride,
                        repetition, frequency, presence, m, c,
                        TILES, TILES_P2, TILE, HAS_BIAS, HAS_BITMASK, HAS_COUNTS,
                    )  # fmt: skip
                if good == 0:
                    place, upto, found, weighs = search(
                        by_count, goal, infinite, row, slot, logits_ptr, row_stride, n_vocab,
                        bias_ptr, bias_stride, bitmask_ptr, bitmask_stride, counts_ptr, counts_stride,
                        repetition, frequency, presence, m, c, short_ptr + row * RANKED,
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
