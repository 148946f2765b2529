"""Reads the golden cases of vectors/, as vectors/README.md describes them."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from kernels.naive import Params

DIRECTORY = Path(__file__).parents[2] / "vectors"
STATUS = {"ok": 0, "nan": 1, "no_candidate": 2, "invalid_params": 3}
# The bits of an element. bfloat16 stays bits, NumPy has no such type.
DTYPE = {"float32": np.uint32, "float16": np.uint16, "bfloat16": np.uint16}


def lines(file: str) -> list[dict]:
    return [json.loads(line) for line in (DIRECTORY / file).read_text().splitlines()]


def words(text: str, dtype: type = np.uint32) -> np.ndarray:
    """A string of hexadecimal digits, most significant first, as numbers."""
    return np.frombuffer(bytes.fromhex(text), np.dtype(dtype).newbyteorder(">")).astype(dtype)


def real(text: str) -> np.float32:
    return words(text).view(np.float32)[0]


def mix(seed: int, n: int) -> np.ndarray:
    """mix(seed, i) for i < n."""
    h = np.uint64(seed * 0x9E3779B97F4A7C15 % 2**64) + np.arange(n, dtype=np.uint64)
    h = (h ^ h >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    h = (h ^ h >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    return h ^ h >> np.uint64(31)


def fnv(data: bytes) -> int:
    h = 0xCBF29CE484222325
    for b in data:
        h = (h ^ b) * 0x100000001B3 % 2**64
    return h


def encode(values: np.ndarray, dtype: str) -> np.ndarray:
    """Bits of float64 values that are exact in the dtype."""
    if dtype == "float16":
        return values.astype(np.float16).view(np.uint16)
    bits = values.astype(np.float32).view(np.uint32)
    return (bits >> np.uint32(16)).astype(np.uint16) if dtype == "bfloat16" else bits


def make_row(row: dict, made: list[np.ndarray], dtype: str, vocab: int) -> np.ndarray:
    ids = np.arange(vocab)
    if "bits" in row:
        x = words(row["bits"], DTYPE[dtype])
    elif "cycle" in row:
        cycle = words(row["cycle"], DTYPE[dtype])
        x = cycle[ids % len(cycle)]
    elif "same" in row:
        x = made[row["same"]].copy()
    elif "ramp" in row:
        g = row["ramp"]
        x = encode((g["start"] + g["step"] * ids) * 2.0 ** -g["shift"], dtype)
    elif "uniform" in row:
        g = row["uniform"]
        span = np.uint64(g["hi"] - g["lo"] + 1)
        x = encode((g["lo"] + (mix(g["seed"], vocab) % span).astype(np.int64)) * 2.0 ** -g["shift"], dtype)
    else:
        g = row["bell"]
        h = mix(g["seed"], vocab)
        b = sum((h >> np.uint64(s) & np.uint64(0xFFFF)).astype(np.int64) for s in (0, 16, 32, 48))
        x = encode((b - 131072 >> g["drop"]) * 2.0 ** -g["shift"], dtype)
    for s in row.get("set", []):
        x[s["first"] : s["last"] + 1] = words(s["bits"], DTYPE[dtype])[0]
    return x


def make_params(request: dict, vocab: int) -> Params:
    p = Params()
    for name in ("temperature", "top_p", "min_p", "repetition_penalty", "frequency_penalty", "presence_penalty"):
        if name in request:
            setattr(p, name, real(request[name]))
    p.top_k = request.get("top_k", 0)
    p.filter_order = request.get("filter_order", "joint")
    for name in ("seed", "step", "u"):
        if name in request:
            setattr(p, name, int(request[name], 16))
    if "logit_bias" in request:
        p.bias = np.zeros(vocab, np.float32)
        for b in request["logit_bias"]:
            p.bias[b["id"]] = real(b["bits"])
    if "allowed_token_ids" in request:
        p.allowed = np.zeros(vocab, bool)
        p.allowed[request["allowed_token_ids"]] = True
    if "bitmask" in request:
        p.bitmask = words("".join(request["bitmask"]))
    if {"prompt_tokens", "output_tokens", "counts"} & request.keys():
        p.seen = np.zeros(vocab, bool)
        p.occurrences = np.zeros(vocab, np.int64)
        for name in ("prompt_tokens", "output_tokens", "counts"):
            for t in request.get(name, []):
                p.seen[t["id"]] = True
                if name != "prompt_tokens":
                    p.occurrences[t["id"]] += t["times"]
    return p


class Case(NamedTuple):
    name: str
    vocab: int
    logits: np.ndarray
    """[rows, stride]; bfloat16 as uint16."""
    params: list[Params]
    row_request: list[int] | None
    row_step: list[int] | None
    """For each row how far its step is from its request's; None if all are 0."""
    want: list[dict]


def make(d: dict) -> Case:
    vocab, dtype = d["vocab"], d["dtype"]
    rows: list[np.ndarray] = []
    for row in d["rows"]:
        rows.append(make_row(row, rows, dtype, vocab))
        assert len(rows[-1]) == vocab
        assert "digest" not in row or vocab > 20000 or fnv(rows[-1].tobytes()) == int(row["digest"], 16)
    logits = np.full((len(rows), d.get("stride", vocab)), np.iinfo(DTYPE[dtype]).max, DTYPE[dtype])
    for i, x in enumerate(rows):
        logits[i, :vocab] = x
    if dtype != "bfloat16":
        logits = logits.view({"float32": np.float32, "float16": np.float16}[dtype])
    params = [make_params(r, vocab) for r in d["requests"]]
    row_request = d.get("row_request")
    row_step = None
    if row_request is not None and len(set(row_request)) < len(row_request):
        row_step = [row_request[:i].count(r) for i, r in enumerate(row_request)]
    return Case(d["name"], vocab, logits, params, row_request, row_step, d["want"])


@cache
def draws() -> list[dict]:
    """The lines of draws.jsonl, for make."""
    return lines("draws.jsonl")
