# SPDX-License-Identifier: MIT OR Apache-2.0
"""Conversions between element types."""

from __future__ import annotations

from xyntra.dialects.builder import Tensor
from xyntra.dialects.dtypes import item_bytes, mlir_type
from xyntra.dialects.scalar import Scalar, emit
from xyntra.frontends.onnx.inputs.interface import dtype_name
from xyntra.frontends.onnx.node import Node, Result, handles
from xyntra.frontends.onnx.ops.elementwise.simple import dtype_of


@handles("Cast")
def cast(node: Node) -> Result:
    """As numpy's `astype`. A float that does not fit an integer gives what `Scalar.cast` says."""
    return _convert(node, dtype_name(node.required("to"), f"node '{node.label}'"))


@handles("CastLike")
def cast_like(node: Node) -> Result:
    return _convert(node, dtype_of(node.operand(1)))


def _convert(node: Node, dtype: str) -> Result:
    x = node.operand(0)
    if dtype_of(x) == dtype:
        return x
    return node.b.map(lambda v: v.cast(dtype), x, dtype=dtype)


@handles("BitCast")
def bit_cast(node: Node) -> Result:
    """Return the bits under another dtype of the same width; booleans are bytes of 0 or 1."""
    dtype = dtype_name(node.required("to"), f"node '{node.label}'")
    x = node.tensor(0)
    if item_bytes(x.dtype) != item_bytes(dtype):
        raise node.invalid(f"{x.dtype} and {dtype} differ in their number of bits")
    if "bool" in (x.dtype, dtype):
        return _convert(node, dtype)
    if mlir_type(x.dtype, node.b.context) == mlir_type(dtype, node.b.context):
        return Tensor(x.value, dtype)

    def body(v: Scalar) -> Scalar:
        return Scalar(emit("arith.bitcast", [v.value], mlir_type(dtype, node.b.context)), dtype)

    return node.b.map(body, x, dtype=dtype)
