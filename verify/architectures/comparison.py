# SPDX-License-Identifier: MIT OR Apache-2.0
"""Says how far outputs are from a reference, relative to the scale of the reference."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

__all__ = ["TOLERANCE", "distance", "mismatch"]

Array = np.ndarray[Any, Any]
TOLERANCE = 1e-4


def mismatch(outputs: Sequence[Array], reference: Sequence[Array]) -> str | None:
    """The first difference in number, shape, dtype or places of NaN and infinity, or None."""
    if len(outputs) != len(reference):
        return f"{len(outputs)} outputs, expected {len(reference)}"
    for index, (ours, theirs) in enumerate(zip(outputs, reference, strict=True)):
        if ours.shape != theirs.shape:
            return f"output {index} has shape {ours.shape}, expected {theirs.shape}"
        if ours.dtype != theirs.dtype:
            return f"output {index} is {ours.dtype}, expected {theirs.dtype}"
        if ours.dtype.kind == "f" and not np.array_equal(_special(ours), _special(theirs)):
            return f"output {index} is not finite in other places"
    return None


def distance(outputs: Sequence[Array], reference: Sequence[Array]) -> float:
    """The largest max|d| / max|reference| of an output; infinite where `mismatch` says one.

    Of integers and booleans, the share of elements that differ.
    """
    if mismatch(outputs, reference) is not None:
        return math.inf
    return max((_one(a, b) for a, b in zip(outputs, reference, strict=True)), default=0.0)


def _special(array: Array) -> Array:
    """1 and -1 for infinities, 2 for NaN, 0 elsewhere."""
    signs = np.sign(np.where(np.isinf(array), array, 0.0))
    return np.where(np.isnan(array), 2.0, signs)


def _one(ours: Array, theirs: Array) -> float:
    if ours.size == 0:
        return 0.0
    if ours.dtype.kind != "f":
        return float((ours != theirs).mean())
    finite = np.isfinite(theirs)
    a, b = ours[finite].astype(np.float64), theirs[finite].astype(np.float64)
    if b.size == 0:
        return 0.0
    scale = max(float(np.abs(b).max()), 1e-30)
    return float(np.abs(a - b).max()) / scale
