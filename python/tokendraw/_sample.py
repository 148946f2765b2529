"""sample: one call, parameters as numbers or tensors."""

# No postponed annotations here: torch reads them for the operator's schema.
from collections import OrderedDict
from typing import Any, Optional

import torch
from torch import Tensor

from . import _check
from ._launch import Draws, Launches, Params, Rows, Tile, launch, needed, scratch_shapes, tile_of


def make_scratch(rows: int, tile: Tile, device: torch.device) -> dict[str, Tensor]:
    return {
        name: (torch.zeros if zero else torch.empty)(n, dtype=getattr(torch, dtype), device=device)
        for name, (n, dtype, zero) in scratch_shapes(rows, tile).items()
    }


def make_draws(rows: int, device: torch.device) -> Draws:
    return Draws(
        torch.empty(rows, dtype=torch.int32, device=device),
        torch.empty(rows, dtype=torch.int32, device=device),
        torch.empty(rows, dtype=torch.int32, device=device),
        torch.empty(rows, dtype=torch.float32, device=device),
    )


@torch.library.custom_op("tokendraw::sample", mutates_args=(), device_types="cuda")
def _sample_op(
    logits: Tensor,
    temperature: Tensor,
    top_k: Tensor,
    top_p: Tensor,
    min_p: Tensor,
    filter_order: Tensor,
    seed: Tensor,
    step: Tensor,
    repetition_penalty: Optional[Tensor],
    frequency_penalty: Optional[Tensor],
    presence_penalty: Optional[Tensor],
    logit_bias: Optional[Tensor],
    bitmask: Optional[Tensor],
    counts: Optional[Tensor],
    row_slot: Optional[Tensor],
    row_step: Optional[Tensor],
    u: Optional[Tensor],
    mass: bool,
    head: bool,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    rows, vocab = logits.shape
    with torch.cuda.device(logits.device):
        out = make_draws(rows, logits.device)
        if rows > 0:
            tile = tile_of(vocab, logits.element_size())
            params = Params(
                temperature, top_k, top_p, min_p, filter_order, seed, step,
                repetition_penalty, frequency_penalty, presence_penalty, logit_bias, bitmask, counts,
            )  # fmt: skip
            launch(
                logits, logits.stride(0), rows, vocab, tile, params, Rows(row_slot, row_step, u),
                make_scratch(rows, tile, logits.device), out, Launches(mass, head),
            )  # fmt: skip
    return out.token, out.status, out.kept, out.logprob


@_sample_op.register_fake
def _(logits, *_):  # type: ignore[no-untyped-def]
    rows = logits.shape[0]
    i32 = [logits.new_empty((rows,), dtype=torch.int32) for _ in range(3)]
    return i32[0], i32[1], i32[2], logits.new_empty((rows,), dtype=torch.float32)


_fills: OrderedDict[tuple[Any, ...], Tensor] = OrderedDict()
_FILLS = 256


def _fill(n: int, value: Any, dtype: torch.dtype, device: torch.device, *, keep: bool) -> Tensor:
    """n times value, from the last calls if keep. Nobody writes to it."""
    if not keep or torch.compiler.is_compiling() or torch.cuda.is_current_stream_capturing():
        return torch.full((n,), value, dtype=dtype, device=device)
    # Another stream might read it before it is filled.
    key = (n, value, dtype, device, torch.cuda.current_stream(device).cuda_stream)
    found = _fills.get(key)
    if found is None:
        found = torch.full((n,), value, dtype=dtype, device=device)
        _fills[key] = found
        if len(_fills) > _FILLS:
            _fills.popitem(last=False)
    return found


def sample(
    logits: Tensor,
    *,
    temperature: float | Tensor = 1.0,
    top_k: int | Tensor = 0,
    top_p: float | Tensor = 1.0,
    min_p: float | Tensor = 0.0,
    seed: int | Tensor = 0,
    step: int | Tensor = 0,
    filter_order: str | Tensor = "joint",
    logit_bias: Tensor | None = None,
    bitmask: Tensor | None = None,
    counts: Tensor | None = None,
    repetition_penalty: float | Tensor = 1.0,
    presence_penalty: float | Tensor = 0.0,
    frequency_penalty: float | Tensor = 0.0,
    u: Tensor | None = None,
    row_slot: Tensor | None = None,
    row_step: Tensor | None = None,
) -> Draws:
    """Draws one token from each row of logits, as SPEC.md defines it.

    logits: [rows, vocab], float32, float16 or bfloat16, on a CUDA device, any
    distance between rows. Everything else that is a tensor is on that device too.

    A parameter is one number for all rows or a tensor with one entry a slot. Slots
    are the rows, in order, unless row_slot says otherwise.

    - temperature: float32 [slots], >= 0; 0 takes the highest logit
    - top_k: int32 [slots]; 0 and -1 are off, 1 is greedy
    - top_p: float32 [slots], in (0, 1]; 1 is off
    - min_p: float32 [slots], in [0, 1]; 0 is off
    - filter_order: "joint", "top_k_first", or int32 [slots] of 0 and 1
    - seed, step: int64 or uint64 [slots], read as uint64. Give each request a seed
      of its own and each of its tokens the next step: rows that have both in common
      share their random number.
    - logit_bias: float32 [slots, vocab], finite or -inf, added to the logits
    - bitmask: int32 [slots, words], contiguous; bit i % 32 of word i // 32 allows id
      i, and ids without a word are not allowed
    - counts: int32 [slots, vocab], the text so far: twice the occurrences in the
      output, plus 1 for an id that occurs in prompt or output. Without it the
      penalties do nothing.
    - repetition_penalty (> 0), presence_penalty, frequency_penalty: float32 [slots]
    - u: int64 or uint64 [rows], the bits of each row's 64-bit random number instead
      of one made of seed and step
    - row_slot: int32 [rows], the slot of each row. An entry outside [0, slots) reads
      memory that is not the tensors'.
    - row_step: int64 or uint64 [rows], added to the slot's step

    Raises ValueError, before anything is launched, for a number outside its
    interval or a tensor of another device, dtype or shape. An entry of a tensor
    that is outside its interval gives its rows status 3 and token -1.

    Does not wait for the device. Captured in a CUDA graph it draws the same tokens
    at each replay, unless step or logits are tensors that change; Sampler needs no
    memory of its own then.
    """
    rows, vocab = _check.logits(logits)
    device = logits.device
    given = {
        "temperature": temperature, "top_k": top_k, "top_p": top_p, "min_p": min_p, "filter_order": filter_order,
        "seed": seed, "step": step, "repetition_penalty": repetition_penalty,
        "frequency_penalty": frequency_penalty, "presence_penalty": presence_penalty,
    }  # fmt: skip

    slots = rows
    if row_slot is not None:
        per_slot = [x for x in (*given.values(), logit_bias, bitmask, counts) if isinstance(x, Tensor) and x.dim() > 0]
        if not per_slot:
            raise ValueError("row_slot must come with a parameter that is a tensor [slots], got numbers only")
        slots = per_slot[0].shape[0]

    host: dict[str, Any] = {}
    for name, x in given.items():
        if isinstance(x, Tensor):
            _check.tensor(name, x, _check.NUMBERS[name], (slots,), device)
        else:
            host[name] = _check.SCALARS[name](x)
    _check.score_tensors(Params(*[None] * 10, logit_bias, bitmask, counts), slots, vocab, device)
    _check.row_tensors(Rows(row_slot, row_step, u), rows, device)

    if host.get("repetition_penalty") == 1 and host.get("presence_penalty") == host.get("frequency_penalty") == 0:
        counts = None
    launches = needed(*(host.get(name) for name in ("temperature", "top_k", "top_p", "min_p", "filter_order")))
    if len(host) < len(given) - ("seed" not in host) - ("step" not in host):
        launches = launches._replace(head=True)  # it reports invalid parameters

    def on_device(name: str) -> Tensor:
        x = given[name]
        if isinstance(x, Tensor):
            return _check.as_int64(x)
        dtype = _check.NUMBERS[name][0]
        return _fill(slots, host[name], dtype, device, keep=name not in ("seed", "step"))

    penalties = [
        on_device(name) if counts is not None else None
        for name in ("repetition_penalty", "frequency_penalty", "presence_penalty")
    ]
    return Draws(
        *_sample_op(
            logits, on_device("temperature"), on_device("top_k"), on_device("top_p"), on_device("min_p"),
            on_device("filter_order"), on_device("seed"), on_device("step"), *penalties, logit_bias, bitmask, counts,
            row_slot, _check.as_int64(row_step), _check.as_int64(u),
            launches.mass, launches.head,
        )
    )  # fmt: skip
