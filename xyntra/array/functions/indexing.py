# SPDX-License-Identifier: MIT OR Apache-2.0
"""Reads and writes parts of arrays by numpy's rules: slices, integers, masks, arrays of places."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from xyntra.array.arrays import (
    Array,
    as_node,
    node_of,
    node_of_number,
    operand,
    view_of,
    wrap,
    write,
)
from xyntra.array.dtypes import bool_, int64, promote_number
from xyntra.array.functions.creation import asarray
from xyntra.array.functions.manipulation import axis_of
from xyntra.array.interchange import is_foreign, of_python
from xyntra.array.late import late
from xyntra.array.recorded.evaluate import node_value
from xyntra.array.recorded.graph import LazyNode, meta_of
from xyntra.array.recorded.places import user_place
from xyntra.array.recorded.record import broadcast_shapes, cast, where
from xyntra.array.views import View, broadcast, reshape
from xyntra.errors import InputError

__all__ = ["assign", "put_along_axis", "read", "take", "take_along_axis", "taken"]

_PLAIN = {int, type(None)}


@late
def read(array: Array, key: Any) -> Array:
    """Return the part of an array that a key names: a view, where no array is in the key."""
    view = _plain_view(array, key)
    if view is not None:
        return view_of(array, view)
    items = _items(array.ndim, key)
    basic, advanced = _split(array.shape, items)
    viewed = array if basic is None else view_of(array, basic)
    if not advanced:
        return viewed if basic is not None else view_of(array, ("reshape", array.shape))
    return wrap(_gathered(node_of(viewed), advanced))


def _plain_view(array: Array, key: Any) -> View | None:
    """Return what a key of integers, slices of integers and None shows; None for other keys."""
    parts: list[Any] = []
    for each in key if type(key) is tuple else (key,):
        kind = type(each)
        if kind is slice:
            start, stop, step = each.start, each.stop, each.step
            if not {type(start), type(stop), type(step)} <= _PLAIN:
                return None
            parts.append((start, stop, step))
        elif kind is int or each is None or each is Ellipsis:
            parts.append(each)
        else:
            return None
    return _view_at(array._node.meta.shape, tuple(parts))


@lru_cache(maxsize=4096)
def _view_at(shape: tuple[int, ...], parts: tuple[Any, ...]) -> View:
    """Return what a key shows of an array; slices are given as tuples, which can be hashed."""
    key = tuple([slice(*each) if type(each) is tuple else each for each in parts])
    view, _ = _split(shape, _items(len(shape), key))
    return ("reshape", shape) if view is None else view


@late
def assign(array: Array, key: Any, value: Any) -> None:
    """Write a value, which broadcasts, to the part of an array that a key names."""
    items = _items(array.ndim, key)
    basic, advanced = _split(array.shape, items)
    own = node_of(array)
    new = _converted(value, array)
    target = array if basic is None else view_of(array, basic)
    current = node_of(target) if target is not array else own
    if not advanced:
        _check_fits(new, current.meta.shape)
        write(target, broadcast(_without_ones(new, current.meta.shape), current.meta.shape))
        return
    write(target, _scattered(current, advanced, new))


def _converted(value: Any, array: Array) -> LazyNode:
    found = operand(value) if not isinstance(value, list | tuple) else None
    if found is None:
        if isinstance(value, list | tuple):
            return cast(of_python(value, None), array.dtype)
        if not isinstance(value, bool) and not (
            isinstance(value, float) and array.dtype.kind != "f"
        ):
            promote_number(array.dtype, value)
        return node_of_number(value, array.dtype)
    return cast(found, array.dtype)


def _check_fits(node: LazyNode, shape: tuple[int, ...]) -> None:
    own = _without_ones(node, shape).meta.shape
    if len(own) > len(shape) or broadcast_shapes(own, shape) != shape:
        raise InputError(
            "array-broadcast",
            f"a value of the shape {list(node.meta.shape)} does not broadcast to the part that it"
            f" is assigned to, {list(shape)}",
            place=user_place(),
        )


def _without_ones(node: LazyNode, shape: tuple[int, ...]) -> LazyNode:
    """Return a value without leading dimensions of size 1 that its place does not have."""
    own = node.meta.shape
    extra = len(own) - len(shape)
    if extra > 0 and all(each == 1 for each in own[:extra]):
        return reshape(node, own[extra:])
    return node


def _items(rank: int, key: Any) -> list[Any]:
    """Return a key as one item for each dimension, with the Ellipsis written out, and Nones."""
    given = list(key) if isinstance(key, tuple) else [key]
    items = [_item(each) for each in given]
    taken = sum(_consumed(each) for each in items)
    dots = [place for place, each in enumerate(items) if each is Ellipsis]
    missing = rank - taken
    if missing < 0 or len(dots) > 1:
        raise InputError(
            "array-index",
            f"{taken} indices for an array of rank {rank}"
            if missing < 0
            else "an index has one Ellipsis",
            place=user_place(),
        )
    place = dots[0] if dots else len(items)
    return [*items[:place], *[slice(None)] * missing, *items[place + len(dots) :]]


def _item(value: Any) -> Any:
    """Return an item of a key: a slice, None, Ellipsis, an int, or the node of an array."""
    if value is None or value is Ellipsis or isinstance(value, slice):
        return value
    if type(value) is int:
        return value
    if isinstance(value, Array):
        return _array_item(node_of(value))
    if isinstance(value, bool | list) or is_foreign(value):
        return _array_item(node_of(asarray(value)))
    try:
        return value.__index__()
    except AttributeError:
        raise InputError(
            "array-index",
            f"a {type(value).__name__} is no index",
            place=user_place(),
            cause="slices, integers, None, Ellipsis, and arrays of integers or booleans are",
        ) from None


def _array_item(node: LazyNode) -> Any:
    if node.meta.dtype.kind == "f":
        raise InputError(
            "array-index", f"an array of {node.meta.dtype.name} is no index", place=user_place()
        )
    return node


def _consumed(item: Any) -> int:
    if item is None or item is Ellipsis:
        return 0
    if isinstance(item, LazyNode) and item.meta.dtype is bool_:
        return len(item.meta.shape)
    return 1


def _split(
    sizes: tuple[int, ...], items: list[Any]
) -> tuple[View | None, list[tuple[int, LazyNode]]]:
    """Return the slices, integers and Nones of a key as a view, and the arrays with their places.

    Dimensions that arrays index are whole in the view. Where there are arrays, integers count as
    such, as numpy has it.
    """
    advanced_key = any(isinstance(each, LazyNode) for each in items)
    spans: list[tuple[int, int, int]] = []
    shape: list[int] = []
    advanced: list[tuple[int, LazyNode]] = []
    place, trivial = 0, True
    for item in items:
        if item is None:
            shape.append(1)
            trivial = False
            continue
        if isinstance(item, LazyNode):
            advanced.append((len(shape), item))
            for _ in range(_consumed(item)):
                size = sizes[place]
                spans.append((0, size, 1))
                shape.append(size)
                place += 1
            continue
        size = sizes[place]
        place += 1
        if isinstance(item, slice):
            start, stop, step = item.indices(size)
            count = len(range(start, stop, step))
            spans.append((start if count else 0, count, step))
            shape.append(count)
            trivial = trivial and (start, count, step) == (0, size, 1)
            continue
        where_ = _in_range(item, size, place - 1)
        if advanced_key:
            advanced.append((len(shape), node_of_number(where_, int64)))
            spans.append((0, size, 1))
            shape.append(size)
        else:
            spans.append((where_, 1, 1))
            trivial = False
    if trivial:
        return None, advanced
    starts, counts, steps = (tuple(each[part] for each in spans) for part in range(3))
    return ("index", starts, counts, steps, tuple(shape)), advanced


def _in_range(place: int, size: int, axis: int) -> int:
    if -size <= place < size:
        return place % size
    raise InputError(
        "array-index",
        f"index {place} of dimension {axis}, whose size is {size}",
        place=user_place(),
    )


def _whole(
    node: LazyNode, advanced: list[tuple[int, LazyNode]]
) -> tuple[tuple[int, ...], list[LazyNode]]:
    """Return the dimensions that arrays index and an array of integers for each.

    Masks become the places where they hold, for which they are computed.
    """
    dims: list[int] = []
    places: list[LazyNode] = []
    for first, item in advanced:
        if item.meta.dtype is not bool_:
            dims.append(first)
            places.append(_checked(cast(item, int64), node.meta.shape[first], first))
            continue
        import numpy as np

        mask = np.asarray(node_value(item))
        own = node.meta.shape[first : first + mask.ndim]
        if mask.shape != own:
            raise InputError(
                "array-index",
                f"a mask of the shape {list(mask.shape)} for dimensions of {list(own)}",
                place=user_place(),
            )
        for offset, found in enumerate(np.nonzero(mask)):
            dims.append(first + offset)
            places.append(as_node(found))
    return tuple(dims), places


def _checked(places: LazyNode, size: int, axis: int) -> LazyNode:
    """Check places that are known, and let negative ones count from the end."""
    if places.value is None or not places.meta.size:
        return places
    import numpy as np

    value = np.asarray(places.value)
    for extreme in (int(value.min()), int(value.max())):
        _in_range(extreme, size, axis)
    return places


def _gathered(node: LazyNode, advanced: list[tuple[int, LazyNode]]) -> LazyNode:
    if len(advanced) == 1 and not advanced[0][1].meta.shape and advanced[0][1].meta.dtype is bool_:
        return _by_flag(node, *advanced[0])
    dims, places = _whole(node, advanced)
    common = broadcast_shapes(*(each.meta.shape for each in places))
    rest = [n for d, n in enumerate(node.meta.shape) if d not in dims]
    first = dims[0] if dims == tuple(range(dims[0], dims[-1] + 1)) else 0
    shape = (*rest[:first], *common, *rest[first:])
    meta = meta_of(shape, node.meta.dtype)
    if meta.size and not node.meta.size:
        raise InputError("array-index", "an index into a dimension of size 0", place=user_place())
    if not meta.size:
        return LazyNode("full", (), (("value", 0),), meta)
    return LazyNode("gather", (node, *places), (("dims", dims),), meta)


def _by_flag(node: LazyNode, place: int, flag: LazyNode) -> LazyNode:
    """Return an array indexed by one boolean: a new dimension that holds it once or not at all."""
    import numpy as np

    count = int(bool(np.asarray(node_value(flag))))
    shape = (*node.meta.shape[:place], count, *node.meta.shape[place:])
    if not count:
        return LazyNode("full", (), (("value", 0),), meta_of(shape, node.meta.dtype))
    return reshape(node, shape)


def _scattered(node: LazyNode, advanced: list[tuple[int, LazyNode]], value: LazyNode) -> LazyNode:
    """Return the array with a value written to places; a mask needs none for a single value."""
    if len(advanced) == 1 and advanced[0][1].meta.dtype is bool_ and value.meta.size == 1:
        first, mask = advanced[0]
        shape = node.meta.shape
        rank = len(mask.meta.shape)
        if mask.meta.shape == shape[first : first + rank]:
            spread = reshape(mask, (*mask.meta.shape, *(1,) * (len(shape) - first - rank)))
            return where(spread, reshape(value, ()), node)
    dims, places = _whole(node, advanced)
    common = broadcast_shapes(*(each.meta.shape for each in places))
    rest = [n for d, n in enumerate(node.meta.shape) if d not in dims]
    first = dims[0] if dims == tuple(range(dims[0], dims[-1] + 1)) else 0
    shape = (*rest[:first], *common, *rest[first:])
    _check_fits(value, shape)
    if 0 in shape:
        return node
    spread = broadcast(_without_ones(value, shape), shape)
    attrs = (("dims", dims), ("accumulate", False))
    return LazyNode("put", (node, spread, *places), attrs, node.meta)


@late
def taken(node: LazyNode, places: LazyNode, axis: int) -> LazyNode:
    """Return the parts of an array along a dimension at places of a vector."""
    places = _checked(cast(places, int64), node.meta.shape[axis], axis)
    shape = (*node.meta.shape[:axis], *places.meta.shape, *node.meta.shape[axis + 1 :])
    meta = meta_of(shape, node.meta.dtype)
    if not meta.size:
        return LazyNode("full", (), (("value", 0),), meta)
    return LazyNode("gather", (node, places), (("dims", (axis,)),), meta)


def take(x: Any, indices: Any, /, axis: int | None = None) -> Array:
    """Return the elements along `axis` at the places `indices`."""
    node, places = as_node(x), as_node(indices)
    if axis is None:
        if len(node.meta.shape) != 1:
            raise InputError(
                "array-axis",
                f"take from an array of rank {len(node.meta.shape)} needs an axis",
                place=user_place(),
            )
        axis = 0
    _array_item(places)
    return wrap(taken(node, places, axis_of(axis, len(node.meta.shape))))


def _along(x: Any, indices: Any, axis: int) -> tuple[LazyNode, LazyNode, int]:
    """Return the operands of a read along an axis, broadcast in all other dimensions."""
    node, places = as_node(x), as_node(indices)
    rank = len(node.meta.shape)
    place = axis_of(axis, rank)
    if len(places.meta.shape) != rank:
        raise InputError(
            "array-index",
            f"indices of rank {len(places.meta.shape)} for an array of rank {rank}",
            place=user_place(),
        )
    _array_item(places)
    places = _checked(cast(places, int64), node.meta.shape[place], place)
    own, other = list(node.meta.shape), list(places.meta.shape)
    size, count = own[place], other[place]
    own[place] = other[place] = 1
    shape = list(broadcast_shapes(tuple(own), tuple(other)))
    spread = [*shape[:place], size, *shape[place + 1 :]]
    wide = [*shape[:place], count, *shape[place + 1 :]]
    return broadcast(node, tuple(spread)), broadcast(places, tuple(wide)), place


def take_along_axis(x: Any, indices: Any, /, axis: int = -1) -> Array:
    """Return for each place of `indices` the element of its row along `axis`."""
    node, places, place = _along(x, indices, axis)
    meta = meta_of(places.meta.shape, node.meta.dtype)
    if not meta.size:
        return wrap(LazyNode("full", (), (("value", 0),), meta))
    return wrap(LazyNode("take_along", (node, places), (("axis", place),), meta))


def put_along_axis(
    x: Any, indices: Any, values: Any, /, axis: int = -1, *, accumulate: bool = False
) -> Array:
    """Return the array with values written to (or added at) places of rows along `axis`."""
    node, places, place = _along(x, indices, axis)
    value = operand(values)
    if value is None:
        value = node_of_number(values, node.meta.dtype)
    if not places.meta.size:
        return wrap(node)
    spread = broadcast(cast(value, node.meta.dtype), places.meta.shape)
    attrs = (("axis", place), ("accumulate", accumulate))
    return wrap(LazyNode("put_along", (node, places, spread), attrs, node.meta))
