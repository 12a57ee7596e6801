# SPDX-License-Identifier: MIT OR Apache-2.0
"""Describes WebGPU: the machine is an integrated GPU.

Every adapter binds eight buffers at a launch (W3C WebGPU, "Limits", of which this is
maxStorageBuffersPerShaderStage). A kernel may have more: it is several launches, and those that
still touch too many read packed ones.
"""

from __future__ import annotations

from xyntra.passes.targets.gpu import GPU_FUSE_STEPS, GPU_LAYOUTS
from xyntra.passes.targets.target import KernelLimits, Machine, Target

_ROW_BYTES = 1 << 16

TARGET = Target(
    name="webgpu",
    limits=KernelLimits(max_buffers=64, max_operations=1024, max_row_bytes=_ROW_BYTES),
    machine=Machine(
        launch_ns=5000.0,
        bytes_per_ns=200.0,
        flops_per_ns=5000.0,
        scalar_flops_per_ns=2500.0,
        max_buffers=8,
        max_row_bytes=_ROW_BYTES,
        computes_factors=True,
        computes_summands=True,
        cuts_dimensions=True,
    ),
    layouts=GPU_LAYOUTS,
    is_simt=True,
    calls_with_parts=False,
    fuse_steps=GPU_FUSE_STEPS,
    kernel_loops="gpu-kernel-loops",
    scheduled="xyntra.stage",
)
