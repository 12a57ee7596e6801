# SPDX-License-Identifier: MIT OR Apache-2.0
"""Defines the standard's statistical and utility functions, and its scans."""

from __future__ import annotations

from functools import lru_cache
from math import prod as prod_of
from typing import Any

from xyntra.array.arrays import Array, as_node, node_of_number, wrap
from xyntra.array.dtypes import ElementType, as_dtype, bool_, default_float, int64, uint64
from xyntra.array.functions.manipulation import axes_of, axis_of, joined, part
from xyntra.array.late import late
from xyntra.array.recorded.graph import LazyNode, Meta, exact, meta_of
from xyntra.array.recorded.places import user_place
from xyntra.array.recorded.record import (
    ARITHMETIC,
    COMPARE,
    FLOAT,
    binary,
    cast,
    numbers,
    refuse_kind,
    unary,
)
from xyntra.array.views import reshape
from xyntra.errors import InputError

__all__ = [
    "all", "any", "argmax", "argmin", "count_nonzero", "cumulative_prod", "cumulative_sum", "diff",
    "log_softmax", "logsumexp", "max", "mean", "min", "prod", "reduced", "softmax", "std", "sum",
    "var",
]  # fmt: skip

_EMPTY = {"sum": 0, "prod": 1, "any": False, "all": True, "mean": exact(float("nan"))}
"""Results of reductions of nothing."""


def reduced_meta(meta: Meta, axes: tuple[int, ...], keepdims: bool, dtype: ElementType) -> Meta:
    """Return the type of a reduction's result."""
    if keepdims:
        shape = tuple([1 if d in axes else n for d, n in enumerate(meta.shape)])
    else:
        shape = tuple([n for d, n in enumerate(meta.shape) if d not in axes])
    return meta_of(shape, dtype)


def reduced(op: str, a: LazyNode, axis: Any, keepdims: bool, dtype: ElementType) -> LazyNode:
    """Return a reduction of dimensions, with elements of a type."""
    if type(axis) is not int and axis is not None:
        axis = axes_of(axis, len(a.meta.shape))
    meta, attrs = _reduced(a.meta, axis, keepdims, dtype)
    if not a.meta.size and meta.size:
        if op not in _EMPTY:
            raise InputError(
                "array-empty",
                f"{op} of no elements: the shape is {list(a.meta.shape)}",
                place=user_place(),
                hint="look at x.size before",
            )
        return LazyNode("full", (), (("value", _EMPTY[op]),), meta)
    return LazyNode(op, (a,), attrs, meta)


@lru_cache(maxsize=4096, typed=True)
def _reduced(
    meta: Meta, axis: Any, keepdims: bool, dtype: ElementType
) -> tuple[Meta, tuple[Any, ...]]:
    """Return the type of a reduction's result, and the attributes that say what is reduced."""
    axes = axes_of(axis, len(meta.shape))
    attrs = ("axes", axes), ("keepdims", keepdims)
    return reduced_meta(meta, axes, keepdims, dtype), attrs


def _total(op: str, x: Any, axis: Any, dtype: Any, keepdims: bool) -> Array:
    a = as_node(x)
    wanted = _accumulated(a.meta.dtype) if dtype is None else as_dtype(dtype)
    if wanted is bool_:
        return wrap(cast(reduced("any" if op == "sum" else "all", a, axis, keepdims, bool_), bool_))
    return wrap(reduced(op, cast(a, wanted), axis, keepdims, wanted))


def _accumulated(dtype: ElementType) -> ElementType:
    """Return the default type of a sum: integers are added in 64 bits."""
    return dtype if dtype.kind == "f" else uint64 if dtype.kind == "u" else int64


@late
def sum(  # noqa: A001  (the standard's name)
    x: Any, /, axis: Any = None, *, dtype: Any = None, keepdims: bool = False
) -> Array:
    """Return the sum of elements along `axis` (all); of small integers in 64 bits."""
    return _total("sum", x, axis, dtype, keepdims)


@late
def prod(x: Any, /, axis: Any = None, *, dtype: Any = None, keepdims: bool = False) -> Array:
    """Return the product of elements along `axis` (all); of small integers in 64 bits."""
    return _total("prod", x, axis, dtype, keepdims)


@late
def max(x: Any, /, axis: Any = None, *, keepdims: bool = False) -> Array:  # noqa: A001
    """Return the largest elements along `axis` (all); NaN where there is one."""
    a = as_node(x)
    return wrap(reduced("max", a, axis, keepdims, a.meta.dtype))


@late
def min(x: Any, /, axis: Any = None, *, keepdims: bool = False) -> Array:  # noqa: A001
    """Return the smallest elements along `axis` (all); NaN where there is one."""
    a = as_node(x)
    return wrap(reduced("min", a, axis, keepdims, a.meta.dtype))


@late
def any(x: Any, /, axis: Any = None, *, keepdims: bool = False) -> Array:  # noqa: A001
    """Tell whether any element along `axis` (all) is not zero."""
    return wrap(reduced("any", as_node(x), axis, keepdims, bool_))


@late
def all(x: Any, /, axis: Any = None, *, keepdims: bool = False) -> Array:  # noqa: A001
    """Tell whether all elements along `axis` (all) are not zero."""
    return wrap(reduced("all", as_node(x), axis, keepdims, bool_))


def _float(x: Any) -> LazyNode:
    a = as_node(x)
    return a if a.meta.dtype.kind == "f" else cast(a, default_float)


@late
def mean(x: Any, /, axis: Any = None, *, keepdims: bool = False) -> Array:
    """Return the mean of elements along `axis` (all)."""
    a = _float(x)
    return wrap(reduced("mean", a, axis, keepdims, a.meta.dtype))


@late
def var(x: Any, /, axis: Any = None, *, correction: float = 0.0, keepdims: bool = False) -> Array:
    """Return the squared distances from the mean, summed, over their number less `correction`."""
    return wrap(_variance(_float(x), axis, correction, keepdims))


def _variance(a: LazyNode, axis: Any, correction: float, keepdims: bool) -> LazyNode:
    axes = axes_of(axis, len(a.meta.shape))
    count = prod_of(a.meta.shape[d] for d in axes)
    centred = binary("subtract", ARITHMETIC, a, reduced("mean", a, axes, True, a.meta.dtype))
    total = reduced("sum", unary("square", centred), axes, keepdims, a.meta.dtype)
    divisor = count - correction
    return numbers("divide", FLOAT, total, float(divisor) if divisor > 0 else 0.0)


@late
def std(x: Any, /, axis: Any = None, *, correction: float = 0.0, keepdims: bool = False) -> Array:
    """Return the square root of `var`."""
    return wrap(unary("sqrt", _variance(_float(x), axis, correction, keepdims)))


def count_nonzero(x: Any, /, axis: Any = None, *, keepdims: bool = False) -> Array:
    """Return how many elements along `axis` (all) are not zero."""
    a = as_node(x)
    flags = numbers("not_equal", COMPARE, a, 0 if a.meta.dtype is not bool_ else False)
    return wrap(reduced("sum", cast(flags, int64), axis, keepdims, int64))


def _place(op: str, x: Any, axis: Any, keepdims: bool) -> Array:
    a = as_node(x)
    rank = len(a.meta.shape)
    axes = axes_of(axis, rank)
    meta = reduced_meta(a.meta, axes, keepdims, int64)
    if not a.meta.size and meta.size:
        raise InputError("array-empty", f"{op} of no elements", place=user_place())
    if axis is None:
        a, axis = reshape(a, (a.meta.size,)), 0
    else:
        axis = axis_of(axis, rank)
    if len(a.meta.shape) == 0 or a.meta.shape[axis] == 1:
        return wrap(LazyNode("full", (), (("value", 0),), meta))
    flat = reduced_meta(a.meta, (axis,), False, int64)
    found = LazyNode(op, (a,), (("axis", axis), ("keepdims", False)), flat)
    return wrap(reshape(found, meta.shape))


@late
def argmax(x: Any, /, axis: int | None = None, *, keepdims: bool = False) -> Array:
    """Return the first place of the largest element along `axis`; in row-major order for None."""
    return _place("argmax", x, axis, keepdims)


@late
def argmin(x: Any, /, axis: int | None = None, *, keepdims: bool = False) -> Array:
    """Return the first place of the smallest element along `axis`; in row-major order for None."""
    return _place("argmin", x, axis, keepdims)


def _scanned(op: str, start: int, x: Any, axis: Any, dtype: Any, include_initial: bool) -> Array:
    a = as_node(x)
    if axis is None:
        if len(a.meta.shape) > 1:
            raise InputError(
                "array-axis",
                f"{op} of an array of rank {len(a.meta.shape)} needs an axis",
                place=user_place(),
            )
        axis = 0
    a = reshape(a, (1,)) if not a.meta.shape else a
    place = axis_of(axis, len(a.meta.shape))
    wanted = _accumulated(a.meta.dtype) if dtype is None else as_dtype(dtype)
    found = cast(a, wanted)
    if found.meta.size:
        found = LazyNode(op, (found,), (("axis", place),), found.meta)
    if include_initial:
        shape = tuple(1 if d == place else n for d, n in enumerate(a.meta.shape))
        first = LazyNode("full", (), (("value", start),), meta_of(shape, wanted))
        found = joined([first, found], place)
    return wrap(found)


def cumulative_sum(
    x: Any, /, axis: int | None = None, *, dtype: Any = None, include_initial: bool = False
) -> Array:
    """Return the sums of elements up to each one along `axis`."""
    return _scanned("cumulative_sum", 0, x, axis, dtype, include_initial)


def cumulative_prod(
    x: Any, /, axis: int | None = None, *, dtype: Any = None, include_initial: bool = False
) -> Array:
    """Return the products of elements up to each one along `axis`."""
    return _scanned("cumulative_prod", 1, x, axis, dtype, include_initial)


def diff(
    x: Any, /, *, axis: int = -1, n: int = 1, prepend: Any = None, append: Any = None
) -> Array:
    """Return the differences of neighbours along `axis`, `n` times."""
    a = as_node(x)
    place = axis_of(axis, len(a.meta.shape))
    ends = [None if each is None else as_node(each) for each in (prepend, append)]
    parts = [each for each in (ends[0], a, ends[1]) if each is not None]
    a = joined(parts, place) if len(parts) > 1 else a
    for _ in range(n):
        size = a.meta.shape[place]
        if size == 0:
            break
        high, low = part(a, place, 1, size - 1), part(a, place, 0, size - 1)
        op = "not_equal" if a.meta.dtype is bool_ else "subtract"
        a = binary(op, COMPARE if op == "not_equal" else ARITHMETIC, high, low)
    return wrap(a)


def softmax(x: Any, /, axis: int = -1) -> Array:
    """Return exp(x) over its sum along `axis`."""
    return _along("softmax", x, axis)


def log_softmax(x: Any, /, axis: int = -1) -> Array:
    """Return the logarithm of `softmax`."""
    return _along("log_softmax", x, axis)


def _along(op: str, x: Any, axis: int) -> Array:
    a = _float(x)
    if not a.meta.shape:
        raise refuse_kind(f"{op} of rank 0", a.meta.dtype)
    place = axis_of(axis, len(a.meta.shape))
    return wrap(LazyNode(op, (a,), (("axis", place),), a.meta))


def logsumexp(x: Any, /, axis: Any = None, *, keepdims: bool = False) -> Array:
    """Return the logarithm of the sum of exp(x) along `axis` (all), without overflow."""
    a = _float(x)
    axes = axes_of(axis, len(a.meta.shape))
    top = reduced("max", a, axes, True, a.meta.dtype)
    finite = LazyNode("isfinite", (top,), (), meta_of(top.meta.shape, bool_))
    zero = node_of_number(0.0, a.meta.dtype)
    top = LazyNode("stop", (LazyNode("where", (finite, top, zero), (), top.meta),), (), top.meta)
    powers = unary("exp", binary("subtract", ARITHMETIC, a, top))
    total = unary("log", reduced("sum", powers, axes, True, a.meta.dtype))
    found = binary("add", ARITHMETIC, total, top)
    return wrap(reshape(found, reduced_meta(a.meta, axes, keepdims, a.meta.dtype).shape))
