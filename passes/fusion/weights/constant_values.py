# SPDX-License-Identifier: MIT OR Apache-2.0
"""Computes tensors that depend on constants alone, as a kernel would."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.views import RESHAPES
from xyntra.passes.fusion.weights.affine_chains import (
    Expression,
    FiniteConstant,
    Vector,
    expression_of,
)
from xyntra.passes.fusion.weights.weights import shape_of

__all__ = ["Array", "compute", "constant_array"]

Array = np.ndarray[Any, Any]

_DTYPES = {"f32": np.float32, "f64": np.float64}
_DEEPEST = 16


def _inverse_root(x: Array) -> Array:
    inverse: Array = x.dtype.type(1) / np.sqrt(x)
    return inverse


_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "arith.addf": np.add,
    "arith.divf": np.divide,
    "arith.mulf": np.multiply,
    "arith.negf": np.negative,
    "arith.subf": np.subtract,
    "math.rsqrt": _inverse_root,
    "math.sqrt": np.sqrt,
}


def constant_array(value: ir.Value, depth: int = _DEEPEST) -> Array | None:
    """The elements of a tensor of f32 or f64; None where they are not known.

    They are if constants, reshapes and elementwise operations compute them, `depth` at most in a
    row.
    """
    owner, shape = value.owner, shape_of(value)
    if isinstance(owner, ir.Block) or shape is None or depth == 0:
        return None
    op = owner.operation
    if op.name == "arith.constant":
        return _elements(op.attributes["value"])
    if op.name in RESHAPES:
        source = constant_array(op.operands[0], depth - 1)
        return None if source is None else source.reshape(shape)
    expression = expression_of(op)
    if expression is None:
        return None
    maps = [attribute.value for attribute in op.attributes["indexing_maps"]]
    operands = []
    for operand, map_ in zip(list(op.operands)[:-1], maps, strict=False):
        array = constant_array(operand, depth - 1)
        spread = None if array is None else _spread(array, map_)
        if spread is None:
            return None
        operands.append(spread)
    return np.broadcast_to(compute(expression, operands, _dtype_of(value)), shape)


def compute(expression: Expression, vectors: Sequence[Array], dtype: type[Any]) -> Array:
    """The value of an expression on arrays of `dtype`, every operation rounded to it."""
    if isinstance(expression, Vector):
        return vectors[expression.number]
    if isinstance(expression, FiniteConstant):
        return np.asarray(expression.value, dtype)
    operands = [compute(part, vectors, dtype) for part in expression.operands]
    with np.errstate(all="ignore"):
        return np.asarray(_FUNCTIONS[expression.name](*operands), dtype)


def _dtype_of(value: ir.Value) -> type[Any]:
    return _DTYPES[str(ir.RankedTensorType(value.type).element_type)]


def _elements(attribute: ir.Attribute) -> Array | None:
    if not isinstance(attribute, ir.DenseFPElementsAttr):
        return None
    kind = str(ir.RankedTensorType(attribute.type).element_type)
    return np.array(attribute) if kind in _DTYPES else None


def _spread(array: Array, map_: ir.AffineMap) -> Array | None:
    """The array with a dimension for each loop, of extent one where it does not vary."""
    extents = [1] * map_.n_dims
    last = -1
    for expression, extent in zip(map_.results, array.shape, strict=True):
        if isinstance(expression, ir.AffineDimExpr) and expression.position > last:
            last = expression.position
            extents[last] = extent
        elif extent != 1:
            return None
    return array.reshape(extents)
