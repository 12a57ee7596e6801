# SPDX-License-Identifier: MIT OR Apache-2.0
"""Computes the elementwise operations of random graphs, with error bounds."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from verify.fusion.values import MATH_ULPS, Known, combine, rounded
from xyntra.dialects.dtypes import bit_width, is_float

__all__ = [
    "BINARY",
    "COMPARISONS",
    "UNARY",
    "Elementwise",
    "cast",
    "compare",
    "kind_of",
    "select",
    "wide",
]

Array = np.ndarray[Any, Any]
_FLOATS = "float"
_INTEGERS = "int"
_BOOLEANS = "bool"
_EXACT = {(16, "float32"), (16, "float64"), (32, "float64")}
"""Conversions between floats, by bits, that round nothing."""


@dataclass(frozen=True)
class Elementwise:
    """One operation on scalars.

    Attributes:
        compute: does it on arrays: float64, or the integers themselves.
        kinds: the kinds of dtypes that it takes: "float", "int", "bool".
        ulps: bound on the rounding error of a float result.
        reach: where the function goes up and down between bounds, how far its values spread;
            its slope must not exceed one.
    """

    compute: Callable[..., Array]
    kinds: tuple[str, ...] = (_FLOATS,)
    ulps: float = 1.0
    reach: float | None = None

    def refer(self, *operands: Known) -> Known:
        """What it computes from known operands."""
        dtype = operands[0].dtype
        if is_float(dtype):
            result = combine(dtype, self.compute, *operands, ulps=self.ulps)
            if self.reach is None:
                return result
            spread = np.minimum(operands[0].error, self.reach)
            return Known(dtype, result.value, result.error + spread)
        with np.errstate(all="ignore"):
            value = self.compute(*(operand.value for operand in operands))
        error = sum((operand.error for operand in operands), np.zeros(value.shape))
        return Known(dtype, value.astype(dtype), error)


class _Division(Elementwise):
    """Nothing is known of a quotient whose divisor may have either sign."""

    def refer(self, *operands: Known) -> Known:
        """What it computes from known operands."""
        result, divisor = super().refer(*operands), operands[1]
        unsure = (divisor.error > 0) & (np.abs(divisor.value) <= divisor.error)
        return Known(result.dtype, result.value, np.where(unsure, np.inf, result.error))


def kind_of(dtype: str) -> str:
    """Return "float", "int" or "bool"."""
    if dtype == "bool":
        return _BOOLEANS
    return _FLOATS if is_float(dtype) else _INTEGERS


def wide(dtype: str) -> str:
    """The dtype that functions of `dtype` are computed in."""
    return "float32" if bit_width(dtype) == 16 else dtype


def _erf(x: Array) -> Array:
    flat = [math.erf(v) for v in np.asarray(x).reshape(-1).tolist()]
    return np.array(flat, np.float64).reshape(np.shape(x))


UNARY: dict[str, Elementwise] = {
    "neg": Elementwise(np.negative, (_FLOATS, _INTEGERS)),
    "abs": Elementwise(np.abs, (_FLOATS, _INTEGERS)),
    "relu": Elementwise(lambda x: np.maximum(x, x.dtype.type(0)), (_FLOATS, _INTEGERS)),
    "square": Elementwise(np.square, (_FLOATS, _INTEGERS)),
    "exp": Elementwise(np.exp, ulps=MATH_ULPS),
    "log": Elementwise(np.log, ulps=MATH_ULPS),
    "sqrt": Elementwise(np.sqrt, ulps=2),
    "rsqrt": Elementwise(lambda x: 1 / np.sqrt(x), ulps=MATH_ULPS),
    "tanh": Elementwise(np.tanh, ulps=MATH_ULPS),
    "erf": Elementwise(_erf, ulps=MATH_ULPS),
    "sin": Elementwise(np.sin, ulps=MATH_ULPS, reach=2),
    "cos": Elementwise(np.cos, ulps=MATH_ULPS, reach=2),
    "floor": Elementwise(np.floor),
    "sigmoid": Elementwise(lambda x: 1 / (1 + np.exp(-x)), ulps=MATH_ULPS),
    "not": Elementwise(np.invert, (_BOOLEANS, _INTEGERS)),
}
BINARY: dict[str, Elementwise] = {
    "add": Elementwise(np.add, (_FLOATS, _INTEGERS)),
    "sub": Elementwise(np.subtract, (_FLOATS, _INTEGERS)),
    "mul": Elementwise(np.multiply, (_FLOATS, _INTEGERS)),
    "div": _Division(np.divide, ulps=2),
    "max": Elementwise(np.maximum, (_FLOATS, _INTEGERS)),
    "min": Elementwise(np.minimum, (_FLOATS, _INTEGERS)),
    "and": Elementwise(np.bitwise_and, (_BOOLEANS, _INTEGERS)),
    "or": Elementwise(np.bitwise_or, (_BOOLEANS, _INTEGERS)),
    "xor": Elementwise(np.bitwise_xor, (_BOOLEANS, _INTEGERS)),
}
COMPARISONS: dict[str, Callable[..., Array]] = {
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "eq": np.equal,
    "ne": np.not_equal,
}


def compare(name: str, a: Known, b: Known) -> Known:
    """A comparison; nothing is known where the intervals of its operands overlap."""
    with np.errstate(all="ignore"):
        value = COMPARISONS[name](a.value, b.value)
        error = a.error + b.error
        if is_float(a.dtype):
            near = ~(np.abs(a.value - b.value) > error) & ~np.isnan(a.value + 0 * b.value)
            near &= ~np.isnan(b.value + 0 * a.value)
            unsure = (error > 0) & (near | ~np.isfinite(error))
        else:
            unsure = np.broadcast_to(error > 0, value.shape)
    return Known("bool", value, np.where(unsure, np.inf, 0.0))


def select(condition: Known, a: Known, b: Known) -> Known:
    """`a` where `condition` holds, else `b`."""
    value = np.where(condition.value, a.value, b.value)
    error = np.where(condition.value, a.error, b.error)
    return Known(a.dtype, value, np.where(condition.error > 0, np.inf, error))


def cast(x: Known, dtype: str) -> Known:
    """Conversion as `Scalar.cast` defines it, to a float, int32, int64 or bool."""
    if x.dtype == dtype:
        return x
    if (bit_width(x.dtype), dtype) in _EXACT and is_float(x.dtype):
        return Known(dtype, x.value, x.error)
    with np.errstate(all="ignore"):
        if is_float(dtype):
            return rounded(dtype, x.value.astype(np.float64), x.error)
        if not is_float(x.dtype):
            return Known(dtype, x.value.astype(dtype), x.error)
        ends = [_to_integer(v, dtype) for v in (x.value - x.error, x.value, x.value + x.error)]
        same = (ends[0] == ends[1]) & (ends[1] == ends[2]) & x.certain
        if dtype == "bool":
            same &= (x.error == 0) | (np.abs(x.value) > x.error) | np.isnan(x.value)
        return Known(dtype, ends[1], np.where(same, 0.0, np.inf))


def _to_integer(value: Array, dtype: str) -> Array:
    if dtype == "bool":
        return value != 0
    info = np.iinfo(dtype)
    fits = (value >= float(info.min)) & (value < -float(info.min))
    truncated = np.where(fits, np.trunc(value), 0).astype(np.int64)
    return np.where(fits, truncated, info.min).astype(dtype)
