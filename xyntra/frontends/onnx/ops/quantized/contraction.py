# SPDX-License-Identifier: MIT OR Apache-2.0
"""Matrix products and convolutions of quantized integers, accumulated in int32.

Products are of the stored integers, so that both factors stay narrow. What zero points change is
added afterwards: over k steps, sum (a - p)(b - q) = sum ab - p sum b - q sum a + k pq, exactly,
since int32 wraps around. Sums of weights are computed when a model is loaded.
"""

from __future__ import annotations

from math import prod

import numpy as np

from xyntra.dialects.builder import Operand, Tensor
from xyntra.dialects.scalar import Scalar
from xyntra.dialects.tensors.broadcasting import broadcast_shapes
from xyntra.dialects.tensors.convolution import convolve
from xyntra.frontends.onnx.node import Node, handles
from xyntra.frontends.onnx.ops.elementwise.simple import dtype_of
from xyntra.frontends.onnx.ops.nn.conv import check_operands
from xyntra.frontends.onnx.ops.nn.matmul import matrix_product
from xyntra.frontends.onnx.ops.nn.window import kernel_of_weight, read_window
from xyntra.frontends.onnx.ops.quantized.quantize import saturate, spread


def row_parameter(node: Node, parameter: Operand) -> Operand:
    """A scale or zero point of the rows of a matrix: a vector becomes a column."""
    if len(parameter.shape) != 1 or parameter.shape == (1,):
        return parameter
    return spread(node, parameter, (parameter.shape[0], 1))


def _per_channel(node: Node, parameter: Operand, x: Tensor, axis: int, what: str) -> Operand:
    """A scale or zero point of [] or [channels], to broadcast along dimension `axis` of `x`."""
    count = prod(parameter.shape)
    if count == 1:
        return spread(node, parameter, ())
    if parameter.shape != (x.shape[axis],):
        raise node.invalid(f"the {what} has shape {parameter.shape}")
    return spread(node, parameter, (count,) + (1,) * (x.rank - axis - 1))


def _is_zero(zero_point: Operand | None) -> bool:
    """Tell whether there is known to be nothing to subtract."""
    return zero_point is None or (isinstance(zero_point, np.ndarray) and not zero_point.any())


def _centred(node: Node, x: Tensor, zero_point: Operand | None) -> Tensor:
    """The difference x - zero point in int16; `x` itself where there is none to subtract."""
    if zero_point is None or _is_zero(zero_point):
        return x
    return node.b.map(lambda v, z: v.cast("int16") - z.cast("int16"), x, zero_point, dtype="int16")


def integer_product(
    node: Node, a: Tensor, b: Tensor, a_zero: Operand | None, b_zero: Operand | None
) -> Tensor:
    """The int32 matrix product of a - a_zero and b - b_zero.

    Args:
        node: where to build.
        a: integers of 8 bits, [..., M, K].
        b: integers of 8 bits, [..., K, N].
        a_zero: broadcasts to `a`; None for 0.
        b_zero: broadcasts to `b`; None for 0.
    """
    for x, zero in ((a, a_zero), (b, b_zero)):
        if zero is not None and broadcast_shapes(x.shape, zero.shape) != x.shape:
            raise node.invalid(f"a zero point {zero.shape} does not broadcast to {x.shape}")
    if min(a.rank, b.rank) < 2 or not _are_outside(a_zero, b_zero):
        left, right = _centred(node, a, a_zero), _centred(node, b, b_zero)
        return matrix_product(node, left, right, "int32")
    total = matrix_product(node, a, b, "int32")
    terms: list[Operand] = []
    if a_zero is not None and not _is_zero(a_zero):
        terms += [a_zero, _column_sums(node, b, b_zero)]
    if b_zero is not None and not _is_zero(b_zero):
        rows = node.b.reduce(a, [a.rank - 1], "sum", accumulator="int32")
        terms += [b_zero, rows]
    if not terms:
        return total

    def body(value: Scalar, *factors: Scalar) -> Scalar:
        wide = [factor.cast("int32") for factor in factors]
        for zero, other in zip(wide[::2], wide[1::2], strict=True):
            value = value - zero * other
        return value

    return node.b.map(body, total, *terms, dtype="int32")


def _are_outside(a_zero: Operand | None, b_zero: Operand | None) -> bool:
    """Tell whether zero points are the same for all steps of the sum."""
    by_row = a_zero is None or not a_zero.shape or a_zero.shape[-1] == 1
    return by_row and (b_zero is None or len(b_zero.shape) < 2 or b_zero.shape[-2] == 1)


def _column_sums(node: Node, b: Tensor, b_zero: Operand | None) -> Tensor:
    """Sums of b - b_zero over its rows, [..., 1, N]."""
    sums = node.b.reduce(b, [b.rank - 2], "sum", accumulator="int32")
    if b_zero is None or _is_zero(b_zero):
        return sums
    steps = b.shape[-2]
    return node.b.map(
        lambda total, zero: total - zero.cast("int32") * steps, sums, b_zero, dtype="int32"
    )


@handles("MatMulInteger")
def matmul_integer(node: Node) -> Tensor:
    zero = node.optional(2)
    rows = None if zero is None else row_parameter(node, zero)
    return integer_product(node, node.tensor(0), node.tensor(1), rows, node.optional(3))


@handles("QLinearMatMul")
def qlinear_matmul(node: Node) -> Tensor:
    a_scale, b_scale, y_scale = node.operand(1), node.operand(4), node.operand(6)
    a_zero = row_parameter(node, node.operand(2))
    product = integer_product(node, node.tensor(0), node.tensor(3), a_zero, node.operand(5))
    scales = [row_parameter(node, a_scale), b_scale, y_scale]
    return requantize(node, product, scales, node.operand(7))


def requantize(
    node: Node,
    total: Tensor,
    scales: list[Operand],
    zero_point: Operand,
    bias: Tensor | None = None,
) -> Tensor:
    """Integer sums as quantized integers: scales are those of both factors and of the result."""
    dtype = dtype_of(zero_point)
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
    return requantize(node, total, scales, zero_point, bias)


def _integer_convolution(
    node: Node, input_: int, weight: int, x_zero: Operand | None, w_zero: Operand | None
) -> Tensor:
    """The int32 convolution of inputs at two positions of the node, zero points subtracted."""
    x, w = node.tensor(input_), node.tensor(weight)
    groups = check_operands(node, x, w, channel_axis=1)
    window = read_window(node, x.shape[2:], kernel_of_weight(node, w.shape))
    if w_zero is not None:
        w = _centred(node, w, _per_channel(node, w_zero, w, 0, "weight's zero point"))
    filler, later = 0, None
    if x_zero is not None and not _is_zero(x_zero):
        zero = _per_channel(node, x_zero, x, 1, "input's zero point")
        if isinstance(zero, np.ndarray) and zero.size == 1:
            filler, later = int(zero.item()), zero
        else:
            x = _centred(node, x, zero)
    total = convolve(
        node.b,
        window.pad(node.b, x, filler),
        w,
        strides=window.strides,
        dilations=window.dilations,
        groups=groups,
        accumulator="int32",
    )
    if later is None:
        return total
    sums = node.b.reduce(w, range(1, w.rank), "sum", keepdims=False, accumulator="int32")
    sums = node.b.reshape(sums, (w.shape[0],) + (1,) * (w.rank - 2))
    return node.b.map(lambda v, s: v - s * filler, total, sums, dtype="int32")
