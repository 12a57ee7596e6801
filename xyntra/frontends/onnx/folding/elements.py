# SPDX-License-Identifier: MIT OR Apache-2.0
"""Evaluation of operators that work on each element by itself."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

import numpy as np

from xyntra.dialects.dtypes import NARROW_TYPES
from xyntra.dialects.tensors.broadcasting import broadcast_shapes
from xyntra.frontends.onnx.folding.fold import TooLargeError, bounded, folds
from xyntra.frontends.onnx.inputs.interface import dtype_name
from xyntra.frontends.onnx.node import Node
from xyntra.frontends.onnx.ops.elementwise.precision import accumulator_of
from xyntra.frontends.weight_types import dtype_of

Function = Callable[..., np.ndarray]


def arrays(node: Node) -> list[np.ndarray]:
    """The node's inputs that are given, whose common shape must not be too large."""
    found = [op for op in node.operands if isinstance(op, np.ndarray)]
    bounded(broadcast_shapes(*(array.shape for array in found)))
    return found


_UNARY: dict[str, Function] = {
    "Neg": np.negative, "Abs": np.abs, "Sign": np.sign, "Floor": np.floor, "Ceil": np.ceil,
    "Round": np.rint, "Sqrt": np.sqrt, "Exp": np.exp, "Log": np.log, "Reciprocal": np.reciprocal,
    "Not": np.logical_not, "BitwiseNot": np.invert, "IsNaN": np.isnan,
    "Relu": lambda x: np.maximum(x, x.dtype.type(0)),
}  # fmt: skip
_CHAINED: dict[str, Function] = {
    "Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Max": np.maximum,
    "Min": np.minimum, "BitwiseAnd": np.bitwise_and, "BitwiseOr": np.bitwise_or,
    "BitwiseXor": np.bitwise_xor, "And": np.logical_and, "Or": np.logical_or,
    "Xor": np.logical_xor, "Equal": np.equal, "Greater": np.greater, "Less": np.less,
    "GreaterOrEqual": np.greater_equal, "LessOrEqual": np.less_equal,
}  # fmt: skip


@folds(*_UNARY)
def _unary(node: Node) -> np.ndarray:
    return _UNARY[node.op_type](node.constant(0))


@folds(*_CHAINED)
def _chained(node: Node) -> np.ndarray:
    return np.asarray(reduce(_CHAINED[node.op_type], arrays(node)))


@folds("Sum", "Mean")
def _total(node: Node) -> np.ndarray:
    found = arrays(node)
    wide = np.dtype(accumulator_of(found[0].dtype.name))
    total = reduce(np.add, (array.astype(wide) for array in found))
    if node.op_type == "Mean":
        total = total / wide.type(len(found))
    return np.asarray(total).astype(found[0].dtype)


@folds("Div")
def _divide(node: Node) -> np.ndarray:
    x, y = arrays(node)
    if x.dtype.kind not in "iu":
        return np.asarray(x / y)
    inexact = np.mod(x, y) != 0
    return np.asarray(x // y + (inexact & ((x < 0) != (y < 0)))).astype(x.dtype)


@folds("Mod")
def _modulo(node: Node) -> np.ndarray:
    x, y = arrays(node)
    fmod = node.attribute("fmod", 0)
    if not fmod and x.dtype.kind not in "iu" and node.opset < 28:
        raise node.invalid("floating-point inputs need fmod = 1")
    return np.asarray(np.fmod(x, y) if fmod else np.mod(x, y))


@folds("Pow")
def _power(node: Node) -> np.ndarray:
    base, exponent = arrays(node)
    if base.dtype.kind not in "iu":
        return np.asarray(base ** exponent.astype(base.dtype))
    if exponent.dtype.kind in "iu" and (exponent >= 0).all():
        return np.asarray(base ** exponent.astype(base.dtype))
    wide = base.astype(np.float64) ** exponent.astype(np.float64)
    return np.asarray(wide).astype(base.dtype)


@folds("Where")
def _where(node: Node) -> np.ndarray:
    return np.where(*arrays(node))


@folds("Clip")
def _clip(node: Node) -> np.ndarray:
    x = node.constant(0)
    low, high = (
        node.constant(position) if node.has(position) else node.attribute(name)
        for position, name in ((1, "min"), (2, "max"))
    )
    x = x if low is None else np.maximum(x, np.asarray(low, x.dtype))
    return x if high is None else np.minimum(x, np.asarray(high, x.dtype))


@folds("Cast")
def _cast(node: Node) -> np.ndarray:
    dtype = dtype_name(node.required("to"), f"node '{node.label}'")
    return _converted(node, dtype)


@folds("CastLike")
def _cast_like(node: Node) -> np.ndarray:
    return _converted(node, node.constant(1).dtype.name)


def _converted(node: Node, dtype: str) -> np.ndarray:
    x = node.constant(0)
    if dtype in NARROW_TYPES or x.dtype.name in NARROW_TYPES:
        raise TooLargeError  # numpy does not convert these by ONNX's rules
    return x.astype(dtype_of(dtype))
