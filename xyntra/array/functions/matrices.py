# SPDX-License-Identifier: MIT OR Apache-2.0
"""Defines norms of vectors and matrices, and what reads matrices, as recorded operations."""

from __future__ import annotations

from math import inf
from typing import Any

from xyntra.array.arrays import Array, as_node, wrap
from xyntra.array.dtypes import default_float
from xyntra.array.functions import reductions
from xyntra.array.functions.creation import arange, eye
from xyntra.array.functions.elementwise import abs as absolute
from xyntra.array.functions.elementwise import pow as power
from xyntra.array.functions.elementwise import sqrt, square
from xyntra.array.functions.factorizations import inv, svdvals
from xyntra.array.functions.manipulation import (
    axes_of,
    axis_of,
    broadcast_to,
    part,
    reshape,
    stack,
)
from xyntra.array.recorded.places import user_place
from xyntra.array.recorded.record import broadcast_shapes
from xyntra.array.views import reshape as reshape_node
from xyntra.errors import InputError

__all__ = ["cross", "diagonal", "matrix_norm", "matrix_power", "trace", "vector_norm"]


def _matrices(op: str, x: Any) -> Array:
    array = wrap(as_node(x))
    if array.ndim < 2:
        raise InputError(
            "array-rank", f"{op} of an array of rank {array.ndim}", place=user_place(),
            cause="it takes matrices, of the last two dimensions",
        )  # fmt: skip
    return array


def _floats(x: Any) -> Array:
    array = wrap(as_node(x))
    return array if array.dtype.kind == "f" else array.astype(default_float)


def cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Array:
    """Return the vector products of vectors of three elements along `axis`."""
    one, two = wrap(as_node(x1)), wrap(as_node(x2))
    rank = min(one.ndim, two.ndim)
    place = axis_of(axis, rank) - rank  # counted from the end, as ranks may differ
    if one.shape[place] != 3 or two.shape[place] != 3:
        raise InputError(
            "array-linalg",
            f"vector products of arrays of {list(one.shape)} and {list(two.shape)} along {axis}",
            place=user_place(),
            cause="vectors have three elements",
        )
    broadcast_shapes(one.shape, two.shape)
    (a, b, c), (d, e, f) = (_components(each, place) for each in (one, two))
    return stack([b * f - c * e, c * d - a * f, a * e - b * d], axis=place)


def _components(x: Array, place: int) -> list[Array]:
    axis = place % x.ndim
    rest = x.shape[:axis] + x.shape[axis + 1 :]
    return [wrap(reshape_node(part(x._node, axis, number, 1), rest)) for number in range(3)]


def diagonal(x: Any, /, *, offset: int = 0) -> Array:
    """Return the elements of each matrix whose column is their row plus `offset`."""
    array = _matrices("diagonal", x)
    rows, columns = array.shape[-2:]
    size = max(0, min(rows, columns - offset) if offset >= 0 else min(rows + offset, columns))
    flat = reshape(array, (*array.shape[:-2], rows * columns))
    start = offset if offset >= 0 else -offset * columns
    found: Array = flat[..., arange(size) * (columns + 1) + start]
    return found


def trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Array:
    """Return the sum of each matrix's diagonal; of small integers in 64 bits."""
    return reductions.sum(diagonal(x, offset=offset), axis=-1, dtype=dtype)


def vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: float = 2) -> Array:  # noqa: A002
    """Return the norm of vectors, of all elements or along one or several dimensions.

    Args:
        x: floats.
        axis: the dimensions; all for None.
        keepdims: whether they stay with the size 1.
        ord: which norm: `inf` and `-inf` for the largest and smallest magnitude, 0 for the number
            of elements that are not 0, p for the p-th root of the sum of p-th powers.
    """
    array = _floats(x)
    axes = axes_of(axis, array.ndim)
    size = absolute(array)
    if ord == inf:
        return reductions.max(size, axis=axes, keepdims=keepdims)
    if ord == -inf:
        return reductions.min(size, axis=axes, keepdims=keepdims)
    if ord == 0:
        found = reductions.count_nonzero(array, axis=axes, keepdims=keepdims)
        return found.astype(array.dtype)
    if ord == 1:
        return reductions.sum(size, axis=axes, keepdims=keepdims)
    if ord == 2:
        return sqrt(reductions.sum(square(array), axis=axes, keepdims=keepdims))
    total = reductions.sum(power(size, float(ord)), axis=axes, keepdims=keepdims)
    return power(total, 1.0 / ord)


def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Array:  # noqa: A002
    """Return the norm of each matrix.

    Args:
        x: floats.
        keepdims: whether the last two dimensions stay with the size 1.
        ord: "fro" for the root of the sum of squares, "nuc" for the sum of singular values; 1, 2
            and `inf` for the largest sum of a column, singular value and sum of a row, negative
            for the smallest.
    """
    array = _floats(_matrices("matrix_norm", x))
    if ord == "fro":
        return vector_norm(array, axis=(-2, -1), keepdims=keepdims)
    if ord in (1, -1, inf, -inf):
        sums = reductions.sum(absolute(array), axis=-2 if ord in (1, -1) else -1, keepdims=True)
        chosen = reductions.max if ord > 0 else reductions.min
        return chosen(sums, axis=(-2, -1), keepdims=keepdims)
    values = svdvals(array) if ord in ("nuc", 2, -2) else None
    if values is None:
        raise InputError(
            "array-argument", f"ord={ord!r} names no norm of matrices", place=user_place(),
            cause="'fro', 'nuc', 1, 2, inf, -1, -2 and -inf do",
        )  # fmt: skip
    chosen = {"nuc": reductions.sum, 2: reductions.max, -2: reductions.min}[ord]
    found = chosen(values, axis=-1)
    return reshape(found, (*found.shape, 1, 1)) if keepdims else found


def matrix_power(x: Any, n: int, /) -> Array:
    """Return each square matrix multiplied `n` times; its inverse, where `n` is negative."""
    array = _matrices("matrix_power", x)
    if array.shape[-1] != array.shape[-2]:
        raise InputError(
            "array-linalg", f"powers of matrices of {list(array.shape)}", place=user_place(),
            cause="matrices are square",
        )  # fmt: skip
    if n == 0:
        return broadcast_to(eye(array.shape[-1], dtype=array.dtype), array.shape)
    base, left = (inv(array), -n) if n < 0 else (array, n)
    found: Array | None = None
    while left:
        if left & 1:
            found = base if found is None else found @ base
        left >>= 1
        if left:
            base = base @ base
    return array if found is None else found
