# SPDX-License-Identifier: MIT OR Apache-2.0
"""Rules for the gradients of arithmetic and functions of elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import log as log_of
from math import pi
from math import sqrt as sqrt_of
from typing import Any

from xyntra.array.arrays import Array
from xyntra.array.autograd.registry import RULES, BackwardStep, rule, rules, summed_to
from xyntra.array.functions import elementwise as e

rules(
    negative=lambda s: -s.g,
    positive=lambda s: s.g,
    identity=lambda s: s.g,
    square=lambda s: s.g * (s.args[0] * 2.0),
    abs=lambda s: s.g * e.sign(s.args[0]),
    relu=lambda s: e.where(s.args[0] > 0, s.g, 0.0),
    exp=lambda s: s.g * s.out,
    exp2=lambda s: s.g * s.out * log_of(2),
    expm1=lambda s: s.g * (s.out + 1.0),
    log=lambda s: s.g / s.args[0],
    log1p=lambda s: s.g / (s.args[0] + 1.0),
    log2=lambda s: s.g / (s.args[0] * log_of(2)),
    log10=lambda s: s.g / (s.args[0] * log_of(10)),
    sqrt=lambda s: s.g / (s.out * 2.0),
    rsqrt=lambda s: s.g * s.out * s.out * s.out * -0.5,
    reciprocal=lambda s: -s.g * s.out * s.out,
    sin=lambda s: s.g * e.cos(s.args[0]),
    cos=lambda s: -s.g * e.sin(s.args[0]),
    tan=lambda s: s.g * (s.out * s.out + 1.0),
    asin=lambda s: s.g * e.rsqrt(1.0 - e.square(s.args[0])),
    acos=lambda s: -s.g * e.rsqrt(1.0 - e.square(s.args[0])),
    atan=lambda s: s.g / (e.square(s.args[0]) + 1.0),
    sinh=lambda s: s.g * e.cosh(s.args[0]),
    cosh=lambda s: s.g * e.sinh(s.args[0]),
    tanh=lambda s: s.g * (1.0 - s.out * s.out),
    asinh=lambda s: s.g * e.rsqrt(e.square(s.args[0]) + 1.0),
    acosh=lambda s: s.g * e.rsqrt(e.square(s.args[0]) - 1.0),
    atanh=lambda s: s.g / (1.0 - e.square(s.args[0])),
    erf=lambda s: s.g * e.exp(-e.square(s.args[0])) * (2.0 / sqrt_of(pi)),
    sigmoid=lambda s: s.g * s.out * (1.0 - s.out),
)

Pair = Callable[[BackwardStep, Array, Array], tuple[Any, Any]]


def _double(function: Pair) -> Callable[[BackwardStep], Sequence[Array | None]]:
    """Return a rule of two operands, whose gradients are summed where they were broadcast."""

    def found(step: BackwardStep) -> Sequence[Array | None]:
        x, y = (each.astype(step.out.dtype, copy=False) for each in step.args)
        pair = function(step, x, y)
        return [
            summed_to(each, own.shape).astype(own.dtype, copy=False)
            for each, own in zip(pair, step.args, strict=True)
        ]

    return found


def _power(s: BackwardStep, x: Array, y: Array) -> tuple[Array, Array]:
    """The logarithm is of positive bases; a power of 0 does not change with the exponent."""
    base = s.g * y * e.pow(x, e.where(e.equal(y, 0.0), 1.0, y - 1.0))
    positive = x > 0
    return base, e.where(positive, s.g * s.out * e.log(e.where(positive, x, 1.0)), 0.0)


def _extreme(s: BackwardStep, x: Array, y: Array) -> tuple[Array, Array]:
    """Equal operands share the gradient."""
    same = e.where(e.equal(x, y), 0.5, 0.0).astype(s.g.dtype, copy=False)
    first = s.g * e.where(e.equal(x, s.out), 1.0 - same, 0.0)
    return first, s.g - first


_PAIRS: dict[str, Pair] = {
    "add": lambda s, x, y: (s.g, s.g),
    "subtract": lambda s, x, y: (s.g, -s.g),
    "multiply": lambda s, x, y: (s.g * y, s.g * x),
    "divide": lambda s, x, y: (s.g / y, -s.g * s.out / y),
    "pow": _power,
    "maximum": _extreme,
    "minimum": _extreme,
    "remainder": lambda s, x, y: (s.g, -s.g * e.floor_divide(x, y)),
    "fmod": lambda s, x, y: (s.g, -s.g * e.trunc(x / y)),
    "atan2": lambda s, x, y: (
        s.g * y / (e.square(x) + e.square(y)),
        -s.g * x / (e.square(x) + e.square(y)),
    ),
    "hypot": lambda s, x, y: (s.g * x / s.out, s.g * y / s.out),
    "logaddexp": lambda s, x, y: (s.g * e.exp(x - s.out), s.g * e.exp(y - s.out)),
    "copysign": lambda s, x, y: (s.g * e.sign(x) * e.copysign(s.out * 0.0 + 1.0, y), s.g * 0.0),
}
for _name, _pair in _PAIRS.items():
    RULES[_name] = _double(_pair)


@rule("cast")
def cast(step: BackwardStep) -> Sequence[Array | None]:
    return (step.g.astype(step.args[0].dtype, copy=False),)


@rule("where")
def where(step: BackwardStep) -> Sequence[Array | None]:
    flags, x, y = step.args
    one, two = e.where(flags, step.g, 0.0), e.where(flags, 0.0, step.g)
    return (
        None,
        summed_to(one, x.shape).astype(x.dtype, copy=False),
        summed_to(two, y.shape).astype(y.dtype, copy=False),
    )


@rule("clip")
def clip(step: BackwardStep) -> Sequence[Array | None]:
    """At a bound itself the element counts; beyond it, the bound does."""
    x, *bounds = step.args
    named = iter(bounds)
    low = next(named) if step.attr("low") else None
    high = next(named) if step.attr("high") else None
    above = None if high is None else x > high
    below = None if low is None else x < low
    inside = step.g
    found: list[Array | None] = []
    for flags, bound in ((below, low), (above, high)):
        if flags is not None and bound is not None:
            inside = e.where(flags, 0.0, inside)
            found.append(summed_to(e.where(flags, step.g, 0.0), bound.shape))
    return [summed_to(inside, x.shape), *found]


@rule("gelu")
def gelu(step: BackwardStep) -> Sequence[Array | None]:
    (x,) = step.args
    if step.attr("approximate") == "none":
        integral = (e.erf(x * sqrt_of(0.5)) + 1.0) * 0.5
        density = e.exp(e.square(x) * -0.5) * (1.0 / sqrt_of(2 * pi))
        return (step.g * (integral + x * density),)
    scale = sqrt_of(2 / pi)
    inner = e.tanh((x + x * x * x * 0.044715) * scale)
    slope = (1.0 - inner * inner) * (e.square(x) * (3 * 0.044715) + 1.0) * scale
    return (step.g * ((inner + 1.0) * 0.5 + x * slope * 0.5),)


@rule("silu")
def silu(step: BackwardStep) -> Sequence[Array | None]:
    (x,) = step.args
    gate = e.sigmoid(x)
    return (step.g * gate * (x * (1.0 - gate) + 1.0),)
