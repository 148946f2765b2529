"""The draw from the head of a row: threshold, gather, ranks, filters, token.

One program does this for one row, when the maxima of the row's groups are there.
The k-th highest maximum of disjoint groups is reached by at least k tokens and,
on real rows, by few more. Those are gathered. Their ranks and the masses before
them come from comparing all with all, so nothing is sorted.
"""

import triton
import triton.language as tl

from .common import (
    FILTER_TOP_K_FIRST,
    INT32_MAX,
    KEY_MIN,
    MAX_FLOAT,
    from_key,
    key_of,
    load_scores,
    only_infinite,
    share,
    units,
    weigh,
)

# The most tokens that are ranked by comparing all with all.
RANKED = tl.constexpr(128)
# The most tokens of a list, and the most groups they are gathered from.
HEAD = tl.constexpr(4096)
# A packed candidate is its key and, in the lower half, INT32_MAX minus its id:
# of two, the larger comes first in the order of SPEC.md, section 4.
NO_CANDIDATE_KEY = tl.constexpr(-9223372036854775808)


@triton.jit
def threshold(gk, k, top):
    """A key which at least k of the keys gk reach, or KEY_MIN if fewer are that
    high. top is the highest key. Not many more than k reach it, as a rule."""
    live = gk >= KEY_MIN
    n = tl.sum(live.to(tl.int32), axis=0)
    # At least k reach lo, or there is nothing to search; fewer reach hi.
    lo = tl.min(tl.where(live, gk, INT32_MAX), axis=0).to(tl.int64)
    lo = tl.where(n >= k, lo, KEY_MIN)
    hi = tl.where(n >= k, top.to(tl.int64) + 1, lo)
    enough = k + k // 4
    i = 0
    while (hi - lo > 1) & (n > enough):
        mid = lo + (hi - lo) // 2
        if i < 12:
            # Halve the interval of values, which is quick on real rows, and
            # later that of keys, which ends on all.
            a = from_key(lo.to(tl.int32))
            b = from_key(tl.minimum(hi, top.to(tl.int64)).to(tl.int32))
            v = key_of(a + (b - a) * 0.5 + 0.0).to(tl.int64)
            mid = tl.where((v > lo) & (v < hi), v, mid)
        count = tl.sum((gk >= mid.to(tl.int32)).to(tl.int32), axis=0)
        reached = count >= k
        n = tl.where(reached, count, n)
        lo = tl.where(reached, mid, lo)
        hi = tl.where(reached, hi, mid)
        i += 1
    return lo.to(tl.int32)


@triton.jit
def min_p_keys(m, c, min_p, top):
    """A key below which no weight reaches min_p and one from which all do. The
    margin of 2^-8 octaves is far above all roundings between score and weight."""
    at = tl.log2(min_p).to(tl.float64)
    m64 = m.to(tl.float64)
    c64 = c.to(tl.float64)
    below = tl.maximum((m64 + (at - 0.00390625) / c64).to(tl.float32), -MAX_FLOAT) + 0.0
    above = (m64 + (at + 0.00390625) / c64).to(tl.float32)
    # A difference beyond float32 makes the least weight at any temperature.
    above = tl.minimum(tl.maximum(above, (m64 - 3.4028234663852886e38).to(tl.float32)), m) + 0.0
    # No weight is below 2^-40.
    least = min_p <= 9.094947017729282e-13
    below_key = tl.where(least, KEY_MIN, tl.maximum(key_of(below) - 1, KEY_MIN))
    return below_key, tl.where(least, KEY_MIN, tl.minimum(key_of(above) + 1, top))


@triton.jit
def group_ids(group, e, TILE: tl.constexpr, THREADS: tl.constexpr, E: tl.constexpr):
    """Ids of the elements e of groups: a tile is [R, THREADS, E], a group is all
    of one thread's elements."""
    return (group // THREADS) * TILE + (e // E) * (THREADS * E) + (group % THREADS) * E + e % E


@triton.jit
def gather(
    gk, cut, infinite, row, slot, logits_ptr, row_stride, n_vocab,
    bias_ptr, bias_stride, bitmask_ptr, bitmask_stride, counts_ptr, counts_stride,
    repetition, frequency, presence, hot_ptr, list_ptr,
    GROUPS: tl.constexpr, R: tl.constexpr, THREADS: tl.constexpr, E: tl.constexpr,
    HAS_BIAS: tl.constexpr, HAS_BITMASK: tl.constexpr, HAS_COUNTS: tl.constexpr,
):  # fmt: skip
    """Packs the tokens whose key reaches cut into list_ptr[0:n], in no order that
    matters, and returns n; or HEAD + 1 if they, or their groups, are too many."""
    WIDTH: tl.constexpr = R * E
    AT_ONCE: tl.constexpr = 2048 // WIDTH if WIDTH < 2048 else 1
    group = tl.arange(0, GROUPS)
    hit = (gk >= cut).to(tl.int32)
    place = tl.cumsum(hit, axis=0) - 1
    n_hot = tl.sum(hit, axis=0)
    tl.store(hot_ptr + place, group, mask=(hit != 0) & (place < HEAD))
    tl.debug_barrier()
    n = tl.where(n_hot > HEAD, HEAD + 1, 0)
    g0 = tl.where(n_hot > HEAD, n_hot, 0)
    while (g0 < n_hot) & (n <= HEAD):
        g = g0 + tl.arange(0, AT_ONCE)
        hot = tl.load(hot_ptr + g, mask=g < n_hot, other=0)
        e = tl.arange(0, WIDTH)
        ids = group_ids(hot[:, None], e[None, :], R * THREADS * E, THREADS, E)
        live = (g < n_hot)[:, None] & (ids < n_vocab)
        z, _ = load_scores(
            ids, live, row, slot, logits_ptr, row_stride, n_vocab,
            bias_ptr, bias_stride, bitmask_ptr, bitmask_stride, counts_ptr, counts_stride,
            repetition, frequency, presence, HAS_BIAS, HAS_BITMASK, HAS_COUNTS,
        )  # fmt: skip
        k = key_of(only_infinite(z, infinite))
        take = tl.reshape((live & (k >= cut)).to(tl.int32), [AT_ONCE * WIDTH])
        at = n + tl.cumsum(take, axis=0) - 1
        packed = (k.to(tl.int64) << 32) | (ids ^ 0x7FFFFFFF).to(tl.int64)
        tl.store(list_ptr + at, tl.reshape(packed, [AT_ONCE * WIDTH]), mask=(take != 0) & (at < HEAD))
        n += tl.sum(take, axis=0)
        g0 += AT_ONCE
    tl.debug_barrier()
    return n


@triton.jit
def ranks(list_ptr, n, m, c, CAP: tl.constexpr, J: tl.constexpr):
    """For the n <= CAP packed candidates: id, y, weight, rank and the mass before
    each. Lanes from n on have rank CAP and weight 0. J are compared with all at a
    time, which bounds the registers."""
    i = tl.arange(0, CAP)
    mine = tl.load(list_ptr + i, mask=i < n, other=NO_CANDIDATE_KEY)
    y = tl.where(i < n, weigh(from_key((mine >> 32).to(tl.int32)), m, c), 0.0)
    w = units(y)
    # Rank and mass in one sum: ranks need 11 bits, masses 46.
    ahead = tl.zeros([CAP], tl.int64)
    for j0 in tl.static_range(0, CAP, J):
        j = j0 + tl.arange(0, J)
        other = tl.load(list_ptr + j, mask=j < n, other=NO_CANDIDATE_KEY)
        wj = units(weigh(from_key((other >> 32).to(tl.int32)), m, c))
        add = tl.where(j < n, (wj << 11) | 1, 0)
        ahead += tl.sum(tl.where(other[None, :] > mine[:, None], add[None, :], 0), axis=1)
    rank = tl.where(i < n, (ahead & 2047).to(tl.int32), CAP)
    return id_of(mine), y, w, rank, ahead >> 11


@triton.jit
def id_of(packed):
    return (packed & 0x7FFFFFFF).to(tl.int32) ^ 0x7FFFFFFF


@triton.jit
def decide(
    list_ptr, n, m, c, top_k, top_p, min_p, first, total, n_candidates, u, bounded, CAP: tl.constexpr,
):  # fmt: skip
    """Filters and draw, SPEC.md sections 5 and 6, on the n gathered candidates.

    bounded: no filter keeps more than these. first: top_p's base is the mass of
    the first top_k instead of total. Returns whether the list decides, and then
    id, weight, kept, mass.
    """
    ids, y, w, rank, before = ranks(list_ptr, n, m, c, CAP, 64)
    in_k = rank < tl.where(top_k > 0, tl.minimum(top_k, n), n)
    limit = tl.minimum(tl.where(top_k > 0, top_k, n), n)
    if min_p > 0:
        n_m = tl.sum(((rank < CAP) & (y >= min_p)).to(tl.int32), axis=0)
        limit = tl.maximum(1, tl.minimum(limit, n_m))
    kept = limit
    reached = bounded
    if top_p < 1.0:
        base = total
        if first:
            base = tl.sum(tl.where(in_k, w, 0), axis=0)
        goal = share(top_p, base)
        n_p = tl.min(tl.where((rank < CAP) & (before + w >= goal), rank + 1, INT32_MAX), axis=0)
        kept = tl.minimum(kept, n_p)
        reached = reached | (n_p <= n)
    mass = tl.sum(tl.where(rank < kept, w, 0), axis=0)
    if (top_p >= 1.0) & (bounded == 0):
        # No filter acts: all candidates are kept, the list is their head.
        kept = n_candidates
        mass = total
        reached = bounded | True
    r = tl.umulhi(u, mass.to(tl.uint64)).to(tl.int64)
    hit = (rank < tl.minimum(kept, n)) & (before <= r) & (r < before + w)
    token = tl.max(tl.where(hit, ids, -1), axis=0)
    weight = tl.sum(tl.where(hit, w, 0), axis=0)
    return reached & (token >= 0), token, weight, kept, mass


@triton.jit
def locate(packed, w, n, before_n, before_mass, by_count, goal, short_ptr, m, c):
    """The first place of the order at which the count, or the mass, reaches goal,
    among listed candidates that follow before_n others of mass before_mass.

    packed and w are the list and its weights in registers, n its length. The goal,
    an int64, lies above what is before and within what is listed. Returns how many
    tokens come up to the place, their mass, the token there and its weight.
    short_ptr is scratch for RANKED entries.
    """
    listed = packed != NO_CANDIDATE_KEY
    key = (packed >> 32).to(tl.int32)
    low = tl.min(tl.where(listed, key, INT32_MAX), axis=0).to(tl.int64)
    high = tl.max(tl.where(listed, key, -2147483648), axis=0).to(tl.int64)
    place = before_n
    mass = before_mass
    inside = n
    i = 0
    while (inside > RANKED) & (low < high):
        mid = low + (high - low + 1) // 2
        if i < 12:
            a = from_key(low.to(tl.int32))
            v = key_of(a + (from_key(high.to(tl.int32)) - a) * 0.5 + 0.0).to(tl.int64)
            mid = tl.where((v > low) & (v <= high), v, mid)
        upper = listed & (key >= mid.to(tl.int32)) & (key <= high.to(tl.int32))
        # Mass and number in one sum. It fits: of at most 8192 tokens one, at low,
        # is not in it, so it stays below 2^63.
        sums = tl.sum(tl.where(upper, (w << 14) | 1, 0), axis=0)
        upper_n = (sums & 16383).to(tl.int32)
        upper_mass = sums >> 14
        reached = tl.where(by_count, (place + upper_n).to(tl.int64), mass + upper_mass) >= goal
        inside = tl.where(reached, upper_n, inside - upper_n)
        place = tl.where(reached, place, place + upper_n)
        mass = tl.where(reached, mass, mass + upper_mass)
        low = tl.where(reached, mid, low)
        high = tl.where(reached, high, mid - 1)
        i += 1

    take = listed & (key >= low.to(tl.int32)) & (key <= high.to(tl.int32))
    if inside <= RANKED:
        at = tl.cumsum(take.to(tl.int32), axis=0) - 1
        tl.debug_barrier()
        tl.store(short_ptr + at, packed, mask=take)
        tl.debug_barrier()
        ids, _, ws, rank, before = ranks(short_ptr, inside, m, c, RANKED, 64)
        here = tl.where(by_count, (place + rank + 1).to(tl.int64), mass + before + ws)
        first = tl.min(tl.where((rank < RANKED) & (here >= goal), rank, RANKED), axis=0)
        hit = rank == first
        token = tl.max(tl.where(hit, ids, -1), axis=0)
        weight = tl.sum(tl.where(hit, ws, 0), axis=0)
        mass += tl.sum(tl.where(hit, before + ws, 0), axis=0)
        place += first + 1
    else:
        # One score: the place follows by division, the token by halving ids.
        weight = units(weigh(from_key(low.to(tl.int32)), m, c))
        more = (goal - place).to(tl.int32)
        if by_count == 0:
            more = ((goal - mass + weight - 1) // tl.maximum(weight, 1)).to(tl.int32)
        all_ids = id_of(packed)
        least = tl.full([], 0, tl.int32)
        most = tl.full([], 2097151, tl.int32)
        while least < most:
            half = (least + most) // 2
            enough = tl.sum((take & (all_ids <= half)).to(tl.int32), axis=0) >= more
            most = tl.where(enough, half, most)
            least = tl.where(enough, least, half + 1)
        token = least
        place += more
        mass += more.to(tl.int64) * weight
    return place, mass, token, weight


@triton.jit
def decide_long(
    list_ptr, short_ptr, n, m, c, top_k, top_p, min_p, first, total, n_candidates, u, bounded, CAP: tl.constexpr,
):  # fmt: skip
    """decide for lists too long to compare all with all."""
    i = tl.arange(0, CAP)
    packed = tl.load(list_ptr + i, mask=i < n, other=NO_CANDIDATE_KEY)
    y = tl.where(i < n, weigh(from_key((packed >> 32).to(tl.int32)), m, c), 0.0)
    w = units(y)
    listed = tl.sum(w, axis=0)
    limit = tl.minimum(tl.where(top_k > 0, top_k, n), n)
    if min_p > 0:
        limit = tl.maximum(1, tl.minimum(limit, tl.sum(((i < n) & (y >= min_p)).to(tl.int32), axis=0)))
    kept = tl.where(bounded, limit, n_candidates)
    mass = tl.where(bounded, listed, total)
    base = total
    reached = bounded | (top_p >= 1.0)
    token = tl.full([], -1, tl.int32)
    weight = tl.full([], 0, tl.int64)

    # Up to four questions: top_p's base, its end, the end of a shorter prefix,
    # and the token.
    stage = 0
    while stage < 4:
        ask = stage > 4  # false
        by_count = ask
        goal = tl.full([], 1, tl.int64)
        if stage == 0:
            # The mass of the first top_k, where the list has more.
            ask = first & (top_k < n)
            base = tl.where(first, listed, base)
            by_count = stage == 0
            goal = top_k.to(tl.int64)
        elif stage == 1:
            goal = tl.maximum(share(top_p, base), 1)
            ask = (top_p < 1.0) & (goal <= listed)
        elif stage == 2:
            # kept and mass are the nucleus, if there is one, else the list.
            ask = bounded & (limit < tl.where((top_p < 1.0) & reached, kept, n))
            by_count = stage == 2
            goal = limit.to(tl.int64)
        else:
            goal = tl.umulhi(u, mass.to(tl.uint64)).to(tl.int64) + 1
            ask = reached & (goal <= listed)
        if ask:
            place, upto, found, weighs = locate(
                packed, w, n, 0, tl.full([], 0, tl.int64), by_count, goal, short_ptr, m, c
            )
            if stage == 0:
                base = upto
            elif stage == 3:
                token = found
                weight = weighs
            else:
                kept = place
                mass = upto
                reached = reached | True
        elif stage == 1:
            # The list does not reach top_p: it is kept whole, if bounded.
            kept = tl.where(bounded, n, kept)
        stage += 1
    return reached & (token >= 0), token, weight, kept, mass


@triton.jit
def select(
    gk, m, c, infinite, top_k, top_p, min_p, filter_order, total, n_candidates, u,
    row, slot, logits_ptr, row_stride, n_vocab,
    bias_ptr, bias_stride, bitmask_ptr, bitmask_stride, counts_ptr, counts_stride,
    repetition, frequency, presence, hot_ptr, list_ptr,
    GROUPS: tl.constexpr, R: tl.constexpr, THREADS: tl.constexpr, E: tl.constexpr,
    HAS_BIAS: tl.constexpr, HAS_BITMASK: tl.constexpr, HAS_COUNTS: tl.constexpr,
):  # fmt: skip
    """Draws from the head of the row if few tokens decide. Returns done, token,
    weight, kept, mass; and of the list that was gathered last its length and the
    key that its tokens reach. gk are the keys of the row's group maxima."""
    top = key_of(m)
    k_on = top_k > 0
    p_on = top_p < 1.0
    first = k_on & p_on & (filter_order == FILTER_TOP_K_FIRST)
    bounded = k_on | (min_p > 0)

    done = top_k < -1  # false
    token = tl.full([], -1, tl.int32)
    weight = tl.full([], 0, tl.int64)
    kept = tl.full([], 0, tl.int32)
    mass = tl.full([], 0, tl.int64)
    n = tl.full([], HEAD + 1, tl.int32)
    cut = tl.full([], KEY_MIN, tl.int32)

    # Without a bound a mass is to be reached: try few tokens first, then many.
    k = tl.where(k_on, top_k, 48)
    tries = tl.where((top_k > HEAD // 2) & ((min_p == 0) | first), 2, 0)
    while tries < 2:
        cut = KEY_MIN + tl.zeros([], tl.int32)
        if (k_on == 0) | (top_k <= HEAD // 2):
            cut = threshold(gk, k, top)
        if min_p > 0:
            below, above = min_p_keys(m, c, min_p, top)
            # Next to min_p weights need not fall with the score, to the last
            # bit, so all tokens there are looked at, or none. The base of
            # top_p is the mass of all that top_k leaves.
            bound = tl.where(first, tl.minimum(cut, below), below)
            cut = tl.where(k_on & (top_k <= HEAD // 2) & (cut > above), cut, bound)
        n = gather(
            gk, cut, infinite, row, slot, logits_ptr, row_stride, n_vocab,
            bias_ptr, bias_stride, bitmask_ptr, bitmask_stride, counts_ptr, counts_stride,
            repetition, frequency, presence, hot_ptr, list_ptr,
            GROUPS, R, THREADS, E, HAS_BIAS, HAS_BITMASK, HAS_COUNTS,
        )  # fmt: skip
        if n <= 64:
            done, token, weight, kept, mass = decide(
                list_ptr, n, m, c, top_k, top_p, min_p, first, total, n_candidates, u, bounded, 64
            )
        elif n <= RANKED:
            done, token, weight, kept, mass = decide(
                list_ptr, n, m, c, top_k, top_p, min_p, first, total, n_candidates, u, bounded, RANKED
            )
        tries = tl.where(done | bounded | (n > HEAD), 2, tries + 1)
        k = 1024
    return done, token, weight, kept, mass, n, cut
