# SPDX-License-Identifier: MIT OR Apache-2.0
"""Imports shifts, signs and positions of elements."""

from __future__ import annotations

from xyntra.dialects.builder import Tensor
from xyntra.dialects.dtypes import bit_width, is_unsigned
from xyntra.dialects.scalar import Scalar, constant
from xyntra.frontends.kernel.registry import imports
from xyntra.frontends.torch.node import AtenNode
from xyntra.frontends.torch.ops.elementwise import combined, converted

__all__: list[str] = []


@imports("copysign")
def copysign(node: AtenNode) -> Tensor:
    """The magnitude of the first operand with the sign of the second."""
    return combined(node, lambda x, y: x.math("copysign", y), "self", "other")


@imports("left_shift")
def left_shift(node: AtenNode) -> Tensor:
    """Zeros where an element is shifted by all of its bits, or more."""
    return _shifted(node, left=True)


@imports("right_shift")
def right_shift(node: AtenNode) -> Tensor:
    """The sign is kept; a shift by all bits leaves it alone."""
    return _shifted(node, left=False)


def _shifted(node: AtenNode, *, left: bool) -> Tensor:
    dtype = node.dtype
    last = bit_width(dtype) - 1
    operands = [converted(node.operand(name), dtype) for name in ("self", "other")]

    def body(x: Scalar, count: Scalar) -> Scalar:
        x, count = x.cast(dtype), count.cast(dtype)
        wide = count > last if is_unsigned(dtype) else (count > last) | (count < 0)
        inside = wide.select(constant(last, dtype), count)
        if left or is_unsigned(dtype):
            return wide.select(constant(0, dtype), x << inside if left else x >> inside)
        return x >> inside

    return node.b.map(body, *operands, dtype=dtype, shape=node.shape)


@imports("index")
def index(node: AtenNode) -> Tensor:
    """Every element is its own position along a dimension."""
    b, axis, dtype = node.b, int(node["axis"]), node.dtype

    def body() -> Scalar:
        return b.index(axis).cast("int64").cast(dtype)

    return b.map(body, dtype=dtype, shape=node.shape)
