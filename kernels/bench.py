"""Times of the kernels on a GPU: python kernels/bench.py --out DIR

First a gate: the draws that are timed must be those of SPEC.md in NumPy. Then the
median of replays of CUDA graphs, each of which draws once from every one of many
buffers, so that together they are larger than any cache (rotating() says how
large). Everything in microseconds a call, launches included.

Rows, see make_rows: lm, peaked, flat, equal, half, two, captured. Settings, see
SETTINGS. "needed" leaves out the launches that parameters known to the host make
superfluous; "all" launches everything, as a server must that captures one graph
for all requests.
"""

from __future__ import annotations

import sys

if __name__ == "__main__":
    sys.path.pop(0)  # this folder, whose select.py is not Python's

import argparse
import json
import os
import statistics
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "python")]

import triton  # noqa: E402
import triton.language as tl  # noqa: E402

from kernels import gpu_check  # noqa: E402

K_P = dict(temperature=0.8, top_k=50, top_p=0.95)
SETTINGS = {
    "greedy": dict(temperature=0.0),
    "k+p k first": dict(K_P, filter_order=1),
    "k+p joint": dict(K_P, filter_order=0),
    "p": dict(temperature=0.8, top_p=0.95),
    "min_p": dict(temperature=0.8, min_p=0.05),
    "plain": dict(temperature=0.8),
    "mix": None,  # every fourth row greedy, k+p k first, p, plain
    "k+p extras": dict(K_P, filter_order=1, repetition_penalty=1.1, presence_penalty=0.1, frequency_penalty=0.1),
    "k=V/2": dict(top_k=-2),  # replaced
    "p .999": dict(top_p=0.999),
}
MIX = ("greedy", "k+p k first", "p", "plain")
DEFAULT = {"temperature": 1.0, "top_k": 0, "top_p": 1.0, "min_p": 0.0, "filter_order": 0}
PENALTIES = ("repetition_penalty", "presence_penalty", "frequency_penalty")

# Which settings are timed on which rows.
MAIN = ("greedy", "k+p k first", "k+p joint", "p", "min_p", "plain", "mix", "k+p extras")
PLAN = {
    "lm": MAIN,
    "peaked": ("k+p k first", "k+p joint", "p", "plain"),
    "flat": ("k+p k first", "k+p joint", "p", "plain", "k=V/2", "p .999"),
    "equal": ("greedy", "k+p k first", "p", "plain"),
    "half": ("k+p k first", "p", "plain"),
    "two": ("k+p joint", "p"),
    "captured": ("greedy", "k+p k first", "k+p joint", "p", "min_p", "plain", "mix"),
}
QUICK_PLAN = {"lm": ("greedy", "k+p k first", "k+p joint", "p", "plain", "mix"), "flat": ("p",)}
FEWER_BATCHES = ("equal", "half", "two")  # only B = 8 and 64 of those asked for
SPLIT = {"lm": ("greedy", "k+p k first", "k+p joint", "p", "plain"), "flat": ("p", "k=V/2"), "equal": ("p",)}

POOL_BYTES = 256 << 20  # logits of one kind of rows
MOST_BUFFERS = 512


class Bench:
    def __init__(self, args: argparse.Namespace) -> None:
        import numpy as np
        import torch

        self.args, self.np, self.torch = args, np, torch
        # The check's device side has the tools: uploads, poisoned draws, NumPy's answers.
        self.check = gpu_check.Device(argparse.Namespace(expect=None, quick=True, warps=args.warps, variants=None))
        self.launcher = self.check.launcher
        self.device = self.check.device
        self.pools: dict = {}
        self.records: list[dict] = []
        self.failed: list[str] = []
        self.deadline = time.time() + args.budget

    # -- rows

    def shape(self, kind: str) -> tuple[int, str]:
        return (49152, "float16") if kind == "captured" else (self.args.vocab, self.args.dtype)

    def make_rows(self, kind: str):
        """A pool of rows, made once: [rows, vocab] on the device.

        lm: -1.4 ln(rank) for a random permutation of ranks, plus a normal of standard
        deviation 0.5; at temperature 0.8 some tens of tokens hold 95 %. peaked: the
        same with one token 15 higher. flat: a standard normal. equal: 1.5 everywhere.
        half: 7 for every other token, else a standard normal. two: 1 or 3 at random.
        captured: the 64 rows of captured/smollm2.safetensors, over and over.
        """
        if kind in self.pools:
            return self.pools[kind]
        torch = self.torch
        vocab, dtype = self.shape(kind)
        dtype = getattr(torch, dtype)
        rows = max(max(self.args.batch), min(2048, POOL_BYTES // (vocab * dtype.itemsize)))
        gen = torch.Generator(device=self.device).manual_seed(1)
        on = dict(device=self.device)
        pool = torch.empty(rows, vocab, dtype=dtype, **on)
        if kind == "captured":
            raw = self.check.upload(gpu_check.read_safetensors(ROOT / "captured" / "smollm2.safetensors"))
            for first in range(0, rows, len(raw)):
                n = min(len(raw), rows - first)
                pool[first : first + n] = raw[:n]
        for row in pool if kind != "captured" else ():
            normal = torch.randn(vocab, generator=gen, **on)
            if kind in ("lm", "peaked"):
                rank = torch.randperm(vocab, generator=gen, **on).float() + 1
                x = -1.4 * rank.log() + 0.5 * normal
                if kind == "peaked":
                    x[rank.argmin()] += 15
            elif kind == "flat":
                x = normal
            elif kind == "equal":
                x = torch.full((vocab,), 1.5, **on)
            elif kind == "half":
                x = normal
                x[::2] = 7
            else:
                x = torch.where(normal > 0, 3.0, 1.0)
            row.copy_(x)
        torch.cuda.synchronize()
        self.pools[kind] = pool
        return pool

    def rotating(self, kind: str, batch: int):
        """Batches that share no memory, 256 MB in all, or 512 of them."""
        pool = self.make_rows(kind)
        n = min(pool.shape[0] // batch, MOST_BUFFERS)
        return [pool[i * batch : (i + 1) * batch] for i in range(n)]

    # -- parameters

    def numbers(self, setting: str, vocab: int, rows: int) -> dict:
        """Lists with one entry a row."""
        if setting == "mix":
            each = [self.numbers(MIX[i % 4], vocab, 1) for i in range(rows)]
            return {k: [e[k][0] for e in each] for k in each[0]}
        p = DEFAULT | SETTINGS[setting]
        if setting == "k=V/2":
            p["top_k"] = vocab // 2
        return {k: [v] * rows for k, v in p.items()}

    def params(self, setting: str, vocab: int, rows: int) -> dict:
        """NumPy arrays under the names of sample's arguments."""
        np = self.np
        p = {
            k: np.array(v, dtype=np.int32 if k in ("top_k", "filter_order") else np.float32)
            for k, v in self.numbers(setting, vocab, rows).items()
        }
        p["seed"] = np.arange(rows, dtype=np.int64) + 11
        p["step"] = np.zeros(rows, dtype=np.int64)
        if setting == "k+p extras":
            rng = np.random.default_rng(3)
            bias = np.zeros((rows, vocab), dtype=np.float32)
            at = rng.integers(0, vocab, (rows, 300))
            np.put_along_axis(bias, at, rng.standard_normal(at.shape).astype(np.float32), axis=1)
            words = rng.integers(-(2**31), 2**31, (rows, (vocab + 31) // 32), dtype=np.int64)
            words |= rng.integers(-(2**31), 2**31, words.shape, dtype=np.int64)
            counts = np.zeros((rows, vocab), dtype=np.int32)
            at = rng.integers(0, vocab, (rows, 500))
            np.put_along_axis(counts, at, rng.integers(0, 4, at.shape).astype(np.int32) * 2 + 1, axis=1)
            p |= {"logit_bias": bias, "bitmask": words.astype(np.int32), "counts": counts}
        return p

    def launches(self, setting: str):
        if setting == "mix":
            return self.launcher.ALL
        p = DEFAULT | SETTINGS[setting]
        if setting == "k=V/2":
            p["top_k"] = 2
        return self.launcher.needed(*(p[k] for k in ("temperature", "top_k", "top_p", "min_p", "filter_order")))

    # -- time

    def replay(self, calls: list) -> dict:
        """Median, and 10th and 90th percentile, of the time of one call. calls hold
        all buffers' calls; each must leave no state that changes the next."""
        torch = self.torch
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            for call in calls[:2]:
                call()
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=stream):
            for call in calls:
                call()
        with torch.cuda.stream(stream):
            graph.replay()
            stream.synchronize()
            start = time.time()
            graph.replay()
            stream.synchronize()
            one = max(time.time() - start, 1e-5)
            times = []
            for _ in range(max(5, min(self.args.replays, int(0.25 / one)))):
                a, b = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
                a.record()
                graph.replay()
                b.record()
                b.synchronize()
                times.append(a.elapsed_time(b) * 1e3 / len(calls))
        times.sort()
        pick = lambda q: times[min(len(times) - 1, int(q * len(times)))]  # noqa: E731
        return {"us": statistics.median(times), "p10": pick(0.1), "p90": pick(0.9), "replays": len(times)}

    def record(self, kind: str, setting: str, batch: int, sampler: str, calls: list, **more) -> float | None:
        vocab, dtype = self.shape(kind)
        what = dict(rows=kind, setting=setting, batch=batch, sampler=sampler, vocab=vocab, dtype=dtype, **more)
        if time.time() > self.deadline:
            self.failed.append(f"{kind}, {setting}, B = {batch}, {sampler}: out of time")
            return None
        try:
            what |= self.replay(calls) | {"buffers": len(calls)}
        except Exception as e:  # noqa: BLE001 - the other times are still wanted
            self.failed.append(f"{kind}, {setting}, B = {batch}, {sampler}: {type(e).__name__}: {str(e)[:300]}")
            self.torch.cuda.synchronize()
            return None
        self.records.append(what)
        return what["us"]

    def ours(self, kind: str, setting: str, batch: int):
        """A function that makes the calls for given launches, and the gate's complaints."""
        L, torch, np = self.launcher, self.torch, self.np
        vocab, dtype = self.shape(kind)
        host = self.params(setting, vocab, batch)
        buffers = self.rotating(kind, batch)
        p = {k: self.check.upload(v) for k, v in host.items()}
        # A random number of its own for each buffer: a place in the nucleus decides the time.
        seeds = [p["seed"] + 1000 * i for i in range(len(buffers))]
        tile = L.tile_of(vocab, buffers[0].element_size())
        scratch = {
            k: (torch.zeros if zero else torch.empty)(n, dtype=getattr(torch, d), device=self.device)
            for k, (n, d, zero) in L.scratch_shapes(batch, tile).items()
        }
        kinds = (torch.int32,) * 3 + (torch.float32,)
        out = L.Draws(*(torch.empty(batch, dtype=d, device=self.device) for d in kinds))

        def calls(launches, only=None) -> list:
            def call(x, seed):
                params = L.Params(**(p | {"seed": seed}))
                L.launch(x, x.stride(0), batch, vocab, tile, params, L.Rows(), scratch, out, launches, only=only)

            return [lambda x=x, s=s: call(x, s) for x, s in zip(buffers, seeds)]

        problems = []
        rows = sorted({0, batch // 2, batch - 1})
        for i in (0, len(buffers) - 1):
            raw = buffers[i][rows]
            raw = (raw if dtype == "float32" else raw.view(torch.int16)).cpu().numpy()
            if dtype != "float32":
                raw = raw.view(np.uint16 if dtype == "bfloat16" else np.float16)
            chosen = {k: v[rows] for k, v in host.items()}
            chosen["seed"] = chosen["seed"] + 1000 * i
            want = self.check.plain_draws(raw, chosen, {}, len(rows))
            for launches, label in ((L.ALL, "all"), (self.launches(setting), "needed")):
                draws = self.check.draw(buffers[i], p | {"seed": seeds[i]}, launches=launches)
                name = f"{kind}, {setting}, B = {batch}, {label}, buffer {i}"
                problems += self.check.differences(tuple(d[rows] for d in draws), want, name)
        return calls, problems, p, buffers

    # -- what it is compared with

    def floor(self, kind: str, batch: int) -> list:
        """One read of the logits by the loads of scan, and a maximum for each tile."""
        L, torch = self.launcher, self.torch
        vocab, _ = self.shape(kind)
        buffers = self.rotating(kind, batch)
        tile = L.tile_of(vocab, buffers[0].element_size())
        out = torch.empty(batch * tile.tiles, dtype=torch.float32, device=self.device)
        return [
            lambda x=x: max_kernel[(batch * tile.tiles,)](
                x, x.stride(0), vocab, out, TILES=tile.tiles, TILE=tile.tokens, num_warps=L.WARPS["scan"]
            )
            for x in buffers
        ]

    def one_program(self, kind: str, batch: int, p: dict, buffers: list) -> list:
        from kernels import one_program

        torch = self.torch
        kinds = (torch.int32,) * 3 + (torch.float32,)
        out = [torch.empty(batch, dtype=d, device=self.device) for d in kinds]
        names = ("temperature", "top_k", "top_p", "min_p", "filter_order", "seed", "step")
        args = [p[k] for k in names]
        vocab, _ = self.shape(kind)

        def call(x):
            one_program.launch(x, x.stride(0), batch, vocab, *args, *out)

        call(buffers[0])
        mine = self.check.draw(buffers[0], p)
        got = tuple(t.cpu().numpy() for t in out)
        if self.check.differences(got, mine):
            raise AssertionError(self.check.differences(got, mine)[0])
        return [lambda x=x: call(x) for x in buffers]

    def torch_sort(self, p: dict, buffers: list) -> list:
        """The usual sampler of framework operations: sort, mask, softmax, exponential race."""
        torch = self.torch
        temperature, top_p, min_p = (p[k][:, None] for k in ("temperature", "top_p", "min_p"))
        top_k = torch.where(p["top_k"] > 0, p["top_k"], buffers[0].shape[1])[:, None]
        rank = torch.arange(buffers[0].shape[1], device=self.device)[None, :]

        def call(x):
            z, ids = (x.float() / temperature).sort(dim=-1, descending=True)
            z = z.masked_fill(rank >= top_k, -float("inf"))
            probs = z.softmax(dim=-1)
            before = probs.cumsum(dim=-1) - probs
            probs = probs.masked_fill((before >= top_p) | (probs < min_p * probs[:, :1]), 0)
            race = probs / torch.empty_like(probs).exponential_()
            return ids.gather(1, race.argmax(dim=-1, keepdim=True))

        return [lambda x=x: call(x) for x in buffers[:16]]

    def others(self, kind: str, setting: str, batch: int, p: dict, buffers: list) -> None:
        """Samplers that may be installed, on the same rows."""
        if setting == "greedy":
            self.record(kind, setting, batch, "torch argmax", [lambda x=x: x.argmax(dim=-1) for x in buffers])
            return
        if setting in ("k+p k first", "p", "plain"):
            self.record(kind, setting, batch, "torch sort", self.torch_sort(p, buffers))
        if setting in ("k+p k first", "k+p joint", "p", "plain", "mix"):
            try:
                calls = self.one_program(kind, batch, p, buffers)
                self.record(kind, setting, batch, "one program", calls)
            except Exception as e:  # noqa: BLE001 - it may not be there
                self.failed.append(f"{kind}, {setting}, B = {batch}, one program: {type(e).__name__}: {str(e)[:300]}")
        if setting not in ("k+p k first", "k+p joint", "p", "plain"):
            return
        few = buffers[:16]
        try:
            import flashinfer
        except ImportError:
            pass
        else:
            floats = [x.float() for x in few]
            order = "joint" if setting == "k+p joint" else "top_k_first"
            k = self.torch.where(p["top_k"] > 0, p["top_k"], few[0].shape[1])
            t = p["temperature"][:, None]
            calls = [
                lambda x=x: flashinfer.sampling.top_k_top_p_sampling_from_logits(
                    x / t, k, p["top_p"], filter_apply_order=order
                )
                for x in floats
            ]
            self.record(kind, setting, batch, "flashinfer", calls, version=flashinfer.__version__)
        try:
            import vllm
            from vllm.v1.sample.ops.topk_topp_sampler import apply_top_k_top_p
        except ImportError:
            pass
        else:
            t = p["temperature"][:, None]
            k = self.torch.where(p["top_k"] > 0, p["top_k"], few[0].shape[1])

            def call(x):
                probs = apply_top_k_top_p(x.float() / t, k, p["top_p"]).softmax(dim=-1)
                return probs.div_(self.torch.empty_like(probs).exponential_()).argmax(dim=-1)

            self.record(kind, setting, batch, "vllm", [lambda x=x: call(x) for x in few], version=vllm.__version__)

    # -- all of it

    def variants(self) -> list[tuple]:
        R = self.check.rows
        found = []
        for kind, settings in self.args.plan.items():
            vocab, dtype = self.shape(kind)
            for setting in settings:
                flags = R.HAS_BIAS | R.HAS_MASK | R.HAS_COUNTS if setting == "k+p extras" else 0
                found.append((vocab, dtype, flags, vocab, 0, False))
        return sorted(set(found))

    def batches(self, kind: str) -> list[int]:
        b = self.args.batch
        return [n for n in b if n in (8, 64)] or b[:1] if kind in FEWER_BATCHES else b

    def run(self) -> int:
        args, L = self.args, self.launcher
        start = time.time()
        cases = {}
        red: list[str] = []
        for kind, settings in args.plan.items():
            for setting in settings:
                for batch in self.batches(kind):
                    calls, problems, p, buffers = self.ours(kind, setting, batch)
                    red += problems
                    cases[kind, setting, batch] = (calls, p, buffers)
        print(f"gate: {len(cases)} cases in {time.time() - start:.1f} s, {len(red)} differences", flush=True)
        for problem in red[:10]:
            print("    " + problem, flush=True)
        if red and not args.no_gate:
            print("GATE RED: nothing is timed")
            return 1

        for kind in args.plan:
            for batch in self.batches(kind):
                self.record(kind, "", batch, "one read", self.floor(kind, batch))
        for (kind, setting, batch), (calls, _, _) in cases.items():
            self.record(kind, setting, batch, "all", calls(L.ALL))
            if self.launches(setting) != L.ALL:
                self.record(kind, setting, batch, "needed", calls(self.launches(setting)))
        if args.split:
            for kind, settings in SPLIT.items():
                for setting in settings:
                    for batch in self.batches(kind):
                        if cases.get((kind, setting, batch)):
                            self.split(kind, setting, batch, cases[kind, setting, batch][0])
        if args.peers:
            for (kind, setting, batch), (_, p, buffers) in cases.items():
                if kind in ("lm", "captured", "flat"):
                    try:
                        self.others(kind, setting, batch, p, buffers)
                    except Exception as e:  # noqa: BLE001 - peers are extras
                        self.failed.append(f"{kind}, {setting}, B = {batch}: {type(e).__name__}: {str(e)[:300]}")
        self.tables()
        return 1 if red else 0

    def split(self, kind: str, setting: str, batch: int, calls) -> None:
        """Times of the first launches of a step, one more each time. The differences
        are what each launch adds."""
        names = list(self.launcher.KERNELS)
        for n in range(1, len(names) + 1):
            self.record(kind, setting, batch, "upto " + names[n - 1], calls(self.launcher.ALL, names[:n]))

    def tables(self) -> None:
        batches = self.args.batch
        at = {(r["rows"], r["setting"], r["sampler"], r["batch"]): r["us"] for r in self.records}

        def cells(kind, setting, sampler):
            return [at.get((kind, setting, sampler, b)) for b in batches]

        def line(name, values):
            print(f"{name:34}" + "".join(f"{'' if v is None else f'{v:.1f}':>9}" for v in values))

        print("\nmicroseconds a call; all launches, then only those needed")
        print(f"{'B':34}" + "".join(f"{b:9}" for b in batches))
        for kind, settings in self.args.plan.items():
            line(f"{kind}: one read", cells(kind, "", "one read"))
            for setting in settings:
                line(f"{kind}: {setting}", cells(kind, setting, "all"))
                if any(v is not None for v in cells(kind, setting, "needed")):
                    line(f"{kind}: {setting}, needed", cells(kind, setting, "needed"))
        peers = sorted({r["sampler"] for r in self.records} - {"one read", "all", "needed"})
        peers = [s for s in peers if not s.startswith("upto ")]
        if peers:
            print("\nothers")
            for kind, settings in self.args.plan.items():
                for setting in settings:
                    for sampler in peers:
                        if any(v is not None for v in cells(kind, setting, sampler)):
                            line(f"{kind}: {setting}: {sampler}", cells(kind, setting, sampler))
        if self.args.split:
            print("\nwhat each launch adds")
            for kind, settings in SPLIT.items():
                for setting in settings:
                    before = [0.0] * len(batches)
                    for name in self.launcher.KERNELS:
                        now = cells(kind, setting, "upto " + name)
                        if any(v is not None for v in now):
                            added = [None if a is None or b is None else a - b for a, b in zip(now, before)]
                            line(f"{kind}: {setting}: {name}", added)
                        before = now
        for f in self.failed:
            print("not timed:", f)

    def save(self, seconds: float, compiled: float) -> None:
        torch = self.torch
        record = dict(
            date=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), gpu=torch.cuda.get_device_name(),
            torch=torch.__version__, triton=triton.__version__, cuda=torch.version.cuda, python=sys.version.split()[0],
            warps=self.launcher.WARPS, vocab=self.args.vocab, dtype=self.args.dtype, pool_bytes=POOL_BYTES,
            compile_seconds=round(compiled, 1), seconds=round(seconds, 1), unit="us per call, graph replay",
            not_timed=self.failed, results=self.records,
        )  # fmt: skip
        out = Path(self.args.out)
        out.mkdir(parents=True, exist_ok=True)
        (out / "gpu_bench.json").write_text(json.dumps(record, indent=1))


@triton.jit
def max_kernel(x_ptr, row_stride, n_vocab, out_ptr, TILES: tl.constexpr, TILE: tl.constexpr):
    row = (tl.program_id(0) // TILES).to(tl.int64)
    tile = tl.program_id(0) % TILES
    ids = tile * TILE + tl.arange(0, TILE)
    x = tl.load(x_ptr + row * row_stride + ids, mask=ids < n_vocab, other=-float("inf"))
    tl.store(out_ptr + tl.program_id(0), tl.max(x.to(tl.float32), axis=0))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    numbers = lambda s: [int(x) for x in s.split(",")]  # noqa: E731
    parser.add_argument("--out", help="folder for gpu_bench.json")
    parser.add_argument("--quick", action="store_true", help="few cases, under a minute with compiling")
    parser.add_argument("--vocab", type=int, default=128256)
    parser.add_argument("--dtype", default="bfloat16", choices=("bfloat16", "float16", "float32"))
    parser.add_argument("--batch", type=numbers, help="comma-separated, 1,8,64,256 if absent")
    parser.add_argument("--rows", help="comma-separated kinds of rows, of " + ", ".join(PLAN))
    parser.add_argument("--settings", help="comma-separated, of " + ", ".join(SETTINGS))
    parser.add_argument("--replays", type=int, default=20)
    parser.add_argument("--warps", default="", help="warps of kernels, like head=4,settle=8")
    parser.add_argument("--split", action=argparse.BooleanOptionalAction, default=True, help="what each launch adds")
    parser.add_argument("--peers", action=argparse.BooleanOptionalAction, help="time other samplers too")
    parser.add_argument("--no-gate", action="store_true", help="time even what is wrong")
    parser.add_argument("--budget", type=float, default=330, help="seconds after which nothing more is timed")
    parser.add_argument("--jobs", type=int, default=min(14, os.cpu_count() or 1), help="processes that compile")
    args = parser.parse_args()
    args.batch = args.batch or ([1, 64] if args.quick else [1, 8, 64, 256])
    args.peers = not args.quick if args.peers is None else args.peers
    args.plan = dict(QUICK_PLAN if args.quick else PLAN)
    if args.rows:
        args.plan = {k: args.plan.get(k, PLAN[k]) for k in args.rows.split(",")}
    if args.settings:
        args.plan = {k: tuple(args.settings.split(",")) for k in args.plan}

    start = time.time()
    bench = Bench(args)
    common = ["--warps", args.warps, "--variants", json.dumps(bench.variants())]
    jobs = min(args.jobs, len(bench.variants()) * len(bench.launcher.KERNELS))
    errors = gpu_check.compile_all(argparse.Namespace(jobs=jobs, compile_limit=200), common)
    compiled = time.time() - start
    bench.deadline = start + args.budget
    status = 1
    try:
        status = bench.run()
    finally:
        if args.out:
            bench.save(time.time() - start, compiled)
    print(f"{time.time() - start:.0f} s, of which compiling {compiled:.0f} s")
    return status or bool(errors)


if __name__ == "__main__":
    sys.exit(main())
