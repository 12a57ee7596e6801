# SPDX-License-Identifier: MIT OR Apache-2.0
"""The symbolic values of which patterns are written, and the functions on them.

A pattern is an ordinary Python function; called once with symbols, it returns the term that is
looked for. Operators and functions follow numpy: operands broadcast, `axis` is reduced and kept
with size 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, overload

__all__ = [
    "Axis",
    "Number",
    "Term",
    "absolute",
    "cast",
    "dropout",
    "equal",
    "erf",
    "exp",
    "gelu",
    "isnan",
    "layer_norm",
    "log",
    "log_softmax",
    "matmul",
    "maximum",
    "minimum",
    "power",
    "reciprocal",
    "reduce_max",
    "reduce_mean",
    "reduce_min",
    "reduce_sum",
    "reshape",
    "rms_norm",
    "rsqrt",
    "sigmoid",
    "silu",
    "softmax",
    "sqrt",
    "square",
    "tanh",
    "transpose",
    "where",
]


@dataclass(frozen=True)
class Term:
    """A node of a pattern: an operation on terms, or a symbol.

    `operation` is "variable", "number" (a constant that the pattern binds), "constant" (one that
    it demands), "axis", or what computes the term; `data` holds the name, the value, or what else
    the operation needs to know.
    """

    operation: str
    operands: tuple[Term, ...] = ()
    data: Any = None

    def __add__(self, other: Term | float) -> Term:
        return Term("add", (self, lift(other)))

    def __radd__(self, other: float) -> Term:
        return lift(other) + self

    def __sub__(self, other: Term | float) -> Term:
        return Term("sub", (self, lift(other)))

    def __rsub__(self, other: float) -> Term:
        return lift(other) - self

    def __mul__(self, other: Term | float) -> Term:
        return Term("mul", (self, lift(other)))

    def __rmul__(self, other: float) -> Term:
        return lift(other) * self

    def __truediv__(self, other: Term | float) -> Term:
        return Term("div", (self, lift(other)))

    def __rtruediv__(self, other: float) -> Term:
        return lift(other) / self

    def __pow__(self, exponent: Term | float) -> Term:
        return power(self, exponent)

    def __neg__(self) -> Term:
        return Term("neg", (self,))

    def __matmul__(self, other: Term) -> Term:
        return matmul(self, other)

    def __lt__(self, other: Term | float) -> Term:
        return Term("lt", (self, lift(other)))

    def __le__(self, other: Term | float) -> Term:
        return Term("le", (self, lift(other)))

    def __gt__(self, other: Term | float) -> Term:
        return Term("lt", (lift(other), self))

    def __ge__(self, other: Term | float) -> Term:
        return Term("le", (lift(other), self))


class Axis(Term):
    """Annotation of a parameter that stands for the dimensions of a reduction."""


class Number(Term):
    """Annotation of a parameter that stands for one constant, such as an epsilon."""


def lift(value: Term | float) -> Term:
    """`value` as a term."""
    return value if isinstance(value, Term) else Term("constant", data=float(value))


def exp(x: Term) -> Term:
    """The exponential."""
    return Term("exp", (x,))


def log(x: Term) -> Term:
    """The natural logarithm."""
    return Term("log", (x,))


def erf(x: Term) -> Term:
    """The error function."""
    return Term("erf", (x,))


def tanh(x: Term) -> Term:
    """The hyperbolic tangent."""
    return Term("tanh", (x,))


@overload
def sqrt(x: Term) -> Term: ...
@overload
def sqrt(x: float) -> float: ...
def sqrt(x: Term | float) -> Term | float:
    """The square root of a term, or of a number."""
    return Term("sqrt", (x,)) if isinstance(x, Term) else math.sqrt(x)


@overload
def rsqrt(x: Term) -> Term: ...
@overload
def rsqrt(x: float) -> float: ...
def rsqrt(x: Term | float) -> Term | float:
    """1 / sqrt(x) of a term, or of a number."""
    return Term("rsqrt", (x,)) if isinstance(x, Term) else 1 / math.sqrt(x)


def absolute(x: Term) -> Term:
    """The magnitude."""
    return Term("abs", (x,))


def reciprocal(x: Term) -> Term:
    """1 / x."""
    return 1.0 / x


def square(x: Term) -> Term:
    """X * x, also where it is written as a power."""
    return x * x


def sigmoid(x: Term) -> Term:
    """1 / (1 + exp(-x)), which is how frontends write it."""
    return 1.0 / (1.0 + exp(-x))


def power(x: Term, exponent: Term | float) -> Term:
    """X ** exponent; small integers also match products, and products match powers."""
    if not isinstance(exponent, Term) and exponent == int(exponent) and 0 < abs(exponent) <= 8:
        return Term("ipow", (x,), int(exponent))
    return Term("pow", (x, lift(exponent)))


def maximum(x: Term | float, y: Term | float) -> Term:
    """The larger of two values."""
    return Term("maximum", (lift(x), lift(y)))


def minimum(x: Term | float, y: Term | float) -> Term:
    """The smaller of two values."""
    return Term("minimum", (lift(x), lift(y)))


def where(condition: Term | float, x: Term | float, y: Term | float) -> Term:
    """`x` where the condition holds, else `y`; 1 stands for a condition that always holds."""
    return Term("where", (lift(condition), lift(x), lift(y)))


def equal(x: Term, y: Term) -> Term:
    """Tell whether two values are equal; NaN equals nothing."""
    return Term("eq", (x, y))


def isnan(x: Term) -> Term:
    """Tell whether x is NaN, which the program writes as x != x."""
    return Term("ne", (x, x))


def cast(x: Term) -> Term:
    """A conversion between element types; `where=` can ask for which."""
    return Term("cast", (x,))


def reduce_sum(x: Term, axis: Term) -> Term:
    """The sum along `axis`."""
    return Term("reduce_sum", (x, axis))


def reduce_max(x: Term, axis: Term) -> Term:
    """The maximum along `axis`."""
    return Term("reduce_max", (x, axis))


def reduce_min(x: Term, axis: Term) -> Term:
    """The minimum along `axis`."""
    return Term("reduce_min", (x, axis))


def reduce_mean(x: Term, axis: Term) -> Term:
    """The sum along `axis`, divided by how many elements there are."""
    return Term("mul", (reduce_sum(x, axis), Term("inverse_count", (axis,))))


def matmul(x: Term, y: Term) -> Term:
    """The matrix product of the last two dimensions, as numpy's `@`."""
    return Term("matmul", (x, y))


def transpose(x: Term, permutation: Sequence[int] | None = None) -> Term:
    """Dimension i of the result is dimension `permutation[i]` of x; default: swap the last two."""
    return Term("transpose", (x,), None if permutation is None else tuple(permutation))


def reshape(x: Term) -> Term:
    """Reshape `x`, to a shape that differs in more than dimensions of size 1."""
    return Term("reshape", (x,))


def dropout(x: Term, ratio: float = 0.5) -> Term:
    """Nothing: what is compiled is inference."""
    return x


def softmax(x: Term, axis: Term) -> Term:
    """The named op."""
    return Term("xyntra.softmax", (x,), {"axis": axis})


def log_softmax(x: Term, axis: Term) -> Term:
    """The named op."""
    return Term("xyntra.log_softmax", (x,), {"axis": axis})


def layer_norm(x: Term, axis: Term, epsilon: Term, *scale_and_bias: Term) -> Term:
    """The named op, with as many of scale and bias as are given."""
    attributes = {"axis": axis, "epsilon": epsilon}
    return Term("xyntra.layer_norm", (x, *scale_and_bias), attributes)


def rms_norm(x: Term, axis: Term, epsilon: Term, *scale: Term) -> Term:
    """The named op, with a scale if one is given."""
    return Term("xyntra.rms_norm", (x, *scale), {"axis": axis, "epsilon": epsilon})


def gelu(x: Term, approximate: str = "none") -> Term:
    """The named op."""
    return Term("xyntra.gelu", (x,), {"approximate": approximate})


def silu(x: Term) -> Term:
    """The named op."""
    return Term("xyntra.silu", (x,), {})
