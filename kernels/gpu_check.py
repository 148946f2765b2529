"""Everything that must hold on a GPU, in one run: python kernels/gpu_check.py --expect expected.bin

Draws are compared, bit for bit, with those of package oracle (a file that `go run
./kernels/_expect -o expected.bin` writes; the rows are made here) and with SPEC.md
in NumPy. Needs torch, Triton and a GPU; no network. Prints a table and exits with 1
if anything differs.

The parent starts processes and imports nothing heavy: some compile, and one after
the other runs the sections, so that neither a hanging kernel nor a lost context
takes the sections after it along.
"""

from __future__ import annotations

import sys

if __name__ == "__main__":
    sys.path.pop(0)  # this folder, whose select.py is not Python's

import argparse
import json
import math
import os
import queue
import secrets
import signal
import subprocess
import threading
import time
import traceback
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "python")]

MASK64 = (1 << 64) - 1
LOGPROB_TOLERANCE = 1e-5  # SPEC.md, section 8

# Sizes of the sections.
SIZES = {
    "huge_rows": 1032,  # of 2^21 logits: more than 2^31 in all
    "replays": 20,
    "stream_rounds": 100,
    "chi2_rows": 16384,
    "chi2_launches": 64,
    "fuzz_rows": 320,
    "loop_steps": 12,
}
CHI2_VOCAB = 1000
LOOP_VOCAB = 1000
QUICK_GROUPS = ("4097 bfloat16", "33 bfloat16 bias mask counts slots", "128256 bfloat16", "4097 float32")
SECTIONS = ("expect", "invariance", "graph", "loop", "streams", "params", "compile", "chi2", "fuzz", "captured", "huge")
QUICK_SECTIONS = ("expect", "invariance", "params")


# ---------------------------------------------------------------- device side


class Device:
    """Runs the kernels with poisoned memory. The sections are its methods."""

    def __init__(self, args: argparse.Namespace) -> None:
        import numpy as np
        import tokendraw
        import torch
        from tokendraw import _launch

        from kernels._expect import plain, rows

        self.np, self.torch, self.rows, self.plain = np, torch, rows, plain
        self.tokendraw, self.launcher = tokendraw, _launch
        self.args = args
        _launch.WARPS.update((k, int(v)) for k, v in (w.split("=") for w in args.warps.split(",") if w))
        self.device = torch.device("cuda", torch.cuda.current_device())
        self.groups = [] if args.expect is None else rows.read(args.expect)
        if args.quick:
            self.groups = [g for g in self.groups if g.name in QUICK_GROUPS]

    # -- helpers

    def dtype(self, name: str):
        return getattr(self.torch, name)

    def upload(self, x, dtype: str | None = None):
        """A NumPy array on the device; uint16 are the bits of bfloat16."""
        x = self.np.ascontiguousarray(x)
        if not x.flags.writeable:
            x = x.copy()
        if dtype == "bfloat16":
            return self.torch.from_numpy(x.view(self.np.int16)).to(self.device).view(self.torch.bfloat16)
        return self.torch.from_numpy(x).to(self.device)

    def junk(self, n: int, dtype: str):
        x = self.torch.empty(n, dtype=self.dtype(dtype), device=self.device)
        x.view(self.torch.uint8).random_(0, 256)
        return x

    def draw(self, logits, p: dict, r: dict | None = None, *, rows=None, launches=None, advance=False):
        """The four results, as NumPy arrays. p and r hold tensors under the names of
        sample's arguments. All memory is junk before, and must not be touched
        behind its end."""
        L, torch = self.launcher, self.torch
        r = r or {}
        rows = logits.shape[0] if rows is None else rows
        vocab = logits.shape[1]
        tile = L.tile_of(vocab, logits.element_size())
        shapes = L.scratch_shapes(rows, tile)
        guard = 64
        scratch, ends = {}, []
        for name, (n, dtype, zero) in shapes.items():
            whole = self.junk(n + guard, dtype)
            if zero:
                whole[:n] = 0
            scratch[name] = whole[:n]
            ends.append((name, whole[n:], whole[n:].clone()))
        out = []
        for name, dtype in (("token", "int32"), ("status", "int32"), ("kept", "int32"), ("logprob", "float32")):
            whole = self.junk(rows + guard, dtype)
            out.append(whole[:rows])
            ends.append((name, whole[rows:], whole[rows:].clone()))
        L.launch(
            logits, logits.stride(0), rows, vocab, tile, L.Params(**p),
            L.Rows(r.get("row_slot"), r.get("row_step"), r.get("u")), scratch, L.Draws(*out),
            L.ALL if launches is None else launches, advance=advance,
        )  # fmt: skip
        torch.cuda.synchronize()
        for name, end, before in ends:
            if not torch.equal(end.view(torch.uint8), before.view(torch.uint8)):
                raise AssertionError(f"written behind the end of {name}")
        for name, (_, _, zero) in shapes.items():
            if zero and bool((scratch[name] != 0).any()):
                raise AssertionError(f"{name} is not 0 again")
        return tuple(x.cpu().numpy() for x in out)

    def inputs(self, group, rows: int | None = None):
        """Logits, parameters and what belongs to rows, on the device."""
        x = self.upload(group.logits(rows), group.dtype)
        p = {k: self.upload(v) for k, v in group.params().items()}
        n = group.rows if rows is None else rows
        return x, p, {k: self.upload(v[:n]) for k, v in group.row_params().items()}

    def group(self, vocab: int, dtype: str, flags: int = 0):
        for g in self.groups:
            if (g.vocab, g.dtype, g.flags) == (vocab, dtype, flags):
                return g
        return None

    def differences(self, got, want, label: str = "") -> list[str]:
        """One line for each of the first rows that differ."""
        np = self.np
        token, status, kept, logprob = got
        bad = (token != want[0]) | (status != want[1]) | (kept != want[2])
        bad |= ~(np.abs(logprob.astype(np.float64) - want[3]) <= LOGPROB_TOLERANCE)
        lines = [
            f"{label} row {i}: got token {token[i]} status {status[i]} kept {kept[i]} logprob {logprob[i]:.6f}, "
            f"want {want[0][i]} {want[1][i]} {want[2][i]} {want[3][i]:.6f}"
            for i in np.flatnonzero(bad)[:3]
        ]
        if bad.sum() > 3:
            lines.append(f"{label}: {int(bad.sum())} of {len(bad)} rows differ")
        return lines

    def want(self, g, rows: int | None = None):
        return tuple(x[: g.rows if rows is None else rows] for x in (g.token, g.status, g.kept, g.logprob))

    def plain_draws(self, x, p: dict, r: dict, rows: int):
        """What SPEC.md in NumPy draws, from NumPy arrays."""
        np, plain = self.np, self.plain
        out = []
        for i in range(rows):
            s = int(r["row_slot"][i]) if "row_slot" in r else i
            if "u" in r:
                u = int(r["u"][i]) & MASK64
            else:
                offset = int(r["row_step"][i]) if "row_step" in r else 0
                u = plain.philox(int(p["seed"][s]) & MASK64, (int(p["step"][s]) + offset) & MASK64)
            pen = {}
            if "counts" in p:
                names = ("repetition", "presence", "frequency")
                pen = {name: p[name + "_penalty"][s] for name in names}
            tokens = [p[name][s] if name in p else None for name in ("logit_bias", "bitmask", "counts")]
            z, nan = plain.scores(x[i], *tokens, **pen)
            numbers = {k: p[k][s] for k in ("temperature", "top_k", "top_p", "min_p", "filter_order")}
            out.append(plain.draw(z, nan, u=u, **numbers))
        return tuple(np.array(c) for c in zip(*out))

    # -- compiling

    def variants(self) -> list[tuple]:
        """All that is compiled: group-like shape, row stride, offset of the first
        element, advance. One that is missing here is compiled when first met."""
        if self.args.variants:
            return [tuple(v) for v in json.loads(self.args.variants)]
        R = self.rows
        found = [(g.vocab, g.dtype, g.flags, g.vocab, 0, False) for g in self.groups]
        if not self.args.quick:
            found += [
                (4097, "bfloat16", 0, 4112, 0, False),
                (4097, "bfloat16", 0, 4099, 1, False),
                (128256, "bfloat16", 0, 128256, 0, True),
                (LOOP_VOCAB, "bfloat16", R.HAS_BIAS | R.HAS_MASK | R.HAS_COUNTS, LOOP_VOCAB, 0, True),
                (CHI2_VOCAB, "bfloat16", R.HAS_SLOTS, 0, 0, False),
            ]
        return sorted(set(found), key=lambda v: -v[0])

    def compile_one(self, variant: tuple, kernel: str) -> None:
        L, R, torch = self.launcher, self.rows, self.torch
        vocab, dtype, flags, stride, offset, advance = variant
        on = dict(device=self.device)
        base = torch.empty(offset + max(stride, vocab), dtype=self.dtype(dtype), **on)[offset:]

        def full(n, dtype):
            return torch.zeros(n, dtype=dtype, **on)

        f32, i32, i64 = torch.float32, torch.int32, torch.int64
        p = {k: full(1, f32) for k in ("temperature", "top_p", "min_p")}
        p |= {k: full(1, i32) for k in ("top_k", "filter_order")}
        p |= {k: full(1, i64) for k in ("seed", "step")}
        if flags & R.HAS_BIAS:
            p["logit_bias"] = full((1, vocab), f32)
        if flags & R.HAS_MASK:
            words = (vocab + 31) // 32
            p["bitmask"] = full((1, words * 3 // 4 + 1 if flags & R.SHORT_MASK else words), i32)
        if flags & R.HAS_COUNTS:
            p["counts"] = full((1, vocab), i32)
            p |= {k: full(1, f32) for k in ("repetition_penalty", "frequency_penalty", "presence_penalty")}
        r = L.Rows(
            full(1, i32) if flags & R.HAS_SLOTS else None,
            full(1, i64) if flags & R.HAS_SLOTS else None,
            full(1, i64) if flags & R.HAS_U else None,
        )
        tile = L.tile_of(vocab, base.element_size())
        scratch = {k: full(n, self.dtype(d)) for k, (n, d, _) in L.scratch_shapes(1, tile).items()}
        out = L.Draws(full(1, i32), full(1, i32), full(1, i32), full(1, f32))
        L.launch(
            base, stride, 1, vocab, tile, L.Params(**p), r, scratch, out, advance=advance, warmup=True, only=(kernel,)
        )

    def compile_share(self, part: int, parts: int) -> list[str]:
        slow_first = ["settle", "head", "collect"]
        kernels = sorted(self.launcher.KERNELS, key=lambda k: slow_first.index(k) if k in slow_first else 9)
        errors = []
        for variant, kernel in [(v, k) for k in kernels for v in self.variants()][part::parts]:
            try:
                self.compile_one(variant, kernel)
            except Exception as e:  # noqa: BLE001 - the sections will show it, too
                errors.append(f"{kernel} {variant}: {type(e).__name__}: {str(e)[:300]}")
        return errors

    # -- sections: each yields (name, rows compared, problems)

    def expect(self):
        """Every generated row against package oracle."""
        if not self.groups:
            yield "no file of expectations", 0, ["give --expect FILE"]
        for g in self.groups:
            try:
                x, p, r = self.inputs(g)
                problems = self.differences(self.draw(x, p, r), self.want(g), g.name)
                # The API on the same tensors, and what it leaves out.
                api = self.tokendraw.sample(x, **p, **r)
                api = tuple(t.cpu().numpy() for t in api)
                problems += self.differences(api, self.want(g), g.name + " through sample")
            except Exception as e:  # noqa: BLE001 - the next group may be fine
                problems = [f"{g.name}: {type(e).__name__}: {e}"]
                self.torch.cuda.synchronize()  # raises if the context is lost
            yield g.name, 2 * g.rows, problems

    def invariance(self):
        """Reordered, alone, among others, padded, shifted, from slots: the same."""
        np, torch = self.np, self.torch
        g = self.group(4097, "bfloat16")
        if g is None:
            return
        x, p, _ = self.inputs(g)
        want = self.want(g)

        def pick(rows):
            rows = torch.as_tensor(rows, device=self.device, dtype=torch.int64)
            return x[rows].contiguous(), {k: v[rows].contiguous() for k, v in p.items()}

        def wants(rows):
            return tuple(w[rows] for w in want)

        perm = np.random.default_rng(self.args.seed).permutation(g.rows)
        yield "permuted", g.rows, self.differences(self.draw(*pick(perm)), wants(perm), "permuted")
        for n in (1, 2, 3, 7, 64, 513):
            for first in (0, g.rows - n):
                rows = np.arange(first, first + n)
                label = f"rows {first} to {first + n - 1} alone"
                yield label, n, self.differences(self.draw(*pick(rows)), wants(rows), label)
        rows = np.arange(64)
        problems = []
        for i in rows:
            problems += self.differences(self.draw(*pick([i])), wants([i]), f"row {i} alone")
        yield "64 rows, one by one", 64, problems
        again = [self.differences(self.draw(x, p), want, "again") for _ in range(20)]
        yield "20 times again", 20 * g.rows, sum(again, [])

        for stride, offset, label in ((4112, 0, "padded"), (4099, 1, "padded and shifted by one element")):
            if self.args.quick:
                break
            whole = torch.full((offset + g.rows * stride,), float("nan"), dtype=x.dtype, device=self.device)
            padded = whole[offset:].view(g.rows, stride)[:, : g.vocab]
            padded.copy_(x)
            yield label, g.rows, self.differences(self.draw(padded, p), want, label)

        before = x.view(torch.int16).clone()
        self.draw(x, p)
        yield "logits unchanged", g.rows, [] if torch.equal(before, x.view(torch.int16)) else ["logits were written to"]

        big = self.group(128256, "bfloat16")
        if big is not None:
            x, p, _ = self.inputs(big)
            want = self.want(big)
            for n in (1, 3, 8, 64):
                rows = np.arange(big.rows - n, big.rows)
                label = f"128256: the last {n}"
                yield label, n, self.differences(self.draw(*pick(rows)), wants(rows), label)
            repeat = 1024 // big.rows + 1
            rows = np.tile(np.arange(big.rows), repeat)[:1024]
            label = "128256: 1024 rows"
            yield label, 1024, self.differences(self.draw(*pick(rows)), wants(rows), label)

    def slot_values(self, g, i: int) -> dict:
        """What Sampler.set takes, of a group's slot without bias, mask and text."""
        p = g.params()
        values = {k: float(p[k][i]) for k in ("temperature", "top_p", "min_p")}
        values["top_k"] = int(p["top_k"][i])
        values["filter_order"] = ("joint", "top_k_first")[int(p["filter_order"][i])]
        values |= {k: int(p[k][i]) & MASK64 for k in ("seed", "step")}
        return values

    def graph(self):
        """Replays of a captured graph whose steps advance, and a slot that changes."""
        np, torch = self.np, self.torch
        g = self.group(128256, "bfloat16")
        if g is None:
            return
        n = min(64, g.rows)
        raw = g.logits(n)
        x = self.upload(raw, g.dtype)
        sampler = self.tokendraw.Sampler(n, g.vocab, dtype=x.dtype, device=self.device)
        values = [self.slot_values(g, i) for i in range(n)]
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            for i in range(n):
                sampler.set(i, **values[i])
            sampler(x, advance=True)  # loads the kernels, which a capture must not
            for i in range(n):
                sampler.set(i, **values[i])
            stream.synchronize()
            graph = torch.cuda.CUDAGraph()
            before = torch.cuda.memory_allocated()
            with torch.cuda.graph(graph, stream=stream):
                draws = sampler(x, advance=True)
            grown = torch.cuda.memory_allocated() - before
        torch.cuda.synchronize()
        # PyTorch itself keeps a seed and an offset for each graph, 512 bytes each.
        yield "capture allocates nothing", 1, [f"{grown} bytes"] if grown > 1024 else []

        def at(steps):
            p = {k: v[:n].copy() for k, v in g.params().items()}
            p["step"] = p["step"] + np.array(steps, dtype=np.int64)
            return p

        steps = np.zeros(n, dtype=np.int64)
        problems, first = [], None
        for replay in range(SIZES["replays"]):
            with torch.cuda.stream(stream):
                graph.replay()
            stream.synchronize()
            got = tuple(t.cpu().numpy() for t in draws)
            eager = self.draw(x, {k: self.upload(v) for k, v in at(steps).items()})
            problems += self.differences(got, eager, f"replay {replay}")
            if replay < 2:
                want = self.want(g, n) if replay == 0 else self.plain_draws(raw, at(steps), {}, n)
                problems += self.differences(got, want, f"replay {replay} and the oracle")
            first = got if first is None else first
            steps += got[0] >= 0
        yield f"{SIZES['replays']} replays", SIZES["replays"] * n, problems

        # Another request in slot 1, the first one's parameters in slot 0.
        with torch.cuda.stream(stream):
            sampler.set(0, **values[0])
            sampler.set(1, temperature=1.0, seed=77)
            graph.replay()
        stream.synchronize()
        got = tuple(t.cpu().numpy() for t in draws)
        problems = self.differences(tuple(a[:1] for a in got), tuple(a[:1] for a in first), "slot 0 set anew")
        p = {"temperature": 1.0, "top_k": 0, "top_p": 1.0, "min_p": 0.0, "filter_order": 0, "seed": 77, "step": 0}
        want = self.plain_draws(raw[1:2], {k: [v] for k, v in p.items()}, {}, 1)
        problems += self.differences(tuple(a[1:2] for a in got), want, "another request in slot 1")
        yield "slots set between replays", 2, problems

    def loop(self):
        """Sampler with bias, mask and text: decode steps against NumPy."""
        np, torch = self.np, self.torch
        n, vocab = 6, LOOP_VOCAB
        rng = np.random.default_rng(self.args.seed)
        keys = [self.rows.word(self.args.seed, i) for i in range(n)]
        # Kind 0 or 1 of rows.py would do; all kinds are better.
        raw = np.stack([self.rows.logits(k, vocab, "bfloat16") for k in keys])
        x = self.upload(raw, "bfloat16")
        sampler = self.tokendraw.Sampler(
            n, vocab, dtype=torch.bfloat16, device=self.device, logit_bias=True, bitmask=True, penalties=True
        )
        f32 = np.float32
        p = {
            "temperature": np.array([1, 0.7, 0, 2, 0.8, 1], dtype=f32),
            "top_k": np.array([0, 40, 0, 0, 5, 0], dtype=np.int32),
            "top_p": np.array([1, 0.9, 1, 0.8, 1, 1], dtype=f32),
            "min_p": np.array([0, 0, 0, 0, 0, 0.05], dtype=f32),
            "filter_order": np.array([0, 1, 0, 0, 0, 0], dtype=np.int32),
            "seed": np.arange(n, dtype=np.int64) + 5,
            "step": np.zeros(n, dtype=np.int64),
            "repetition_penalty": np.array([1.3, 1, 1.1, 0.9, 2, 1], dtype=f32),
            "frequency_penalty": np.array([0.5, 0.25, 0, 0, -0.25, 0], dtype=f32),
            "presence_penalty": np.array([0, 0.5, 0.5, 0, 0, 0], dtype=f32),
            "logit_bias": np.zeros((n, vocab), dtype=f32),
            "counts": np.zeros((n, vocab), dtype=np.int32),
        }
        allowed = np.ones((n, 32 * ((vocab + 31) // 32)), dtype=bool)
        for i in range(n):
            prompt = rng.integers(0, vocab, 20).tolist()
            output = rng.integers(0, vocab, 9).tolist()
            bias = {int(t): float(b) for t, b in zip(rng.integers(0, vocab, 50), rng.integers(-8, 9, 50) / 4)}
            bias[3] = -math.inf
            only = None if i % 2 else sorted(rng.choice(vocab, 600, replace=False).tolist())
            values = {k: (int if v.dtype.kind == "i" else float)(v[i]) for k, v in p.items() if v.ndim == 1}
            values["filter_order"] = ("joint", "top_k_first")[values["filter_order"]]
            sampler.set(
                i, **values, logit_bias=bias, allowed_token_ids=only, prompt_tokens=prompt, output_tokens=output
            )
            for t, b in bias.items():
                p["logit_bias"][i, t] = b
            for t in output:
                p["counts"][i, t] += 2
            for t in prompt + output:
                p["counts"][i, t] |= 1
            if only is not None:
                allowed[i] = False
                allowed[i, only] = True
        p["bitmask"] = np.packbits(allowed, axis=1, bitorder="little").view(np.int32)

        problems = []
        for step in range(SIZES["loop_steps"]):
            draws = sampler(x, advance=True)
            got = tuple(t.cpu().numpy() for t in draws)
            sampler.count(draws.token)
            problems += self.differences(got, self.plain_draws(raw, p, {}, n), f"step {step}")
            for i, t in enumerate(got[0]):
                if t >= 0:
                    p["step"][i] += 1
                    p["counts"][i, t] = (p["counts"][i, t] + 2) | 1
        yield "decode loop", SIZES["loop_steps"] * n, problems
        sampler.clear(0)
        left = (
            sampler._params.counts[0].any()
            | sampler._params.logit_bias[0].any()
            | (sampler._params.bitmask[0] != -1).any()
        )
        yield "a cleared slot", 1, ["something stayed"] if bool(left) else []

    def streams(self):
        """Two samplers at the same time on two streams."""
        torch = self.torch
        g = self.group(4097, "bfloat16")
        if g is None:
            return
        half = g.rows // 2
        x, p, _ = self.inputs(g)
        L = self.launcher
        tile = L.tile_of(g.vocab, x.element_size())
        sides = []
        for s in range(2):
            rows = slice(s * half, (s + 1) * half)
            scratch = {
                k: (torch.zeros if zero else torch.empty)(n, dtype=self.dtype(d), device=self.device)
                for k, (n, d, zero) in L.scratch_shapes(half, tile).items()
            }
            out = L.Draws(
                *(torch.empty(half, dtype=self.dtype(d), device=self.device) for d in ("int32",) * 3 + ("float32",))
            )
            want = tuple(self.upload(w[rows].astype("int32")) for w in (g.token, g.status, g.kept))
            params = L.Params(**{k: v[rows].contiguous() for k, v in p.items()})
            wrong = torch.zeros((), dtype=torch.int64, device=self.device)
            sides.append((torch.cuda.Stream(), x[rows], params, scratch, out, want, wrong))
        torch.cuda.synchronize()
        for _ in range(SIZES["stream_rounds"]):
            for stream, logits, params, scratch, out, want, wrong in sides:
                with torch.cuda.stream(stream):
                    L.launch(logits, logits.stride(0), half, g.vocab, tile, params, L.Rows(), scratch, out)
                    for a, b in zip(out, want):
                        wrong.add_((a != b).sum())
        torch.cuda.synchronize()
        wrong = int(sides[0][6]) + int(sides[1][6])
        yield "two streams", 2 * half * SIZES["stream_rounds"], [f"{wrong} values differ"] if wrong else []

    def params(self):
        """Refusals of the host, statuses of the device, empty batches."""
        np, torch = self.np, self.torch
        sample = self.tokendraw.sample
        g = self.group(4097, "bfloat16") or self.groups[0]
        n = min(16, g.rows)
        x, p, _ = self.inputs(g, n)
        p = {k: v[:n].contiguous() for k, v in p.items()}
        want = self.want(g, n)

        bad = {
            "temperature": (-1.0, math.inf, math.nan), "top_k": (-2,), "top_p": (0.0, 1.5, -0.5, math.nan),
            "min_p": (-0.1, 1.1, math.nan), "filter_order": (2, -1),
        }  # fmt: skip
        problems = []
        for name, values in bad.items():
            for v in values:
                q = {k: t.clone() for k, t in p.items()}
                q[name][3] = v
                w = tuple(np.array(a) for a in want)
                for a, b in zip(w, (-1, 3, 0, 0)):
                    a[3] = b
                problems += self.differences(self.draw(x, q), w, f"{name}={v}")
                api = tuple(t.cpu().numpy() for t in sample(x, **q))
                problems += self.differences(api, w, f"{name}={v} through sample")
        yield "invalid on the device", n * 2 * sum(map(len, bad.values())), problems

        i64 = torch.zeros(n, dtype=torch.int64, device=self.device)
        refused = [
            dict(temperature=-1.0), dict(temperature=math.nan), dict(temperature=math.inf), dict(temperature=1e-60),
            dict(temperature=1e39), dict(temperature="1"), dict(top_k=-2), dict(top_k=1.5), dict(top_p=0.0),
            dict(top_p=1.01), dict(top_p=math.nan), dict(min_p=-0.1), dict(min_p=2), dict(filter_order="both"),
            dict(seed=-1), dict(seed=1 << 64), dict(step=0.5), dict(repetition_penalty=0.0),
            dict(presence_penalty=math.inf), dict(top_k=i64), dict(temperature=i64), dict(seed=i64[:-1]),
            dict(u=i64[:1]),
            dict(seed=i64.cpu()), dict(bitmask=i64), dict(logit_bias=x.float()[:, :-1]), dict(row_slot=i64),
            dict(row_slot=i64.int()), dict(counts=x),
        ]  # fmt: skip
        problems = []
        for kw in refused:
            (name,) = kw
            try:
                sample(x, **kw)
                problems.append(f"{kw}: not refused")
            except ValueError as e:
                if name not in str(e):
                    problems.append(f"{kw}: the message does not name it: {e}")
        for label, y in (
            ("int", x.view(torch.int16)), ("cpu", x.cpu()), ("rank", x[0]), ("strided", x[:, ::2]),
            ("no vocab", x[:, :0]),
        ):  # fmt: skip
            try:
                sample(y)
                problems.append(f"logits {label}: not refused")
            except ValueError as e:
                if "logits" not in str(e):
                    problems.append(f"logits {label}: {e}")
        yield "refused by the host", len(refused) + 5, problems

        empty = sample(x[:0], temperature=0.5)
        ok = [t.shape == (0,) for t in empty] == [True] * 4
        yield "no rows", 1, [] if ok else ["not empty"]

        # Numbers for all rows, with launches left out, against tensors and all launches.
        settings = [
            dict(temperature=0.0), dict(top_k=1),
            dict(temperature=0.8, top_k=50, top_p=0.9, filter_order="top_k_first"),
            dict(temperature=0.8, top_k=50), dict(temperature=0.7, top_p=0.9), dict(min_p=0.1), dict(),
            dict(top_k=20, top_p=0.9, min_p=0.05), dict(top_p=1 - 2.0**-40), dict(top_k=100000),
        ]  # fmt: skip
        problems = []
        for kw in settings:
            full = {"temperature": 1.0, "top_k": 0, "top_p": 1.0, "min_p": 0.0, "filter_order": 0} | kw
            full["filter_order"] = int(full["filter_order"] == "top_k_first")
            q = {
                k: torch.full((n,), v, dtype=torch.int32 if isinstance(v, int) else torch.float32, device=self.device)
                for k, v in full.items()
            }
            q |= {"seed": p["seed"], "step": p["step"]}
            a = tuple(t.cpu().numpy() for t in sample(x, **kw, seed=p["seed"], step=p["step"]))
            problems += self.differences(a, self.draw(x, q), f"{kw}")
        unsigned = tuple(t.cpu().numpy() for t in sample(x, seed=p["seed"].view(torch.uint64), step=p["step"]))
        signed = tuple(t.cpu().numpy() for t in sample(x, seed=p["seed"], step=p["step"]))
        problems += self.differences(unsigned, signed, "uint64 seeds")
        yield "numbers and tensors", len(settings) * n, problems

    def compile(self):
        """torch.compile takes sample without a break in the graph."""
        torch = self.torch
        g = self.group(4097, "bfloat16") or self.groups[0]
        n = min(16, g.rows)
        x, p, _ = self.inputs(g, n)
        p = {k: v[:n].contiguous() for k, v in p.items()}

        def f(x, p, k):
            d = self.tokendraw.sample(x * 1, top_k=k, **{a: b for a, b in p.items() if a != "top_k"})
            return d.token + 1, d.logprob

        for backend in ("eager", "aot_eager"):
            problems = []
            try:
                got = torch.compile(f, backend=backend, fullgraph=True)(x, p, 50)
                want = f(x, p, 50)
                problems = [] if all(torch.equal(a, b) for a, b in zip(got, want)) else ["other results"]
            except Exception as e:  # noqa: BLE001
                problems = [f"{type(e).__name__}: {str(e)[:600]}"]
            yield f"torch.compile, {backend}", n, problems
        problems = []
        try:
            from tokendraw._sample import _sample_op

            args = (
                x, p["temperature"], p["top_k"], p["top_p"], p["min_p"], p["filter_order"], p["seed"], p["step"],
                *[None] * 9, True, True,
            )  # fmt: skip
            torch.library.opcheck(_sample_op, args, test_utils=("test_schema", "test_faketensor"))
        except Exception as e:  # noqa: BLE001
            problems = [f"{type(e).__name__}: {str(e)[:600]}"]
        yield "the operator's schema and shapes", n, problems

    def chi2(self):
        """A million draws of each of a few settings against the specification's weights."""
        np, torch = self.np, self.torch
        vocab, rows, launches = CHI2_VOCAB, SIZES["chi2_rows"], SIZES["chi2_launches"]
        key = next(k for k in range(1000) if self.rows.word(self.rows.sub(k, 2), 0) % 17 == 0)
        raw = self.rows.logits(key, vocab, "bfloat16")
        x = self.upload(raw[None], "bfloat16").expand(rows, vocab)
        settings = [
            dict(), dict(temperature=0.7, top_p=0.9), dict(top_k=50, top_p=0.9, filter_order=1), dict(min_p=0.02),
            dict(temperature=3.0, top_k=700),
        ]  # fmt: skip
        slot = torch.zeros(rows, dtype=torch.int32, device=self.device)
        at = torch.arange(rows, dtype=torch.int64, device=self.device)
        for number, kw in enumerate(settings):
            p = {
                "temperature": 1.0,
                "top_k": 0,
                "top_p": 1.0,
                "min_p": 0.0,
                "filter_order": 0,
                "seed": 9,
                "step": 0,
            } | kw
            p["seed"] += number
            z, _ = self.plain.scores(raw)
            ids = self.plain.order(z)
            _, w = self.plain.weights(z[ids], z[ids[0]], p["temperature"])
            kept = self.plain.draw(z, False, **{k: v for k, v in p.items() if k not in ("seed", "step")})[2]
            share = np.zeros(vocab)
            share[ids[:kept]] = w[:kept] / w[:kept].sum()
            kinds = {"temperature": "float32", "top_p": "float32", "min_p": "float32", "seed": "int64", "step": "int64"}
            q = {
                k: torch.full((1,), v, dtype=self.dtype(kinds.get(k, "int32")), device=self.device)
                for k, v in p.items()
            }
            counts = torch.zeros(vocab, dtype=torch.int64, device=self.device)
            bad_kept = 0
            for i in range(launches):
                d = self.tokendraw.sample(x, **q, row_slot=slot, row_step=at + i * rows)
                counts += torch.bincount(d.token.to(torch.int64), minlength=vocab)
                bad_kept += int((d.kept != kept).sum()) if i == 0 else 0
            n = rows * launches
            seen = counts.cpu().numpy()
            problems = [f"{kw}: kept differs in {bad_kept} rows"] if bad_kept else []
            if seen[share == 0].sum():
                problems.append(f"{kw}: a token that is not kept was drawn")
            big = share * n >= 5
            e = np.append(share[big], share[~big].sum()) * n
            o = np.append(seen[big], seen[~big].sum())
            e, o = (e, o) if e[-1] > 0 else (e[:-1], o[:-1])
            chi, df = float(((o - e) ** 2 / e).sum()), len(e) - 1
            if df == 0:
                yield "chi-squared of one cell", n, problems
                continue
            # Wilson and Hilferty: a standard normal, nearly.
            normal = ((chi / df) ** (1 / 3) - (1 - 2 / (9 * df))) / math.sqrt(2 / (9 * df))
            if abs(normal) > 5:
                problems.append(f"{kw}: chi-squared {chi:.1f} with {df} degrees of freedom")
            yield f"chi-squared {chi:.0f}, {df} degrees", n, problems

    def fuzz(self):
        """New rows against NumPy; --seed repeats them."""
        R, np = self.rows, self.np
        shapes = [
            (4097, "bfloat16", 0),
            (4097, "float32", 0),
            (33, "bfloat16", R.HAS_BIAS | R.HAS_MASK | R.HAS_COUNTS | R.HAS_SLOTS),
        ]
        if not self.args.quick:
            shapes += [(4097, "float16", 0), (1000, "float32", R.HAS_COUNTS), (1000, "float32", R.HAS_SLOTS | R.HAS_U)]
        n = SIZES["fuzz_rows"]
        for vocab, dtype, flags in shapes:
            slots = n // 2 + 1 if flags & R.HAS_SLOTS else n
            none = np.zeros(0)
            g = R.Group(vocab, dtype, flags, n, slots, R.mix(self.args.seed + vocab), none, none, none, none)
            raw, p, r = g.logits(), g.params(), g.row_params()
            want = self.plain_draws(raw, p, r, n)
            x, p, r = (
                self.upload(raw, dtype),
                {k: self.upload(v) for k, v in p.items()},
                {k: self.upload(v) for k, v in r.items()},
            )
            yield g.name, n, self.differences(self.draw(x, p, r), want, f"seed {self.args.seed}: {g.name}")

    def captured(self):
        """Logits of a real model against NumPy."""
        np = self.np
        path = ROOT / "captured" / "smollm2.safetensors"
        raw = read_safetensors(path)
        n, vocab = raw.shape
        x = self.upload(raw)
        settings = [
            dict(temperature=0.8, top_k=50, top_p=0.95, filter_order=1), dict(temperature=0.8, top_k=50, top_p=0.95),
            dict(top_p=0.95), dict(temperature=0.7, min_p=0.05), dict(), dict(temperature=2.0, top_p=0.999),
            dict(top_k=24576),
        ]  # fmt: skip
        for kw in settings:
            p = {"temperature": 1.0, "top_k": 0, "top_p": 1.0, "min_p": 0.0, "filter_order": 0} | kw
            p = {
                k: np.full(n, v, dtype=np.int32 if k in ("top_k", "filter_order") else np.float32) for k, v in p.items()
            }
            p |= {"seed": np.arange(n, dtype=np.int64), "step": np.arange(n, dtype=np.int64) + 3}
            want = self.plain_draws(raw, p, {}, n)
            got = self.draw(x, {k: self.upload(v) for k, v in p.items()})
            yield f"{kw}", n, self.differences(got, want, f"{kw}")

    def huge(self):
        """More than 2^31 logits in one batch."""
        torch = self.torch
        g = self.group(1 << 21, "bfloat16", self.rows.HAS_SLOTS)
        if g is None:
            return
        x, p, r = self.inputs(g)
        repeat = SIZES["huge_rows"] // g.rows
        x = x.repeat(repeat, 1)
        r = {k: v.repeat(repeat) for k, v in r.items()}
        want = tuple(self.np.tile(w, repeat) for w in self.want(g))
        got = self.draw(x, p, r)
        torch.cuda.empty_cache()
        yield f"{x.shape[0]} rows of {x.shape[1]}", x.shape[0], self.differences(got, want, "huge")


def read_safetensors(path: Path):
    """The float16 tensor "logits" of a safetensors file."""
    import numpy as np

    data = path.read_bytes()
    n = int.from_bytes(data[:8], "little")
    entry = json.loads(data[8 : 8 + n])["logits"]
    if entry["dtype"] != "F16":
        raise ValueError(f"{path}: logits are {entry['dtype']}")
    first, last = entry["data_offsets"]
    return np.frombuffer(data[8 + n + first : 8 + n + last], np.float16).reshape(entry["shape"]).copy()


# ------------------------------------------------------------------ processes


def child(args: argparse.Namespace) -> None:
    """Runs sections and writes one line of JSON for each result."""

    def say(**what) -> None:
        print("\x1e" + json.dumps(what), flush=True)

    device = Device(args)
    if args.compile:
        part, parts = map(int, args.compile.split("/"))
        say(errors=device.compile_share(part, parts))
        return
    import triton

    torch = device.torch
    say(
        versions={
            "torch": torch.__version__,
            "triton": triton.__version__,
            "numpy": device.np.__version__,
            "python": sys.version.split()[0],
            "cuda": torch.version.cuda,
            "gpu": torch.cuda.get_device_name(),
        }  # fmt: skip
    )
    for section in args.sections.split(","):
        say(start=section)
        start = time.time()
        try:
            for name, rows, problems in getattr(device, section)():
                say(section=section, name=name, rows=rows, problems=problems, seconds=round(time.time() - start, 2))
                start = time.time()
        except Exception:  # noqa: BLE001 - whatever it was, it is a failure of this section
            say(section=section, name="stopped", rows=0, problems=[traceback.format_exc()[-1500:]], seconds=0)
            # A lost context stays lost: leave, and a new process goes on.
            try:
                torch.cuda.synchronize()
            except Exception:  # noqa: BLE001
                os._exit(3)
        say(done=section)


class Process:
    """This script again, with lines of results in a queue."""

    def __init__(self, args: list[str]) -> None:
        self.process = subprocess.Popen(
            [sys.executable, __file__, *args], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            start_new_session=True, errors="replace",
        )  # fmt: skip
        self.lines: queue.Queue[str | None] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put(None)

    def get(self, timeout: float) -> str | None:
        return self.lines.get(timeout=max(timeout, 0.01))

    def kill(self) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


def compile_all(args: argparse.Namespace, common: list[str]) -> list[str]:
    """In args.jobs processes, into Triton's cache on disk."""
    start = time.time()
    parts = [Process([*common, "--compile", f"{i}/{args.jobs}"]) for i in range(args.jobs)]
    errors: list[str] = []
    deadline = start + args.compile_limit
    for i, part in enumerate(parts):
        tail: list[str] = []
        try:
            while (line := part.get(deadline - time.time())) is not None:
                if line.startswith("\x1e"):
                    errors += json.loads(line[1:])["errors"]
                else:
                    tail = [*tail, line][-15:]
        except queue.Empty:
            errors.append(f"part {i} was not ready in time")
        part.kill()
        if part.process.returncode not in (0, -signal.SIGKILL):
            errors.append(f"part {i}: exit status {part.process.returncode}: {''.join(tail)[-1500:]}")
    print(f"compiled in {time.time() - start:.1f} s", flush=True)
    for e in errors:
        print("  compile:", e, flush=True)
    return errors


def run_sections(args: argparse.Namespace, common: list[str], deadline: float) -> tuple[list[dict], dict]:
    left = args.sections.split(",")
    results: list[dict] = []
    versions: dict = {}

    def failed(section: str | None, what: str) -> None:
        name = section or left[0]
        results.append(dict(section=name, name="stopped", rows=0, problems=[what], seconds=0))
        print(f"FAIL {name}: {what}", flush=True)
        if name in left:
            left.remove(name)

    while left:
        process = Process([*common, "--child", "--sections", ",".join(left)])
        current = None

        tail: list[str] = []
        while True:
            try:
                line = process.get(min(args.limit, deadline - time.time()))
            except queue.Empty:
                failed(current, f"no result within {args.limit:.0f} s, or out of time: {''.join(tail)[-800:]}")
                break
            if line is None:
                process.process.wait()
                if left:
                    failed(current, f"exit status {process.process.returncode}: {''.join(tail)[-1500:]}")
                break
            if not line.startswith("\x1e"):
                tail = [*tail, line][-40:]
                continue
            said = json.loads(line[1:])
            if "versions" in said:
                versions = said["versions"]
                print(", ".join(f"{k} {v}" for k, v in versions.items()), flush=True)
            elif "start" in said:
                current = said["start"]
            elif "done" in said:
                if said["done"] in left:
                    left.remove(said["done"])
                current = None
            else:
                results.append(said)
                if said["problems"]:
                    print(f"FAIL {said['section']}: {said['name']}", flush=True)
                    for problem in said["problems"][:6]:
                        print("    " + problem, flush=True)
        process.kill()
        if time.time() >= deadline:
            for name in left:
                results.append(dict(section=name, name="not run", rows=0, problems=["out of time"], seconds=0))
            break
    return results, versions


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--expect", help="file written by go run ./kernels/_expect")
    parser.add_argument("--out", help="folder for gpu_check.json")
    parser.add_argument("--quick", action="store_true", help="few shapes and sections")
    parser.add_argument("--sections", help="comma-separated: " + ",".join(SECTIONS))
    parser.add_argument("--seed", type=int, default=secrets.randbits(32), help="of the rows that are new each time")
    parser.add_argument("--jobs", type=int, default=min(14, os.cpu_count() or 1), help="processes that compile")
    parser.add_argument("--compile-limit", type=float, default=240, help="seconds for compiling")
    parser.add_argument("--limit", type=float, default=90, help="seconds for one result")
    parser.add_argument("--budget", type=float, default=540, help="seconds in all")
    parser.add_argument("--no-compile", action="store_true", help="compile when first met, in one process")
    parser.add_argument("--warps", default="", help="warps of kernels, like head=4,settle=8")
    parser.add_argument("--variants", help=argparse.SUPPRESS)
    parser.add_argument("--compile", help=argparse.SUPPRESS)
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    args.sections = args.sections or ",".join(QUICK_SECTIONS if args.quick else SECTIONS)
    unknown = set(args.sections.split(",")) - set(SECTIONS)
    if unknown:
        parser.error(f"no such sections: {', '.join(sorted(unknown))}")
    return args


def main() -> int:
    args = arguments()
    if args.child or args.compile:
        child(args)
        return 0
    start = time.time()
    common = ["--seed", str(args.seed), "--warps", args.warps]
    if args.expect:
        common += ["--expect", args.expect]
    if args.quick:
        common.append("--quick")
    compile_errors = [] if args.no_compile else compile_all(args, common)
    compiled = time.time() - start
    results, versions = run_sections(args, common, start + args.budget)

    print(f"\n{'section':12} {'results':>7} {'rows':>9} {'failed':>6} {'s':>6}")
    bad = 0
    for section in args.sections.split(","):
        own = [r for r in results if r["section"] == section]
        failed = sum(bool(r["problems"]) for r in own)
        bad += failed
        seconds = sum(r["seconds"] for r in own)
        print(f"{section:12} {len(own):7} {sum(r['rows'] for r in own):9} {failed:6} {seconds:6.1f}")
    print(
        f"seed {args.seed}, {time.time() - start:.0f} s, of which compiling {compiled:.0f} s: "
        f"{'FAILED' if bad else 'all equal'}"
    )
    if args.out:
        record = dict(
            versions=versions, date=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), seed=args.seed,
            compile_seconds=round(compiled, 1), compile_errors=compile_errors, results=results,
        )  # fmt: skip
        Path(args.out).mkdir(parents=True, exist_ok=True)
        (Path(args.out) / "gpu_check.json").write_text(json.dumps(record, indent=1))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
