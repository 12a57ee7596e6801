# SPDX-License-Identifier: MIT OR Apache-2.0
"""Finds weights whose values do not fit 16 bits, before a model is compiled for these."""

from __future__ import annotations

from math import inf, isfinite
from typing import TYPE_CHECKING, Any

from xyntra.compiler.inputs.source import ModelSource

if TYPE_CHECKING:
    import numpy as np

__all__ = ["unusual_magnitudes"]

_USUAL = {"f16": (2.0**-11, 65504.0), "bf16": (0.0, 3.3895313892515355e38)}
"""Magnitudes of the largest value of a tensor that a type holds well, from and to."""
_PACKED = ("w4", "w4a8", "w8")
_CHUNK = 1 << 20  # elements whose magnitudes are held at once


def unusual_magnitudes(source: ModelSource, precision: str) -> dict[str, float]:
    """Return the largest magnitudes of the f32 weights that `precision` does not hold well.

    Args:
        source: the model; its weights are read once, if `precision` is one of 16 bits, or of
            packed weights and the model may have such.
        precision: a setting.
    """
    references = {name: each.dtype for name, each in source.references.items()}
    references |= {name: each.dtype.name for name, each in source.arrays.items()}
    if precision in _PACKED and "uint8" in references.values():
        precision = "f16"  # in which scales of packed weights are stored
    if precision == "fp8":
        precision = "f16"  # in which all but products with weights is computed
    if precision not in _USUAL:
        return {}
    low, high = _USUAL[precision]
    names = [name for name, dtype in references.items() if dtype == "float32"]
    found = {name: _largest(array) for name, array in source.weights(names).items()}
    return {name: size for name, size in found.items() if size and not low <= size <= high}


def _largest(array: np.ndarray[Any, Any]) -> float:
    """The largest magnitude; that of NaN, which every type holds, is infinite, and so not usual."""
    flat, largest = array.reshape(-1), 0.0
    for start in range(0, flat.size, _CHUNK):
        part = flat[start : start + _CHUNK]
        low, high = float(part.min()), float(part.max())
        if not isfinite(low + high):
            return inf
        largest = max(largest, -low, high)
    return largest
