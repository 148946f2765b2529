"""The kernels compile for GPUs without one, and to the arithmetic they mean.

Triton either interprets or compiles in one process, so this compiles in another.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def compiled(cache: Path, capability: int, options: bool, *names: str) -> dict[str, str]:
    """The PTX of kernels for a compute capability."""
    env = {k: v for k, v in os.environ.items() if k != "TRITON_INTERPRET"}
    env["TRITON_CACHE_DIR"] = str(cache)
    command = [sys.executable, "-m", "kernels.tests.compiling", str(capability), str(options), *names]
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def check(ptx: dict[str, str]) -> None:
    for name, text in ptx.items():
        instructions = set(re.findall(r"\b(?:fma|mul|add|sub|div|rcp)\.[a-z0-9.]*f32\b", text))
        assert ".entry" in text, name
        # The logarithm, of which no token depends on the last bits, brings fused
        # operations that flush subnormals. All else is rounded once an operation.
        fused = {i for i in instructions if "fma" in i or "ftz" in i}
        assert fused <= {"fma.rn.ftz.f32"}, name
        assert instructions <= fused | {"mul.rn.f32", "add.rn.f32", "sub.rn.f32", "div.rn.f32", "div.full.f32"}, name
    # Here no logarithm is taken, and nothing may be fused or approximate.
    mass = set(re.findall(r"\b(?:fma|mul|add|sub|div|rcp|ex2)\.[a-z0-9.]*f32\b", ptx["mass"]))
    assert mass == {"mul.rn.f32", "add.rn.f32", "sub.rn.f32", "div.rn.f32"}


def test_hopper(tmp_path):
    check(compiled(tmp_path, 90, False, "scan", "mass", "head", "collect"))


def test_ampere(tmp_path):
    check(compiled(tmp_path, 80, True, "scan", "mass"))


@pytest.mark.slow
@pytest.mark.parametrize("capability", [80, 90, 100, 120])
@pytest.mark.parametrize("options", [False, True])
def test_all(tmp_path, capability, options):
    check(compiled(tmp_path, capability, options))
