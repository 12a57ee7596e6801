# SPDX-License-Identifier: MIT OR Apache-2.0
"""What one kernel may use on each target."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["LIMITS", "KernelLimits", "Target"]

Target = Literal["cpu", "cuda", "webgpu"]


@dataclass(frozen=True)
class KernelLimits:
    """Upper limits for one kernel; None where the target has none.

    Attributes:
        max_buffers: tensors that it reads and writes.
        max_operations: operations with a loop nest of their own.
        max_row_bytes: bytes of one row of a tensor that a worker keeps to itself, and of a whole
            tensor that every worker has to compute for itself. Longer rows are reduced by kernels
            that share a row between workers, which leave what follows to another kernel.
        max_column_bytes: bytes of a column of a tensor, of elements that lie apart, that operations
            may share; 0 where columns are not shared.
    """

    max_buffers: int | None = None
    max_operations: int | None = None
    max_row_bytes: int | None = None
    max_column_bytes: int = 0


LIMITS: dict[Target, KernelLimits] = {
    "cpu": KernelLimits(max_buffers=4096, max_operations=1024, max_row_bytes=1 << 20),
    "cuda": KernelLimits(
        max_buffers=480, max_operations=1024, max_row_bytes=1 << 20, max_column_bytes=1 << 12
    ),
    "webgpu": KernelLimits(max_buffers=8, max_operations=1024, max_row_bytes=1 << 16),
}
"""What the fusion engine forms and the checker accepts: both read it here.

CPU: rows that stay in a second-level cache.

CUDA: rows that a block, or a cluster of blocks, reads twice from the second-level cache; columns
that 32 threads hold in 32 registers each; compute capability 9.0 (CUDA C++ Programming Guide,
"Technical Specifications per Compute Capability"): 4 KiB of parameters, some of which hold sizes.
WebGPU: what every adapter has (W3C WebGPU, "Limits": maxStorageBuffersPerShaderStage).
"""
