# SPDX-License-Identifier: MIT OR Apache-2.0
"""Compares what a kernel computes with one schedule with what it computes with another."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

__all__ = ["difference", "narrowest_rounding"]

Array = np.ndarray[Any, Any]
_TOLERANCE = {"float64": 1e-9, "float32": 1e-4, "float16": 1e-2, "bfloat16": 6e-2}
"""Of the largest number of a tensor: sums in another order round otherwise."""
_NARROW = ("int8", "uint8")
_ROUNDED = 1e-3
"""The share of a quantized tensor that may be rounded to the number beside."""


_ROUNDING = re.compile(r"= (?:arith|math)\..*(?:: | to )(b?f16)$", re.MULTILINE)
_NAMES = {"f16": "float16", "bf16": "bfloat16"}


def narrowest_rounding(source: str) -> str:
    """Return the 16-bit dtype that a kernel rounds elements to on its way; "" where there is none.

    Its wider results have errors of such roundings, as have statistics of a row that is stored.

    Args:
        source: the function of the kernel.
    """
    names = [_NAMES[found] for found in _ROUNDING.findall(source)]
    return max(names, key=_TOLERANCE.__getitem__, default="")


def difference(found: Array, expected: Array, rounded: str = "") -> str:
    """Return in words how `found` differs from `expected` beyond rounding; "" where it does not.

    Args:
        found: what one schedule computes.
        expected: what another one does.
        rounded: the dtype that elements are rounded to on the way; "" for none.
    """
    name = expected.dtype.name
    if name in _TOLERANCE:
        return _of_floats(found, expected, max(_TOLERANCE[name], _TOLERANCE.get(rounded, 0.0)))
    apart = found != expected
    count = int(np.count_nonzero(apart))
    if not count:
        return ""
    if name in _NARROW and count <= _ROUNDED * found.size:
        steps = np.abs(found[apart].astype(np.int64) - expected[apart].astype(np.int64))
        if steps.max() == 1:
            return ""
    return f"{count} of {found.size} elements differ"


def _of_floats(found: Array, expected: Array, tolerance: float) -> str:
    left, right = found.astype(np.float64), expected.astype(np.float64)
    finite = np.isfinite(right)
    special = (left == right) | (np.isnan(left) & np.isnan(right))
    if not np.all(special | finite):
        count = int(np.count_nonzero(~(special | finite)))
        return f"{count} of {found.size} elements are not the same NaN or infinity"
    scale = float(np.abs(right[finite]).max(initial=0.0))
    with np.errstate(invalid="ignore"):
        error = np.abs(left[finite] - right[finite])
    # A NaN where a number should be is no small error.
    worst = float(np.where(np.isnan(error), np.inf, error).max(initial=0.0))
    if worst <= tolerance * scale:
        return ""
    return f"the largest error is {worst:.3g}, of numbers up to {scale:.3g}"
