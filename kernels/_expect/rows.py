"""The rows of main.go, made with NumPy, and the file of what they draw.

main.go describes the generator and the file; functions here have its names.
"""

from __future__ import annotations

import struct
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np

HAS_BIAS, HAS_MASK, HAS_COUNTS, HAS_SLOTS, HAS_U, SHORT_MASK = (1 << i for i in range(6))

DTYPES = {1: "float32", 2: "float16", 3: "bfloat16"}
ITEMSIZE = {"float32": 4, "float16": 2, "bfloat16": 2}

U64 = np.uint64
MASK64 = (1 << 64) - 1


def mix(x):
    """Of a uint64 array or a Python integer."""
    if isinstance(x, int):
        x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & MASK64
        x = (x ^ x >> 27) * 0x94D049BB133111EB & MASK64
        return x ^ x >> 31
    x = (x ^ x >> U64(30)) * U64(0xBF58476D1CE4E5B9)
    x = (x ^ x >> U64(27)) * U64(0x94D049BB133111EB)
    return x ^ x >> U64(31)


def word(key: int, i: int) -> int:
    return mix(key + (i + 1) * 0x9E3779B97F4A7C15 & MASK64)


def words(key: int, n: int) -> np.ndarray:
    """word(key, i) for i < n."""
    i = np.arange(1, n + 1, dtype=U64)
    return mix(U64(key) + i * U64(0x9E3779B97F4A7C15))


def sub(key: int, n: int) -> int:
    return mix(key ^ n * 0xD1342543DE82EF95 & MASK64)


def value(q: np.ndarray, dtype: str) -> np.ndarray:
    """Elements of the dtype for int32 q in units of 2^-14. bfloat16 as its bits."""
    if dtype == "float16":
        return ((q >> 8).astype(np.float32) / np.float32(64)).astype(np.float16)
    x = q.astype(np.float32) / np.float32(16384)
    if dtype == "bfloat16":
        return (x.view(np.uint32) >> np.uint32(16)).astype(np.uint16)
    return x


def from_bits(bits: np.ndarray, dtype: str) -> np.ndarray:
    bits = bits & U64(0xFFFFFFFF if dtype == "float32" else 0xFFFF)
    if dtype == "float32":
        return bits.astype(np.uint32).view(np.float32)
    return bits.astype(np.uint16).view(np.float16 if dtype == "float16" else np.uint16)


ONE = {"float32": 0x3F800000, "float16": 0x3C00, "bfloat16": 0x3F80}
LOW_EXPONENT = {"float32": 1 << 23, "float16": 1 << 10, "bfloat16": 1 << 7}
SIGN = {"float32": 31, "float16": 15, "bfloat16": 15}
BITS_OF = {"inf": (0x7F800000, 0x7C00, 0x7F80), "nan": (0x7FC00000, 0x7E00, 0x7FC0)}


def constant(name: str, dtype: str):
    """-inf, inf or nan as an element."""
    bits = BITS_OF[name.removeprefix("-")][("float32", "float16", "bfloat16").index(dtype)]
    if name[0] == "-":
        bits |= 1 << SIGN[dtype]
    return from_bits(np.array([bits], dtype=U64), dtype)[0]


def logits(key: int, vocab: int, dtype: str) -> np.ndarray:
    """One row, [vocab]."""
    own = sub(key, 2)
    kind = word(own, 0) % 17
    special = word(own, 2) % vocab
    h = words(sub(key, 1), vocab)
    again = mix(h)
    low = U64(0xFFFF)
    lm = ((h & low) + (h >> U64(16) & low) + (h >> U64(32) & low) + (h >> U64(48))).astype(np.int32) - 131070
    lm += np.where(again % U64(509) == 0, (again >> U64(40) & low).astype(np.int32) * 3, 0).astype(np.int32)
    i = np.arange(vocab, dtype=np.int32)
    x = value(lm, dtype)
    if kind == 2:
        x = value(lm >> 5, dtype)
    elif kind == 3:
        x = value(((h >> U64(16)) % U64(17)).astype(np.int32) * 8192 - 65536, dtype)
    elif kind == 4:
        x = value(np.full(vocab, 24576, dtype=np.int32), dtype)
    elif kind == 5:
        x = value(np.where(i % 2 == 0, 7 * 16384, lm).astype(np.int32), dtype)
    elif kind == 6:
        x = value(16384 + (h & U64(1)).astype(np.int32) * 32768, dtype)
    elif kind == 7:
        x[again % U64(64) != 0] = constant("-inf", dtype)
    elif kind == 8:
        x[:] = constant("-inf", dtype)
        if word(own, 1) % 2 == 0:
            x[special] = constant("nan", dtype)
    elif kind == 9:
        x[again % U64(1024) == 1] = constant("nan", dtype)
    elif kind == 10:
        x[again % U64(256) == 3] = constant("inf", dtype)
        x[again % U64(256) == 4] = constant("-inf", dtype)
    elif kind == 11:
        x = from_bits(h, dtype)
    elif kind == 12:
        x = from_bits(h & U64(MASK64 ^ LOW_EXPONENT[dtype]), dtype)
    elif kind == 13:
        x = from_bits(U64(ONE[dtype]) + h % U64(64), dtype)
    elif kind == 14:
        x = value(np.where(i == special, lm + 163840, lm).astype(np.int32), dtype)
    elif kind == 15:
        x = value(-(i % 4096) * 64, dtype)
    elif kind == 16:
        x = from_bits((h >> U64(1)) % U64(3) | (h & U64(1)) << U64(SIGN[dtype]), dtype)
    return x


TEMPERATURES = (0, 0, 1, 1, 0.8, 0.8, 0.7, 0.6, 0.5, 1.5, 2, 0.1, 0.01, 1e30, 1e-38, 100)
TOP_PS = (1, 1, 1, 1, 0.95, 0.95, 0.9, 0.9, 0.5, 0.999, 0.99, 0.1, 1e-6, 1 - 2.0**-24, 0.3, 1e-30)
MIN_PS = (0, 0, 0, 0, 0, 0, 0, 0, 0.05, 0.1, 0.5, 0.9, 1, 1e-12, 0.001, 2.0**-40)
REPETITIONS = (1, 1.1, 1.3, 0.8, 2)
PRESENCES = (0, 0.5, -0.5, 1.5)
FREQUENCIES = (0, 0.1, -0.2, 0.7)


@dataclass
class Group:
    """Rows of one shape, and what is drawn from them."""

    vocab: int
    dtype: str
    flags: int
    rows: int
    slots: int
    key: int
    token: np.ndarray
    kept: np.ndarray
    logprob: np.ndarray
    status: np.ndarray

    @property
    def name(self) -> str:
        names = ("bias", "mask", "counts", "slots", "u", "short")
        return " ".join([f"{self.vocab} {self.dtype}", *(n for i, n in enumerate(names) if self.flags >> i & 1)])

    def logits(self, rows: int | None = None) -> np.ndarray:
        """[rows, vocab], bfloat16 as uint16; the first rows of them."""
        rows = self.rows if rows is None else rows
        return _stack([lambda r=r: logits(word(self.key, r), self.vocab, self.dtype) for r in range(rows)])

    def params(self) -> dict[str, np.ndarray]:
        """The parameters of every slot, as the kernels take them, without those that
        the group does not have."""
        keys = [word(sub(self.key, 7), s) for s in range(self.slots)]

        def own(j: int) -> list[int]:
            return [word(sub(k, 2), j) for k in keys]

        def pick(j: int, table: tuple, dtype=np.float32) -> np.ndarray:
            return np.array([table[x % len(table)] for x in own(j)], dtype=dtype)

        v = self.vocab
        top_ks = (0, 0, 0, 0, -1, 1, 2, 5, 20, 50, 50, 100, 1000, 1024, 1025, v // 2, v + 10)
        p = {
            "temperature": pick(0, TEMPERATURES),
            "top_k": pick(1, top_ks, np.int32),
            "top_p": pick(2, TOP_PS),
            "min_p": pick(3, MIN_PS),
            "filter_order": np.array([x & 1 for x in own(4)], dtype=np.int32),
            "seed": np.array(own(5), dtype=U64).view(np.int64),
            "step": np.array(own(6), dtype=U64).view(np.int64),
        }
        if self.flags & HAS_BIAS:
            on = [x % 4 != 0 for x in own(11)]
            p["logit_bias"] = _stack([lambda k=k, o=o: _bias(k, v, o) for k, o in zip(keys, on)])
        if self.flags & HAS_MASK:
            n = (v + 31) // 32
            if self.flags & SHORT_MASK:
                n = n * 3 // 4 + 1
            p["bitmask"] = np.stack([_mask(k, n) for k in keys])
        if self.flags & HAS_COUNTS:
            p["repetition_penalty"] = pick(7, REPETITIONS)
            p["presence_penalty"] = pick(8, PRESENCES)
            p["frequency_penalty"] = pick(10, FREQUENCIES)
            on = [x % 3 != 0 for x in own(14)]
            p["counts"] = _stack([lambda k=k, o=o: _counts(k, v, o) for k, o in zip(keys, on)])
        return p

    def row_params(self) -> dict[str, np.ndarray]:
        p = {}
        if self.flags & HAS_SLOTS:
            slot = np.array([word(sub(self.key, 6), r) % self.slots for r in range(self.rows)], dtype=np.int32)
            seen = np.zeros(self.slots, dtype=np.int64)
            step = np.zeros(self.rows, dtype=np.int64)
            for r, s in enumerate(slot):
                step[r] = seen[s]
                seen[s] += 1
            p["row_slot"], p["row_step"] = slot, step
        if self.flags & HAS_U:
            x = [word(sub(word(self.key, r), 2), 5) for r in range(self.rows)]
            x = [0 if v % 8 == 0 else MASK64 if v % 8 == 1 else v for v in x]
            p["u"] = np.array(x, dtype=U64).view(np.int64)
        return p


def _stack(makers: list) -> np.ndarray:
    with ThreadPoolExecutor(16) as pool:
        return np.stack(list(pool.map(lambda make: make(), makers)))


def _bias(key: int, vocab: int, on: bool) -> np.ndarray:
    bias = np.zeros(vocab, dtype=np.float32)
    if on:
        b = words(sub(key, 3), vocab)
        number = ((b >> U64(8) & U64(1023)).astype(np.int32) - 512).astype(np.float32) / np.float32(64)
        bias = np.where(b % U64(16) == 0, number, bias)
        bias[b % U64(64) == 17] = -np.inf
    return bias


def _mask(key: int, n: int) -> np.ndarray:
    own = sub(key, 2)
    m = words(sub(key, 4), n)
    style = word(own, 12) % 4
    if style == 0:
        m[:] = 0xFFFFFFFF
    elif style == 2:
        m = m & m >> U64(32) & mix(m)
    elif style == 3:
        m[np.arange(n) != word(own, 13) % n] = 0
    return (m & U64(0xFFFFFFFF)).astype(np.uint32).view(np.int32)


def _counts(key: int, vocab: int, on: bool) -> np.ndarray:
    if not on:
        return np.zeros(vocab, dtype=np.int32)
    c = words(sub(key, 5), vocab)
    return np.where(c % U64(8) == 0, ((c >> U64(8)) % U64(5)).astype(np.int32) * 2 + 1, 0).astype(np.int32)


def read(path: str | Path) -> list[Group]:
    data = Path(path).read_bytes()
    if data[:8] != b"TDEXPECT":
        raise ValueError(f"{path}: not a file of expectations")
    (n,) = struct.unpack_from("<I", data, 8)
    at = 12
    groups = []
    for _ in range(n):
        vocab, dtype, flags, rows, slots, key = struct.unpack_from("<5IQ", data, at)
        at += 28
        arrays = []
        for kind in ("<i4", "<i4", "<f4", "u1"):
            a = np.frombuffer(data, kind, rows, at)
            at += a.nbytes
            arrays.append(a)
        groups.append(Group(vocab, DTYPES[dtype], flags, rows, slots, key, *arrays))
    return groups
