# SPDX-License-Identifier: MIT OR Apache-2.0
"""From kernel functions to LLVM IR for NVIDIA GPUs."""

from xyntra.passes.lower.cuda.pipeline import lower_kernel, to_gpu, to_stages
from xyntra.passes.lower.cuda.to_llvm import Launch, LoweredCudaKernel, from_gpu

__all__ = ["Launch", "LoweredCudaKernel", "from_gpu", "lower_kernel", "to_gpu", "to_stages"]
