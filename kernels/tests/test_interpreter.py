"""What the other tests take for granted of Triton's interpreter."""

import numpy as np
import pytest
import triton
import triton.language as tl

from kernels import naive

from .host import Array


@triton.jit
def widen_kernel(x_ptr, y_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(y_ptr + i, tl.load(x_ptr + i).to(tl.float32))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_narrow_types(dtype):
    bits = np.arange(2**16, dtype=np.uint16)
    x = bits if dtype == "bfloat16" else bits.view(np.float16)
    got = np.empty(2**16, np.float32)
    widen_kernel[(1,)](Array(x, dtype), Array(got), 2**16)
    want = naive.widen(x)
    assert ((got.view(np.uint32) == want.view(np.uint32)) | (np.isnan(got) & np.isnan(want))).all()


@triton.jit
def order_kernel(x_ptr, sorted_ptr, top_ptr, N: tl.constexpr, K: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, N))
    tl.store(sorted_ptr + tl.arange(0, N), tl.sort(x, descending=True))
    tl.store(top_ptr + tl.arange(0, K), tl.flip(tl.topk(x, K), 0))


def test_sorting():
    x = np.random.default_rng(1).integers(-(2**63), 2**63, 256)
    got, top = np.empty_like(x), np.empty(32, np.int64)
    order_kernel[(1,)](Array(x), Array(got), Array(top), 256, 32)
    assert (got == np.sort(x)[::-1]).all()
    assert (top == np.sort(x)[-32:]).all()


@triton.jit
def add_pairs(a1, b1, a2, b2):
    return a1 + a2, tl.maximum(b1, b2)


@triton.jit
def reduce_kernel(x_ptr, out_ptr, N: tl.constexpr, M: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, N)[:, None] * M + tl.arange(0, M)[None, :])
    a, b = tl.reduce((x, -x), 0, add_pairs)
    tl.store(out_ptr + tl.arange(0, M), a)
    tl.store(out_ptr + M + tl.arange(0, M), b)
    a, b = tl.reduce((a, b), 0, add_pairs)
    tl.store(out_ptr + 2 * M, a)
    tl.store(out_ptr + 2 * M + 1, b)


def test_reductions():
    x = np.random.default_rng(2).integers(-1000, 1000, (16, 8))
    got = np.empty(18, np.int64)
    reduce_kernel[(1,)](Array(x), Array(got), 16, 8)
    assert got.tolist() == [*x.sum(0), *(-x).max(0), x.sum(), (-x).max()]
