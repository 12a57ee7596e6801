# SPDX-License-Identifier: MIT OR Apache-2.0
"""Reads the contents of a model's constants and weights."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from xyntra.errors import CompileError, ModelError
from xyntra.passes.precision.weight_part import WeightPart
from xyntra.plan.plan import Buffer, Plan, numpy_dtype
from xyntra.plan.quantized import quantized_weight

__all__ = ["contents", "rounded"]

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


def rounded(plan: Plan, weights: Mapping[str, Array]) -> dict[str, Array]:
    """Return `weights` as `plan` wants them: in 16 bits, or as parts of quantized weights.

    Raises:
        ModelError: `weight-overflow`, a finite number would become an infinity.
        CompileError: `weight-size`, a weight does not have the shape that the plan expects.
    """
    found = {**weights, **_quantized(plan, weights)}
    for name in {each.source for each in plan.buffers} - set(plan.parameters):
        found.pop(name, None)
    for buffer in plan.buffers:
        array = found.get(buffer.name) if buffer.rounded_to else None
        if array is not None and array.dtype == np.float32:
            found[buffer.name] = _rounded(array, buffer)
    return found


def _quantized(plan: Plan, weights: Mapping[str, Array]) -> dict[str, Array]:
    """Return the parts of quantized weights that `weights` has whole."""
    found: dict[str, Array] = {}
    for buffer in plan.buffers:
        array, part = weights.get(buffer.source), WeightPart.read(buffer.part)
        if array is None or part is None or buffer.name in found or buffer.name in weights:
            continue
        if array.shape != part.shape:
            message = f"the weight '{buffer.source}' does not have the shape {part.shape}"
            raise CompileError("weight-size", message, cause=f"its shape is {array.shape}")
        made = quantized_weight(buffer.source, array, part.bits, turned=part.turned)
        for each in plan.buffers:
            own = WeightPart.read(each.part)
            if each.source == buffer.source and own is not None and own.name in made:
                found[each.name] = made[own.name]
    return found


def _rounded(array: Array, buffer: Buffer) -> Array:
    # The largest and the smallest element tell of overflow, and need no copy of the weight.
    ends = np.array([array.min(), array.max()] if array.size else [], np.float32)
    with np.errstate(over="ignore"):
        result = array.astype(numpy_dtype(buffer.rounded_to))
        kept = ends.astype(result.dtype).astype(np.float32)
    if np.any(np.isfinite(ends) & ~np.isfinite(kept)):
        raise ModelError(
            "weight-overflow",
            f"the weight '{buffer.name}' has values that {buffer.rounded_to} cannot hold",
            cause=f"they reach from {ends[0]:g} to {ends[1]:g}",
            hint="precision='bf16', or compile again, so that this weight stays in f32",
        )
    result.flags.writeable = False
    return result
