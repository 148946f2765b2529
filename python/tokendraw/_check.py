"""Checks of arguments, all made on the host before anything is launched."""

from __future__ import annotations

from typing import Any

import torch

from ._launch import Params, Rows

MAX_VOCAB = 1 << 21
DTYPES = (torch.float32, torch.float16, torch.bfloat16)
FILTER_ORDERS = {"joint": 0, "top_k_first": 1}

# Numbers from here on round to infinity in float32, and up to there to 0.
_ROUNDS_TO_INF = 3.4028235677973366e38
_ROUNDS_TO_ZERO = 2.0**-150


def fail(name: str, want: str, got: Any) -> None:
    raise ValueError(f"{name} must be {want}, got {got}")


def real(name: str, x: Any, want: str, low: float, high: float, *, low_open: bool = False) -> float:
    """A number as float32 will have it, in [low, high] or (low, high]."""
    if isinstance(x, bool) or not isinstance(x, (int, float)):
        raise ValueError(f"{name} must be a number or a tensor, got {type(x).__name__}")
    # Comparisons with NaN are false.
    if not ((x > low if low_open else x >= low) and x <= high and abs(x) < _ROUNDS_TO_INF):
        fail(name, want, x)
    if x != 0 and abs(x) <= _ROUNDS_TO_ZERO:
        fail(name, "0 or at least 1e-45 in magnitude", x)
    return float(x)


_INF = float("inf")


def temperature(x: Any) -> float:
    return real("temperature", x, "finite and >= 0", 0, _INF)


def top_k(x: Any) -> int:
    if isinstance(x, bool) or not isinstance(x, int):
        raise ValueError(f"top_k must be an integer or a tensor, got {type(x).__name__}")
    if x < -1:
        fail("top_k", ">= -1", x)
    return min(x, MAX_VOCAB)  # more than the row has is all of it


def top_p(x: Any) -> float:
    return real("top_p", x, "in (0, 1]", 0, 1, low_open=True)


def min_p(x: Any) -> float:
    return real("min_p", x, "in [0, 1]", 0, 1)


def filter_order(x: Any) -> int:
    if not isinstance(x, str) or x not in FILTER_ORDERS:
        fail("filter_order", "'joint' or 'top_k_first'", repr(x))
    return FILTER_ORDERS[x]


def repetition_penalty(x: Any) -> float:
    return real("repetition_penalty", x, "finite and > 0", 0, _INF, low_open=True)


def presence_penalty(x: Any) -> float:
    return real("presence_penalty", x, "finite", -_INF, _INF)


def frequency_penalty(x: Any) -> float:
    return real("frequency_penalty", x, "finite", -_INF, _INF)


def bits64(name: str, x: Any) -> int:
    """A uint64 as the int64 of the same bits."""
    if isinstance(x, bool) or not isinstance(x, int):
        raise ValueError(f"{name} must be an integer or a tensor, got {type(x).__name__}")
    if not 0 <= x < 1 << 64:
        fail(name, "in [0, 2**64)", x)
    return x - (1 << 64) if x >= 1 << 63 else x


def logits(x: Any) -> tuple[int, int]:
    """Rows and vocabulary of a matrix of logits."""
    if not isinstance(x, torch.Tensor):
        raise ValueError(f"logits must be a tensor, got {type(x).__name__}")
    if x.device.type != "cuda":
        fail("logits", "on a CUDA device", x.device)
    if x.dtype not in DTYPES:
        fail("logits", "float32, float16 or bfloat16", x.dtype)
    if x.dim() != 2:
        fail("logits", "of shape [rows, vocab]", list(x.shape))
    rows, vocab = x.shape
    if rows > 0:
        if not 1 <= vocab <= MAX_VOCAB:
            fail("logits", f"of a vocab in [1, {MAX_VOCAB}]", vocab)
        if vocab > 1 and x.stride(1) != 1:
            fail("logits", "contiguous in the last dimension", f"strides {x.stride()}")
    return rows, vocab


def tensor(name: str, x: Any, dtypes: tuple[torch.dtype, ...], shape: tuple[Any, ...], device: torch.device) -> None:
    """Device, dtype, shape and contiguity. An entry of shape that is a string
    names a length that is free."""
    if not isinstance(x, torch.Tensor):
        raise ValueError(f"{name} must be a tensor, got {type(x).__name__}")
    if x.device != device:
        fail(name, f"on {device} as the logits are", x.device)
    if x.dtype not in dtypes:
        fail(name, " or ".join(str(d).removeprefix("torch.") for d in dtypes), x.dtype)
    if x.dim() != len(shape) or any(not isinstance(n, str) and n != have for n, have in zip(shape, x.shape)):
        fail(name, "of shape [" + ", ".join(map(str, shape)) + "]", list(x.shape))
    if x.numel() > 1 and x.shape[-1] > 1 and x.stride(-1) != 1:
        fail(name, "contiguous in the last dimension", f"strides {x.stride()}")


def as_int64(x: Any) -> Any:
    """The same bits as int64, or None."""
    return x.view(torch.int64) if x is not None and x.dtype == torch.uint64 else x


_FLOAT = (torch.float32,)
_INT = (torch.int32,)
_BITS = (torch.int64, torch.uint64)

# dtypes of the parameters that are one number a slot.
NUMBERS = {
    "temperature": _FLOAT,
    "top_k": _INT,
    "top_p": _FLOAT,
    "min_p": _FLOAT,
    "filter_order": _INT,
    "seed": _BITS,
    "step": _BITS,
    "repetition_penalty": _FLOAT,
    "frequency_penalty": _FLOAT,
    "presence_penalty": _FLOAT,
}

SCALARS = {
    "temperature": temperature,
    "top_k": top_k,
    "top_p": top_p,
    "min_p": min_p,
    "filter_order": filter_order,
    "seed": lambda x: bits64("seed", x),
    "step": lambda x: bits64("step", x),
    "repetition_penalty": repetition_penalty,
    "frequency_penalty": frequency_penalty,
    "presence_penalty": presence_penalty,
}


def score_tensors(p: Params, slots: int, vocab: int, device: torch.device) -> None:
    """The parameters with an entry for each token."""
    if p.logit_bias is not None:
        tensor("logit_bias", p.logit_bias, _FLOAT, (slots, vocab), device)
    if p.counts is not None:
        tensor("counts", p.counts, _INT, (slots, vocab), device)
    if p.bitmask is not None:
        tensor("bitmask", p.bitmask, _INT, (slots, "words"), device)
        # The kernels take the distance of two rows for the number of words.
        if slots > 1 and not p.bitmask.is_contiguous():
            fail("bitmask", "contiguous", f"strides {p.bitmask.stride()}")


def row_tensors(r: Rows, rows: int, device: torch.device) -> None:
    if r.slot is not None:
        tensor("row_slot", r.slot, _INT, (rows,), device)
    if r.step is not None:
        tensor("row_step", r.step, _BITS, (rows,), device)
    if r.u is not None:
        tensor("u", r.u, _BITS, (rows,), device)
