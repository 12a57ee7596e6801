# SPDX-License-Identifier: MIT OR Apache-2.0
"""Holds what the descriptions of GPUs have in common."""

from __future__ import annotations

from math import inf

from xyntra.passes.targets.layout_rates import LayoutRates
from xyntra.passes.targets.target import ITSELF

__all__ = ["GPU_FUSE_STEPS", "GPU_LAYOUTS"]

GPU_LAYOUTS = LayoutRates(copies=((inf, 4.0),))
GPU_FUSE_STEPS: dict[str, tuple[str, ...]] = {
    # Matrix units take 16-bit floats as they are, and read weights in the order of their tiles.
    "widen-contractions": ("unpack-products",),
    "recognize-attention": (ITSELF, "narrow-row-ops"),
    "fold-transposes": ("rows-in-place", ITSELF, "split-gates", "pack-channels", "order-weights"),
    # Launches cost more than norms that contractions compute again.
    "fuse-operations": (
        "inline-broadcasts",
        "inline-into-reductions",
        ITSELF,
        "fold-norms",
    ),
}
