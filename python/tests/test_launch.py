"""What is launched, and how rows are cut. Needs Triton, but no torch."""

import itertools
import sys
import types
from pathlib import Path

import pytest

try:
    import tokendraw  # noqa: F401
except ModuleNotFoundError as e:
    if e.name != "torch":
        raise
    # The package without its torch parts.
    package = types.ModuleType("tokendraw")
    package.__path__ = [str(Path(__file__).parents[1] / "tokendraw")]
    sys.modules["tokendraw"] = package

from tokendraw import _launch

VOCABS = (1, 2, 31, 33, 1000, 4095, 4097, 32000, 49152, 128256, 151936, 262144, 1 << 21)


@pytest.mark.parametrize("itemsize", (2, 4))
@pytest.mark.parametrize("vocab", VOCABS)
def test_tile_covers_the_row(vocab, itemsize):
    tile = _launch.tile_of(vocab, itemsize)
    assert tile.e * itemsize == 16
    assert tile.r * tile.e <= _launch.MAX_PER_THREAD
    assert (tile.tiles - 1) * tile.tokens < vocab <= tile.tiles * tile.tokens
    if vocab <= 262144:
        assert tile.tiles * tile.threads <= _launch.MAX_GROUPS


def test_tile_of_whole_powers():
    for vocab in VOCABS:
        tile = _launch.tile_of(vocab, 2)
        assert tile.tokens & (tile.tokens - 1) == 0


@pytest.mark.parametrize(("n", "want"), [(1, 1), (2, 2), (3, 4), (32, 32), (33, 64)])
def test_power_of_2(n, want):
    assert _launch.power_of_2(n) == want


CHOICES = ((0.0, 0.7), (-1, 0, 1, 5), (1.0, 0.9), (0.0, 0.1), (0, 1))


def needs(temperature, top_k, top_p, min_p, filter_order):
    """What one row needs, as the kernels decide it."""
    if temperature == 0 or top_k == 1:
        return _launch.Launches(mass=False, head=False)
    joint = filter_order == 0 or top_k <= 0
    return _launch.Launches(mass=joint if top_p < 1 else top_k <= 0 and min_p == 0, head=True)


def test_needed_of_known_parameters():
    for p in itertools.product(*CHOICES):
        assert _launch.needed(*p) == needs(*p), p


def test_needed_covers_every_row_with_unknown_parameters():
    for p in itertools.product(*((*c, None) for c in CHOICES)):
        rows = itertools.product(*(c if x is None else (x,) for x, c in zip(p, CHOICES)))
        got = _launch.needed(*p)
        for row in rows:
            want = needs(*row)
            assert got.mass >= want.mass and got.head >= want.head, (p, row)


def test_scratch_has_what_the_kernels_take():
    scratch = _launch.scratch_shapes(3, _launch.tile_of(1000, 2))
    taken = {n.removesuffix("_ptr") for k in _launch.KERNELS.values() for n in k.arg_names if n.endswith("_ptr")}
    given = {
        "logits", "row_slot", "temperature", "top_k", "top_p", "min_p", "filter_order", "seed", "step", "row_step", "u",
        "bias", "bitmask", "counts", "repetition", "frequency", "presence", "token", "status", "kept", "logprob",
    }  # fmt: skip
    assert set(scratch) == taken - given
    assert set(_launch.WARPS) == set(_launch.KERNELS)
