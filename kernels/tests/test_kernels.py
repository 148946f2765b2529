"""The launches of a step against the specification, under Triton's interpreter.

Every comparison is of token, status and kept, exactly, with kernels.naive; the
driver checks memory besides. That makes them equal for all tiles, batches and
strides, too.
"""

import random

import numpy as np
import pytest
import triton.language as tl

from kernels import aim, naive, sample, select, wide
from kernels.naive import Params

from . import batches, driver
from .driver import Tile, compare

TILES = [
    Tile(1, 32, 4),
    Tile(4, 32, 4),
    Tile(2, 32, 8),
    Tile(8, 64, 8),
    Tile(1, 128, 8),
    Tile(8, 128, 8),
    Tile(16, 256, 4),
]


@pytest.fixture
def rng(request):
    random.seed(request.node.name)
    return np.random.default_rng(list(request.node.name.encode()))


@pytest.fixture
def short_lists(monkeypatch):
    """Lists so short that small rows go all the ways that long rows do."""
    for name, n in (("RANKED", 32), ("HEAD", 128), ("LONG", 256), ("SAMPLE", 64)):
        for module in (select, wide, aim, sample):
            if hasattr(module, name):
                monkeypatch.setattr(module, name, tl.constexpr(n))


@pytest.mark.parametrize(
    "n_vocab, tile", zip((1, 2, 31, 33, 127, 1023, 1025, 4095, 4097), (TILES[i] for i in (0, 0, 2, 1, 0, 3, 4, 5, 6)))
)
def test_sizes(rng, n_vocab, tile):
    # Short rows have less to tell apart.
    params = batches.mixed() if n_vocab > 1000 else batches.mixed()[:11:2]
    compare(batches.rows(rng, len(params), n_vocab, ("normal", "ties")), params, tile=tile)


@pytest.mark.parametrize("tile", TILES[1:6], ids=str)
def test_tiles(rng, tile):
    params = batches.mixed()[4:11:2]
    compare(batches.rows(np.random.default_rng(5), len(params), 600, ("normal", "ties", "half")), params, tile=tile)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_dtypes_and_strides(rng, dtype):
    n_vocab, stride = 389, 401
    params = [p for i, p in enumerate(batches.mixed()) if i in (0, 2, 4, 6, 8, 10)]
    x = np.full((len(params), stride), np.nan, np.float32)
    x[:, :n_vocab] = batches.rows(rng, len(params), n_vocab, ("normal", "nan", "ties"))
    # Subnormals of each type.
    x[:, :5] = [1e-40, -1e-40, 6e-8, -3e-7, 1e-39]
    compare(batches.narrow(x, dtype), params, n_vocab, tile=Tile(2, 32, 4 if dtype == "float32" else 8))


@pytest.mark.parametrize("shape", batches.SHAPES)
def test_shapes(rng, short_lists, shape):
    params = [
        Params(top_p=0.8 if len(shape) % 2 else 1, temperature=3, seed=2),
        Params(top_k=200, top_p=0.6, min_p=1e-4, temperature=3, filter_order="top_k_first", seed=4),
    ]
    compare(batches.rows(rng, len(params), 300, (shape,)), params, tile=Tile(1, 32, 8))


def test_all_paths_are_taken(rng, short_lists):
    # Else the tests above would prove little.
    params = [
        Params(seed=1, top_k=3),
        Params(seed=2, top_k=55),
        Params(seed=3, top_p=0.9, temperature=2),
        Params(seed=4, temperature=3),
        Params(seed=5, top_k=300, temperature=2),
    ]
    got = compare(batches.rows(rng, len(params), 400, ("normal",)), params, tile=Tile(1, 32, 4))
    assert got.opened[:2].tolist() == [0, 1] and got.opened[4] == 2


def test_long_plateaus(rng):
    # Longer than every list, at their true lengths.
    n_vocab = 9000
    x = batches.rows(rng, 6, n_vocab, ("flat", "half", "half"))
    params = [
        Params(seed=1),
        Params(seed=2, top_p=0.7),
        Params(seed=3, top_k=4200),
        Params(top_p=0.9, top_k=8000, filter_order="top_k_first", seed=4),
        Params(top_p=0.999999, temperature=3, seed=5),
        Params(seed=6, temperature=1e30),
    ]
    assert (compare(x, params, tile=Tile(8, 128, 4)).opened == 2).any()


def test_greedy_ties_across_tiles(rng):
    # Four tiles; the highest score in several, or in the last alone.
    x = batches.rows(rng, 5, 500, ("normal",))
    x[0, [140, 260, 499]] = 9
    x[1, 300:] = np.inf
    x[2] = -0.0
    x[3, 499] = 9
    x[4, [130, 131]] = np.nan
    x[4, [255, 256]] = 9
    got = compare(x, [Params(temperature=0), Params(top_k=1)] * 2 + [Params(temperature=0)], tile=Tile(1, 32, 4))
    assert got.token.tolist() == [140, 300, 0, 499, 255]


def test_nothing_to_draw():
    x = np.full((6, 40), -np.inf, np.float32)
    x[1, 3] = x[4, 9] = np.nan
    params = [Params(), Params(top_k=3), Params(temperature=0), Params(top_p=0.5), Params(top_k=1), Params(top_k=-5)]
    got = compare(x, params, tile=Tile(1, 32, 4))
    assert got.status.tolist() == [naive.NO_CANDIDATE] * 5 + [naive.INVALID_PARAMS]


def test_invalid_params(rng):
    params = [Params(**bad) for bad in batches.BAD] + [Params(seed=1)]
    got = compare(batches.rows(rng, len(params), 50), params, tile=Tile(1, 32, 4))
    assert got.status.tolist()[:-1] == [naive.INVALID_PARAMS] * len(batches.BAD)


@pytest.mark.parametrize("what", ["bias", "mask", "counts", "all"])
def test_text(rng, what):
    n_vocab = 333
    params = [batches.with_text(rng, batches.params(rng), n_vocab) for _ in range(6)]
    for p in params:
        if what not in ("bias", "all"):
            p.bias = None
        if what not in ("mask", "all"):
            p.allowed = p.bitmask = None
        if what not in ("counts", "all"):
            p.seen = p.occurrences = None
            p.repetition_penalty, p.frequency_penalty, p.presence_penalty = 1, 0, 0
    if what == "mask":
        for p in params:
            # Words that do not exist forbid, bits behind the vocabulary mean nothing.
            p.bitmask = np.full(5, 0xFFFFFFFF, np.uint32)
            p.allowed = None
    shapes = ("normal", "ties", "nan", "infinite", "minus")
    compare(batches.rows(rng, len(params), n_vocab, shapes), params, tile=Tile(2, 32, 4))


def test_invalid_penalties(rng):
    n_vocab = 20
    text = {"seen": np.ones(n_vocab, bool), "occurrences": np.ones(n_vocab, np.int64)}
    bad = [("repetition_penalty", v) for v in (0.0, -1.0, np.inf, np.nan)]
    bad += [(n, v) for n in ("frequency_penalty", "presence_penalty") for v in (np.inf, -np.inf, np.nan)]
    params = [Params(**text, **{name: value}) for name, value in bad]
    got = compare(batches.rows(rng, len(params), n_vocab), params, tile=Tile(1, 32, 4))
    assert (got.status == naive.INVALID_PARAMS).all()


@pytest.mark.parametrize("top_p", [1, 0.9])
def test_given_u(rng, short_lists, top_p):
    # The ends of the interval, and u around the steps from token to token.
    x = batches.rows(rng, 1, 90, ("ties",))
    d = naive.sample(x[0], Params(top_p=top_p, temperature=3))
    ends = np.cumsum(d.w)[: d.kept]
    us = [0, 2**64 - 1]
    for j in (0, len(ends) // 2, len(ends) - 2):
        u = -(-int(ends[j]) * 2**64 // d.mass)  # the least whose r is S_j
        us += [u - 1, u]
    params = [Params(top_p=top_p, temperature=3, u=u) for u in us]
    got = compare(x.repeat(len(us), 0), params, tile=Tile(1, 32, 4))
    order = d.order.tolist()
    places = [order.index(t) for t in got.token]
    assert places[2::2] == [0, len(ends) // 2, len(ends) - 2]
    assert places[3::2] == [1, len(ends) // 2 + 1, len(ends) - 1]


def test_slots(rng):
    params = batches.mixed()[:8]
    # One slot owns three rows, some none; rows of a slot count steps.
    slots, row_step = [5, 3, 5, 0, 5, 7], [0, 0, 1, 0, 2, 2**64 - 1]
    x = batches.rows(rng, len(slots), 200, ("normal",))
    x[[0, 2, 4]] = x[0]
    got = compare(x, params, slots=slots, row_step=row_step)
    assert len(set(got.token[[0, 2, 4]])) > 1


def test_steps_advance(rng):
    params = [
        Params(seed=1, top_k=20),
        Params(seed=2, top_p=0.9, step=2**64 - 1),
        Params(temperature=0, step=5),
        Params(temperature=-1, step=6),
        Params(seed=4, step=7),
        Params(seed=5, temperature=1e30, step=2**63 - 1),
        Params(seed=6, step=1),
    ]
    slots = [4, 0, 2, 1, 3, 5]
    x = batches.rows(rng, len(slots), 300, ("normal",))
    x[0] = -np.inf
    before = [p.step for p in params]
    for _ in range(2):
        got = compare(x, params, slots=slots, advance=True)
        for p, step in zip(params, got.step):
            p.step = int(step)
    drawn = [2, 2, 2, 0, 0, 2, 0]
    assert [p.step for p in params] == [(b + d) % 2**64 for b, d in zip(before, drawn)]


def test_launches_left_out(rng):
    without = driver._launch.Launches
    x = batches.rows(rng, 4, 300, ("normal", "ties"))
    compare(x, [Params(temperature=0)] * 3 + [Params(top_k=1)], launches=without(mass=False, head=False))
    params = [
        Params(top_k=20, seed=1),
        Params(top_k=20, top_p=0.9, filter_order="top_k_first", seed=2),
        Params(min_p=0.1, seed=3),
        Params(temperature=0),
    ]
    compare(x, params, launches=without(mass=False))


def test_filters_at_their_edges(rng):
    # y next to min_p where it does not fall with z; shares that are met exactly.
    near = batches.rows(rng, 1, 400, ("near",))[0]
    d = naive.sample(near, Params(temperature=0.01))
    params = [Params(temperature=0.01, min_p=float(y), seed=i) for i, y in enumerate(d.y[[1, 40, 200, 399]])]
    params += [Params(temperature=0.01, min_p=float(np.nextafter(d.y[200], np.float32(2))), top_p=0.9, seed=5)]
    params += [Params(min_p=p) for p in (2.0**-40, float(np.nextafter(np.float32(2.0**-40), np.float32(1))), 1.0)]
    far = np.where(np.arange(400) % 3 == 0, -27.7, batches.row(rng, "wide", 400)).astype(np.float32)
    x = np.array([near] * 5 + [far] * 3)
    compare(x, params)
    flat = np.zeros((4, 64), np.float32)
    above = float(np.nextafter(np.float32(0.5), np.float32(1)))
    params = [Params(top_p=p, seed=1) for p in (0.5, above, 1 / 64, 1e-38)]
    assert compare(flat, params).kept.tolist() == [32, 33, 1, 1]


def fuzz(rng, n_batches, n_rows, n_vocab, text=0.3):
    for _ in range(n_batches):
        v = int(rng.integers(1, n_vocab))
        params = [batches.params(rng) for _ in range(n_rows)]
        if rng.random() < text:
            params = [batches.with_text(rng, p, v) for p in params]
        x = np.array([batches.row(rng, rng.choice(batches.SHAPES), v) for _ in params])
        tile = TILES[rng.integers(len(TILES))]
        if -(-v // (tile.r * tile.threads * tile.e)) > 4:
            tile = TILES[-2]
        compare(batches.narrow(x, rng.choice(["float32", "float16", "bfloat16"])), params, tile=tile)


def test_fuzz_short_lists(rng, short_lists):
    fuzz(rng, 2, 6, 800)


def test_fuzz(rng):
    fuzz(rng, 1, 8, 3000)


@pytest.mark.slow
@pytest.mark.parametrize("i", range(30))
def test_fuzz_short_lists_long(rng, short_lists, i):
    fuzz(rng, 3, 8, 1500)


@pytest.mark.slow
@pytest.mark.parametrize("i", range(10))
def test_fuzz_long(rng, i):
    fuzz(rng, 2, 8, 12000)
