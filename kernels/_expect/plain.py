"""SPEC.md with NumPy, a row at a time: sorts everything, sums in integers."""

from __future__ import annotations

import numpy as np

f32 = np.float32
LOG2E, C1, C2, C3, C4, C5 = np.array(
    [0x3FB8AA3B, 0x3F317214, 0x3E75FCD8, 0x3D635D03, 0x3C1E771A, 0x3AAD3EBA], dtype=np.uint32
).view(f32)
MAX = np.finfo(f32).max


def widen(x: np.ndarray) -> np.ndarray:
    """Logits as float32; uint16 are the bits of bfloat16."""
    if x.dtype == np.uint16:
        return (x.astype(np.uint32) << np.uint32(16)).view(f32)
    return x.astype(f32)


def scores(x, bias=None, bitmask=None, counts=None, repetition=1.0, presence=0.0, frequency=0.0):
    """Section 1: scores and whether a logit was NaN."""
    z = widen(x).copy()
    repetition, presence, frequency = f32(repetition), f32(presence), f32(frequency)
    nan = bool(np.isnan(z).any())
    with np.errstate(all="ignore"):
        z[np.isnan(z)] = -np.inf
        if bias is not None:
            z += bias
        if bitmask is not None:
            bits = np.unpackbits(bitmask.view(np.uint8), bitorder="little").astype(bool)[: len(z)]
            z[~np.pad(bits, (0, len(z) - len(bits)))] = -np.inf
        if counts is not None:
            seen, n = (counts & 1) != 0, counts >> 1
            if repetition != 1:
                z = np.where(seen, np.where(z > 0, z / repetition, z * repetition), z)
            if frequency != 0:
                z = np.where(n > 0, z - n.astype(f32) * frequency, z)
            if presence != 0:
                z = np.where(n > 0, z - presence, z)
        z[np.isnan(z)] = -np.inf
        return z + f32(0), nan


def weights(z, m, temperature):
    """Section 3, of candidates: y, and w as int64."""
    with np.errstate(all="ignore"):
        c = np.minimum(LOG2E / f32(temperature), MAX)
        t = np.maximum((z - m) * c, f32(-40))
    if m == np.inf:
        t = np.zeros_like(z)
    n = (t + f32(12582912)) - f32(12582912)
    f = t - n
    p = C5 * f + C4
    p = p * f + C3
    p = p * f + C2
    p = p * f + C1
    p = p * f + f32(1)
    y = np.ldexp(p, n.astype(np.int32)).astype(f32)
    return y, np.rint(y.astype(np.float64) * 2.0**36).astype(np.int64)


def philox(seed: int, step: int) -> int:
    """Section 7."""
    low = 0xFFFFFFFF
    x = [step & low, step >> 32, 0, 0]
    k = [seed & low, seed >> 32]
    for _ in range(10):
        a, b = 0xD2511F53 * x[0], 0xCD9E8D57 * x[2]
        x = [(b >> 32) ^ x[1] ^ k[0], b & low, (a >> 32) ^ x[3] ^ k[1], a & low]
        k = [(k[0] + 0x9E3779B9) & low, (k[1] + 0xBB67AE85) & low]
    return x[0] | x[1] << 32


def order(z):
    """Section 4: the candidates' ids."""
    ids = np.flatnonzero(z == np.inf)
    if len(ids) == 0:
        ids = np.flatnonzero(z > -np.inf)
    return ids[np.argsort(-z[ids], kind="stable")]


def draw(z, nan, *, temperature=1.0, top_k=0, top_p=1.0, min_p=0.0, filter_order=0, u=0):
    """Sections 2 to 8: token, status, kept, logprob."""
    ids = order(z)
    if len(ids) == 0:
        return -1, 2, 0, 0.0
    status = int(nan)
    if temperature == 0 or top_k == 1:
        return int(ids[0]), status, 1, 0.0
    y, w = weights(z[ids], z[ids[0]], temperature)
    s = np.cumsum(w)
    n_k = min(int(top_k), len(ids)) if top_k > 0 else len(ids)
    n_m = int((y >= f32(min_p)).sum()) if min_p > 0 else len(ids)
    n_p = len(ids)
    if top_p < 1:
        base = int(s[n_k - 1]) if filter_order == 1 else int(s[-1])
        target = base * int(float(top_p) * 2.0**64) >> 64
        n_p = int(np.searchsorted(s, target)) + 1 if target > 0 else 0
    n = max(1, min(n_k, n_m, n_p))
    mass = int(s[n - 1])
    j = int(np.searchsorted(s[:n], int(u) * mass >> 64, side="right"))
    return int(ids[j]), status, n, float(np.log(w[j] / mass))
