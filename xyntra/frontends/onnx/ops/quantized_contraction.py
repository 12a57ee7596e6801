# SPDX-License-Identifier: MIT OR Apache-2.0
"""Matrix products and convolutions of quantized integers, accumulated in int32."""

from __future__ import annotations

from math import prod

import numpy as np

from xyntra.dialects.builder import Operand, Tensor, broadcast_shapes
from xyntra.dialects.convolution import convolve
from xyntra.dialects.scalar import Scalar
from xyntra.frontends.onnx.node import Node, handles
from xyntra.frontends.onnx.ops.conv import check_operands
from xyntra.frontends.onnx.ops.matmul import matrix_product
from xyntra.frontends.onnx.ops.quantize import saturate
from xyntra.frontends.onnx.ops.window import kernel_of_weight, read_window


def _column(node: Node, parameter: Operand) -> Operand:
    """A scale or zero point of the rows of a matrix: a vector becomes a column."""
    if len(parameter.shape) != 1 or parameter.shape == (1,):
        return parameter
    shape = (parameter.shape[0], 1)
    if isinstance(parameter, Tensor):
        return node.b.reshape(parameter, shape)
    return parameter.reshape(shape)


def _per_channel(node: Node, parameter: Operand, x: Tensor, axis: int, what: str) -> Operand:
    """A scale or zero point of [] or [channels], to broadcast along dimension `axis` of `x`."""
    count = prod(parameter.shape)
    if count == 1:
        shape: tuple[int, ...] = ()
    elif parameter.shape == (x.shape[axis],):
        shape = (count,) + (1,) * (x.rank - axis - 1)
    else:
        raise node.invalid(f"the {what} has shape {parameter.shape}")
    return (
        node.b.reshape(parameter, shape)
        if isinstance(parameter, Tensor)
        else parameter.reshape(shape)
    )


def _centred(node: Node, x: Tensor, zero_point: Operand | None) -> Tensor:
    """The difference x - zero point in int32; `x` itself where there is none to subtract."""
    if zero_point is None or (isinstance(zero_point, np.ndarray) and not zero_point.any()):
        return x
    if broadcast_shapes(x.shape, zero_point.shape) != x.shape:
        raise node.invalid(f"a zero point {zero_point.shape} does not broadcast to {x.shape}")
    return node.b.map(lambda v, z: v.cast("int32") - z.cast("int32"), x, zero_point, dtype="int32")


@handles("MatMulInteger")
def matmul_integer(node: Node) -> Tensor:
    zero = node.optional(2)
    a = _centred(node, node.tensor(0), None if zero is None else _column(node, zero))
    b = _centred(node, node.tensor(1), node.optional(3))
    return matrix_product(node, a, b, "int32")


@handles("QLinearMatMul")
def qlinear_matmul(node: Node) -> Tensor:
    a_scale, b_scale, y_scale = node.operand(1), node.operand(4), node.operand(6)
    a = _centred(node, node.tensor(0), _column(node, node.operand(2)))
    b = _centred(node, node.tensor(3), node.operand(5))
    product = matrix_product(node, a, b, "int32")
    return _requantize(node, product, [_column(node, a_scale), b_scale, y_scale], node.operand(7))


def _requantize(
    node: Node,
    total: Tensor,
    scales: list[Operand],
    zero_point: Operand,
    bias: Tensor | None = None,
) -> Tensor:
    """Integer sums as quantized integers: scales are those of both factors and of the result."""
    dtype = zero_point.dtype if isinstance(zero_point, Tensor) else zero_point.dtype.name
    rest = [] if bias is None else [bias]
    for operand in (*scales, zero_point, *rest):
        if broadcast_shapes(total.shape, operand.shape) != total.shape:
            raise node.invalid(f"a parameter {operand.shape} does not broadcast to {total.shape}")

    def body(value: Scalar, a: Scalar, b: Scalar, y: Scalar, zero: Scalar, *more: Scalar) -> Scalar:
        for addend in more:
            value = value + addend
        factor = a.cast("float32") * b.cast("float32") / y.cast("float32")
        return saturate(value.cast("float32") * factor, zero, dtype)

    return node.b.map(body, total, *scales, zero_point, *rest, dtype=dtype)


@handles("ConvInteger")
def conv_integer(node: Node) -> Tensor:
    return _integer_convolution(node, 0, 1, node.optional(2), node.optional(3))


@handles("QLinearConv")
def qlinear_conv(node: Node) -> Tensor:
    total = _integer_convolution(node, 0, 3, node.operand(2), node.operand(5))
    scales = [
        _per_channel(node, node.operand(1), total, 1, "input's scale"),
        _per_channel(node, node.operand(4), total, 1, "weight's scale"),
        _per_channel(node, node.operand(6), total, 1, "result's scale"),
    ]
    zero_point = _per_channel(node, node.operand(7), total, 1, "result's zero point")
    bias = None
    if node.has(8):
        bias = node.b.tensor(_per_channel(node, node.tensor(8), total, 1, "bias"))
    return _requantize(node, total, scales, zero_point, bias)


def _integer_convolution(
    node: Node, input_: int, weight: int, x_zero: Operand | None, w_zero: Operand | None
) -> Tensor:
    """The int32 convolution of inputs at two positions of the node, zero points subtracted."""
    x, w = node.tensor(input_), node.tensor(weight)
    groups = check_operands(node, x, w, channel_axis=1)
    window = read_window(node, x.shape[2:], kernel_of_weight(node, w.shape))
    if x_zero is not None:
        x = _centred(node, x, _per_channel(node, x_zero, x, 1, "input's zero point"))
    if w_zero is not None:
        w = _centred(node, w, _per_channel(node, w_zero, w, 0, "weight's zero point"))
    return convolve(
        node.b,
        window.pad(node.b, x, 0),
        w,
        strides=window.strides,
        dilations=window.dilations,
        groups=groups,
        accumulator="int32",
    )
