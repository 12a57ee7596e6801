# SPDX-License-Identifier: MIT OR Apache-2.0
"""Records operations on elements: finds the type of the result and makes the node.

What types give is looked up, so that the usual operation costs one look-up.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from xyntra.array.dtypes import ElementType, bool_, default_float, int64, promote, promote_number
from xyntra.array.recorded.graph import LazyNode, Meta, meta_of, number
from xyntra.array.recorded.places import user_place
from xyntra.errors import InputError

__all__ = [
    "ARITHMETIC",
    "BITS",
    "COMPARE",
    "FLOAT",
    "LOGIC",
    "PAIRS",
    "binary",
    "broadcast_shapes",
    "cast",
    "clipped",
    "numbers",
    "refuse_kind",
    "unary",
    "where",
]

ARITHMETIC, FLOAT, COMPARE, LOGIC, BITS = "arithmetic", "float", "compare", "logic", "bits"
"""Families of operations on two arrays, by the type of their result."""

_SAME = frozenset(
    "abs negative positive square sign ceil floor trunc round bitwise_invert identity relu".split()
)
_BOOLEAN = frozenset("isnan isinf isfinite signbit logical_not".split())
_ROUNDING = frozenset("ceil floor trunc round positive".split())
PAIRS: dict[tuple[str, Meta, Meta], tuple[Meta, tuple[Any, ...]]] = {}
_NUMBERS: dict[tuple[str, Meta, type, bool], tuple[Meta, Meta, tuple[Any, ...]]] = {}
_UNARY: dict[tuple[str, Meta], tuple[Meta, Meta]] = {}


@lru_cache(maxsize=4096)
def broadcast_shapes(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape that arrays of these shapes have together, by numpy's rule.

    Raises:
        InputError: `array-broadcast`: two sizes differ, and neither is 1.
    """
    rank = max(map(len, shapes), default=0)
    result = [1] * rank
    for shape in shapes:
        for place, size in enumerate(shape, rank - len(shape)):
            if size == 1 or size == result[place]:
                continue
            if result[place] != 1:
                raise InputError(
                    "array-broadcast",
                    f"shapes {' and '.join(map(str, map(list, shapes)))} do not broadcast",
                    place=user_place(),
                    cause=f"dimension {place - rank} has the sizes {result[place]} and {size},"
                    " and neither is 1",
                    hint="reshape one, or add a dimension: x[:, None]",
                )
            result[place] = size
    return tuple(result)


def refuse_kind(op: str, dtype: ElementType) -> InputError:
    """Return the error for an operation that elements of a type do not have."""
    return InputError(
        "array-dtype",
        f"{op} is not defined for elements of {dtype.name}",
        place=user_place(),
        hint="convert the array: x.astype(xa.float32)",
    )


def binary(op: str, family: str, a: LazyNode, b: LazyNode) -> LazyNode:
    """Return an operation on two arrays that broadcast."""
    key = (op, a.meta, b.meta)
    found = PAIRS.get(key)
    if found is None:
        found = PAIRS[key] = _pair(op, family, a.meta, b.meta)
    return LazyNode(op, (a, b), found[1], found[0])


def _pair(op: str, family: str, a: Meta, b: Meta) -> tuple[Meta, tuple[Any, ...]]:
    shape = a.shape if a.shape == b.shape else broadcast_shapes(a.shape, b.shape)
    try:
        result, attrs = _result(op, family, promote(a.dtype, b.dtype))
    except InputError as error:
        error.place = error.place or user_place()
        raise
    return meta_of(shape, result), attrs


def _result(op: str, family: str, dtype: ElementType) -> tuple[ElementType, tuple[Any, ...]]:
    """Return the type of a result, and the attributes, where operands meet in `dtype`."""
    if family == ARITHMETIC:
        if dtype is bool_ and op not in ("add", "multiply", "maximum", "minimum"):
            raise refuse_kind(op, dtype)
        return dtype, ()
    if family == FLOAT:
        return (dtype if dtype.kind == "f" else default_float), ()
    if family == COMPARE:
        return bool_, (("compute", dtype.name),)
    if family == LOGIC:
        return bool_, ()
    if dtype.kind == "f" or (dtype is bool_ and "shift" in op):
        raise refuse_kind(op, dtype)
    return dtype, ()


def numbers(op: str, family: str, a: LazyNode, value: Any, reverse: bool = False) -> LazyNode:
    """Return an operation on an array and a number of Python, which takes the array's type."""
    key = (op, a.meta, type(value), reverse)
    found = _NUMBERS.get(key)
    if found is None or type(value) is int:
        try:
            dtype = promote_number(a.meta.dtype, value)
            if found is None:
                result, attrs = _result(op, family, dtype)
        except InputError as error:
            error.place = error.place or user_place()
            raise
        if found is None:
            dtype = result if family == FLOAT else dtype
            found = meta_of(a.meta.shape, result), meta_of((), dtype), attrs
            _NUMBERS[key] = found
    if op == "pow" and type(value) is int and value < 0 and not reverse:
        _check_power(found[0].dtype, value)
    other = number(value, found[1])
    return LazyNode(op, (other, a) if reverse else (a, other), found[2], found[0])


def _check_power(dtype: ElementType, value: int) -> None:
    if dtype.kind != "f":
        raise InputError(
            "array-number",
            f"elements of {dtype.name} to the power {value} are no integers",
            place=user_place(),
            hint="x.astype(xa.float32) ** -1, or xa.reciprocal",
        )


def unary(op: str, a: LazyNode) -> LazyNode:
    """Return an operation on the elements of one array."""
    found = _UNARY.get((op, a.meta))
    if found is None:
        found = _UNARY[op, a.meta] = _single(op, a.meta)
    if found[1] is not a.meta:
        a = LazyNode("cast", (a,), (), found[1])
    return LazyNode(op, (a,), (), found[0])


def _single(op: str, meta: Meta) -> tuple[Meta, Meta]:
    """Return the type of a result, and the type that the operand has to have."""
    dtype = meta.dtype
    if op in _BOOLEAN:
        return meta_of(meta.shape, bool_), meta
    if op in _SAME:
        if op == "bitwise_invert":
            refused = dtype.kind == "f"
        else:
            refused = dtype is bool_ and op in ("negative", "sign", "square")
        if refused:
            raise refuse_kind(op, dtype)
        return meta, meta
    wide = meta if dtype.kind == "f" else meta_of(meta.shape, default_float)
    return wide, wide


def cast(a: LazyNode, dtype: ElementType) -> LazyNode:
    """Return an array with elements of another type."""
    if a.meta.dtype is dtype:
        return a
    return LazyNode("cast", (a,), (), meta_of(a.meta.shape, dtype))


def where(condition: LazyNode, a: LazyNode, b: LazyNode) -> LazyNode:
    """Return elements of `a` where a condition holds, else of `b`."""
    return LazyNode("where", (condition, a, b), (), _chosen(condition.meta, a.meta, b.meta))


@lru_cache(maxsize=4096)
def _chosen(condition: Meta, a: Meta, b: Meta) -> Meta:
    shape = broadcast_shapes(condition.shape, a.shape, b.shape)
    return meta_of(shape, promote(a.dtype, b.dtype))


def clipped(a: LazyNode, low: LazyNode | None, high: LazyNode | None) -> LazyNode:
    """Return the elements of `a`, those below `low` as `low` and above `high` as `high`."""
    bounds = [each for each in (low, high) if each is not None]
    shape = broadcast_shapes(a.meta.shape, *(each.meta.shape for each in bounds))
    attrs = (("low", low is not None), ("high", high is not None))
    return LazyNode("clip", (a, *bounds), attrs, meta_of(shape, a.meta.dtype))


def integers(op: str, a: LazyNode) -> LazyNode:
    """Return the array as integers of 64 bits, for places.

    Raises:
        InputError: its elements are no integers.
    """
    if a.meta.dtype.kind not in "iu":
        raise refuse_kind(op, a.meta.dtype)
    return cast(a, int64)
