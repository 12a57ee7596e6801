# SPDX-License-Identifier: MIT OR Apache-2.0
"""Float64 values with running error bounds: what a graph computes, and how far off it may be.

Each value carries for every element a bound on the distance between exact arithmetic and what a
correct program may compute in the value's dtype (running error analysis: Higham, Accuracy and
Stability of Numerical Algorithms, section 3.3). An infinite bound means that nothing is known, as
where a comparison of two nearly equal numbers was cast to an integer. Integers and booleans have a
bound of zero (they must be exact) or infinity.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import ml_dtypes
import numpy as np

from xyntra.dialects.dtypes import is_float

__all__ = [
    "Known",
    "accumulated",
    "combine",
    "exact",
    "mismatches",
    "rounded",
    "total",
    "widened",
]

Array = np.ndarray[Any, Any]
MATH_ULPS = 8.0
"""Bound that is assumed for exp, tanh, erf and the like, in units in the last place."""


@dataclass(frozen=True)
class Known:
    """A tensor of `dtype`: float64 (or exact integer) `value`s and the bound `error` of each."""

    dtype: str
    value: Array
    error: Array

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of the dimensions."""
        return self.value.shape

    @property
    def certain(self) -> Array:
        """Where something is known."""
        return np.isfinite(self.error)

    def move(self, view: Callable[[Array], Array]) -> Known:
        """The same elements elsewhere."""
        return Known(self.dtype, view(self.value), view(self.error))


def exact(array: Array) -> Known:
    """An input: its elements are what they are."""
    dtype = array.dtype.name
    value = array.astype(np.float64) if is_float(dtype) else array
    return Known(dtype, value, np.zeros(array.shape))


def rounded(dtype: str, value: Array, error: Array, ulps: float = 1.0) -> Known:
    """A float result that is off by `error` before `ulps` roundings to `dtype`."""
    info = ml_dtypes.finfo(dtype)
    finite = np.isfinite(value)
    size = np.where(finite, np.abs(value), 0.0)
    least = float(info.smallest_subnormal)
    if ulps == MATH_ULPS:
        # Functions may flush results that are not normal numbers to zero.
        least = max(least, 2.0**-1022 if dtype == "float64" else 2.0**-126)
    error = error + ulps * (float(info.eps) * size + 2 * least)
    error = np.where(finite, error, np.where(np.isfinite(error), 0.0, np.inf))
    largest = float(info.max)
    beyond = finite & (size + error > largest)
    overflows = beyond & (size - error > largest * (1 + float(info.eps)))
    value = np.where(overflows, np.copysign(np.inf, value), value)
    # Inside a kernel float16 may be kept as float32, which does not overflow where float16 does.
    known = 0.0 if dtype != "float16" else np.inf
    error = np.where(overflows, known, np.where(beyond, np.inf, error))
    return Known(dtype, value, np.where(np.isnan(error), np.inf, error))


def combine(
    dtype: str, function: Callable[..., Array], *operands: Known, ulps: float = 1.0
) -> Known:
    """An elementwise function of floats that is monotonic in each operand near the values.

    Where `function` is not defined on one side of a value, nothing is known of the result.
    """
    with np.errstate(all="ignore"):
        value = function(*(operand.value for operand in operands))
        ends = [(operand.value - operand.error, operand.value + operand.error)
                for operand in operands]  # fmt: skip
        error = np.zeros(value.shape)
        for corner in product(*ends) if any(np.any(x.error) for x in operands) else ():
            off = np.abs(function(*corner) - value)
            same = function(*corner) == value
            error = np.maximum(error, np.where(same, 0.0, np.where(np.isnan(off), np.inf, off)))
        # A NaN is certain only if it comes from certain operands.
        blind = np.any([~np.broadcast_to(x.certain, value.shape) for x in operands], axis=0)
        everywhere = np.any(
            [np.broadcast_to(np.isnan(x.value) & x.certain, value.shape) for x in operands], axis=0
        )
        nan = np.isnan(value)
        sharp = nan & ~blind & _nan_at_corners(function, ends, value.shape)
        error = np.where(sharp | (nan & everywhere), 0.0, error)
        error = np.where(nan & blind & ~everywhere, np.inf, error)
        return rounded(dtype, value, error, ulps)


def _nan_at_corners(
    function: Callable[..., Array], ends: Sequence[tuple[Array, Array]], shape: tuple[int, ...]
) -> Array:
    found = np.ones(shape, bool)
    for corner in product(*ends):
        found &= np.isnan(function(*corner))
    return found


def total(x: Known, dtype: str, reduce: Callable[[Array], Array], terms: int) -> Known:
    """A sum of `terms` elements of `x` each, in any order, in `dtype`.

    Args:
        x: what is summed.
        dtype: of the sum.
        reduce: sums arrays of the shape of `x`.
        terms: how many elements go into one.
    """
    with np.errstate(all="ignore"):
        value = reduce(x.value)
        size = reduce(np.where(np.isfinite(x.value), np.abs(x.value), 0.0))
        return accumulated(dtype, value, size, reduce(x.error), terms)


def accumulated(dtype: str, value: Array, size: Array, error: Array, terms: int) -> Known:
    """A sum of which the finite terms have absolute values that add up to `size`."""
    info = ml_dtypes.finfo(dtype)
    growth = max(terms, 1) * (float(info.eps) * size + float(info.smallest_subnormal))
    error = np.where(np.isnan(error), np.inf, error)
    error = np.where(np.isfinite(value), error + growth, error)
    error = np.where(size + growth > float(info.max), np.inf, error)
    return rounded(dtype, value, error)


def mismatches(array: Array, reference: Known, safety: float) -> Array:
    """Where `array` is farther from the reference than `safety` times its bound."""
    value, wide = reference.value, widened(array)
    with np.errstate(all="ignore"):
        near = np.abs(wide.astype(np.float64) - value) <= safety * reference.error
        same = (wide == value) | ((wide != wide) & (value != value))
        if wide.dtype == np.float64:
            near &= np.isfinite(wide) == np.isfinite(value)
    return np.asarray(reference.certain & ~(same | (near & (reference.error > 0))))


def widened(array: Array) -> Array:
    """Floats as float64, and others as they are."""
    return array if array.dtype.kind in "iub" else array.astype(np.float64)
