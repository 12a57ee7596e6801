# SPDX-License-Identifier: MIT OR Apache-2.0
"""Products of quantized matrices with what onnxruntime fuses into them (domain com.microsoft)."""

from __future__ import annotations

from xyntra.dialects.builder import Operand, Tensor
from xyntra.dialects.scalar import Scalar
from xyntra.dialects.tensors.broadcasting import broadcast_shapes
from xyntra.frontends.onnx.node import Node, handles
from xyntra.frontends.onnx.ops.elementwise.simple import dtype_of
from xyntra.frontends.onnx.ops.quantized.contraction import integer_product, row_parameter
from xyntra.frontends.onnx.ops.quantized.quantize import quantize_dynamically, saturate
from xyntra.frontends.onnx.opsets import MICROSOFT


def scaled_sums(
    node: Node, total: Tensor, scales: tuple[Operand, Operand], bias: Operand | None
) -> Tensor:
    """Integer sums in float32, times both scales, plus an optional bias."""
    extra = [] if bias is None else [bias]
    for operand in (*scales, *extra):
        if broadcast_shapes(total.shape, operand.shape) != total.shape:
            raise node.invalid(f"a parameter {operand.shape} does not broadcast to {total.shape}")

    def body(value: Scalar, a: Scalar, b: Scalar, *more: Scalar) -> Scalar:
        result = value.cast("float32") * (a * b)
        for addend in more:
            result = result + addend
        return result

    return node.b.map(body, total, *scales, *extra, dtype="float32")


@handles("MatMulIntegerToFloat", domain=MICROSOFT)
def matmul_integer_to_float(node: Node) -> Tensor:
    a_zero = node.optional(4)
    rows = None if a_zero is None else row_parameter(node, a_zero)
    total = integer_product(node, node.tensor(0), node.tensor(1), rows, node.optional(5))
    scales = (row_parameter(node, node.operand(2)), node.operand(3))
    return scaled_sums(node, total, scales, node.optional(6))


@handles("DynamicQuantizeMatMul", domain=MICROSOFT)
def dynamic_quantize_matmul(node: Node) -> Tensor:
    a, scale, zero = quantize_dynamically(node, node.tensor(0))
    total = integer_product(node, a, node.tensor(1), zero, node.optional(3))
    return scaled_sums(node, total, (scale, node.operand(2)), node.optional(4))


@handles("QGemm", domain=MICROSOFT)
def qgemm(node: Node) -> Tensor:
    a, b = _matrix(node, 0, "transA"), _matrix(node, 3, "transB")
    total = integer_product(node, a, b, node.operand(2), node.operand(5))
    addend = node.optional(6)
    if addend is not None:
        if broadcast_shapes(total.shape, addend.shape) != total.shape:
            raise node.invalid(f"input 6 {addend.shape} does not broadcast to {total.shape}")
        total = node.b.map(lambda v, c: v + c, total, addend, dtype="int32")
    alpha = float(node.attribute("alpha", 1.0))
    scales = [node.operand(1), node.operand(4)]
    if not node.has(7):
        return node.b.map(
            lambda v, s, t: v.cast("float32") * (s * t * alpha), total, *scales, dtype="float32"
        )
    zero = [node.operand(8)] if node.has(8) else []
    dtype = dtype_of(zero[0]) if zero else a.dtype

    def body(value: Scalar, s: Scalar, t: Scalar, y: Scalar, *point: Scalar) -> Scalar:
        factor = s * t * alpha / y
        return saturate(value.cast("float32") * factor, point[0] if point else None, dtype)

    return node.b.map(body, total, *scales, node.operand(7), *zero, dtype=dtype)


def _matrix(node: Node, position: int, attribute: str) -> Tensor:
    x = node.tensor(position)
    if x.rank != 2:
        raise node.invalid(f"input {position} has shape {x.shape}, which is not a matrix")
    return node.b.transpose(x, [1, 0]) if node.attribute(attribute, 0) else x
