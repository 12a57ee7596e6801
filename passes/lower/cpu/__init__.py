# SPDX-License-Identifier: MIT OR Apache-2.0
"""Lowering of one kernel function from tensors to the LLVM dialect and LLVM IR, for CPUs.

The machine code that results has the signature `void NAME(void** args)`. `args` holds a pointer to
every argument, then to every result (but those written in place), then to scratch memory aligned to
64 bytes, `scratch_bytes` and for each thread `private_bytes`, then to what runs parallel loops: a
function `void (void* that, task, void* environment, int64 count, int64 grain)` comes first there.
The last two need not be there for a kernel that does without. Tensors are row-major and contiguous,
and aligned to their element type only.
"""

from xyntra.passes.lower.cpu.machine import LoweringOptions
from xyntra.passes.lower.cpu.pipeline import LoweredKernel, from_nests, lower_kernel, to_nests

__all__ = [
    "EMITTERS",
    "LoweredKernel",
    "LoweringOptions",
    "from_nests",
    "lower_kernel",
    "to_nests",
]

EMITTERS = tuple(
    f"{__name__}.{name}"
    for name in (
        "attention.blocks",
        "conv.emitter",
        "rows.gathered_rows",
        "pooling.window_emitter",
        "winograd.emitter",
        "matmul_int8.emitter",
    )
)
"""Modules that are loaded with the first kernel of their kind."""
