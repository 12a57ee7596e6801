# SPDX-License-Identifier: MIT OR Apache-2.0
"""Compares results with what is expected of them; needs neither ONNX nor the reference."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from verify.random_graphs.dtypes import DTYPES, is_float, native, rounded

__all__ = ["Expectation", "difference"]


@dataclass(frozen=True)
class Expectation:
    """One output.

    Attributes:
        value: wide, rounded to its type.
        tolerance: of each element: absolute, 0 for an exact one, infinite where anything goes.
        elem: the element type.
    """

    value: np.ndarray
    tolerance: np.ndarray
    elem: int


def difference(found: np.ndarray | None, expected: Expectation) -> str:
    """How a native result differs from what is expected; an empty text if it does not."""
    if found is None:
        return "missing"
    if found.dtype != DTYPES[expected.elem]:
        return f"dtype {found.dtype} instead of {DTYPES[expected.elem]}"
    if found.shape != expected.value.shape:
        return f"shape {found.shape} instead of {expected.value.shape}"
    if not is_float(expected.elem):
        wrong = (found != expected.value) & (expected.tolerance == 0)
    else:
        wide = found.astype(np.float64)
        with np.errstate(all="ignore"):
            same = (wide == expected.value) | (np.isnan(wide) & np.isnan(expected.value))
            near = np.abs(wide - expected.value) <= expected.tolerance
            # What is near the largest number may overflow.
            edge = np.isinf(wide) & np.isinf(
                rounded(expected.value + np.sign(wide) * expected.tolerance, expected.elem)
            )
        wrong = ~(same | near | edge | np.isinf(expected.tolerance))
    count = int(wrong.sum())
    if not count:
        return ""
    at = tuple(int(i) for i in np.argwhere(wrong)[0])
    value = native(expected.value[at], expected.elem)
    return (
        f"{count} of {found.size} elements are wrong; at {at} {found[at]} instead of {value} "
        f"+- {expected.tolerance[at]:.3g}"
    )
