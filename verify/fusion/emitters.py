# SPDX-License-Identifier: MIT OR Apache-2.0
"""Builds the elementwise operations of random graphs."""

from __future__ import annotations

from collections.abc import Callable

from verify.fusion.scalars import wide
from xyntra.dialects.scalar import Scalar, constant

__all__ = ["BODIES"]


def _math(name: str) -> Callable[[Scalar], Scalar]:
    return lambda x: x.cast(wide(x.dtype)).math(name).cast(x.dtype)


def _sigmoid(x: Scalar) -> Scalar:
    v = x.cast(wide(x.dtype))
    return (constant(1.0, v.dtype) / (constant(1.0, v.dtype) + (-v).math("exp"))).cast(x.dtype)


_MATH = ("exp", "log", "sqrt", "rsqrt", "tanh", "erf", "sin", "cos", "floor")

BODIES: dict[str, Callable[..., Scalar]] = {name: _math(name) for name in _MATH} | {
    "neg": lambda x: -x,
    "abs": Scalar.absolute,
    "relu": lambda x: x.maximum(0),
    "square": lambda x: x * x,
    "sigmoid": _sigmoid,
    "not": lambda x: ~x,
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "div": lambda x, y: x / y,
    "max": Scalar.maximum,
    "min": Scalar.minimum,
    "and": lambda x, y: x & y,
    "or": lambda x, y: x | y,
    "xor": lambda x, y: x ^ y,
    "lt": lambda x, y: x < y,
    "le": lambda x, y: x <= y,
    "gt": lambda x, y: x > y,
    "eq": Scalar.equals,
    "ne": Scalar.differs,
}
"""The bodies of `UNARY`, `BINARY` and `COMPARISONS` of `fusion_scalars`."""
