# SPDX-License-Identifier: MIT OR Apache-2.0
"""Gives arrays the methods that numpy's have beside the standard's functions."""

from __future__ import annotations

from typing import Any, Self

from xyntra.array.late import LATE
from xyntra.errors import InputError

__all__ = ["Methods"]


def _reduction(name: str) -> Any:
    def method(
        self: Any, axis: Any = None, *, dtype: Any = None, out: None = None, keepdims: bool = False
    ) -> Any:
        _refuse_out(out)
        extra = {} if dtype is None else {"dtype": dtype}
        return LATE[name](self, axis=axis, keepdims=keepdims, **extra)

    method.__name__ = name
    method.__doc__ = f"Return `xyntra.array.{name}` of the array."
    return method


def _deviation(name: str) -> Any:
    def method(
        self: Any,
        axis: Any = None,
        *,
        dtype: Any = None,
        out: None = None,
        ddof: float = 0.0,
        correction: float = 0.0,
        keepdims: bool = False,
    ) -> Any:
        _refuse_out(out)
        array = self if dtype is None else self.astype(dtype)
        return LATE[name](array, axis=axis, correction=correction + ddof, keepdims=keepdims)

    method.__name__ = name
    method.__doc__ = f"Return `xyntra.array.{name}` of the array; numpy calls `correction` `ddof`."
    return method


def _refuse_out(out: Any) -> None:
    """Refuse memory for a result; numpy's functions pass None."""
    if out is not None:
        raise InputError(
            "array-argument",
            "arrays are made for results, and take no out=",
            hint="y[...] = x.sum()",
        )


class Methods:
    """Methods that call the function of their name."""

    __slots__ = ()

    @staticmethod
    def __xyntra_record__(program: str, inputs: Any, types: Any) -> list[Any]:
        """Record a kernel that is written in Python on arrays; see `record_program`."""
        found: list[Any] = LATE["record_program"](program, inputs, types)
        return found

    sum = _reduction("sum")
    prod = _reduction("prod")
    mean = _reduction("mean")
    max = _reduction("max")
    min = _reduction("min")
    any = _reduction("any")
    all = _reduction("all")
    argmax = _reduction("argmax")
    argmin = _reduction("argmin")

    var = _deviation("var")
    std = _deviation("std")

    def copy(self) -> Self:
        """Return an array of its own with the same elements."""
        found: Self = LATE["asarray"](self, copy=True)
        return found

    def flatten(self) -> Self:
        """Return the elements as a vector of their own."""
        found: Self = LATE["reshape"](self, (-1,), copy=True)
        return found

    def squeeze(self, axis: Any = None) -> Self:
        """Return a view without dimensions of size 1, all or those named."""
        if axis is None:
            axis = tuple(d for d, size in enumerate(self.shape) if size == 1)  # type: ignore[attr-defined]
        found: Self = LATE["squeeze"](self, axis)
        return found

    def transpose(self, *axes: Any) -> Self:
        """Return a view with dimensions in another order, reversed where none is given."""
        order = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes
        found: Self = LATE["permute_dims"](self, order or tuple(range(self.ndim))[::-1])  # type: ignore[attr-defined]
        return found

    def clip(self, min: Any = None, max: Any = None) -> Self:  # noqa: A002
        """Return `xyntra.array.clip` of the array."""
        found: Self = LATE["clip"](self, min, max)
        return found
