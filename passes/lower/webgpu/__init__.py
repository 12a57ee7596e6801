# SPDX-License-Identifier: MIT OR Apache-2.0
"""From kernel functions to SPIR-V that naga makes WGSL of, for any GPU behind WebGPU."""

from xyntra.passes.lower.webgpu.pipeline import (
    LEVELS,
    LoweredWebgpuKernel,
    WebgpuLaunch,
    from_spirv,
    launches_of,
    lower_kernel,
    lower_to,
    to_spirv,
    without_code,
)

__all__ = [
    "LEVELS",
    "LoweredWebgpuKernel",
    "WebgpuLaunch",
    "from_spirv",
    "launches_of",
    "lower_kernel",
    "lower_to",
    "to_spirv",
    "without_code",
]
