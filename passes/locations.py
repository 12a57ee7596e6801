# SPDX-License-Identifier: MIT OR Apache-2.0
"""Locations of what stands for several operations."""

from __future__ import annotations

from collections.abc import Sequence

from xyntra.dialects.mlir import ir

__all__ = ["MAX_LOCATIONS", "fused_location"]

MAX_LOCATIONS = 256


def fused_location(locations: Sequence[ir.Location]) -> ir.Location:
    """One location that names all of `locations`, the first ones where there are many."""
    distinct = list(dict.fromkeys(locations))[:MAX_LOCATIONS]
    if len(distinct) == 1:
        return distinct[0]
    return ir.Location.fused(distinct, context=distinct[0].context)
