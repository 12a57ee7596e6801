# SPDX-License-Identifier: MIT OR Apache-2.0
"""PyTorch's rules of the dtype in which operands of different dtypes meet.

A tensor of rank 0 gives way to one of higher rank, and a number of Python to both, unless it is of
a higher kind (booleans, integers, floats).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from xyntra.dialects.builder import Operand, Tensor
from xyntra.dialects.dtypes import bit_width, is_float

__all__ = ["dtype_of_operand", "promoted"]


def dtype_of_operand(operand: Operand) -> str:
    """Return the dtype name of a tensor or an array."""
    return operand.dtype if isinstance(operand, Tensor) else operand.dtype.name


def promoted(values: Sequence[Operand | float]) -> str:
    """Return the dtype that operands are converted to before they meet.

    Args:
        values: tensors and arrays of the program, and numbers of Python.
    """
    groups: list[list[str]] = [[], [], []]
    for value in values:
        if isinstance(value, (Tensor, np.ndarray)):
            groups[0 if len(value.shape) else 1].append(dtype_of_operand(value))
        else:
            groups[2].append(_of_number(value))
    result: str | None = None
    for group in groups:
        for dtype in group:
            if result is None or dtype in groups[0] or _kind(dtype) > _kind(result):
                result = dtype if result is None else _wider(result, dtype)
            elif group is groups[1] and not groups[0]:
                result = _wider(result, dtype)
    if result is None:
        raise ValueError("no operands")
    return result


def _of_number(value: float) -> str:
    if isinstance(value, bool):
        return "bool"
    return "int64" if isinstance(value, int) else "float32"


def _kind(dtype: str) -> int:
    return 0 if dtype == "bool" else 2 if is_float(dtype) else 1


def _wider(a: str, b: str) -> str:
    if a == b:
        return a
    if _kind(a) != _kind(b):
        return a if _kind(a) > _kind(b) else b
    if is_float(a):
        if bit_width(a) == bit_width(b):
            return "float32"
        return a if bit_width(a) > bit_width(b) else b
    return np.promote_types(a, b).name
