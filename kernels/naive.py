"""SPEC.md in NumPy, one row at a time, a function for each section.

The kernels are tested against this. It is written to be read beside the
specification: it sorts the whole row, keeps every prefix sum, and multiplies with
Python's integers where 64 bits do not suffice.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

OK, NAN, NO_CANDIDATE, INVALID_PARAMS = range(4)

f32 = np.float32
INF = f32(np.inf)
MAX_FLOAT = np.finfo(f32).max


def of_bits(bits: int) -> np.float32:
    return np.uint32(bits).view(f32)


LOG2E = of_bits(0x3FB8AA3B)
C1, C2, C3, C4, C5 = map(of_bits, (0x3F317214, 0x3E75FCD8, 0x3D635D03, 0x3C1E771A, 0x3AAD3EBA))
TO_INTEGER = f32(12582912)  # 1.5 * 2^23


@dataclass
class Params:
    """What section 9 lets a row have. Text comes as arrays over the vocabulary."""

    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    min_p: float = 0.0
    filter_order: str = "joint"
    repetition_penalty: float = 1.0
    frequency_penalty: float = 0.0
    presence_penalty: float = 0.0
    bias: np.ndarray | None = None  # float32 [vocab], 0 where there is none
    allowed: np.ndarray | None = None  # bool [vocab]
    bitmask: np.ndarray | None = None  # uint32 [words]
    seen: np.ndarray | None = None  # bool [vocab]: in the prompt or in the output
    occurrences: np.ndarray | None = None  # int64 [vocab], in the output
    seed: int = 0
    step: int = 0
    u: int | None = None


class Draw(NamedTuple):
    """Results and details of a row, section 8. order, z, y and w are of all candidates."""

    token: int
    status: int
    kept: int
    logprob: float
    greedy: bool = False
    n_k: int = 0
    n_m: int = 0
    n_p: int = 0
    total: int = 0
    mass: int = 0
    order: np.ndarray = np.empty(0, np.int64)
    z: np.ndarray = np.empty(0, f32)
    y: np.ndarray = np.empty(0, f32)
    w: np.ndarray = np.empty(0, np.int64)


def widen(logits: np.ndarray) -> np.ndarray:
    """Section 1: logits as float32, exactly. uint16 are the bits of bfloat16."""
    if logits.dtype == np.uint16:
        return (logits.astype(np.uint32) << np.uint32(16)).view(f32)
    return logits.astype(f32)


def allowed_by(bitmask: np.ndarray, n_vocab: int) -> np.ndarray:
    """Section 1, step 3: which ids have their bit set, bool [n_vocab]."""
    ids = np.arange(n_vocab)
    words = np.zeros(max(len(bitmask), (n_vocab + 31) // 32), np.uint32)
    words[: len(bitmask)] = bitmask
    return (words[ids // 32] >> (ids % 32).astype(np.uint32)) & 1 != 0


def scores(logits: np.ndarray, p: Params) -> tuple[np.ndarray, bool]:
    """Section 1: float32 scores z [vocab], and whether a logit was NaN."""
    z = widen(logits)
    nan = np.isnan(z)
    with np.errstate(all="ignore"):
        z = np.where(nan, -INF, z)
        if p.bias is not None:
            z = z + p.bias.astype(f32)
        if p.allowed is not None:
            z = np.where(p.allowed, z, -INF)
        if p.bitmask is not None:
            z = np.where(allowed_by(p.bitmask, len(z)), z, -INF)
        if p.seen is not None and p.repetition_penalty != 1:
            r = f32(p.repetition_penalty)
            z = np.where(p.seen, np.where(z > 0, z / r, z * r), z)
        if p.occurrences is not None:
            n = p.occurrences
            if p.frequency_penalty != 0:
                z = np.where(n > 0, z - n.astype(f32) * f32(p.frequency_penalty), z)
            if p.presence_penalty != 0:
                z = np.where(n > 0, z - f32(p.presence_penalty), z)
        z = np.where(np.isnan(z), -INF, z) + f32(0)
    return z, bool(nan.any())


def scale(temperature: float) -> np.float32:
    """Section 3: c."""
    with np.errstate(over="ignore"):
        return min(LOG2E / f32(temperature), MAX_FLOAT)


def weights(z: np.ndarray, m: np.float32, c: np.float32) -> tuple[np.ndarray, np.ndarray]:
    """Section 3: y as float32 and w in units of 2^-36 as int64."""
    with np.errstate(all="ignore"):
        t = np.maximum((z - m) * c, f32(-40))
    if m == INF:
        t = np.where(z == INF, f32(0), f32(-40))
    n = (t + TO_INTEGER) - TO_INTEGER
    f = t - n
    P = ((((C5 * f + C4) * f + C3) * f + C2) * f + C1) * f + f32(1)
    y = np.ldexp(P, n.astype(np.int32))
    w = np.rint(np.ldexp(y.astype(np.float64), 36)).astype(np.int64)
    return y, w


def order(z: np.ndarray) -> np.ndarray:
    """Sections 1 and 4: the ids of the candidates, in order."""
    candidates = np.flatnonzero(z == INF if (z == INF).any() else z > -INF)
    return candidates[np.lexsort((candidates, -z[candidates]))]


def share(base: int, top_p: float) -> int:
    """Section 5: the target of top_p."""
    q = int(float(f32(top_p)) * 2.0**64)
    return base * q >> 64


def filters(y: np.ndarray, sums: np.ndarray, p: Params) -> tuple[int, int, int, int]:
    """Section 5: n_k, n_m, n_p and n. y is in order, sums is S_1 to S_N."""
    N = len(y)
    n_k = min(p.top_k, N) if p.top_k > 0 else N
    n_m = int(np.count_nonzero(y >= f32(p.min_p)))
    n_p = N
    if p.top_p != 1:
        base = sums[n_k - 1] if p.filter_order == "top_k_first" else sums[-1]
        target = share(int(base), p.top_p)
        n_p = int(np.searchsorted(np.concatenate(([0], sums)), target))
    return n_k, n_m, n_p, max(1, min(n_k, n_m, n_p))


def draw(u: int, sums: np.ndarray) -> int:
    """Section 6: the place, counted from 0, of the token in the order. sums is S_1 to S_n."""
    r = u * int(sums[-1]) >> 64
    return int(np.searchsorted(sums, r, side="right"))


def philox(counter: list[int], key: list[int]) -> list[int]:
    """Section 7: Philox4x32 with 10 rounds, on 32-bit words."""
    low = 0xFFFFFFFF
    (x0, x1, x2, x3), (k0, k1) = counter, key
    for _ in range(10):
        a, b = 0xCD9E8D57 * x2, 0xD2511F53 * x0
        x0, x1, x2, x3 = (a >> 32) ^ x1 ^ k0, a & low, (b >> 32) ^ x3 ^ k1, b & low
        k0, k1 = (k0 + 0x9E3779B9) & low, (k1 + 0xBB67AE85) & low
    return [x0, x1, x2, x3]


def random_u(seed: int, step: int) -> int:
    """Section 7: u."""
    low = 0xFFFFFFFF
    x = philox([step & low, step >> 32, 0, 0], [seed & low, seed >> 32])
    return x[0] | x[1] << 32


def valid(p: Params) -> bool:
    """Section 9, as far as numbers go. Comparisons with NaN are false."""
    return bool(
        0 <= p.temperature <= MAX_FLOAT
        and p.top_k >= -1
        and 0 < p.top_p <= 1
        and 0 <= p.min_p <= 1
        and p.filter_order in ("joint", "top_k_first")
        and 0 < p.repetition_penalty <= MAX_FLOAT
        and abs(p.frequency_penalty) <= MAX_FLOAT
        and abs(p.presence_penalty) <= MAX_FLOAT
    )


def sample(logits: np.ndarray, p: Params) -> Draw:
    """Sections 1 to 8, for a row of logits [vocab]."""
    if not valid(p):
        return Draw(-1, INVALID_PARAMS, 0, 0.0)
    z, nan = scores(logits, p)
    ids = order(z)
    status = NAN if nan else OK
    N = len(ids)
    if N == 0:
        return Draw(-1, NO_CANDIDATE, 0, 0.0)
    if p.temperature == 0 or p.top_k == 1:
        return Draw(int(ids[0]), status, 1, 0.0, True, N, N, N, 1 << 36, 1 << 36, ids, z[ids])
    z = z[ids]
    y, w = weights(z, z[0], scale(p.temperature))
    sums = np.cumsum(w)
    n_k, n_m, n_p, n = filters(y, sums, p)
    u = random_u(p.seed, p.step) if p.u is None else p.u
    j = draw(u, sums[:n])
    logprob = float(np.log(float(w[j]) / float(sums[n - 1])))
    return Draw(int(ids[j]), status, n, logprob, False, n_k, n_m, n_p, int(sums[-1]), int(sums[n - 1]), ids, z, y, w)
