# SPDX-License-Identifier: MIT OR Apache-2.0
"""Gives arrays Python's operators, each of which records one operation."""

from __future__ import annotations

from typing import Any

from xyntra.array.recorded.record import ARITHMETIC, BITS, COMPARE, FLOAT

__all__ = ["Operators"]


class Operators:
    """The operators of arrays, on top of `_combined` and `_assigned`."""

    __slots__ = ()

    def _combined(self, op: str, family: str, other: Any, reverse: bool = False) -> Any:
        raise NotImplementedError

    def _assigned(self, found: Any) -> Any:
        raise NotImplementedError

    def _mapped(self, op: str) -> Any:
        raise NotImplementedError

    def _product(self, other: Any, reverse: bool) -> Any:
        raise NotImplementedError

    def __add__(self, other: Any, /) -> Any:
        return self._combined("add", ARITHMETIC, other)

    def __radd__(self, other: Any, /) -> Any:
        return self._combined("add", ARITHMETIC, other, True)

    def __iadd__(self, other: Any, /) -> Any:
        return self._assigned(self._combined("add", ARITHMETIC, other))

    def __sub__(self, other: Any, /) -> Any:
        return self._combined("subtract", ARITHMETIC, other)

    def __rsub__(self, other: Any, /) -> Any:
        return self._combined("subtract", ARITHMETIC, other, True)

    def __isub__(self, other: Any, /) -> Any:
        return self._assigned(self._combined("subtract", ARITHMETIC, other))

    def __mul__(self, other: Any, /) -> Any:
        return self._combined("multiply", ARITHMETIC, other)

    def __rmul__(self, other: Any, /) -> Any:
        return self._combined("multiply", ARITHMETIC, other, True)

    def __imul__(self, other: Any, /) -> Any:
        return self._assigned(self._combined("multiply", ARITHMETIC, other))

    def __truediv__(self, other: Any, /) -> Any:
        return self._combined("divide", FLOAT, other)

    def __rtruediv__(self, other: Any, /) -> Any:
        return self._combined("divide", FLOAT, other, True)

    def __itruediv__(self, other: Any, /) -> Any:
        return self._assigned(self._combined("divide", FLOAT, other))

    def __floordiv__(self, other: Any, /) -> Any:
        return self._combined("floor_divide", ARITHMETIC, other)

    def __rfloordiv__(self, other: Any, /) -> Any:
        return self._combined("floor_divide", ARITHMETIC, other, True)

    def __ifloordiv__(self, other: Any, /) -> Any:
        return self._assigned(self._combined("floor_divide", ARITHMETIC, other))

    def __mod__(self, other: Any, /) -> Any:
        return self._combined("remainder", ARITHMETIC, other)

    def __rmod__(self, other: Any, /) -> Any:
        return self._combined("remainder", ARITHMETIC, other, True)

    def __imod__(self, other: Any, /) -> Any:
        return self._assigned(self._combined("remainder", ARITHMETIC, other))

    def __pow__(self, other: Any, /) -> Any:
        return self._combined("pow", ARITHMETIC, other)

    def __rpow__(self, other: Any, /) -> Any:
        return self._combined("pow", ARITHMETIC, other, True)

    def __ipow__(self, other: Any, /) -> Any:
        return self._assigned(self._combined("pow", ARITHMETIC, other))

    def __and__(self, other: Any, /) -> Any:
        return self._combined("bitwise_and", BITS, other)

    def __rand__(self, other: Any, /) -> Any:
        return self._combined("bitwise_and", BITS, other, True)

    def __iand__(self, other: Any, /) -> Any:
        return self._assigned(self._combined("bitwise_and", BITS, other))

    def __or__(self, other: Any, /) -> Any:
        return self._combined("bitwise_or", BITS, other)

    def __ror__(self, other: Any, /) -> Any:
        return self._combined("bitwise_or", BITS, other, True)

    def __ior__(self, other: Any, /) -> Any:
        return self._assigned(self._combined("bitwise_or", BITS, other))

    def __xor__(self, other: Any, /) -> Any:
        return self._combined("bitwise_xor", BITS, other)

    def __rxor__(self, other: Any, /) -> Any:
        return self._combined("bitwise_xor", BITS, other, True)

    def __ixor__(self, other: Any, /) -> Any:
        return self._assigned(self._combined("bitwise_xor", BITS, other))

    def __lshift__(self, other: Any, /) -> Any:
        return self._combined("bitwise_left_shift", BITS, other)

    def __rlshift__(self, other: Any, /) -> Any:
        return self._combined("bitwise_left_shift", BITS, other, True)

    def __ilshift__(self, other: Any, /) -> Any:
        return self._assigned(self._combined("bitwise_left_shift", BITS, other))

    def __rshift__(self, other: Any, /) -> Any:
        return self._combined("bitwise_right_shift", BITS, other)

    def __rrshift__(self, other: Any, /) -> Any:
        return self._combined("bitwise_right_shift", BITS, other, True)

    def __irshift__(self, other: Any, /) -> Any:
        return self._assigned(self._combined("bitwise_right_shift", BITS, other))

    def __eq__(self, other: Any, /) -> Any:
        return self._combined("equal", COMPARE, other)

    def __ne__(self, other: Any, /) -> Any:
        return self._combined("not_equal", COMPARE, other)

    def __lt__(self, other: Any, /) -> Any:
        return self._combined("less", COMPARE, other)

    def __le__(self, other: Any, /) -> Any:
        return self._combined("less_equal", COMPARE, other)

    def __gt__(self, other: Any, /) -> Any:
        return self._combined("greater", COMPARE, other)

    def __ge__(self, other: Any, /) -> Any:
        return self._combined("greater_equal", COMPARE, other)

    def __neg__(self) -> Any:
        return self._mapped("negative")

    def __pos__(self) -> Any:
        return self._mapped("positive")

    def __abs__(self) -> Any:
        return self._mapped("abs")

    def __invert__(self) -> Any:
        return self._mapped("bitwise_invert")

    def __matmul__(self, other: Any, /) -> Any:
        return self._product(other, False)

    def __rmatmul__(self, other: Any, /) -> Any:
        return self._product(other, True)

    def __imatmul__(self, other: Any, /) -> Any:
        return self._assigned(self._product(other, False))
