# SPDX-License-Identifier: MIT OR Apache-2.0
"""From kernel functions to LLVM IR for NVIDIA GPUs."""

from xyntra.passes.lower.cuda.pipeline import LEVELS, lower_kernel, lower_to
from xyntra.passes.lower.cuda.to_llvm import (
    LaunchCode,
    LoweredCudaKernel,
    from_gpu,
    from_nvvm,
    launches_of,
    to_nvvm,
    without_code,
)

__all__ = [
    "LEVELS",
    "LaunchCode",
    "LoweredCudaKernel",
    "from_gpu",
    "from_nvvm",
    "launches_of",
    "lower_kernel",
    "lower_to",
    "to_gpu",
    "to_nvvm",
    "to_stages",
    "without_code",
]
