# SPDX-License-Identifier: MIT OR Apache-2.0
"""Associative ways to combine elements, and their neutral values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from xyntra.dialects.dtypes import bit_width, is_float, is_unsigned

if TYPE_CHECKING:
    from xyntra.dialects.scalar import Scalar

Reduction = Literal["sum", "prod", "max", "min"]


def identity_of(kind: Reduction, dtype: str) -> float | int:
    """The value that leaves every other unchanged under `kind`."""
    if kind in ("sum", "prod"):
        return 0 if kind == "sum" else 1
    if is_float(dtype):
        return float("-inf") if kind == "max" else float("inf")
    if dtype == "bool":
        return 0 if kind == "max" else 1
    bits = bit_width(dtype)
    if is_unsigned(dtype):
        return 0 if kind == "max" else (1 << bits) - 1
    return -(1 << (bits - 1)) if kind == "max" else (1 << (bits - 1)) - 1


def combine(kind: Reduction, a: Scalar, b: Scalar) -> Scalar:
    """One step of a reduction."""
    match kind:
        case "sum":
            return a + b
        case "prod":
            return a * b
        case "max":
            return a.maximum(b)
        case _:
            return a.minimum(b)
