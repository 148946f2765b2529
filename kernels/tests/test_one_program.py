"""The baseline kernel draws the same tokens."""

import random

import numpy as np
import pytest

from kernels.naive import Params

from . import batches
from .driver import compare


@pytest.fixture
def rng(request):
    random.seed(request.node.name)
    return np.random.default_rng(list(request.node.name.encode()))


@pytest.mark.parametrize("n_vocab, block_v, k_max", [(1, 16, 16), (2, 16, 2), (31, 32, 8), (33, 32, 8), (250, 128, 64)])
def test_sizes(rng, n_vocab, block_v, k_max):
    params = [p for i, p in enumerate(batches.mixed()) if i in ((0, 6, 8, 9) if n_vocab < 100 else (4, 6, 9))]
    compare(batches.rows(rng, len(params), n_vocab), params, baseline={"block_v": block_v, "k_max": k_max})


def test_within_the_buffer(rng):
    params = [p for p in batches.mixed() if p.temperature < 2 and p.top_p <= 1]
    x = batches.rows(rng, len(params), 1025, ("head", "minus"))
    compare(x, params, baseline={"block_v": 1024, "k_max": 512})


def test_strides_bias_and_u(rng):
    n_vocab, stride = 97, 103
    params = [batches.params(rng) for _ in range(4)]
    for i, p in enumerate(params):
        p.bias = np.where(rng.random(n_vocab) < 0.3, rng.standard_normal(n_vocab), 0).astype(np.float32)
        p.bias[i] = -np.inf
        p.u = (0, 2**64 - 1, None, 2**63)[i % 4]
    x = np.full((len(params), stride), np.nan, np.float32)
    x[:, :n_vocab] = batches.rows(rng, len(params), n_vocab)
    compare(batches.narrow(x, "bfloat16"), params, n_vocab, baseline={"block_v": 64, "k_max": 64})


def test_plateaus(rng):
    params = [Params(seed=1), Params(seed=4, top_p=0.9, top_k=100, filter_order="top_k_first")]
    compare(batches.rows(rng, 2, 128, ("flat", "half")), params, baseline={"block_v": 128, "k_max": 16})


@pytest.mark.slow
@pytest.mark.parametrize("i", range(10))
def test_fuzz(rng, i):
    n_vocab = int(rng.integers(1, 700))
    params = [batches.params(rng) for _ in range(10)]
    compare(batches.rows(rng, 10, n_vocab), params, baseline={"block_v": 256, "k_max": int(2 ** rng.integers(1, 8))})
