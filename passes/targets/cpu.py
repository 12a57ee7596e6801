# SPDX-License-Identifier: MIT OR Apache-2.0
"""Describes processors: the machine is two cores of a desktop."""

from __future__ import annotations

from math import inf

from xyntra.passes.targets.layout_rates import LayoutRates
from xyntra.passes.targets.target import ITSELF, KernelLimits, Machine, Target

_ROW_BYTES = 1 << 20
"""Rows that stay in a second-level cache."""

TARGET = Target(
    name="cpu",
    limits=KernelLimits(max_buffers=4096, max_operations=1024, max_row_bytes=_ROW_BYTES),
    machine=Machine(
        launch_ns=200.0,
        bytes_per_ns=12.0,
        flops_per_ns=80.0,
        scalar_flops_per_ns=20.0,
        max_buffers=64,
        max_row_bytes=_ROW_BYTES,
        computes_factors=True,
        computes_summands=False,
        cuts_dimensions=False,
    ),
    layouts=LayoutRates(
        copies=((512 << 10, 45.0), (2 << 20, 20.0), (inf, 6.0)),
        line=0.01,
        steps=0.25,
        volume=0.2,
        phases=1.0,
        outputs=16,  # of which fewer are computed as well where they lie apart
        taps=(0.018, 0.04),
        window=90.0,
    ),
    is_simt=False,
    fuse_steps={
        "decompose-named-ops": (ITSELF, "split-long-norms{target=cpu}"),
        "pack-weights": (ITSELF, "round-rows"),
        "fold-transposes": ("rows-in-place", ITSELF),
    },
    kernel_loops="kernel-loops",
    scheduled="linalg.generic",
)
