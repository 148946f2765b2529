#!/usr/bin/env python3
"""Writes the fixtures of this folder; README.md tells with which versions."""

import pathlib

import ml_dtypes
import numpy as np
from numpy.lib import format as npy
from safetensors.numpy import save_file

HERE = pathlib.Path(__file__).resolve().parent

# Exact in all three types: -inf, -0, and values with few significant bits.
LOGITS = np.array([[0.5, -np.inf, 3.0], [-0.0, 1.25, -96.0]], dtype=np.float32)

ARRAYS = {
    "float32": LOGITS,
    "float16": LOGITS.astype(np.float16),
    "bfloat16": LOGITS.astype(ml_dtypes.bfloat16),
    "void2": LOGITS.astype(ml_dtypes.bfloat16).view("V2"),
    "row": LOGITS[0],
    "zero_rows": LOGITS[:0],
    "fortran": np.asfortranarray(LOGITS),
    "big_endian": LOGITS.astype(">f4"),
    "float64": LOGITS.astype(np.float64),
    "rank0": LOGITS[0, 0],
    "rank3": LOGITS.reshape(1, 2, 3),
    "structured": np.zeros(2, dtype=[("a", "<f4")]),
}

for name, array in ARRAYS.items():
    np.save(HERE / f"{name}.npy", array)
for version in (2, 3):
    with open(HERE / f"version{version}.npy", "wb") as f:
        npy.write_array(f, LOGITS, version=(version, 0))

for name in ("float32", "float16", "bfloat16", "row", "zero_rows", "float64", "rank3"):
    save_file({"logits": ARRAYS[name]}, HERE / f"{name}.safetensors")
save_file({"x": LOGITS}, HERE / "metadata.safetensors", metadata={"vocab": 'a\n"b"\n\u00e9', "empty": ""})
save_file(
    {"logits": LOGITS, "half": ARRAYS["float16"], "mask": np.ones(3, dtype=bool), "scalar": np.array(1.0)},
    HERE / "several.safetensors",
)
