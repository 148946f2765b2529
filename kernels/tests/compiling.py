"""Prints the PTX of kernels as JSON, by their names: of all, or of those named.

python -m kernels.tests.compiling capability with-all-options [kernel ...]
"""

import json
import sys

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from kernels import one_program
from kernels.tests.driver import _launch

TYPES = {
    "logits_ptr": "*bf16", "row_slot_ptr": "*i32", "temperature_ptr": "*fp32", "top_k_ptr": "*i32",
    "top_p_ptr": "*fp32", "min_p_ptr": "*fp32", "filter_order_ptr": "*i32", "seed_ptr": "*i64", "step_ptr": "*i64",
    "row_step_ptr": "*i64", "u_ptr": "*i64", "bias_ptr": "*fp32", "bitmask_ptr": "*i32", "counts_ptr": "*i32",
    "repetition_ptr": "*fp32", "frequency_ptr": "*fp32", "presence_ptr": "*fp32",
    "token_ptr": "*i32", "status_ptr": "*i32", "kept_ptr": "*i32", "logprob_ptr": "*fp32",
    "row_stride": "i64", "n_vocab": "i32", "bias_stride": "i64", "bitmask_stride": "i32", "counts_stride": "i64",
}  # fmt: skip
POINTERS = {"int32": "*i32", "int64": "*i64", "float32": "*fp32"}


def main(capability: int, options: bool, names: list[str]) -> None:
    vocab = 8000
    tile = _launch.tile_of(vocab, 2)
    types = dict(TYPES)
    for name, (_, dtype, _) in _launch.scratch_shapes(1, tile).items():
        types[name + "_ptr"] = POINTERS[dtype]
    constants = {
        "TILES": tile.tiles, "TILES_P2": _launch.power_of_2(tile.tiles), "TILE": tile.tokens,
        "GROUPS": _launch.power_of_2(tile.tiles * tile.threads), "R": tile.r, "THREADS": tile.threads, "E": tile.e,
        "HAS_SLOTS": options, "HAS_ROW_STEP": options, "HAS_U": False, "HAS_BIAS": options, "HAS_BITMASK": options,
        "HAS_COUNTS": options, "ADVANCE": options, "BLOCK_V": 256, "K_MAX": 16,
    }  # fmt: skip
    kernels = {name: (kernel, _launch.WARPS[name]) for name, kernel in _launch.KERNELS.items()}
    kernels["one_program"] = (one_program.one_program_kernel, 4)
    ptx = {}
    for name in names or kernels:
        kernel, warps = kernels[name]
        signature = {n: types.get(n, "constexpr") for n in kernel.arg_names}
        values = {n: constants[n] for n in kernel.arg_names if n in constants}
        aligned = {(i,): [["tt.divisibility", 16]] for i, n in enumerate(kernel.arg_names) if n.endswith("_ptr")}
        target = GPUTarget("cuda", capability, 32)
        how = {"num_warps": warps, "enable_fp_fusion": False}
        compiled = triton.compile(ASTSource(kernel, signature, values, aligned), target=target, options=how)
        ptx[name] = compiled.asm["ptx"]
    json.dump(ptx, sys.stdout)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2] == "True", sys.argv[3:])
