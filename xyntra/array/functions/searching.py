# SPDX-License-Identifier: MIT OR Apache-2.0
"""Defines the standard's functions of searching, sorting and sets.

The sizes of some results depend on values: those functions compute their operand.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from xyntra.array.arrays import Array, as_node, node_of, wrap
from xyntra.array.dtypes import int64, promote
from xyntra.array.functions.indexing import taken
from xyntra.array.functions.manipulation import axis_of
from xyntra.array.functions.reductions import any as any_of
from xyntra.array.interchange import adopted
from xyntra.array.recorded.evaluate import node_value
from xyntra.array.recorded.graph import LazyNode, meta_of
from xyntra.array.recorded.places import user_place
from xyntra.array.recorded.record import cast
from xyntra.errors import InputError

__all__ = [
    "UniqueAll", "UniqueCounts", "UniqueInverse", "argsort", "isin", "nonzero", "searchsorted",
    "sort", "top_k", "unique_all", "unique_counts", "unique_inverse", "unique_values",
]  # fmt: skip


class UniqueAll(NamedTuple):
    """The result of `unique_all`."""

    values: Array
    indices: Array
    inverse_indices: Array
    counts: Array


class UniqueCounts(NamedTuple):
    """The result of `unique_counts`."""

    values: Array
    counts: Array


class UniqueInverse(NamedTuple):
    """The result of `unique_inverse`."""

    values: Array
    inverse_indices: Array


def _ordered(op: str, x: Any, axis: int, descending: bool) -> Array:
    a = as_node(x)
    dtype = int64 if op == "argsort" else a.meta.dtype
    if not a.meta.shape:
        raise InputError("array-rank", f"{op} of an array of rank 0", place=user_place())
    place = axis_of(axis, len(a.meta.shape))
    attrs = (("axis", place), ("descending", descending))
    meta = meta_of(a.meta.shape, dtype)
    if not meta.size or meta.shape[place] == 1:
        return wrap(a if op == "sort" else LazyNode("full", (), (("value", 0),), meta))
    return wrap(LazyNode(op, (a,), attrs, meta))


def sort(x: Any, /, axis: int = -1, *, descending: bool = False, stable: bool = True) -> Array:
    """Return the array sorted along `axis`; NaN comes last, or first where it descends."""
    del stable  # equal elements keep their order in any case
    return _ordered("sort", x, axis, descending)


def argsort(x: Any, /, axis: int = -1, *, descending: bool = False, stable: bool = True) -> Array:
    """Return the places that sort the array along `axis`; equal elements keep their order."""
    del stable
    return _ordered("argsort", x, axis, descending)


def top_k(x: Any, k: int, /, axis: int = -1, *, largest: bool = True) -> tuple[Array, Array]:
    """Return the `k` largest or smallest elements along `axis` in order, and their places."""
    a = as_node(x)
    place = axis_of(axis, len(a.meta.shape))
    if not 0 < k <= a.meta.shape[place]:
        raise InputError(
            "array-argument",
            f"top_k of {k} among {a.meta.shape[place]} elements",
            place=user_place(),
        )
    shape = (*a.meta.shape[:place], k, *a.meta.shape[place + 1 :])
    attrs = (("axis", place), ("largest", largest))
    values = LazyNode("top_k", (a,), attrs, meta_of(shape, a.meta.dtype))
    return wrap(values), wrap(LazyNode("top_k_places", (a,), attrs, meta_of(shape, int64)))


def searchsorted(x1: Any, x2: Any, /, *, side: str = "left", sorter: Any = None) -> Array:
    """Return where elements of `x2` belong in the sorted vector `x1`, on a side of equal ones."""
    bounds, x = as_node(x1), as_node(x2)
    if len(bounds.meta.shape) != 1 or side not in ("left", "right"):
        raise InputError(
            "array-argument",
            f"searchsorted in an array of rank {len(bounds.meta.shape)} from the {side}",
            place=user_place(),
            cause="it searches in a vector, from the 'left' or the 'right'",
        )
    if sorter is not None:
        bounds = taken(bounds, as_node(sorter), 0)
    meta = meta_of(x.meta.shape, int64)
    if not bounds.meta.size or not meta.size:
        return wrap(LazyNode("full", (), (("value", 0),), meta))
    compute = promote(bounds.meta.dtype, x.meta.dtype)
    attrs = (
        ("right", side == "right"),
        ("compute", "uint8" if compute.kind == "b" else compute.name),
    )
    return wrap(LazyNode("searchsorted", (bounds, x), attrs, meta))


def isin(x: Any, values: Any, /) -> Array:
    """Tell for each element whether it is one of `values`."""
    elements, known = wrap(as_node(x)), wrap(as_node(values))
    return any_of(elements[..., None] == known.reshape(-1), axis=-1)


def _computed(x: Any) -> Any:
    import numpy as np

    return np.asarray(node_value(as_node(x)))


def nonzero(x: Any, /) -> tuple[Array, ...]:
    """Return the places of elements that are not zero, an array for each dimension."""
    value = _computed(x)
    if not value.ndim:
        raise InputError("array-rank", "nonzero of an array of rank 0", place=user_place())
    return tuple(wrap(adopted(each)) for each in value.nonzero())


def _unique(x: Any) -> tuple[Array, Array, Array, Array]:
    import numpy as np

    value = _computed(x)
    found, first, inverse, counts = np.unique(
        value, return_index=True, return_inverse=True, return_counts=True, equal_nan=False
    )
    values, places, back, sizes = (
        wrap(adopted(np.asarray(each)))
        for each in (found, first, inverse.reshape(value.shape), counts)
    )
    return values, *(wrap(cast(node_of(each), int64)) for each in (places, back, sizes))  # type: ignore[return-value]


def unique_all(x: Any, /) -> UniqueAll:
    """Return the different elements, their first places, each element's number, and counts."""
    return UniqueAll(*_unique(x))


def unique_counts(x: Any, /) -> UniqueCounts:
    """Return the different elements and how often each comes."""
    values, _, _, counts = _unique(x)
    return UniqueCounts(values, counts)


def unique_inverse(x: Any, /) -> UniqueInverse:
    """Return the different elements, and for each element the number of its value."""
    values, _, inverse, _ = _unique(x)
    return UniqueInverse(values, inverse)


def unique_values(x: Any, /) -> Array:
    """Return the different elements, sorted; each NaN is one of its own."""
    return _unique(x)[0]
