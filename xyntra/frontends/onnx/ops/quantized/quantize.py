# SPDX-License-Identifier: MIT OR Apache-2.0
"""Conversion between floats and integers with a scale and a zero point."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from torch_mlir import ir

from xyntra.dialects.builder import Operand, Tensor
from xyntra.dialects.dtypes import NARROW_TYPES, is_unsigned
from xyntra.dialects.narrow import convert
from xyntra.dialects.scalar import Scalar, constant
from xyntra.frontends.onnx.inputs.interface import dtype_name
from xyntra.frontends.onnx.node import Node, handles
from xyntra.frontends.onnx.ops.elementwise.simple import dtype_of
from xyntra.frontends.onnx.opsets import MICROSOFT

"""Domain of the operators that onnxruntime adds; its quantizer writes them."""


def spread(node: Node, parameter: Operand, shape: tuple[int, ...]) -> Operand:
    """`parameter` with other dimensions of one element, so that it broadcasts."""
    if isinstance(parameter, Tensor):
        return node.b.reshape(parameter, shape)
    return parameter.reshape(shape)


def saturate(value: Scalar, zero_point: Scalar | None, dtype: str) -> Scalar:
    """round(value) + zero point, limited to the range of the integer `dtype`; halves go to even.

    NaN becomes the smallest integer, as in onnxruntime.
    """
    rounded = value.math("roundeven")
    if zero_point is not None:
        rounded = rounded + zero_point.cast(value.dtype)
    return rounded.saturate(dtype)


@dataclass(frozen=True)
class _Granularity:
    """The reach of one scale: `block` elements along `axis`; everything where axis is None."""

    axis: int | None
    block: int

    def spread(self, node: Node, parameter: Operand, shape: Sequence[int]) -> Operand:
        """`parameter` in a form that broadcasts to `shape`."""
        if self.axis is None:
            return spread(node, parameter, ())
        if self.block == 1:
            count = parameter.shape[0]
            return spread(node, parameter, (count,) + (1,) * (len(shape) - self.axis - 1))
        axis, block = self.axis, self.block
        return node.b.view(
            node.b.tensor(parameter),
            shape,
            lambda *d: [
                ir.AffineExpr.get_floor_div(e, block) if i == axis else e for i, e in enumerate(d)
            ],
        )


def _granularity(node: Node, shape: Sequence[int]) -> _Granularity:
    scale = node.operand(1)
    block = int(node.attribute("block_size", 0))
    count = int(np.prod(scale.shape))
    if not block and count == 1 and len(scale.shape) <= 1:
        return _Granularity(None, 1)
    axis = node.axis(int(node.attribute("axis", 1)), len(shape))
    if not block:
        if scale.shape != (shape[axis],):
            raise node.invalid(f"the scale has shape {scale.shape}, axis {axis} has {shape[axis]}")
        return _Granularity(axis, 1)
    blocks = [-(-n // block) if d == axis else n for d, n in enumerate(shape)]
    if block < 0 or list(scale.shape) != blocks:
        raise node.invalid(f"the scale has shape {scale.shape}, blocks of {block} need {blocks}")
    return _Granularity(axis, block)


def _parameters(node: Node, shape: Sequence[int]) -> list[Operand]:
    """Scale and, where given, zero point, in a form that broadcasts to `shape`."""
    granularity, scale = _granularity(node, shape), node.operand(1)
    zero_point = node.optional(2)
    if zero_point is None:
        return [granularity.spread(node, scale, shape)]
    if zero_point.shape != scale.shape and (zero_point.shape, scale.shape) not in _SCALARS:
        raise node.invalid(f"scale {scale.shape} and zero point {zero_point.shape} differ")
    return [granularity.spread(node, operand, shape) for operand in (scale, zero_point)]


_SCALARS = {((), (1,)), ((1,), ())}


def _attribute_dtype(node: Node, name: str) -> str | None:
    value = int(node.attribute(name, 0))
    return dtype_name(value, f"node '{node.label}'") if value else None


@handles("QuantizeLinear")
@handles("QuantizeLinear", domain=MICROSOFT)
def quantize_linear(node: Node) -> Tensor:
    x, zero_point = node.tensor(0), node.optional(2)
    wanted = _attribute_dtype(node, "output_dtype")
    dtype = dtype_of(zero_point) if zero_point is not None else wanted or "uint8"
    if wanted not in (None, dtype):
        raise node.invalid(f"output_dtype is {wanted}, the zero point has {dtype}")
    parameters = _parameters(node, x.shape)
    precision = _attribute_dtype(node, "precision") or dtype_of(parameters[0])
    if precision not in ("float32", "float16", "bfloat16"):
        raise node.unsupported(f"division in {precision}")

    def body(value: Scalar, scale: Scalar, zero: Scalar | None = None) -> Scalar:
        # Rounding a float32 quotient of 16-bit floats once more gives their exact quotient.
        low = (value.cast(precision).cast("float32"), scale.cast(precision).cast("float32"))
        quotient = (low[0] / low[1]).cast(precision).cast("float32")
        if dtype in NARROW_TYPES:
            return _narrow(quotient, zero, dtype, keeps_infinity=not node.attribute("saturate", 1))
        return saturate(quotient, zero, dtype)

    return node.b.map(body, x, *parameters, dtype=dtype)


def _narrow(quotient: Scalar, zero: Scalar | None, dtype: str, keeps_infinity: bool) -> Scalar:
    """A float32 quotient in a type of a byte or less.

    The zero point of a float8 is 0 by its specification, and is not added.
    """
    if dtype.startswith("float"):
        if zero is not None and dtype == "float4_e2m1fn":
            quotient = quotient + convert(zero, "float32")
        return convert(quotient, dtype, saturate=not keeps_infinity)
    rounded = quotient.math("roundeven")
    if zero is not None:
        rounded = rounded + convert(zero, "float32")
    values, is_signed = 1 << NARROW_TYPES[dtype], not is_unsigned(dtype)
    low = -(values // 2) if is_signed else 0
    at_least = (rounded > low).select(rounded, low)
    high = low + values - 1
    return convert((at_least < high).select(at_least, high), dtype)


@handles("DequantizeLinear")
@handles("DequantizeLinear", domain=MICROSOFT)
def dequantize_linear(node: Node) -> Tensor:
    x = node.tensor(0)
    parameters = _parameters(node, x.shape)
    dtype = _attribute_dtype(node, "output_dtype") or dtype_of(parameters[0])
    if x.dtype.startswith("float8") and _is_zero(parameters[1:]):
        del parameters[1:]

    def body(value: Scalar, scale: Scalar, zero: Scalar | None = None) -> Scalar:
        wide = "float32" if value.dtype.startswith("float") else "int32"
        centred = convert(value, wide)
        if zero is not None:
            centred = centred - convert(zero, wide)
        return (centred.cast("float32") * scale.cast("float32")).cast(dtype)

    return node.b.map(body, x, *parameters, dtype=dtype)


def _is_zero(zero_points: Sequence[Operand]) -> bool:
    """Tell whether all zero points are known to be 0, as those of float8 should be."""
    known = [each for each in zero_points if isinstance(each, np.ndarray)]
    return len(known) == len(zero_points) and not any(
        each.astype(np.float32).any() for each in known
    )


@handles("DynamicQuantizeLinear")
def dynamic_quantize_linear(node: Node) -> list[Tensor]:
    return quantize_dynamically(node, node.tensor(0))


def quantize_dynamically(node: Node, x: Tensor) -> list[Tensor]:
    """`x` as uint8, with the scale and the zero point that fit its smallest and largest element."""
    b, axes = node.b, range(x.rank)
    highest = b.reduce(x, axes, "max", keepdims=False)
    lowest = b.reduce(x, axes, "min", keepdims=False)

    def scale_of(high: Scalar, low: Scalar) -> Scalar:
        span = high.maximum(0) - low.minimum(0)
        # An input of zeros has no scale; onnxruntime takes 1.
        return span.equals(0).select(constant(1, "float32"), span / 255)

    def zero_point_of(low: Scalar, scale: Scalar) -> Scalar:
        return saturate(-(low.minimum(0) / scale), None, "uint8")

    scale = b.map(scale_of, highest, lowest, dtype="float32")
    zero_point = b.map(zero_point_of, lowest, scale, dtype="uint8")
    y = b.map(lambda v, s, z: saturate(v / s, z, "uint8"), x, scale, zero_point, dtype="uint8")
    return [y, scale, zero_point]
