"""The NumPy twin against the golden cases, so that it may judge the kernels."""

from dataclasses import replace

import numpy as np
import pytest

from kernels import naive

from . import vectors


def test_philox():
    for v in vectors.lines("philox.jsonl"):
        if "key" in v:
            got = naive.philox(vectors.words(v["counter"]).tolist(), vectors.words(v["key"]).tolist())
            assert got == vectors.words(v["result"]).tolist()
        else:
            assert naive.random_u(int(v["seed"], 16), int(v["step"], 16)) == int(v["u"], 16)


def test_formats():
    for v in vectors.lines("formats.jsonl"):
        x = vectors.words(v["from"], np.uint16)
        x = x.view(np.float16) if v["dtype"] == "float16" else x
        assert (naive.widen(x).view(np.uint32) == vectors.words(v["to"])).all()


def test_weights():
    for v in vectors.lines("weights.jsonl"):
        c = naive.scale(vectors.real(v["temperature"]))
        assert c.view(np.uint32) == vectors.words(v["c"])[0]
        y, w = naive.weights(vectors.words(v["z"]).view(np.float32), vectors.real(v["m"]), c)
        assert (y.view(np.uint32) == vectors.words(v["y"])).all()
        assert w.tolist() == [int(v["w"][i : i + 10], 16) for i in range(0, len(v["w"]), 10)]


@pytest.mark.parametrize("kind", sorted({d["kind"] for d in vectors.draws()}))
def test_draws(kind):
    for d in vectors.draws():
        if d["kind"] == kind and d["vocab"] <= 5000:
            check(vectors.make(d))


@pytest.mark.slow
def test_long_draws():
    for d in vectors.draws():
        if d["vocab"] > 5000:
            check(vectors.make(d))


def check(case):
    for i, want in enumerate(case.want):
        p = case.params[i if case.row_request is None else case.row_request[i]]
        p = replace(p, step=(p.step + (case.row_step[i] if case.row_step else 0)) % 2**64)
        got = naive.sample(case.logits[i, : case.vocab], p)
        about = f"{case.name}, row {i}"
        exact = (got.token, got.status, got.kept, got.greedy, len(got.order), got.n_k, got.n_m, got.n_p)
        assert exact == (
            want["token"], vectors.STATUS[want["status"]], want["kept"], want["greedy"], want["candidates"],
            want["n_k"], want["n_m"], want["n_p"],
        ), about  # fmt: skip
        assert (got.total, got.mass) == (int(want["total"], 16), int(want["mass"], 16)), about
        assert abs(got.logprob - want["logprob"]) <= 1e-5, about
        assert int(want["digest"], 16) == digest(got), about


def digest(got):
    kept = np.zeros(got.kept, [("id", "<u4"), ("z", "<f4"), ("w", "<u8")])
    kept["id"], kept["z"] = got.order[: got.kept], got.z[: got.kept]
    kept["w"] = 1 << 36 if got.greedy else got.w[: got.kept]
    return vectors.fnv(kept.tobytes())
