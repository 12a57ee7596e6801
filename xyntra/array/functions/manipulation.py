# SPDX-License-Identifier: MIT OR Apache-2.0
"""Defines the standard's functions that move elements and do not compute."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import prod
from typing import Any

from xyntra.array.arrays import Array, as_node, reshaped, view_of, wrap
from xyntra.array.functions.creation import asarray, shape_of
from xyntra.array.functions.elementwise import result_of
from xyntra.array.late import LATE, late
from xyntra.array.recorded.graph import LazyNode, exact, meta_of
from xyntra.array.recorded.places import user_place
from xyntra.array.recorded.record import broadcast_shapes, cast
from xyntra.array.views import broadcast, slice_
from xyntra.array.views import reshape as reshape_node
from xyntra.errors import InputError

__all__ = [
    "axes_of", "axis_of", "broadcast_shapes", "broadcast_to", "concat", "expand_dims", "flip",
    "joined", "matrix_transpose", "moveaxis", "pad", "part", "permute_dims", "repeat", "reshape",
    "roll", "squeeze", "stack", "tile", "unstack",
]  # fmt: skip


def axis_of(axis: Any, rank: int) -> int:
    """Return a dimension as one that is not negative.

    Raises:
        InputError: `array-axis`: there is no such dimension.
    """
    if type(axis) is not int:
        axis = axis.__index__()
    if -rank <= axis < rank:
        found: int = axis % rank
        return found
    raise InputError(
        "array-axis",
        f"axis {axis} of an array of rank {rank}",
        place=user_place(),
        cause=f"its dimensions are {-rank} to {rank - 1}" if rank else "it has no dimensions",
    )


def axes_of(axis: Any, rank: int) -> tuple[int, ...]:
    """Return dimensions in order; all of them for None.

    Raises:
        InputError: one is missing or named twice.
    """
    if axis is None:
        return tuple(range(rank))
    if type(axis) is int:
        return (axis_of(axis, rank),)
    given = axis if isinstance(axis, tuple | list) else (axis,)
    found = tuple(axis_of(each, rank) for each in given)
    if len(set(found)) != len(found):
        raise InputError("array-axis", f"axis {axis} names a dimension twice", place=user_place())
    return tuple(sorted(found))


@late
def reshape(x: Any, /, shape: Any, *, copy: bool | None = None) -> Array:
    """Return the elements in row-major order under another shape, in which one size may be -1.

    Raises:
        InputError: the shape has another number of elements, or a copy is needed and refused.
    """
    array = asarray(x)
    given = tuple(shape) if isinstance(shape, tuple | list) else (shape,)
    sizes = tuple([each if type(each) is int else each.__index__() for each in given])
    return reshaped(array, _reshaped(array._node.meta.shape, sizes), copy)


@lru_cache(maxsize=4096)
def _reshaped(shape: tuple[int, ...], given: tuple[int, ...]) -> tuple[int, ...]:
    """Return the sizes that are given, in place of -1 the one that is left."""
    size, sizes = prod(shape), list(given)
    if sizes.count(-1) == 1:
        rest = prod(each for each in sizes if each != -1)
        if rest and size % rest == 0:
            sizes[sizes.index(-1)] = size // rest
    if prod(sizes) != size or any(each < 0 for each in sizes):
        raise InputError(
            "array-reshape",
            f"an array of the shape {list(shape)} does not take the shape {list(given)}",
            place=user_place(),
            cause=f"it has {size} elements",
        )
    return tuple(sizes)


@late
def permute_dims(x: Any, /, axes: Any) -> Array:
    """Return the array with dimension `axes[i]` at place i, as a view."""
    array = asarray(x)
    given = tuple([each if type(each) is int else each.__index__() for each in axes])
    return view_of(array, ("permute", _order(given, len(array._node.meta.shape))))


@lru_cache(maxsize=1024)
def _order(axes: tuple[int, ...], rank: int) -> tuple[int, ...]:
    order = tuple([axis_of(each, rank) for each in axes])
    if sorted(order) != list(range(rank)):
        raise InputError(
            "array-axis",
            f"{axes} is no order of the dimensions of an array of rank {rank}",
            place=user_place(),
        )
    return order


def matrix_transpose(x: Any, /) -> Array:
    """Return each matrix of the last two dimensions transposed, as a view."""
    return asarray(x).mT


def moveaxis(x: Any, source: Any, destination: Any, /) -> Array:
    """Return the array with dimensions moved to other places; the others keep their order."""
    array = asarray(x)
    starts, ends = (
        [axis_of(each, array.ndim) for each in (axes if isinstance(axes, tuple | list) else [axes])]
        for axes in (source, destination)
    )
    if len(starts) != len(ends) or len(set(starts)) != len(starts) or len(set(ends)) != len(ends):
        raise InputError(
            "array-axis", f"moveaxis from {source} to {destination}", place=user_place()
        )
    order = [d for d in range(array.ndim) if d not in starts]
    for end, start in sorted(zip(ends, starts, strict=True)):
        order.insert(end, start)
    return permute_dims(array, order)


def expand_dims(x: Any, /, axis: Any = 0) -> Array:
    """Return the array with dimensions of size 1 at the places `axis` of the result, as a view."""
    array = asarray(x)
    given = axis if isinstance(axis, tuple | list) else (axis,)
    places = axes_of(tuple(given), array.ndim + len(given))
    shape = list(array.shape)
    for place in places:
        shape.insert(place, 1)
    return view_of(array, ("reshape", tuple(shape)))


@late
def squeeze(x: Any, /, axis: Any) -> Array:
    """Return the array without dimensions of size 1, as a view.

    Raises:
        InputError: one of them has another size.
    """
    array = asarray(x)
    axes = axes_of(axis, array.ndim)
    for each in axes:
        if array.shape[each] != 1:
            raise InputError(
                "array-axis",
                f"dimension {each} of the shape {list(array.shape)} is not of size 1",
                place=user_place(),
            )
    shape = tuple(n for d, n in enumerate(array.shape) if d not in axes)
    return view_of(array, ("reshape", shape))


def flip(x: Any, /, axis: Any = None) -> Array:
    """Return the array with the order of elements along `axis` (all) reversed, as a view."""
    array = asarray(x)
    return view_of(array, ("flip", axes_of(axis, array.ndim)))


def broadcast_to(x: Any, /, shape: Any) -> Array:
    """Return the array repeated to a shape, as a view that cannot be written to."""
    array, sizes = asarray(x), shape_of(shape)
    if broadcast_shapes(array.shape, sizes) != sizes:
        raise InputError(
            "array-broadcast",
            f"an array of the shape {list(array.shape)} does not broadcast to {list(sizes)}",
            place=user_place(),
        )
    return view_of(array, ("broadcast", sizes))


def joined(nodes: Sequence[LazyNode], axis: int) -> LazyNode:
    """Return arrays one behind the other along a dimension."""
    shape = list(nodes[0].meta.shape)
    shape[axis] = sum(each.meta.shape[axis] for each in nodes)
    dtype = result_of(*nodes)
    filled = [each for each in nodes if each.meta.size] or nodes[:1]
    if len(filled) == 1 and filled[0].meta.shape == tuple(shape):
        return cast(filled[0], dtype)
    return LazyNode("concat", tuple(filled), (("axis", axis),), meta_of(tuple(shape), dtype))


def concat(arrays: Sequence[Any], /, axis: int | None = 0) -> Array:
    """Return arrays one behind the other along `axis`; flattened first with None.

    Raises:
        InputError: there are none, or they differ in other dimensions.
    """
    nodes = [as_node(each) for each in arrays]
    if axis is None:
        nodes, axis = [reshape_node(each, (each.meta.size,)) for each in nodes], 0
    if not nodes:
        raise InputError("array-argument", "concat of no arrays", place=user_place())
    place = axis_of(axis, len(nodes[0].meta.shape))
    first = nodes[0].meta.shape
    for each in nodes:
        own = each.meta.shape
        if (
            len(own) != len(first)
            or own[:place] + own[place + 1 :] != first[:place] + first[place + 1 :]
        ):
            raise InputError(
                "array-concat",
                f"shapes {list(first)} and {list(own)} are not joined along axis {place}",
                place=user_place(),
                cause="all other sizes have to be equal",
            )
    return wrap(joined(nodes, place))


def stack(arrays: Sequence[Any], /, axis: int = 0) -> Array:
    """Return arrays of one shape along a new dimension."""
    nodes = [as_node(each) for each in arrays]
    if not nodes:
        raise InputError("array-argument", "stack of no arrays", place=user_place())
    shape = nodes[0].meta.shape
    place = axis_of(axis, len(shape) + 1)
    for each in nodes:
        if each.meta.shape != shape:
            raise InputError(
                "array-concat",
                f"shapes {list(shape)} and {list(each.meta.shape)} are not stacked",
                place=user_place(),
            )
    single = (*shape[:place], 1, *shape[place:])
    return wrap(joined([reshape_node(each, single) for each in nodes], place))


def part(node: LazyNode, axis: int, start: int, size: int) -> LazyNode:
    """Return `size` elements along a dimension, from `start` on."""
    shape = node.meta.shape
    starts = tuple(start if d == axis else 0 for d in range(len(shape)))
    sizes = tuple(size if d == axis else n for d, n in enumerate(shape))
    return slice_(node, starts, sizes, (1,) * len(shape))


def unstack(x: Any, /, axis: int = 0) -> tuple[Array, ...]:
    """Return the arrays that lie along a dimension, which they do not have."""
    a = as_node(x)
    shape = a.meta.shape
    place = axis_of(axis, len(shape))
    rest = shape[:place] + shape[place + 1 :]
    return tuple(
        wrap(reshape_node(part(a, place, number, 1), rest)) for number in range(shape[place])
    )


def roll(x: Any, /, shift: Any, axis: Any = None) -> Array:
    """Return the array with elements moved along dimensions; those that leave come in again."""
    a = as_node(x)
    if axis is None:
        flat = reshape_node(a, (a.meta.size,))
        return wrap(reshape_node(_rolled(flat, 0, shift), a.meta.shape))
    axes = axis if isinstance(axis, tuple | list) else (axis,)
    shifts = shift if isinstance(shift, tuple | list) else (shift,) * len(axes)
    for each, amount in zip(axes, shifts, strict=True):
        a = _rolled(a, axis_of(each, len(a.meta.shape)), amount)
    return wrap(a)


def _rolled(a: LazyNode, axis: int, amount: int) -> LazyNode:
    size = a.meta.shape[axis]
    cut = -amount % size if size else 0
    if not cut:
        return a
    return joined([part(a, axis, cut, size - cut), part(a, axis, 0, cut)], axis)


def repeat(x: Any, repeats: Any, /, axis: int | None = None) -> Array:
    """Return each element along a dimension `repeats` times; counts of an array are read now."""
    a = as_node(x)
    if axis is None:
        a, axis = reshape_node(a, (a.meta.size,)), 0
    place = axis_of(axis, len(a.meta.shape))
    shape = a.meta.shape
    if isinstance(repeats, int):
        wide = (*shape[: place + 1], repeats, *shape[place + 1 :])
        single = (*shape[: place + 1], 1, *shape[place + 1 :])
        merged = (*shape[:place], shape[place] * repeats, *shape[place + 1 :])
        return wrap(reshape_node(broadcast(reshape_node(a, single), wide), merged))
    import numpy as np

    counts = np.broadcast_to(np.asarray(asarray(repeats)), (shape[place],))
    places = np.repeat(np.arange(shape[place]), counts)
    return wrap(LATE["taken"](a, as_node(places), place))


def tile(x: Any, repetitions: Any, /) -> Array:
    """Return the array repeated as a whole along each dimension."""
    a, counts = as_node(x), shape_of(repetitions)
    rank = max(len(counts), len(a.meta.shape))
    counts = (1,) * (rank - len(counts)) + counts
    shape = (1,) * (rank - len(a.meta.shape)) + a.meta.shape
    single = tuple(n for size in shape for n in (1, size))
    wide = tuple(n for pair in zip(counts, shape, strict=True) for n in pair)
    found = broadcast(reshape_node(a, single), wide)
    return wrap(reshape_node(found, tuple(c * n for c, n in zip(counts, shape, strict=True))))


def pad(x: Any, /, widths: Any, value: float = 0) -> Array:
    """Return the array with `value` around it: for each dimension a width before and one behind."""
    a = as_node(x)
    pairs = [(each, each) if isinstance(each, int) else tuple(each) for each in widths]
    if len(pairs) != len(a.meta.shape) or any(each < 0 for pair in pairs for each in pair):
        raise InputError(
            "array-argument",
            f"widths {widths} do not pad an array of rank {len(a.meta.shape)}",
            place=user_place(),
        )
    low, high = tuple(p[0] for p in pairs), tuple(p[1] for p in pairs)
    shape = tuple(b + n + e for b, n, e in zip(low, a.meta.shape, high, strict=True))
    meta = meta_of(shape, a.meta.dtype)
    if not a.meta.size:
        return wrap(LazyNode("full", (), (("value", exact(value)),), meta))
    attrs = ("low", low), ("high", high), ("value", exact(value))
    return wrap(LazyNode("pad", (a,), attrs, meta))
