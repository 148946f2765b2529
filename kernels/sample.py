"""The launches of one step: scan, mass, head, and for what is left long, collect
and settle (wide.py).

Each works on all rows and leaves at once where a row does not need it.

scan  reads every logit once. Keeps the maxima of groups of tokens. Programs of a
      greedy row meet by a ticket: the last to arrive writes the result, and
      nobody waits.
mass  reads a row again and adds up its weights, exactly. Only for rows that need
      the mass of all their candidates.
head  draws from the first tokens of the order, if few of these decide.

Scratch of a row: the group maxima, partial results of its tiles, lists of
tokens, a ticket. Tickets are 0 before and after a step; nothing else need be
cleared.
"""

import triton
import triton.language as tl

from .common import (
    INT32_MAX,
    INVALID_PARAMS,
    MAX_FLOAT,
    NAN,
    NO_CANDIDATE,
    OK,
    join,
    key_of,
    load_scores,
    only_infinite,
    random_u,
    scale_of,
    split,
    weigh,
)
from .select import HEAD, select


@triton.jit
def load_params(
    slot, temperature_ptr, top_k_ptr, top_p_ptr, min_p_ptr, filter_order_ptr,
    repetition_ptr, frequency_ptr, presence_ptr, HAS_COUNTS: tl.constexpr,
):  # fmt: skip
    """The parameters of a slot, and whether section 9 allows them."""
    temperature = tl.load(temperature_ptr + slot)
    top_k = tl.load(top_k_ptr + slot)
    top_p = tl.load(top_p_ptr + slot)
    min_p = tl.load(min_p_ptr + slot)
    filter_order = tl.load(filter_order_ptr + slot)
    # Comparisons with NaN are false.
    valid = (temperature >= 0) & (temperature <= MAX_FLOAT) & (top_k >= -1)
    valid = valid & (top_p > 0) & (top_p <= 1) & (min_p >= 0) & (min_p <= 1)
    valid = valid & (filter_order >= 0) & (filter_order <= 1)
    repetition = 1.0
    frequency = 0.0
    presence = 0.0
    if HAS_COUNTS:
        repetition = tl.load(repetition_ptr + slot)
        frequency = tl.load(frequency_ptr + slot)
        presence = tl.load(presence_ptr + slot)
        valid = valid & (repetition > 0) & (repetition <= MAX_FLOAT)
        valid = valid & (tl.abs(frequency) <= MAX_FLOAT) & (tl.abs(presence) <= MAX_FLOAT)
    return temperature, top_k, top_p, min_p, filter_order, repetition, frequency, presence, valid


@triton.jit
def needs_total(top_k, top_p, min_p, filter_order):
    """Whether a sampled row needs the mass of all its candidates: as top_p's
    base, or because no filter acts."""
    p_on = top_p < 1.0
    return (p_on & ((filter_order == 0) | (top_k <= 0))) | ((p_on == 0) & (top_k <= 0) & (min_p == 0))


@triton.jit
def step_of(row, slot, step_ptr, row_step_ptr, HAS_ROW_STEP: tl.constexpr):
    step = tl.load(step_ptr + slot).to(tl.uint64)
    if HAS_ROW_STEP:
        step += tl.load(row_step_ptr + row).to(tl.uint64)
    return step


@triton.jit
def draw_u(row, slot, seed_ptr, step_ptr, row_step_ptr, u_ptr, HAS_ROW_STEP: tl.constexpr, HAS_U: tl.constexpr):
    if HAS_U:
        return tl.load(u_ptr + row).to(tl.uint64)
    else:
        step = step_of(row, slot, step_ptr, row_step_ptr, HAS_ROW_STEP)
        return random_u(tl.load(seed_ptr + slot).to(tl.uint64), step)


@triton.jit
def put(
    row, slot, token, status, kept, weight, mass,
    token_ptr, status_ptr, kept_ptr, logprob_ptr, open_ptr, step_ptr, ADVANCE: tl.constexpr,
):  # fmt: skip
    """Writes a row's result and closes the row."""
    tl.store(token_ptr + row, token)
    tl.store(status_ptr + row, status)
    tl.store(kept_ptr + row, kept)
    tl.store(logprob_ptr + row, tl.log(weight.to(tl.float32) / mass.to(tl.float32)))
    tl.store(open_ptr + row, 0)
    if ADVANCE:
        if token >= 0:
            tl.store(step_ptr + slot, tl.load(step_ptr + slot) + 1)


@triton.jit
def max_and_any(m1, n1, m2, n2):
    return tl.maximum(m1, m2), n1 | n2


@triton.jit
def scan_kernel(
    logits_ptr, row_stride, n_vocab, row_slot_ptr,
    temperature_ptr, top_k_ptr, top_p_ptr, min_p_ptr, filter_order_ptr, step_ptr,
    bias_ptr, bias_stride, bitmask_ptr, bitmask_stride, counts_ptr, counts_stride,
    repetition_ptr, frequency_ptr, presence_ptr,
    group_ptr, tile_max_ptr, tile_nan_ptr, tile_best_ptr, ticket_ptr,
    token_ptr, status_ptr, kept_ptr, logprob_ptr, open_ptr,
    TILES: tl.constexpr, TILES_P2: tl.constexpr,
    R: tl.constexpr, THREADS: tl.constexpr, E: tl.constexpr, HAS_SLOTS: tl.constexpr,
    HAS_BIAS: tl.constexpr, HAS_BITMASK: tl.constexpr, HAS_COUNTS: tl.constexpr, ADVANCE: tl.constexpr,
):  # fmt: skip
    """Grid (rows * TILES,). A tile of R * THREADS * E tokens a program."""
    TILE: tl.constexpr = R * THREADS * E
    row = (tl.program_id(0) // TILES).to(tl.int64)
    tile = tl.program_id(0) % TILES
    slot = row
    if HAS_SLOTS:
        slot = tl.load(row_slot_ptr + row).to(tl.int64)
    temperature, top_k, top_p, min_p, filter_order, repetition, frequency, presence, valid = load_params(
        slot, temperature_ptr, top_k_ptr, top_p_ptr, min_p_ptr, filter_order_ptr,
        repetition_ptr, frequency_ptr, presence_ptr, HAS_COUNTS,
    )  # fmt: skip
    greedy = (temperature == 0) | (top_k == 1)

    ids = tile * TILE + tl.arange(0, TILE)
    z, nan = load_scores(
        ids, ids < n_vocab, row, slot, logits_ptr, row_stride, n_vocab,
        bias_ptr, bias_stride, bitmask_ptr, bitmask_stride, counts_ptr, counts_stride,
        repetition, frequency, presence, HAS_BIAS, HAS_BITMASK, HAS_COUNTS,
    )  # fmt: skip
    g = tl.max(tl.max(tl.reshape(z, [R, THREADS, E]), axis=2), axis=0)
    any_nan = tl.max(tl.max(tl.reshape(nan.to(tl.int32), [R, THREADS, E]), axis=2), axis=0)
    tl.store(group_ptr + (row * TILES + tile) * THREADS + tl.arange(0, THREADS), g)
    top, has_nan = tl.reduce((g, any_nan), 0, max_and_any)
    tl.store(tile_max_ptr + row * TILES + tile, top)
    tl.store(tile_nan_ptr + row * TILES + tile, has_nan)
    if greedy:
        best = tl.min(tl.where(z == top, ids, INT32_MAX), axis=0)
        tl.store(tile_best_ptr + row * TILES + tile, best)

    if greedy & valid:
        tl.debug_barrier()
        if tl.atomic_add(ticket_ptr + row, 1, sem="acq_rel") == TILES - 1:
            tl.store(ticket_ptr + row, 0)
            t = tl.arange(0, TILES_P2)
            at = row * TILES + t
            tops = tl.load(tile_max_ptr + at, mask=t < TILES, other=-float("inf"), cache_modifier=".cg")
            nans = tl.load(tile_nan_ptr + at, mask=t < TILES, other=0, cache_modifier=".cg")
            bests = tl.load(tile_best_ptr + at, mask=t < TILES, other=INT32_MAX, cache_modifier=".cg")
            m = tl.max(tops, axis=0)
            found = m > -float("inf")
            token = tl.where(found, tl.min(tl.where(tops == m, bests, INT32_MAX), axis=0), -1)
            status = tl.where(tl.max(nans, axis=0) != 0, NAN, OK)
            one = tl.full([], 1, tl.int64)
            put(
                row, slot, token, tl.where(found, status, NO_CANDIDATE), tl.where(found, 1, 0), one, one,
                token_ptr, status_ptr, kept_ptr, logprob_ptr, open_ptr, step_ptr, ADVANCE,
            )  # fmt: skip


@triton.jit
def row_max(row, tile_max_ptr, TILES: tl.constexpr, TILES_P2: tl.constexpr):
    """The row's maximum, 0 in its place if that is +inf, and whether it is."""
    t = tl.arange(0, TILES_P2)
    m = tl.max(tl.load(tile_max_ptr + row * TILES + t, mask=t < TILES, other=-float("inf")), axis=0)
    infinite = m == float("inf")
    return tl.where(infinite, 0.0, m), infinite


@triton.jit
def mass_kernel(
    logits_ptr, row_stride, n_vocab, row_slot_ptr,
    temperature_ptr, top_k_ptr, top_p_ptr, min_p_ptr, filter_order_ptr,
    bias_ptr, bias_stride, bitmask_ptr, bitmask_stride, counts_ptr, counts_stride,
    repetition_ptr, frequency_ptr, presence_ptr,
    tile_max_ptr, tile_mass_ptr, tile_count_ptr,
    TILES: tl.constexpr, TILES_P2: tl.constexpr,
    R: tl.constexpr, THREADS: tl.constexpr, E: tl.constexpr, HAS_SLOTS: tl.constexpr,
    HAS_BIAS: tl.constexpr, HAS_BITMASK: tl.constexpr, HAS_COUNTS: tl.constexpr,
):  # fmt: skip
    """Grid (rows * TILES,), the tiles of scan_kernel. Mass and number of each
    tile's candidates."""
    TILE: tl.constexpr = R * THREADS * E
    row = (tl.program_id(0) // TILES).to(tl.int64)
    tile = tl.program_id(0) % TILES
    slot = row
    if HAS_SLOTS:
        slot = tl.load(row_slot_ptr + row).to(tl.int64)
    temperature, top_k, top_p, min_p, filter_order, repetition, frequency, presence, valid = load_params(
        slot, temperature_ptr, top_k_ptr, top_p_ptr, min_p_ptr, filter_order_ptr,
        repetition_ptr, frequency_ptr, presence_ptr, HAS_COUNTS,
    )  # fmt: skip
    greedy = (temperature == 0) | (top_k == 1)
    if valid & (greedy == 0) & needs_total(top_k, top_p, min_p, filter_order):
        m, infinite = row_max(row, tile_max_ptr, TILES, TILES_P2)
        c = scale_of(temperature)
        ids = tile * TILE + tl.arange(0, TILE)
        z, _ = load_scores(
            ids, ids < n_vocab, row, slot, logits_ptr, row_stride, n_vocab,
            bias_ptr, bias_stride, bitmask_ptr, bitmask_stride, counts_ptr, counts_stride,
            repetition, frequency, presence, HAS_BIAS, HAS_BITMASK, HAS_COUNTS,
        )  # fmt: skip
        if infinite:
            z = only_infinite(z, infinite)
        # Of what has no weight, -inf lands on t = -40, where weights round to 0;
        # in a row without a candidate, whose m is -inf too, nothing matters.
        h, l = split(weigh(tl.reshape(z, [R, THREADS, E]), m, c))
        # Sums of up to 64 such parts are exact in float32; then on in integers.
        tl.static_assert(R * E <= 64)
        h = tl.sum(tl.sum(h, axis=2), axis=0)
        l = tl.sum(tl.sum(l, axis=2), axis=0)
        tl.store(tile_mass_ptr + row * TILES + tile, tl.sum(join(h, l), axis=0))
        if top_p >= 1.0:
            # Without a filter the number of candidates is a result.
            tl.store(tile_count_ptr + row * TILES + tile, tl.sum((z > -float("inf")).to(tl.int32), axis=0))


@triton.jit
def head_kernel(
    logits_ptr, row_stride, n_vocab, row_slot_ptr,
    temperature_ptr, top_k_ptr, top_p_ptr, min_p_ptr, filter_order_ptr,
    seed_ptr, step_ptr, row_step_ptr, u_ptr,
    bias_ptr, bias_stride, bitmask_ptr, bitmask_stride, counts_ptr, counts_stride,
    repetition_ptr, frequency_ptr, presence_ptr,
    group_ptr, tile_max_ptr, tile_nan_ptr, tile_mass_ptr, tile_count_ptr, hot_ptr, list_ptr, cut_ptr,
    token_ptr, status_ptr, kept_ptr, logprob_ptr, open_ptr,
    TILES: tl.constexpr, TILES_P2: tl.constexpr, GROUPS: tl.constexpr,
    R: tl.constexpr, THREADS: tl.constexpr, E: tl.constexpr,
    HAS_SLOTS: tl.constexpr, HAS_ROW_STEP: tl.constexpr, HAS_U: tl.constexpr,
    HAS_BIAS: tl.constexpr, HAS_BITMASK: tl.constexpr, HAS_COUNTS: tl.constexpr, ADVANCE: tl.constexpr,
):  # fmt: skip
    """Grid (rows,)."""
    row = tl.program_id(0).to(tl.int64)
    slot = row
    if HAS_SLOTS:
        slot = tl.load(row_slot_ptr + row).to(tl.int64)
    temperature, top_k, top_p, min_p, filter_order, repetition, frequency, presence, valid = load_params(
        slot, temperature_ptr, top_k_ptr, top_p_ptr, min_p_ptr, filter_order_ptr,
        repetition_ptr, frequency_ptr, presence_ptr, HAS_COUNTS,
    )  # fmt: skip
    t = tl.arange(0, TILES_P2)
    m, infinite = row_max(row, tile_max_ptr, TILES, TILES_P2)
    nans = tl.load(tile_nan_ptr + row * TILES + t, mask=t < TILES, other=0)
    status = tl.where(tl.max(nans, axis=0) != 0, NAN, OK)
    greedy = (temperature == 0) | (top_k == 1)
    none = m == -float("inf")
    if (valid == 0) | ((greedy == 0) & none):
        one = tl.full([], 1, tl.int64)
        put(
            row, slot, -1, tl.where(valid, NO_CANDIDATE, INVALID_PARAMS), 0, one, one,
            token_ptr, status_ptr, kept_ptr, logprob_ptr, open_ptr, step_ptr, False,
        )  # fmt: skip
    elif greedy == 0:
        total = tl.full([], 0, tl.int64)
        n_candidates = tl.full([], 0, tl.int32)
        if needs_total(top_k, top_p, min_p, filter_order):
            total = tl.sum(tl.load(tile_mass_ptr + row * TILES + t, mask=t < TILES, other=0), axis=0)
            if top_p >= 1.0:
                n_candidates = tl.sum(tl.load(tile_count_ptr + row * TILES + t, mask=t < TILES, other=0), axis=0)
        i = tl.arange(0, GROUPS)
        g = tl.load(group_ptr + row * TILES * THREADS + i, mask=i < TILES * THREADS, other=-float("inf"))
        u = draw_u(row, slot, seed_ptr, step_ptr, row_step_ptr, u_ptr, HAS_ROW_STEP, HAS_U)
        done, token, weight, kept, mass, n, cut = select(
            key_of(only_infinite(g, infinite)), m, scale_of(temperature), infinite,
            top_k, top_p, min_p, filter_order, total, n_candidates, u,
            row, slot, logits_ptr, row_stride, n_vocab,
            bias_ptr, bias_stride, bitmask_ptr, bitmask_stride, counts_ptr, counts_stride,
            repetition, frequency, presence, hot_ptr + row * HEAD, list_ptr + row * HEAD,
            GROUPS, R, THREADS, E, HAS_BIAS, HAS_BITMASK, HAS_COUNTS,
        )  # fmt: skip
        if done:
            put(
                row, slot, token, status, kept, weight, mass,
                token_ptr, status_ptr, kept_ptr, logprob_ptr, open_ptr, step_ptr, ADVANCE,
            )  # fmt: skip
        else:
            # The launches of wide.py go on, with the list gathered last.
            tl.store(cut_ptr + row * 2, n)
            tl.store(cut_ptr + row * 2 + 1, cut)
            tl.store(status_ptr + row, status)
            tl.store(open_ptr + row, 1)
