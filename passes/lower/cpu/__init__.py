# SPDX-License-Identifier: MIT OR Apache-2.0
"""Lowering of one kernel function from tensors to the LLVM dialect and LLVM IR, for CPUs.

The machine code that results has the signature `void NAME(void** args)`. `args` holds a pointer to
every argument, then to every result (but those written in place), then, where `scratch_bytes` is
not zero, to that many bytes of scratch memory aligned to 64 bytes. Tensors are row-major and
contiguous, and aligned to their element type only.
"""

from xyntra.passes.lower.cpu.pipeline import LoweredKernel, LoweringOptions, lower_kernel

__all__ = ["LoweredKernel", "LoweringOptions", "lower_kernel"]
