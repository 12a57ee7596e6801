# SPDX-License-Identifier: MIT OR Apache-2.0
"""Conversions between element types."""

from __future__ import annotations

from xyntra.dialects.builder import Tensor
from xyntra.dialects.dtypes import NARROW_TYPES, item_bytes, mlir_type
from xyntra.dialects.narrow import convert
from xyntra.dialects.scalar import Scalar, emit
from xyntra.frontends.onnx.inputs.interface import dtype_name
from xyntra.frontends.onnx.node import Node, handles
from xyntra.frontends.onnx.ops.elementwise.simple import dtype_of
from xyntra.frontends.onnx.values import Result


@handles("Cast")
def cast(node: Node) -> Result:
    """As numpy's `astype`. A float that does not fit an integer gives what `Scalar.cast` says.

    What does not fit a float8 is its largest number, unless `saturate` is 0.
    """
    return _convert(node, dtype_name(node.required("to"), f"node '{node.label}'"))


@handles("CastLike")
def cast_like(node: Node) -> Result:
    return _convert(node, dtype_of(node.operand(1)))


def _convert(node: Node, dtype: str) -> Result:
    x = node.operand(0)
    if dtype_of(x) == dtype:
        return x
    saturate = bool(node.attribute("saturate", 1))
    round_mode = node.attribute("round_mode", "up")
    if round_mode not in ("up", "down", "nearest"):
        raise node.invalid(f"round_mode is '{round_mode}', not up, down or nearest")

    def body(value: Scalar) -> Scalar:
        return convert(value, dtype, saturate=saturate, round_mode=round_mode)

    return node.b.map(body, x, dtype=dtype)


def _bits(dtype: str) -> int:
    return NARROW_TYPES.get(dtype, 8 * item_bytes(dtype))


@handles("BitCast")
def bit_cast(node: Node) -> Result:
    """Return the bits under another dtype of the same width; booleans are bytes of 0 or 1."""
    dtype = dtype_name(node.required("to"), f"node '{node.label}'")
    x = node.tensor(0)
    if _bits(x.dtype) != _bits(dtype):
        raise node.invalid(f"{x.dtype} and {dtype} differ in their number of bits")
    if "bool" in (x.dtype, dtype):
        return _convert(node, dtype)
    if mlir_type(x.dtype, node.b.context) == mlir_type(dtype, node.b.context):
        return Tensor(x.value, dtype)

    def body(v: Scalar) -> Scalar:
        return Scalar(emit("arith.bitcast", [v.value], mlir_type(dtype, node.b.context)), dtype)

    return node.b.map(body, x, dtype=dtype)
