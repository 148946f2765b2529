"""The golden cases of vectors/, drawn by the kernels under the interpreter."""

import pytest

from . import driver, vectors

TILES = (driver.Tile(2, 32, 8), driver.Tile(8, 64, 8), driver.Tile(16, 256, 4))


def check(d: dict) -> None:
    c = vectors.make(d)
    if len(c.want) == 0:
        return
    if any(p.occurrences is not None and p.occurrences.max() >= 2**30 for p in c.params):
        pytest.skip("counts hold fewer than 2^30 occurrences")
    tile = next((t for t in TILES if t.r * t.threads * t.e >= c.vocab), TILES[-1])
    got = driver.draw(c.logits, c.params, c.vocab, slots=c.row_request, row_step=c.row_step, tile=tile)
    for i, want in enumerate(c.want):
        have = (got.token[i], got.status[i], got.kept[i])
        assert have == (want["token"], vectors.STATUS[want["status"]], want["kept"]), f"row {i}"
        assert abs(got.logprob[i] - want["logprob"]) <= 1e-5, f"row {i}"


def few() -> list[dict]:
    """The first two cases of each kind that have few short rows, not all greedy."""
    chosen = []
    of_kind: dict[str, int] = {}
    for d in vectors.draws():
        sampled = not all(w["greedy"] for w in d["want"])
        if sampled and len(d["want"]) <= 6 and d["vocab"] <= 1100 and of_kind.get(d["kind"], 0) < 2:
            of_kind[d["kind"]] = of_kind.get(d["kind"], 0) + 1
            chosen.append(d)
    return chosen


@pytest.mark.parametrize("d", few(), ids=lambda d: d["name"])
def test_draws(d):
    check(d)


@pytest.mark.slow
@pytest.mark.parametrize("d", [d for d in vectors.draws() if d["vocab"] <= 150000], ids=lambda d: d["name"])
def test_all_draws(d):
    check(d)
