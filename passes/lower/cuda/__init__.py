# SPDX-License-Identifier: MIT OR Apache-2.0
"""From kernel functions to LLVM IR for NVIDIA GPUs."""

from xyntra.passes.lower.cuda.pipeline import Launch, LoweredCudaKernel, lower_kernel

__all__ = ["Launch", "LoweredCudaKernel", "lower_kernel"]
