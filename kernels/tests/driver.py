"""Runs the kernels on host arrays, under Triton's interpreter.

All memory that a kernel may write is poisoned before, with guards behind it, and
checked after. Logits end in NaN.
"""

from __future__ import annotations

import importlib
import random
import sys
import types
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from kernels import naive, one_program

from .host import Array


def launcher() -> types.ModuleType:
    """tokendraw._launch, without the rest of that package, which needs torch."""
    name = "tokendraw_without_torch"
    package = types.ModuleType(name)
    package.__path__ = [str(Path(__file__).parents[2] / "python" / "tokendraw")]
    sys.modules.setdefault(name, package)
    return importlib.import_module(name + "._launch")


_launch = launcher()

GUARD = 64


class Tile(NamedTuple):
    """A tile has r * threads * e tokens."""

    r: int = 2
    threads: int = 32
    e: int = 8


class Drawn(NamedTuple):
    """Results, one entry a row; and per slot the steps afterwards."""

    token: np.ndarray
    status: np.ndarray
    kept: np.ndarray
    logprob: np.ndarray
    step: np.ndarray
    opened: np.ndarray
    """How far a row went: 0 decided by scan or head, 1 by long, 2 by settle."""


class Poisoned:
    """Memory for a kernel to write, full of random bytes, with a guard behind it."""

    def __init__(self, n: int, dtype: str, zero: bool = False):
        size = np.dtype(dtype).itemsize
        self.whole = np.frombuffer(random.randbytes((n + GUARD) * size), dtype=dtype).copy()
        if zero:
            self.whole[:n] = 0
        self.values = self.whole[:n]
        self.guard = self.whole[n:].tobytes()
        self.zero = zero
        self.array = Array(self.whole)

    def check(self, name: str) -> None:
        assert self.whole[len(self.values) :].tobytes() == self.guard, f"written behind {name}"
        assert not self.zero or not self.values.any(), f"{name} is not zero afterwards"


class Given:
    """Memory that a kernel must leave as it is."""

    def __init__(self, values: np.ndarray, dtype: str | None = None):
        self.before = values.tobytes()
        self.array = Array(values, dtype)

    def check(self, name: str) -> None:
        assert self.array.values.tobytes() == self.before, f"{name} was written"


def guarded_logits(logits: np.ndarray, n_vocab: int) -> Given:
    """A copy, with NaN wherever no logit lies. uint16 are the bits of bfloat16."""
    bfloat = logits.dtype == np.uint16
    nan = 0x7FC0 if bfloat else np.nan
    rows, stride = logits.shape
    buffer = np.full((rows + 1) * stride + GUARD, nan, logits.dtype)
    matrix = buffer[: rows * stride].reshape(rows, stride)
    matrix[:, :n_vocab] = logits[:, :n_vocab]
    return Given(buffer, "bfloat16" if bfloat else None)


def mask_words(p: naive.Params, n_vocab: int, n_words: int) -> np.ndarray:
    """One bitmask for all that a request forbids, as int32 [n_words]."""
    allowed = np.ones(n_vocab, bool)
    if p.allowed is not None:
        allowed &= p.allowed
    if p.bitmask is not None:
        allowed &= naive.allowed_by(p.bitmask, n_vocab)
    bits = np.zeros(32 * max(n_words, (n_vocab + 31) // 32), bool)
    bits[:n_vocab] = allowed
    return np.packbits(bits, bitorder="little").view(np.int32)[:n_words]


def optional(params: list[naive.Params], n_vocab: int) -> dict[str, np.ndarray]:
    """Bias, bitmask and counts [slots, ..], each if a request has one."""
    arrays = {}
    if any(p.bias is not None for p in params):
        zero = np.zeros(n_vocab)
        arrays["bias"] = np.array([zero if p.bias is None else p.bias for p in params], np.float32)
    if any(p.bitmask is not None or p.allowed is not None for p in params):
        # Trailing words may be missing if every request forbids their ids.
        full = (n_vocab + 31) // 32
        lengths = [full if p.bitmask is None else len(p.bitmask) for p in params]
        n_words = max(lengths)
        arrays["bitmask"] = np.array([mask_words(p, n_vocab, n_words) for p in params], np.int32)
        arrays["bitmask"] = arrays["bitmask"].reshape(len(params), n_words)
    if any(p.seen is not None or p.occurrences is not None for p in params):
        none = np.zeros(n_vocab, np.int64)
        counts = [
            2 * (none if p.occurrences is None else p.occurrences) + (none if p.seen is None else p.seen)
            for p in params
        ]
        arrays["counts"] = np.array(counts, np.int64)
        assert arrays["counts"].max() < 2**31
        arrays["counts"] = arrays["counts"].astype(np.int32)
    return arrays


def columns(params: list[naive.Params]) -> dict[str, np.ndarray]:
    """The parameters by name, one entry a slot."""

    def of(name: str, dtype: str) -> np.ndarray:
        return np.array([getattr(p, name) for p in params], dtype)

    return {
        "temperature": of("temperature", "float32"),
        "top_k": of("top_k", "int32"),
        "top_p": of("top_p", "float32"),
        "min_p": of("min_p", "float32"),
        "filter_order": np.array([{"joint": 0, "top_k_first": 1}.get(p.filter_order, 7) for p in params], "int32"),
        "seed": of("seed", "uint64").view("int64"),
        "repetition": of("repetition_penalty", "float32"),
        "frequency": of("frequency_penalty", "float32"),
        "presence": of("presence_penalty", "float32"),
    }


def row_params(params: list[naive.Params], slots: list[int] | None) -> list[naive.Params]:
    return params if slots is None else [params[s] for s in slots]


def draw(
    logits: np.ndarray,
    params: list[naive.Params],
    n_vocab: int | None = None,
    *,
    slots: list[int] | None = None,
    row_step: list[int] | None = None,
    tile: Tile = Tile(),  # noqa: B008
    advance: bool = False,
    launches: tuple = _launch.ALL,
    baseline: dict | None = None,
) -> Drawn:
    """Draws from logits [rows, stride] of float32, float16, or bfloat16 as uint16.

    params has one entry a slot; row i is of slot slots[i], or i. With baseline, a
    dict with block_v and k_max, the kernel is one_program.
    """
    rows, stride = logits.shape
    n_vocab = n_vocab or stride
    memory: dict[str, Poisoned | Given] = {"logits": guarded_logits(logits, n_vocab)}
    for name, values in (columns(params) | optional(params, n_vocab)).items():
        memory[name] = Given(values)
    step = np.array([p.step for p in params], "uint64")
    memory["step"] = Poisoned(len(params), "int64")
    memory["step"].values[:] = step.view("int64")
    if slots is not None:
        memory["row_slot"] = Given(np.array(slots, "int32"))
    if row_step is not None:
        memory["row_step"] = Given(np.array(row_step, "uint64").view("int64"))
    if any(p.u is not None for p in params):
        of_row = row_params(params, slots)
        offsets = row_step or [0] * rows
        us = [naive.random_u(p.seed, p.step + o & 2**64 - 1) if p.u is None else p.u for p, o in zip(of_row, offsets)]
        memory["u"] = Given(np.array(us, "uint64").view("int64"))
    outputs = {
        "token": Poisoned(rows, "int32"),
        "status": Poisoned(rows, "int32"),
        "kept": Poisoned(rows, "int32"),
        "logprob": Poisoned(rows, "float32"),
    }
    memory |= outputs

    def array(name: str) -> Array | None:
        return memory[name].array if name in memory else None

    opened = np.zeros(rows, int)
    if baseline is not None:
        one_program.launch(
            array("logits"), stride, rows, n_vocab,
            *(array(name) for name in ("temperature", "top_k", "top_p", "min_p", "filter_order", "seed", "step")),
            *(m.array for m in outputs.values()),
            u=array("u"), bias=array("bias"), bias_stride=n_vocab, **baseline,
        )  # fmt: skip
    else:
        cut = _launch.Tile(-(-n_vocab // (tile.r * tile.threads * tile.e)), *tile)
        scratch = {name: Poisoned(*shape) for name, shape in _launch.scratch_shapes(rows, cut).items()}
        p = _launch.Params(
            *(array(name) for name in ("temperature", "top_k", "top_p", "min_p", "filter_order", "seed", "step")),
            *(array(name) for name in ("repetition", "frequency", "presence", "bias", "bitmask", "counts")),
        )
        for name in _launch.KERNELS:
            _launch.launch(
                array("logits"), stride, rows, n_vocab, cut, p,
                _launch.Rows(array("row_slot"), array("row_step"), array("u")),
                {name: s.array for name, s in scratch.items()},
                _launch.Draws(*(m.array for m in outputs.values())), launches, advance=advance, only=name,
            )  # fmt: skip
            if name in ("head", "long") and launches.head:
                opened += scratch["open"].values != 0
        assert not launches.head or not scratch["open"].values.any(), "a row was left open"
        memory |= scratch
    for name, m in memory.items():
        m.check(name)
    if not advance:
        assert (memory["step"].values == step.view("int64")).all(), "step was written"
    return Drawn(*(m.values.copy() for m in outputs.values()), memory["step"].values.view("uint64").copy(), opened)


def compare(
    logits: np.ndarray,
    params: list[naive.Params],
    n_vocab: int | None = None,
    *,
    slots: list[int] | None = None,
    row_step: list[int] | None = None,
    **options,
) -> Drawn:
    """Draws, and asserts that each row's results are those of kernels.naive."""
    got = draw(logits, params, n_vocab, slots=slots, row_step=row_step, **options)
    for i, p in enumerate(row_params(params, slots)):
        want = expected(logits[i, : n_vocab or logits.shape[1]], p, row_step[i] if row_step else 0)
        check_row(got, i, want, p)
    return got


def expected(row: np.ndarray, p: naive.Params, offset: int = 0) -> naive.Draw:
    return naive.sample(row, replace(p, step=p.step + offset & 2**64 - 1))


def check_row(got: Drawn, i: int, want: naive.Draw, about: object) -> None:
    have = (got.token[i], got.status[i], got.kept[i])
    assert have == (want.token, want.status, want.kept), f"row {i}: {about}"
    assert abs(got.logprob[i] - want.logprob) <= 1e-5, f"row {i}: {about}"
