"""Which kernels a batch needs, with which grids, shapes and scratch.

Nothing here imports torch: anything with a device pointer and a dtype that Triton
accepts can be launched, which is how the kernels run under Triton's interpreter.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

try:  # installed: the kernels are a part of this package
    from .kernels import sample, select, wide
except ModuleNotFoundError as e:  # in a checkout they lie beside it
    if e.name != f"{__package__}.kernels":
        raise
    from kernels import sample, select, wide

# The launches of a step, in order.
KERNELS = {
    "scan": sample.scan_kernel,
    "mass": sample.mass_kernel,
    "head": sample.head_kernel,
    "long": wide.long_kernel,
    "collect": wide.collect_kernel,
    "settle": wide.settle_kernel,
}
# Warps of a program. The scan's fix what a group is.
WARPS = {"scan": 4, "mass": 4, "head": 8, "long": 8, "collect": 4, "settle": 8}
# Kernels of one program a tile; the others have one a row.
TILED = ("scan", "mass", "collect")

# A row's group maxima are searched by one program: more take it longer, and
# larger tiles leave fewer programs to read a row.
MAX_GROUPS = 4096
# Parts of weights are added up in float32, which is exact for 64 (SPEC.md, section 11).
MAX_PER_THREAD = 64


class Tile(NamedTuple):
    """How a row is cut: `tiles` of r * threads * e tokens, one program each."""

    tiles: int
    r: int  # loads of a thread
    threads: int
    e: int  # tokens of one load, 16 bytes

    @property
    def tokens(self) -> int:
        return self.r * self.threads * self.e


def tile_of(vocab: int, itemsize: int) -> Tile:
    """The tile for rows of vocab logits of itemsize bytes. Draws do not depend on it."""
    threads = 32 * WARPS["scan"]
    e = 16 // itemsize
    r = 1
    while 2 * r * e <= MAX_PER_THREAD and -(-vocab // (r * threads * e)) * threads > MAX_GROUPS:
        r *= 2
    return Tile(-(-vocab // (r * threads * e)), r, threads, e)


def power_of_2(n: int) -> int:
    """The least power of 2 that is at least n."""
    return 1 << (n - 1).bit_length()


class Launches(NamedTuple):
    """What is launched after scan. A row that needs one that is left out gets no result."""

    mass: bool = True
    head: bool = True  # and with it those after it


ALL = Launches()


def needed(temperature: Any, top_k: Any, top_p: Any, min_p: Any, filter_order: Any) -> Launches:
    """The launches for parameters in their intervals, None for one that only the device knows."""
    if temperature == 0 or top_k == 1:
        return Launches(mass=False, head=False)
    k_on = None if top_k is None else top_k > 0
    p_on = None if top_p is None else top_p < 1
    m_on = None if min_p is None else min_p > 0
    k_first = None if filter_order is None else filter_order == 1
    # sample.needs_total, where None may be either.
    nucleus = p_on is not False and (k_first is not True or k_on is not True)
    plain = p_on is not True and k_on is not True and m_on is not True
    return Launches(mass=nucleus or plain, head=True)


class Params(NamedTuple):
    """Parameters on the device, one entry a slot. Penalties may be None without counts."""

    temperature: Any  # float32
    top_k: Any  # int32
    top_p: Any  # float32
    min_p: Any  # float32
    filter_order: Any  # int32, 0 joint, 1 top_k_first
    seed: Any  # int64, the bits of a uint64
    step: Any  # int64, likewise
    repetition_penalty: Any = None  # float32
    frequency_penalty: Any = None  # float32
    presence_penalty: Any = None  # float32
    logit_bias: Any = None  # float32 [slots, vocab]
    bitmask: Any = None  # int32 [slots, words]
    counts: Any = None  # int32 [slots, vocab]


class Rows(NamedTuple):
    """What is particular to a row, one entry each; None where absent."""

    slot: Any = None  # int32; without, row i is of slot i
    step: Any = None  # int64, added to the slot's step
    u: Any = None  # int64, the bits of a uint64, instead of random numbers


class Draws(NamedTuple):
    """What was drawn, one entry a row."""

    token: Any
    """int32 [rows]: the id, or -1 where nothing could be drawn."""
    status: Any
    """int32 [rows]: 0 ok, 1 nan, 2 no_candidate, 3 invalid_params."""
    kept: Any
    """int32 [rows]: how many tokens the filters left; 1 in a greedy row, 0 without a token."""
    logprob: Any
    """float32 [rows]: natural logarithm of the token's probability among those kept."""


def scratch_shapes(rows: int, tile: Tile) -> dict[str, tuple[int, str, bool]]:
    """Length, dtype and whether it must be zero once, for each piece of memory that
    a launch in flight needs besides its results."""
    tiles = rows * tile.tiles
    head, ranked = select.HEAD.value, select.RANKED.value
    return {
        "group": (tiles * tile.threads, "float32", False),
        "tile_max": (tiles, "float32", False),
        "tile_nan": (tiles, "int32", False),
        "tile_best": (tiles, "int32", False),
        "tile_mass": (tiles, "int64", False),
        "tile_count": (tiles, "int32", False),
        "ticket": (rows, "int32", True),
        "hot": (rows * head, "int32", False),
        "list": (rows * head, "int64", False),
        "cut": (rows * 2, "int32", False),
        "bracket": (rows * 4, "int32", False),
        "sums": (rows * wide.SUMS.value, "int64", False),
        "long": (rows * 2 * wide.LONG.value, "int64", False),
        "short": (rows * ranked, "int64", False),
        "open": (rows, "int32", False),
    }


def launch(
    logits: Any,
    row_stride: int,
    rows: int,
    vocab: int,
    tile: Tile,
    p: Params,
    r: Rows,
    s: Mapping[str, Any],
    out: Draws,
    launches: Launches = ALL,
    *,
    advance: bool = False,
    warmup: bool = False,
    only: Collection[str] | None = None,
) -> None:
    """Puts the kernels that draw `rows` > 0 tokens on the current stream.

    row_stride is in elements, s as scratch_shapes says. With advance, each drawn token adds 1 to its slot's
    step, and no slot may own two rows. warmup compiles without launching. only
    names the kernels to launch of those; what they read must be there from before.
    """
    none = s["ticket"]  # stands for a pointer that is never followed

    def stride(x: Any) -> int:
        return 0 if x is None else x.stride()[0]

    values: dict[str, Any] = {
        "logits_ptr": logits,
        "row_stride": row_stride,
        "n_vocab": vocab,
        "row_slot_ptr": r.slot,
        "temperature_ptr": p.temperature,
        "top_k_ptr": p.top_k,
        "top_p_ptr": p.top_p,
        "min_p_ptr": p.min_p,
        "filter_order_ptr": p.filter_order,
        "seed_ptr": p.seed,
        "step_ptr": p.step,
        "row_step_ptr": r.step,
        "u_ptr": r.u,
        "bias_ptr": p.logit_bias,
        "bias_stride": stride(p.logit_bias),
        "bitmask_ptr": p.bitmask,
        "bitmask_stride": 0 if p.bitmask is None else p.bitmask.size()[1],
        "counts_ptr": p.counts,
        "counts_stride": stride(p.counts),
        "repetition_ptr": p.repetition_penalty,
        "frequency_ptr": p.frequency_penalty,
        "presence_ptr": p.presence_penalty,
        "token_ptr": out.token,
        "status_ptr": out.status,
        "kept_ptr": out.kept,
        "logprob_ptr": out.logprob,
        "TILES": tile.tiles,
        "TILES_P2": power_of_2(tile.tiles),
        "GROUPS": power_of_2(tile.tiles * tile.threads),
        "TILE": tile.tokens,
        "R": tile.r,
        "THREADS": tile.threads,
        "E": tile.e,
        "HAS_SLOTS": r.slot is not None,
        "HAS_ROW_STEP": r.step is not None,
        "HAS_U": r.u is not None,
        "HAS_BIAS": p.logit_bias is not None,
        "HAS_BITMASK": p.bitmask is not None,
        "HAS_COUNTS": p.counts is not None,
        "ADVANCE": advance,
    }
    values.update((name + "_ptr", x) for name, x in s.items())

    for name, kernel in KERNELS.items():
        left_out = not launches.mass if name == "mass" else name != "scan" and not launches.head
        if left_out or (only is not None and name not in only):
            continue
        args = [none if values[n] is None else values[n] for n in kernel.arg_names]
        programs = rows * tile.tiles if name in TILED else rows
        # A fused multiply-add would round once where the specification rounds twice.
        options = {"num_warps": WARPS[name], "enable_fp_fusion": False}
        if warmup:
            kernel.warmup(*args, grid=(programs,), **options)
        else:
            kernel[(programs,)](*args, **options)
