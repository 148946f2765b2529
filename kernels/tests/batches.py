"""Rows and parameters for tests, from a generator of random numbers."""

from __future__ import annotations

import numpy as np

from kernels.naive import Params

BAD = (
    {"temperature": -1.0},
    {"temperature": np.nan},
    {"temperature": np.inf},
    {"top_k": -2},
    {"top_p": 0.0},
    {"top_p": 1.5},
    {"top_p": np.nan},
    {"min_p": -0.5},
    {"min_p": 1.5},
    {"min_p": np.nan},
    {"filter_order": "other"},
)


def mixed() -> list[Params]:
    """One of each: greedy in both ways, each filter, pairs of them, none, invalid."""
    return [
        Params(temperature=0, top_p=0.5),
        Params(top_k=1, min_p=0.2),
        Params(top_k=7, temperature=0.7, seed=1),
        Params(top_k=40, top_p=0.9, temperature=0.8, seed=2, step=3),
        Params(top_k=40, top_p=0.9, temperature=0.8, filter_order="top_k_first", seed=3, step=2**40),
        Params(top_p=0.95, temperature=1.5, seed=2**64 - 1, step=2**64 - 1),
        Params(top_p=0.999, temperature=8, seed=6),
        Params(min_p=0.05, seed=7),
        Params(min_p=0.02, top_k=600, top_p=0.8, temperature=3, seed=8),
        Params(seed=9, temperature=0.6),
        Params(seed=10, temperature=1e30),
        Params(top_p=1.5, seed=11),
        Params(top_k=900, temperature=2, seed=12),
        Params(top_k=2**31 - 1, top_p=0.97, filter_order="top_k_first", temperature=4, seed=13),
    ]


def params(rng: np.random.Generator) -> Params:
    """A random request, without text, bias or mask."""
    p = Params(seed=int(rng.integers(2**63)) * 2 + 1, step=int(rng.integers(2**63)))
    p.temperature = float(rng.choice([0, 1e-3, 0.3, 0.8, 0.8, 1, 1, 1.5, 5, 100, 1e30]))
    if rng.random() < 0.5:
        p.top_k = int(rng.choice([-1, 0, 1, 2, 5, 40, 100, 300, 1000, 5000]))
    if rng.random() < 0.6:
        p.top_p = float(rng.choice([1e-30, 0.01, 0.3, 0.5, 0.9, 0.95, 0.999, 0.9999999, 1]))
    if rng.random() < 0.3:
        p.min_p = float(rng.choice([0, 1e-30, 1e-12, 1e-5, 0.01, 0.1, 0.5, 0.70710677, 0.9, 0.99999, 1]))
    if rng.random() < 0.4:
        p.filter_order = "top_k_first"
    if rng.random() < 0.03:
        for name, value in BAD[rng.integers(len(BAD))].items():
            setattr(p, name, value)
    return p


SHAPES = tuple("normal narrow wide ties flat half head near minus nan infinite mixed zeros".split())


def row(rng: np.random.Generator, shape: str, n_vocab: int) -> np.ndarray:
    """A float32 row of a shape that is hard in its own way."""
    x = rng.standard_normal(n_vocab) * 2.5
    some = rng.random(n_vocab)
    if shape == "narrow":
        x *= 1e-3
    elif shape == "wide":
        x *= 1e4
    elif shape == "ties":
        x = np.floor(x)
    elif shape == "flat":
        x[:] = x[0]
    elif shape == "half":
        x = np.where(some < 0.5, 1.5, x - 8)
    elif shape == "head":
        # A few tokens with nearly all of the mass.
        x[rng.integers(n_vocab, size=3)] += 20
    elif shape == "near":
        # Scores between which weights need not fall.
        x = 4 - rng.integers(0, 2**12, n_vocab) * 2.0**-21
    elif shape == "minus":
        x[some < 0.99] = -np.inf
    elif shape == "nan":
        x[some < 0.1] = np.nan
        x[some > 0.9] = -np.inf
    elif shape == "infinite":
        x[some < 0.3] = np.inf
        x[some > 0.8] = -np.inf
    elif shape == "mixed":
        x = np.where(some < 0.3, -3.0, np.where(some < 0.6, x, np.where(some < 0.8, -np.inf, np.floor(x))))
    elif shape == "zeros":
        x = np.where(some < 0.4, -0.0, np.where(some < 0.7, 0.0, -np.abs(x) * 1e-38))
    return x.astype(np.float32)


def rows(rng: np.random.Generator, n: int, n_vocab: int, shapes: tuple[str, ...] = SHAPES) -> np.ndarray:
    return np.array([row(rng, shapes[i % len(shapes)], n_vocab) for i in range(n)])


def narrow(x: np.ndarray, dtype: str) -> np.ndarray:
    """Logits in another type; bfloat16 as its bits, cut off."""
    if dtype == "bfloat16":
        bits = (x.view(np.uint32) >> np.uint32(16)).astype(np.uint16)
        return np.where(np.isnan(x), np.uint16(0x7FC0), bits)
    with np.errstate(over="ignore"):
        return x.astype(dtype)


def with_text(rng: np.random.Generator, p: Params, n_vocab: int) -> Params:
    """Adds, each at random, bias, mask, allowed ids, text and penalties."""
    if rng.random() < 0.6:
        p.bias = np.where(rng.random(n_vocab) < 0.2, rng.standard_normal(n_vocab) * 4, 0).astype(np.float32)
        p.bias[rng.random(n_vocab) < 0.02] = -np.inf
    if rng.random() < 0.5:
        p.bitmask = rng.integers(0, 2**32, (n_vocab + 31) // 32, dtype=np.uint32)
    if rng.random() < 0.2:
        p.allowed = rng.random(n_vocab) < 0.3
    if rng.random() < 0.8:
        p.occurrences = np.where(rng.random(n_vocab) < 0.3, rng.integers(0, 50, n_vocab), 0)
        p.seen = (rng.random(n_vocab) < 0.2) | (p.occurrences > 0)
        p.repetition_penalty = float(rng.choice([1, 1.2, 0.7, 3e38, 1e-30]))
        p.frequency_penalty = float(rng.choice([0, 0.1, -0.3, 3e38]))
        p.presence_penalty = float(rng.choice([0, 0.5, -2]))
    return p
