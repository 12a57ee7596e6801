# SPDX-License-Identifier: MIT OR Apache-2.0
"""Records operators of kernels that move, read and write elements."""

from __future__ import annotations

from math import prod
from typing import Any

from xyntra.array.arrays import Array, node_of, wrap
from xyntra.array.expansion.program import OperatorCall, Unexpandable, operator
from xyntra.array.functions import creation, indexing, manipulation
from xyntra.array.functions.elementwise import where
from xyntra.array.recorded.graph import LazyNode


@operator("aten.view.default")
def reshape(op: OperatorCall) -> Array:
    return manipulation.reshape(op["self"], op.shape)


@operator("aten.expand.default")
def expand(op: OperatorCall) -> Array:
    return manipulation.broadcast_to(op["self"], op.shape)


@operator("aten.permute.default")
def permute(op: OperatorCall) -> Array:
    return manipulation.permute_dims(op["self"], tuple(op["dims"]))


@operator("aten.cat.default")
def concat(op: OperatorCall) -> Array:
    return manipulation.concat(op["tensors"], axis=op["dim"])


@operator("aten.flip.default")
def flip(op: OperatorCall) -> Array:
    return manipulation.flip(op["self"], axis=tuple(op["dims"]))


def along(x: Array, axis: int, part: slice) -> Array:
    """Return a slice of one dimension."""
    return x[(*[slice(None)] * axis, part)]


@operator("aten.slice.Tensor")
def sliced(op: OperatorCall) -> Array:
    return along(op["self"], op["dim"], slice(op["start"], op["end"], op["step"]))


@operator("aten.slice_scatter.default")
def slice_written(op: OperatorCall) -> Array:
    found = wrap(node_of(op["self"]))
    part = slice(op["start"], op["end"], op["step"])
    indexing.assign(found, (*[slice(None)] * op["dim"], part), op["src"])
    return found


@operator("aten.constant_pad_nd.default")
def padded(op: OperatorCall) -> Array:
    x, flat = op["self"], list(op["pad"])
    pairs = [(flat[at], flat[at + 1]) for at in range(0, len(flat), 2)][::-1]
    widths = [(0, 0)] * (x.ndim - len(pairs)) + pairs
    return manipulation.pad(x, widths, op["value"])


@operator("aten.repeat.default")
def tiled(op: OperatorCall) -> Array:
    return manipulation.tile(op["self"], tuple(op["repeats"]))


@operator("aten.diagonal.default")
def diagonal(op: OperatorCall) -> Array:
    x, offset = op["self"], op["offset"]
    if (op["dim1"], op["dim2"]) != (x.ndim - 2, x.ndim - 1):
        raise Unexpandable(op.name)
    size = op.shape[-1]
    first = -offset if offset < 0 else offset
    flat = manipulation.reshape(x, (*x.shape[:-2], x.shape[-2] * x.shape[-1]))
    start = first * (x.shape[-1] if offset < 0 else 1)
    return flat[..., creation.arange(size) * (x.shape[-1] + 1) + start]


@operator("aten.unfold.default")
def windows(op: OperatorCall) -> Array:
    x, axis, width, step = op["self"], op["dimension"], op["size"], op["step"]
    count = op.shape[axis]
    starts = manipulation.reshape(creation.arange(count) * step, (count, 1))
    places = manipulation.reshape(starts + creation.arange(width), (count * width,))
    taken = indexing.take(x, places, axis=axis)
    shape = (*x.shape[:axis], count, width, *x.shape[axis + 1 :])
    return manipulation.moveaxis(manipulation.reshape(taken, shape), axis + 1, -1)


def _missing(x: Array) -> Any:
    return float("nan") if x.dtype.kind == "f" else 0


def _inside(places: Array, size: int) -> Array:
    found: Array = (places >= -size) & (places < size)
    return found


@operator("aten.gather.default")
def gather(op: OperatorCall) -> Array:
    x, places, axis = op["self"], op["index"], op["dim"]
    ends = [slice(0, n if d != axis else None) for d, n in enumerate(places.shape)]
    read = indexing.take_along_axis(x[tuple(ends)], places, axis=axis)
    return where(_inside(places, x.shape[axis]), read, _missing(x))


@operator("aten.index.Tensor")
def indexed(op: OperatorCall) -> Array:
    x, given = op["self"], op["indices"]
    key = tuple(slice(None) if each is None else each for each in given)
    found = x[key]
    places = [(axis, each) for axis, each in enumerate(given) if each is not None]
    inside = _inside(places[0][1], x.shape[places[0][0]])
    for axis, each in places[1:]:
        inside = inside & _inside(each, x.shape[axis])
    axes = [axis for axis, _ in places]
    together = axes == list(range(axes[0], axes[-1] + 1))
    behind = x.ndim - axes[-1] - 1 if together else x.ndim - len(axes)
    flags = manipulation.reshape(inside, (*inside.shape, *(1,) * behind))
    return where(flags, found, _missing(x))


@operator("aten.index_put.default")
def index_written(op: OperatorCall) -> Array:
    """Places that are out of range write nothing: they go to a row that is cut off."""
    x, given, value = op["self"], op["indices"], op["values"]
    if any(each is None for each in given):
        raise Unexpandable(op.name)
    size = prod(x.shape[: len(given)])
    at: Any = 0
    inside: Any = True
    for axis, each in enumerate(given):
        at = at * x.shape[axis] + where(each < 0, each + x.shape[axis], each)
        inside = _inside(each, x.shape[axis]) & inside
    rest = x.shape[len(given) :]
    flat = manipulation.reshape(x, (size, *rest))
    wide = manipulation.concat([flat, creation.zeros((1, *rest), dtype=x.dtype)], axis=0)
    places = where(inside, at, size)
    spread = manipulation.broadcast_to(value, (*places.shape, *rest)).astype(x.dtype, copy=False)
    count = prod(places.shape)
    attrs = (("dims", (0,)), ("accumulate", bool(op["accumulate"])))
    nodes = tuple(
        node_of(each)
        for each in (
            wide,
            manipulation.reshape(spread, (count, *rest)),
            manipulation.reshape(places, (count,)),
        )
    )
    found = wrap(LazyNode("put", nodes, attrs, wide._node.meta))
    return manipulation.reshape(found[:size], x.shape)


@operator("aten.scatter.src")
def scattered(op: OperatorCall) -> Array:
    return _put_along(op, False)


@operator("aten.scatter_reduce.two")
def scattered_sums(op: OperatorCall) -> Array:
    if op["reduce"] != "sum":
        raise Unexpandable(op.name)
    return _put_along(op, True)


def _put_along(op: OperatorCall, accumulate: bool) -> Array:
    """Rows that have no places stay as they are."""
    whole, places, axis = op["self"], op["index"], op["dim"]
    part = tuple(slice(None) if d == axis else slice(0, n) for d, n in enumerate(places.shape))
    x, size = whole[part], whole.shape[axis]
    row = tuple(1 if d == axis else n for d, n in enumerate(x.shape))
    wide = manipulation.concat([x, creation.zeros(row, dtype=x.dtype)], axis=axis)
    at = where(_inside(places, size), where(places < 0, places + size, places), size)
    put = indexing.put_along_axis(wide, at, op["src"], axis=axis, accumulate=accumulate)
    written = along(put, axis, slice(0, size))
    if x.shape == whole.shape:
        return written
    found = wrap(node_of(whole))
    indexing.assign(found, part, written)
    return found
