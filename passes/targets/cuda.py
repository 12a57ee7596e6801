# SPDX-License-Identifier: MIT OR Apache-2.0
"""Describes NVIDIA GPUs: the machine is an H100.

Limits are those of compute capability 9.0 (CUDA C++ Programming Guide, "Technical Specifications
per Compute Capability"): 4 KiB of parameters, some of which hold sizes.
"""

from __future__ import annotations

from xyntra.passes.targets.gpu import GPU_FUSE_STEPS, GPU_LAYOUTS
from xyntra.passes.targets.target import ITSELF, KernelLimits, Machine, Target

_ROW_BYTES = 1 << 20
"""Rows that a block, or a cluster of blocks, reads twice from the second-level cache."""
_COLUMN_BYTES = 1 << 12
"""Columns that 32 threads hold in 32 registers each."""
_NORMS = "split-long-norms{target=cuda}"

TARGET = Target(
    name="cuda",
    limits=KernelLimits(
        max_buffers=480,
        max_operations=1024,
        max_row_bytes=_ROW_BYTES,
        max_column_bytes=_COLUMN_BYTES,
    ),
    machine=Machine(
        launch_ns=2500.0,
        bytes_per_ns=3000.0,
        flops_per_ns=60000.0,
        scalar_flops_per_ns=30000.0,
        max_buffers=64,
        max_row_bytes=_ROW_BYTES,
        computes_factors=False,
        computes_summands=True,
        cuts_dimensions=True,
        max_column_bytes=_COLUMN_BYTES,
        runs_side_by_side=True,
    ),
    layouts=GPU_LAYOUTS,
    is_simt=True,
    copies_tiles=True,
    multiplies_16_bits=True,
    multiplies_float8=True,
    fuse_steps={
        **GPU_FUSE_STEPS,
        "widen-contractions": ("narrow-contractions", *GPU_FUSE_STEPS["widen-contractions"]),
        "decompose-named-ops": (ITSELF, _NORMS),
        "channels-last": (ITSELF, _NORMS),
        # Columns that threads share are those of parts.
        "fuse-operations": (
            "inline-broadcasts",
            "inline-into-scores",
            "inline-into-reductions",
            "split-variances",
            ITSELF,
            "fold-norms",
        ),
    },
    kernel_loops="gpu-kernel-loops",
    scheduled="xyntra.stage",
)
