# SPDX-License-Identifier: MIT OR Apache-2.0
"""Records views: parts of an array, or its elements in another order, and writes through them.

A view is a tuple of its kind and what it takes. `view_node` reads it from the node of its base, and
`write_node` gives the base's node after the view was assigned.
"""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import Any

from xyntra.array.recorded.graph import LazyNode, Meta, meta_of
from xyntra.array.recorded.places import user_place
from xyntra.errors import InputError

__all__ = [
    "View",
    "broadcast",
    "flip",
    "permute",
    "reshape",
    "slice_",
    "update",
    "view_node",
    "view_strides",
    "write_node",
]

View = tuple[Any, ...]
"""("index", starts, sizes, steps, shape), ("permute", order), ("reshape", shape),
("flip", axes) or ("broadcast", shape)."""


def reshape(a: LazyNode, shape: tuple[int, ...]) -> LazyNode:
    """Return the elements in row-major order under another shape of as many elements."""
    if shape == a.meta.shape:
        return a
    return LazyNode("reshape", (a,), (), meta_of(shape, a.meta.dtype))


def permute(a: LazyNode, order: tuple[int, ...]) -> LazyNode:
    """Return the array with dimension `order[i]` at place i."""
    meta = _permuted(a.meta, order)
    return a if meta is None else LazyNode("permute", (a,), (("dims", order),), meta)


@lru_cache(maxsize=4096)
def _permuted(meta: Meta, order: tuple[int, ...]) -> Meta | None:
    """Return the type with dimension `order[i]` at place i; None for the order that it has."""
    if order == tuple(range(len(order))):
        return None
    return meta_of(tuple([meta.shape[d] for d in order]), meta.dtype)


def flip(a: LazyNode, axes: tuple[int, ...]) -> LazyNode:
    """Return the array with the order along `axes` reversed."""
    return LazyNode("flip", (a,), (("dims", axes),), a.meta) if axes else a


def broadcast(a: LazyNode, shape: tuple[int, ...]) -> LazyNode:
    """Return the array repeated to a shape that it broadcasts to."""
    if shape == a.meta.shape:
        return a
    return LazyNode("broadcast", (a,), (), meta_of(shape, a.meta.dtype))


def slice_(
    a: LazyNode, starts: tuple[int, ...], sizes: tuple[int, ...], steps: tuple[int, ...]
) -> LazyNode:
    """Return `sizes` elements of every dimension, from `starts` on in `steps`."""
    if sizes == a.meta.shape and all(step == 1 for step in steps):
        return a
    return LazyNode(
        "slice", (a,), (("starts", starts), ("steps", steps)), meta_of(sizes, a.meta.dtype)
    )


def update(
    a: LazyNode, value: LazyNode, starts: tuple[int, ...], steps: tuple[int, ...]
) -> LazyNode:
    """Return `a` with the part that `slice_` reads replaced by `value`, which has its shape."""
    if value.meta.size == 0:
        return a
    if value.meta.shape == a.meta.shape and all(step == 1 for step in steps):
        return value
    return LazyNode("update", (a, value), (("starts", starts), ("steps", steps)), a.meta)


def view_node(view: View, base: LazyNode) -> LazyNode:
    """Return what a view reads from its base."""
    match view:
        case ("index", starts, sizes, steps, shape):
            return reshape(slice_(base, starts, sizes, steps), shape)
        case ("permute", order):
            return permute(base, order)
        case ("reshape", shape):
            return reshape(base, shape)
        case ("flip", axes):
            return flip(base, axes)
        case _:
            return broadcast(base, view[1])


def write_node(view: View, base: LazyNode, value: LazyNode) -> LazyNode:
    """Return the base after `value`, of the view's type, was written to the view.

    Raises:
        InputError: `array-read-only`: elements of the view share their memory.
    """
    match view:
        case ("index", starts, sizes, steps, _):
            return update(base, reshape(value, sizes), starts, steps)
        case ("permute", order):
            return permute(value, tuple(order.index(d) for d in range(len(order))))
        case ("reshape", _):
            return reshape(value, base.meta.shape)
        case ("flip", axes):
            return flip(value, axes)
    raise InputError(
        "array-read-only",
        "a broadcast array is read-only",
        place=user_place(),
        cause="several of its elements are one element of the array that it shows",
        hint="write to a copy: xa.asarray(x, copy=True)",
    )


def view_strides(view: View, base: Meta, strides: tuple[int, ...]) -> tuple[int, ...] | None:
    """Return the steps in elements of a view in the memory that numpy would share; None if none.

    Args:
        view: the view.
        base: the type of its base.
        strides: the steps of its base.
    """
    match view:
        case ("index", _, sizes, steps, shape):
            scaled = tuple(s * step for s, step in zip(strides, steps, strict=True))
            return _reshaped(sizes, scaled, shape)
        case ("permute", order):
            return tuple(strides[d] for d in order)
        case ("reshape", shape):
            return _reshaped(base.shape, strides, shape)
        case ("flip", axes):
            return tuple(-s if d in axes else s for d, s in enumerate(strides))
    offset = len(view[1]) - len(strides)
    return (0,) * offset + tuple(
        0 if n == 1 != m else s
        for s, n, m in zip(strides, base.shape, view[1][offset:], strict=True)
    )


@lru_cache(maxsize=4096)
def row_major(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the steps in elements of an array whose rows follow each other."""
    steps, step = [], 1
    for size in reversed(shape):
        steps.append(step)
        step *= max(size, 1)
    return tuple(reversed(steps))


def _reshaped(
    sizes: tuple[int, ...], strides: tuple[int, ...], shape: tuple[int, ...]
) -> tuple[int, ...] | None:
    """Return the steps under another shape; None where the elements would have to be copied."""
    if 0 in sizes:
        return row_major(shape)
    merged: list[list[int]] = []  # runs of elements at one distance: their number and distance
    for size, stride in zip(sizes, strides, strict=True):
        if size == 1:
            continue
        if merged and merged[-1][1] == size * stride:
            merged[-1] = [merged[-1][0] * size, stride]
        else:
            merged.append([size, stride])
    result = [0] * len(shape)
    run, left, step = len(merged), 1, 0
    for place in range(len(shape) - 1, -1, -1):
        size = shape[place]
        if size == 1:
            continue
        if left == 1:
            run -= 1
            left, step = merged[run]
        if left % size:
            return None
        result[place] = step
        left, step = left // size, step * size
    return tuple(result) if prod(shape) == prod(sizes) else None
