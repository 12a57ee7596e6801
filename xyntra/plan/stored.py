# SPDX-License-Identifier: MIT OR Apache-2.0
"""Reads the contents of a model's constants and weights."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from xyntra.errors import CompileError
from xyntra.plan.plan import Buffer

__all__ = ["contents"]

Array = np.ndarray[Any, Any]


def contents(buffer: Buffer, weights: Mapping[str, Array]) -> Array | None:
    """Return the array that a buffer holds from the start; None for what a call computes.

    Args:
        buffer: of a plan; a constant's array is of bytes, a parameter's is the weight.
        weights: of the model, by name.

    Raises:
        CompileError: `weight-missing`, or `weight-size` where the plan expects other bytes.
    """
    if buffer.kind == "constant":
        return np.frombuffer(buffer.data, np.uint8)
    if buffer.kind != "parameter":
        return None
    if buffer.name not in weights:
        raise CompileError("weight-missing", f"the weight '{buffer.name}' is missing")
    array = weights[buffer.name]
    if array.nbytes != buffer.nbytes:
        raise CompileError(
            "weight-size",
            f"the weight '{buffer.name}' does not have the size that the plan expects",
            cause=f"{array.nbytes} bytes instead of {buffer.nbytes}",
        )
    return array
