# SPDX-License-Identifier: MIT OR Apache-2.0
"""Defines a size that a kernel is told when it runs: an int that knows its expression.

It has the value of the sample that the kernel is lowered at. Arithmetic with it gives sizes again.
Two sizes are equal where their expressions are. Others that are equal at the sample have to be so
wherever the code is used: an emitter that unrolls by what it computes of sizes asks in the code so
made which step is the last. Code for sizes that differ is right for equal ones, too. What is
smaller has to hold, too, where the ranges of the symbols do not say. All that is recorded as
guards. Arithmetic with floats is an estimate, and takes the hint.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, Protocol

from xyntra.dialects.sizes import Bounds, Expr, constant

__all__ = [
    "Size",
    "SizeFacts",
    "always_at_most",
    "expression_of",
    "facts",
    "hint_of",
    "least_of",
    "most_of",
    "of_several",
    "pinned",
]


class SizeFacts(Protocol):
    """Facts of the symbols that sizes are made of."""

    def hint(self, size: Expr) -> int:
        """Return the value for usual sizes."""

    def bounds(self, size: Expr, *, several: bool = False) -> Bounds:
        """Return the least and the largest value; with `several`, of symbols that are not 1."""

    def expression(self, number: int) -> Expr | None:
        """Return the expression of a number of the IR; None for one that is no size."""

    def guard(self, kind: str, left: Expr, right: Expr) -> None:
        """Note that code is right only where `left` is "<" or "<=" `right`."""


facts: ContextVar[SizeFacts | None] = ContextVar("facts", default=None)


def _known() -> SizeFacts:
    found = facts.get()
    if found is None:
        raise ValueError("sizes are known only while a kernel with sizes is lowered")
    return found


class Size(int):
    """A value that is computed when a kernel is launched."""

    expression: Expr

    def __new__(cls, value: int, expression: Expr) -> Size:
        """Create the size of that value at the sample."""
        made = super().__new__(cls, value)
        made.expression = expression
        return made

    def __repr__(self) -> str:
        return f"<{self.expression}>"

    def __str__(self) -> str:
        return str(self.expression)

    def __format__(self, spec: str) -> str:
        # In the text of an instruction: another one at another sample.
        return format(int(self), spec)

    def __deepcopy__(self, _known: dict[int, Any]) -> Size:
        return self

    __hash__ = int.__hash__

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, int):
            return False
        if self.expression == _read_of(other):
            return True
        if int(self) != int(other) or self.expression.is_remainder:
            return False  # what can do with a rest can do without
        _guard_equal(self, other)
        return True

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __bool__(self) -> bool:
        return self != 0

    def __lt__(self, other: Any) -> bool:
        return _compared("<", self, other)

    def __le__(self, other: Any) -> bool:
        return _compared("<=", self, other)

    def __gt__(self, other: Any) -> bool:
        return _compared("<", other, self)

    def __ge__(self, other: Any) -> bool:
        return _compared("<=", other, self)

    def __add__(self, other: Any) -> Any:
        return _combined(self, other, int.__add__, Expr.__add__)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return _combined(self, other, int.__sub__, Expr.__sub__)

    def __rsub__(self, other: Any) -> Any:
        return _combined(other, self, int.__sub__, Expr.__sub__)

    def __mul__(self, other: Any) -> Any:
        return _combined(self, other, int.__mul__, Expr.__mul__)

    __rmul__ = __mul__

    def __floordiv__(self, other: Any) -> Any:
        return _divided(self, other, int.__floordiv__, Expr.__floordiv__)

    def __rfloordiv__(self, other: Any) -> Any:
        return _divided(other, self, int.__floordiv__, Expr.__floordiv__)

    def __mod__(self, other: Any) -> Any:
        return _divided(self, other, int.__mod__, Expr.__mod__)

    def __rmod__(self, other: Any) -> Any:
        return _divided(other, self, int.__mod__, Expr.__mod__)

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self

    def __lshift__(self, other: Any) -> Any:
        return self * (1 << pinned(other))

    def __rshift__(self, other: Any) -> Any:
        return self // (1 << pinned(other))

    def __rlshift__(self, other: Any) -> Any:
        return other << pinned(self)

    def __rrshift__(self, other: Any) -> Any:
        return other >> pinned(self)

    def __and__(self, other: Any) -> Any:
        return pinned(self) & pinned(other)

    __rand__ = __and__

    def __or__(self, other: Any) -> Any:
        return pinned(self) | pinned(other)

    __ror__ = __or__

    def __xor__(self, other: Any) -> Any:
        return pinned(self) ^ pinned(other)

    __rxor__ = __xor__

    def bit_length(self) -> int:
        """Return how many bits it has, which is then taken for granted."""
        bits = int(self).bit_length()
        if self >= 1 << bits or self < (1 << bits) // 2:
            raise ValueError("a number has other bits than it has")
        return bits

    def __neg__(self) -> int:
        return _made(-int(self), -self.expression)

    def __abs__(self) -> int:
        return self if self >= 0 else -self

    def __truediv__(self, other: Any) -> Any:
        return float(self) / hint_of(other)

    def __rtruediv__(self, other: Any) -> Any:
        return hint_of(other) / float(self)

    def __float__(self) -> float:
        return float(_known().hint(self.expression))


def expression_of(value: int) -> Expr:
    """Return the expression of a size, or of a number."""
    return value.expression if isinstance(value, Size) else constant(int(value))


def _read_of(value: int) -> Expr:
    """Return the expression of a size, or of a number that may have been read as one."""
    if not isinstance(value, Size):
        found = _known().expression(value)
        if found is not None:
            return found  # at the other sample it would be another number
    return expression_of(value)


def hint_of(value: Any) -> Any:
    """Return a usual value of a size; what is none stays as it is."""
    return _known().hint(value.expression) if isinstance(value, Size) else value


def most_of(value: int) -> int:
    """Return the largest value of a size; a number is its own."""
    return _known().bounds(value.expression)[1] if isinstance(value, Size) else value


def least_of(value: int) -> int:
    """Return the smallest value of a size; a number is its own."""
    return _known().bounds(value.expression)[0] if isinstance(value, Size) else value


def always_at_most(left: int, right: int) -> bool:
    """Tell whether `left` is never above `right`; code for either has to be right where it may be.

    Nothing is recorded: where only some sizes are, the answer is no.
    """
    if not isinstance(left, Size) and not isinstance(right, Size):
        return left <= right
    return _known().bounds(expression_of(right) - expression_of(left))[0] >= 0


def pinned(value: int) -> int:
    """Return the value that a size has at the sample, as a number: it is taken for granted."""
    if isinstance(value, Size):
        _guard_equal(value, int(value))
    return int(value)


def _guard_equal(left: int, right: int) -> None:
    one, other = expression_of(left), expression_of(right)
    for first, second in ((one, other), (other, one)):
        if _known().bounds(second - first)[0] < 0:
            _known().guard("<=", first, second)


def of_several(left: int, right: int) -> bool:
    """Tell whether `left` is below `right` where every symbol is 2 or more.

    For distances of loops: that of a loop of one iteration does not matter.
    """
    difference = expression_of(right) - expression_of(left)
    if difference.number is not None:
        return difference.number > 0
    least, most = _known().bounds(difference, several=True)
    return True if least > 0 else False if most <= 0 else left < right


def _made(value: int, expression: Expr) -> int:
    return value if expression.number is not None else Size(value, expression)


def _combined(
    left: Any,
    right: Any,
    compute: Callable[[int, int], int],
    express: Callable[[Expr, Expr], Expr],
) -> Any:
    if isinstance(left, float) or isinstance(right, float):
        return compute_float(hint_of(left), hint_of(right), compute)
    if not isinstance(left, int) or not isinstance(right, int):
        return NotImplemented
    value = compute(int(left), int(right))
    return _made(value, express(expression_of(left), expression_of(right)))


def _divided(
    left: Any,
    right: Any,
    compute: Callable[[int, int], int],
    express: Callable[[Expr, Expr], Expr],
) -> Any:
    """Return a quotient or a remainder, which is simple where the dividend is always smaller."""
    if isinstance(left, int) and isinstance(right, int):
        one, other = expression_of(left), expression_of(right)
        if _known().bounds(one)[0] >= 0 and _known().bounds(other - one)[0] >= 1:
            return 0 if compute is int.__floordiv__ else left
        if other.number is None:
            quotient, rest = one.divided(other)
            if _known().bounds(rest)[0] >= 0 and _known().bounds(other - rest)[0] >= 1:
                found = quotient if compute is int.__floordiv__ else rest
                return _made(compute(int(left), int(right)), found)
    return _combined(left, right, compute, express)


def compute_float(left: Any, right: Any, compute: Callable[[int, int], int]) -> float:
    """Compute an estimate."""
    named: Any = getattr(float, compute.__name__)
    return float(named(float(left), float(right)))


def _compared(kind: str, left: Any, right: Any) -> bool:
    """Tell whether `left` is below `right`, or not above it."""
    if isinstance(left, float) or isinstance(right, float):
        first, second = hint_of(left), hint_of(right)
        return bool(first < second if kind == "<" else first <= second)
    first, second = _read_of(left), _read_of(right)
    least, most = _known().bounds(second - first)
    needed = 1 if kind == "<" else 0
    if least >= needed:
        return True
    if most < needed:
        return False
    is_so = int(left) < int(right) if kind == "<" else int(left) <= int(right)
    if is_so:
        _known().guard(kind, first, second)
    else:
        _known().guard("<=" if kind == "<" else "<", second, first)
    return is_so
