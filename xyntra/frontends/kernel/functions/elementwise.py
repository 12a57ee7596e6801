# SPDX-License-Identifier: MIT OR Apache-2.0
"""Records functions of every element, by the names of the Array API standard."""

from __future__ import annotations

from typing import Any

from xyntra.errors import KernelError
from xyntra.frontends.kernel.language import array_of, broadcast, language
from xyntra.frontends.kernel.promotion import (
    check_kind,
    common_dtype,
    is_number,
    kind_of,
    lifted,
)
from xyntra.frontends.kernel.recorder import KernelRecorder
from xyntra.frontends.kernel.values import ArrayValue, HostScalar, NeedsConstant

__all__ = ["binary", "shape_of"]

_FLOATS = """
    acos acosh asin asinh atan atanh cos cosh erf exp exp2 expm1 log log10 log1p log2 rsqrt sigmoid
    sin sinh sqrt tan tanh silu
"""
"""Functions of floats that ATen has under the same name."""
_ROUNDINGS = {"ceil": "ceil", "floor": "floor", "round": "round", "trunc": "trunc"}
_ARITHMETIC = {
    "add": ("aten.add.Tensor", (1, 2)),
    "subtract": ("aten.sub.Tensor", (1, 2)),
    "multiply": ("aten.mul.Tensor", (1, 2)),
    "divide": ("aten.div.Tensor", (2,)),
    "floor_divide": ("aten.floor_divide.default", (1, 2)),
    "remainder": ("aten.remainder.Tensor", (1, 2)),
    "maximum": ("aten.maximum.default", (0, 1, 2)),
    "minimum": ("aten.minimum.default", (0, 1, 2)),
    "atan2": ("aten.atan2.default", (2,)),
    "hypot": ("aten.hypot.default", (2,)),
    "copysign": ("xyntra.copysign", (2,)),
    "bitwise_and": ("aten.bitwise_and.Tensor", (0, 1)),
    "bitwise_or": ("aten.bitwise_or.Tensor", (0, 1)),
    "bitwise_xor": ("aten.bitwise_xor.Tensor", (0, 1)),
    "bitwise_left_shift": ("xyntra.left_shift", (1,)),
    "bitwise_right_shift": ("xyntra.right_shift", (1,)),
    "logical_and": ("aten.logical_and.default", (0,)),
    "logical_or": ("aten.logical_or.default", (0,)),
    "logical_xor": ("aten.logical_xor.default", (0,)),
}
"""The operator, and the kinds of dtypes that it takes: booleans, integers, floats."""
_COMPARISONS = {
    "equal": "eq", "not_equal": "ne", "less": "lt", "less_equal": "le", "greater": "gt",
    "greater_equal": "ge",
}  # fmt: skip


def shape_of(value: Any) -> tuple[int, ...]:
    """Return the shape of an operand; that of a number is ()."""
    return value.shape if isinstance(value, ArrayValue) else ()


def binary(
    r: KernelRecorder,
    name: str,
    operator: str,
    x1: Any,
    x2: Any,
    kinds: tuple[int, ...],
    result: str = "",
) -> ArrayValue:
    """Record an operator of two operands in the dtype in which they meet.

    Args:
        r: where to record.
        name: of the function, for messages.
        operator: of ATen, with the arguments `self` and `other`.
        x1: an array or a number.
        x2: an array or a number.
        kinds: of dtypes that it takes.
        result: its dtype, where it is another.
    """
    dtype = common_dtype(x1, x2, what=name)
    for each in (x1, x2):
        if isinstance(each, ArrayValue):
            _check(name, each, kinds)
    shape = broadcast(name, shape_of(x1), shape_of(x2))
    return r.call(
        operator,
        result or dtype,
        shape,
        self=lifted(r, x1, dtype),
        other=lifted(r, x2, dtype),
    )


def _check(name: str, value: ArrayValue, kinds: tuple[int, ...]) -> None:
    if name == "divide" and kind_of(value.dtype) == 1:
        raise KernelError(
            "kernel-dtype",
            f"/ divides floats, not {value.dtype}",
            hint="x // y for integers, or xl.astype(x, xl.float32) / y",
        )
    check_kind(name, value, *kinds)


def _register_binary(name: str, operator: str, kinds: tuple[int, ...], result: str = "") -> None:
    def record(r: KernelRecorder, x1: Any, x2: Any, /) -> ArrayValue:
        return binary(r, name, operator, x1, x2, kinds, result)

    record.__doc__ = f"The `{name}` of two arrays that broadcast, or of an array and a number."
    language(name)(record)


for _name, (_operator, _kinds) in _ARITHMETIC.items():
    _register_binary(_name, _operator, _kinds)
for _name, _operator in _COMPARISONS.items():
    _register_binary(_name, f"aten.{_operator}.Tensor", (0, 1, 2), "bool")


def _register_unary(name: str, operator: str, kinds: tuple[int, ...], result: str = "") -> None:
    def record(r: KernelRecorder, x: Any, /) -> ArrayValue:
        value = array_of(f"xl.{name}", x)
        check_kind(f"xl.{name}", value, *kinds)
        return r.call(operator, result or value.dtype, value.shape, self=value)

    record.__doc__ = f"The `{name}` of every element."
    language(name)(record)


for _name in _FLOATS.split():
    _register_unary(_name, f"aten.{_name}.default", (2,))
_register_unary("reciprocal", "aten.reciprocal.default", (2,))
_register_unary("abs", "aten.abs.default", (1, 2))
_register_unary("negative", "aten.neg.default", (1, 2))
_register_unary("bitwise_invert", "aten.bitwise_not.default", (0, 1))
_register_unary("logical_not", "aten.logical_not.default", (0,), "bool")
_register_unary("isnan", "aten.isnan.default", (1, 2), "bool")
_register_unary("isinf", "aten.isinf.default", (1, 2), "bool")
for _name, _operator in _ROUNDINGS.items():
    _register_unary(_name, f"aten.{_operator}.default", (1, 2))


@language("positive")
def positive(r: KernelRecorder, x: Any, /) -> ArrayValue:
    """`+x`, which is `x`."""
    value = array_of("xl.positive", x)
    check_kind("xl.positive", value, 1, 2)
    return value


@language("isfinite")
def isfinite(r: KernelRecorder, x: Any, /) -> ArrayValue:
    """True where an element is neither infinite nor NaN."""
    value = array_of("xl.isfinite", x)
    check_kind("xl.isfinite", value, 1, 2)
    if kind_of(value.dtype) == 1:
        return r.call("aten.full.default", "bool", value.shape, fill_value=True)
    size = r.call("aten.abs.default", value.dtype, value.shape, self=value)
    return r.call("aten.lt.Scalar", "bool", value.shape, self=size, other=float("inf"))


@language("signbit")
def signbit(r: KernelRecorder, x: Any, /) -> ArrayValue:
    """True where the sign of a float is negative, also of -0.0 and of NaN."""
    value = array_of("xl.signbit", x)
    check_kind("xl.signbit", value, 2)
    one = r.call("aten.full.default", value.dtype, (), fill_value=1.0)
    signed = r.call("xyntra.copysign", value.dtype, value.shape, self=one, other=value)
    return r.call("aten.lt.Scalar", "bool", value.shape, self=signed, other=0.0)


@language("sign")
def sign(r: KernelRecorder, x: Any, /) -> ArrayValue:
    """-1, 0 or 1; NaN stays NaN."""
    value = array_of("xl.sign", x)
    check_kind("xl.sign", value, 1, 2)
    found = r.call("aten.sign.default", value.dtype, value.shape, self=value)
    if kind_of(value.dtype) == 1:
        return found
    is_nan = r.call("aten.isnan.default", "bool", value.shape, self=value)
    return r.call(
        "aten.where.self", value.dtype, value.shape, condition=is_nan, self=value, other=found
    )


@language("square")
def square(r: KernelRecorder, x: Any, /) -> ArrayValue:
    """Every element times itself."""
    value = array_of("xl.square", x)
    check_kind("xl.square", value, 1, 2)
    return r.call("aten.mul.Tensor", value.dtype, value.shape, self=value, other=value)


@language("pow")
def power(r: KernelRecorder, x1: Any, x2: Any, /) -> ArrayValue:
    """`x1 ** x2`; powers of integers have a constant exponent of 0 to 8."""
    dtype = common_dtype(x1, x2, what="pow")
    shape = broadcast("pow", shape_of(x1), shape_of(x2))
    if kind_of(dtype) == 0:
        raise KernelError("kernel-dtype", "pow takes no booleans", hint="xl.astype(…, xl.int32)")
    if isinstance(x2, HostScalar) and x2.kind == "int":
        raise NeedsConstant(x2.parameters)
    whole = isinstance(x2, int) and not isinstance(x2, bool) and 0 <= x2 <= 8
    if kind_of(dtype) == 1 and not whole:
        raise KernelError(
            "kernel-type",
            "powers of integers have a constant exponent of 0 to 8",
            hint="xl.astype(x, xl.float32) ** y",
        )
    if isinstance(x2, (int, float)) and not isinstance(x2, bool):
        return r.call(
            "aten.pow.Tensor_Scalar", dtype, shape, self=lifted(r, x1, dtype), exponent=x2
        )
    base = lifted(r, x1, dtype)
    return r.call("aten.pow.Tensor_Tensor", dtype, shape, self=base, exponent=lifted(r, x2, dtype))


@language("logaddexp")
def logaddexp(r: KernelRecorder, x1: Any, x2: Any, /) -> ArrayValue:
    """The logarithm of `exp(x1) + exp(x2)`, computed from the larger one."""
    kinds = (2,)
    largest = binary(r, "logaddexp", "aten.maximum.default", x1, x2, kinds)
    distance = binary(r, "logaddexp", "aten.sub.Tensor", x1, x2, kinds)
    t, shape = largest.dtype, largest.shape
    size = r.call(
        "aten.neg.default", t, shape, self=r.call("aten.abs.default", t, shape, self=distance)
    )
    part = r.call(
        "aten.log1p.default", t, shape, self=r.call("aten.exp.default", t, shape, self=size)
    )
    total = r.call("aten.add.Tensor", t, shape, self=largest, other=part)
    # Equal infinities have no distance: the larger one is the result.
    equal = binary(r, "logaddexp", "aten.eq.Tensor", x1, x2, kinds, "bool")
    infinite = r.call("aten.isinf.default", "bool", shape, self=largest)
    both = r.call("aten.logical_and.default", "bool", shape, self=equal, other=infinite)
    return r.call("aten.where.self", t, shape, condition=both, self=largest, other=total)


@language("where")
def where(r: KernelRecorder, condition: Any, x1: Any, x2: Any, /) -> ArrayValue:
    """`x1` where `condition` holds, else `x2`; all broadcast."""
    flags = array_of("xl.where", condition)
    check_kind("the condition of xl.where", flags, 0)
    if is_number(x1) and is_number(x2):
        floats = any(isinstance(n, float) or getattr(n, "kind", "") == "float" for n in (x1, x2))
        flag = isinstance(x1, bool) and isinstance(x2, bool)
        dtype = "bool" if flag else "float32" if floats else "int64"
    else:
        dtype = common_dtype(x1, x2, what="xl.where")
    shape = broadcast("xl.where", flags.shape, shape_of(x1), shape_of(x2))
    return r.call(
        "aten.where.self",
        dtype,
        shape,
        condition=flags,
        self=lifted(r, x1, dtype),
        other=lifted(r, x2, dtype),
    )


@language("clip")
def clip(r: KernelRecorder, x: Any, /, min: Any = None, max: Any = None) -> ArrayValue:  # noqa: A002
    """`x` between two bounds, of which one may be left out."""
    value = array_of("xl.clip", x)
    check_kind("xl.clip", value, 1, 2)
    for operator, bound in (("aten.maximum.default", min), ("aten.minimum.default", max)):
        if bound is not None:
            value = binary(r, "xl.clip", operator, value, bound, (1, 2))
    return value


@language("relu")
def relu(r: KernelRecorder, x: Any, /) -> ArrayValue:
    """The larger of an element and 0."""
    value = array_of("xl.relu", x)
    check_kind("xl.relu", value, 1, 2)
    return r.call("aten.relu.default", value.dtype, value.shape, self=value)


@language("gelu")
def gelu(r: KernelRecorder, x: Any, /, approximate: str = "none") -> ArrayValue:
    """`x` times the normal distribution function at `x`; `approximate` is "none" or "tanh"."""
    value = array_of("xl.gelu", x)
    check_kind("xl.gelu", value, 2)
    if approximate not in ("none", "tanh"):
        raise KernelError("kernel-type", f"xl.gelu: approximate={approximate!r}", hint="none, tanh")
    return r.call(
        "aten.gelu.default", value.dtype, value.shape, self=value, approximate=approximate
    )
