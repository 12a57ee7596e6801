# SPDX-License-Identifier: MIT OR Apache-2.0
"""Defines the standard's functions of elements, and a few that networks need."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xyntra.array.arrays import Array, as_node, node_of_number, operand, wrap
from xyntra.array.dtypes import default_float, promote, promote_number
from xyntra.array.late import late
from xyntra.array.recorded.graph import LazyNode
from xyntra.array.recorded.places import user_place
from xyntra.array.recorded.record import (
    ARITHMETIC,
    BITS,
    COMPARE,
    FLOAT,
    LOGIC,
    binary,
    broadcast_shapes,
    cast,
    clipped,
    numbers,
    refuse_kind,
    unary,
)
from xyntra.array.recorded.record import where as where_nodes
from xyntra.array.views import broadcast
from xyntra.errors import InputError

Unary = Callable[[Any], Array]
Binary = Callable[[Any, Any], Array]


def _single(op: str, name: str = "") -> Unary:
    def function(x: Any, /) -> Array:
        return wrap(unary(op, as_node(x)))

    function.__name__ = function.__qualname__ = name or op
    function.__doc__ = f"Return the standard's `{name or op}` of each element."
    return function


def _double(op: str, family: str) -> Binary:
    def function(x1: Any, x2: Any, /) -> Array:
        return wrap(combine(op, family, x1, x2))

    function.__name__ = function.__qualname__ = op
    function.__doc__ = f"Return the standard's `{op}` of elements, broadcasting."
    return function


def combine(op: str, family: str, x1: Any, x2: Any) -> LazyNode:
    """Return the node of an operation on two arrays, or an array and a number."""
    a, b = operand(x1), operand(x2)
    if a is not None:
        return numbers(op, family, a, x2) if b is None else binary(op, family, a, b)
    if b is not None:
        return numbers(op, family, b, x1, True)
    raise InputError(
        "array-operand",
        f"{op} takes an array at least, not two numbers",
        place=user_place(),
        hint="xa.asarray(value)",
    )


acos, acosh, asin, asinh = map(_single, ("acos", "acosh", "asin", "asinh"))
atan, atanh, cos, cosh = map(_single, ("atan", "atanh", "cos", "cosh"))
sin, sinh, tan, tanh = map(_single, ("sin", "sinh", "tan", "tanh"))
exp, expm1, log, log1p = map(_single, ("exp", "expm1", "log", "log1p"))
log2, log10, sqrt, reciprocal = map(_single, ("log2", "log10", "sqrt", "reciprocal"))
exp2, rsqrt, erf, sigmoid = map(_single, ("exp2", "rsqrt", "erf", "sigmoid"))
abs, negative, positive, square = map(_single, ("abs", "negative", "positive", "square"))  # noqa: A001
sign, ceil, floor, trunc = map(_single, ("sign", "ceil", "floor", "trunc"))
round, bitwise_invert, relu = map(_single, ("round", "bitwise_invert", "relu"))  # noqa: A001
isnan, isinf, isfinite, signbit = map(_single, ("isnan", "isinf", "isfinite", "signbit"))
logical_not = _single("logical_not")


def _arithmetic(op: str) -> Binary:
    return _double(op, ARITHMETIC)


add, subtract, multiply, pow = map(_arithmetic, ("add", "subtract", "multiply", "pow"))  # noqa: A001
floor_divide, remainder = map(_arithmetic, ("floor_divide", "remainder"))
maximum, minimum, fmod = map(_arithmetic, ("maximum", "minimum", "fmod"))
divide, atan2 = _double("divide", FLOAT), _double("atan2", FLOAT)
hypot, copysign = _double("hypot", FLOAT), _double("copysign", FLOAT)
nextafter, logaddexp = _double("nextafter", FLOAT), _double("logaddexp", FLOAT)
equal, not_equal = _double("equal", COMPARE), _double("not_equal", COMPARE)
less, less_equal = _double("less", COMPARE), _double("less_equal", COMPARE)
greater, greater_equal = _double("greater", COMPARE), _double("greater_equal", COMPARE)
logical_and, logical_or = _double("logical_and", LOGIC), _double("logical_or", LOGIC)
logical_xor = _double("logical_xor", LOGIC)
bitwise_and, bitwise_or = _double("bitwise_and", BITS), _double("bitwise_or", BITS)
bitwise_xor = _double("bitwise_xor", BITS)
bitwise_left_shift = _double("bitwise_left_shift", BITS)
bitwise_right_shift = _double("bitwise_right_shift", BITS)


@late
def clip(x: Any, /, min: Any = None, max: Any = None) -> Array:  # noqa: A002  (the standard's names)
    """Return each element, or the bound that it lies beyond; where bounds cross, the upper one."""
    a = as_node(x)
    bounds = []
    for value in (min, max):
        found = None if value is None else operand(value)
        if value is not None and found is None:
            found = node_of_number(value, _clipped_type(a, value))
        bounds.append(None if found is None else cast(found, a.meta.dtype))
    return (
        wrap(clipped(a, *bounds))
        if any(each is not None for each in bounds)
        else wrap(unary("positive", a))
    )


def _clipped_type(a: LazyNode, value: float) -> Any:
    return promote_number(a.meta.dtype, value) if a.meta.dtype.kind != "b" else a.meta.dtype


def where(condition: Any, x1: Any, x2: Any, /) -> Array:
    """Return elements of `x1` where the condition holds, else of `x2`, broadcasting."""
    flags, a, b = as_node(condition), operand(x1), operand(x2)
    if a is None and b is not None:
        a = node_of_number(x1, promote_number(b.meta.dtype, x1))
    a = as_node(x1) if a is None else a
    if b is None:
        b = node_of_number(x2, promote_number(a.meta.dtype, x2))
    return wrap(where_nodes(flags, a, b))


def real(x: Any, /) -> Array:
    """Return the real part of each element, which is all of it."""
    return wrap(unary("positive", as_node(x)))


def conj(x: Any, /) -> Array:
    """Return the conjugate of each element, which is the element."""
    return wrap(unary("positive", as_node(x)))


def imag(x: Any, /) -> Array:
    """Refuse: no elements are complex."""
    raise refuse_kind("imag", as_node(x).meta.dtype)


def softplus(x: Any, /) -> Array:
    """Return log(1 + exp(x)) of each element, without overflow."""
    return logaddexp(x, 0.0)


def gelu(x: Any, /, approximate: str = "none") -> Array:
    """Return x times the normal distribution's integral; `approximate="tanh"` for the formula."""
    if approximate not in ("none", "tanh"):
        raise InputError("array-argument", f"approximate={approximate!r} is not 'none' or 'tanh'")
    return _activation("gelu", x, (("approximate", approximate),))


def silu(x: Any, /) -> Array:
    """Return x times its logistic function."""
    return _activation("silu", x, ())


def _activation(op: str, x: Any, attrs: tuple[Any, ...]) -> Array:
    a = as_node(x)
    if a.meta.dtype.kind != "f":
        a = cast(a, default_float)
    return wrap(LazyNode(op, (a,), attrs, a.meta))


def broadcast_arrays(*arrays: Any) -> list[Array]:
    """Return the arrays repeated to the shape that they have together."""
    nodes = [as_node(each) for each in arrays]
    shape = broadcast_shapes(*(each.meta.shape for each in nodes))
    return [wrap(broadcast(each, shape)) for each in nodes]


def result_of(*nodes: LazyNode) -> Any:
    """Return the type that elements of several arrays meet in."""
    found = nodes[0].meta.dtype
    for node in nodes[1:]:
        found = promote(found, node.meta.dtype)
    return found
