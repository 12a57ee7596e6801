# SPDX-License-Identifier: MIT OR Apache-2.0
"""Records reads and writes of parts: slices, positions in arrays, gather and scatter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from xyntra.errors import KernelError
from xyntra.frontends.kernel.functions.shapes import moveaxis, part, reshaped
from xyntra.frontends.kernel.language import (
    array_of,
    broadcast,
    constant_axis,
    constant_int,
    language,
)
from xyntra.frontends.kernel.promotion import common_dtype, is_number, kind_of, lifted
from xyntra.frontends.kernel.recorder import KernelRecorder
from xyntra.frontends.kernel.values import ArrayValue

__all__ = ["expanded_key", "read_part"]

_COMBINE = {"set": None, "add": "sum", "multiply": "prod", "max": "amax", "min": "amin"}
Key = "list[slice | int | ArrayValue | None]"


def expanded_key(r: KernelRecorder, x: ArrayValue, key: Any) -> list[Any]:
    """Return an index as one entry a dimension, with None where one is inserted.

    Raises:
        NeedsConstant, KernelError: there are too many, or one is of another type.
    """
    given = list(key) if isinstance(key, tuple) else [key]
    count = sum(1 for each in given if each is not None and each is not Ellipsis)
    dots = sum(1 for each in given if each is Ellipsis)
    if count > x.ndim or dots > 1:
        raise KernelError(
            "kernel-shape",
            f"{count} indices for an array of {x.ndim} dimensions"
            if dots < 2
            else "an index has ... twice",
            cause=f"the array is {x}",
        )
    rest = [slice(None)] * (x.ndim - count)
    if dots:
        at = next(i for i, each in enumerate(given) if each is Ellipsis)
        given[at : at + 1] = rest
    else:
        given += rest
    return [_entry(r, each) for each in given]


def _entry(r: KernelRecorder, each: Any) -> Any:
    if each is None or isinstance(each, slice):
        return each
    if isinstance(each, (list, np.ndarray)):
        each = r.captured(np.ascontiguousarray(np.asarray(each)), "index")
    if isinstance(each, ArrayValue):
        if kind_of(each.dtype) == 2:
            raise KernelError(
                "kernel-dtype", f"an index is an integer, not {each.dtype}", hint="xl.astype"
            )
        return each
    return constant_int("an index", each)


def read_part(r: KernelRecorder, x: ArrayValue, key: Any) -> ArrayValue:
    """Record `x[key]` with numpy's meaning.

    Raises:
        NeedsConstant, KernelError: the index does not fit.
    """
    entries = expanded_key(r, x, key)
    arrays = [each for each in entries if isinstance(each, ArrayValue)]
    if not arrays:
        return _basic(r, x, entries)
    if any(each.dtype == "bool" for each in arrays):
        raise KernelError(
            "kernel-type",
            "a mask selects as many elements as it has true ones, which no shape can say",
            hint="xl.where(mask, x, 0)",
        )
    if any(each is None for each in entries):
        raise KernelError(
            "kernel-type",
            "None and arrays of positions are not mixed in an index",
            hint="insert the dimension afterwards: xl.expand_dims(x[i], axis=0)",
        )
    indices: list[Any] = []
    for axis, each in enumerate(entries):
        if isinstance(each, slice):
            x = _sliced(r, x, axis, each)
            indices.append(None)
        elif isinstance(each, int):
            at = _position(x, axis, each)
            indices.append(r.call("aten.full.default", "int64", (), fill_value=at))
        else:
            indices.append(each)
    return _advanced(r, x, indices)


def _advanced(r: KernelRecorder, x: ArrayValue, indices: Sequence[Any]) -> ArrayValue:
    shape = _advanced_shape(x, indices)
    if 0 in shape:
        return r.call("aten.full.default", x.dtype, shape, fill_value=0)
    if not x.size:
        raise KernelError("kernel-shape", f"there is nothing to read in an array {x}")
    return r.call("aten.index.Tensor", x.dtype, shape, self=x, indices=list(indices))


def _advanced_shape(x: ArrayValue, indices: Sequence[Any]) -> list[int]:
    places = [axis for axis, each in enumerate(indices) if each is not None]
    common = broadcast("an index", *(indices[axis].shape for axis in places))
    together = places == list(range(places[0], places[-1] + 1))
    first = places[0] if together else 0
    shape = [size for axis, size in enumerate(x.shape) if axis not in places]
    shape[first:first] = common
    return shape


def _basic(r: KernelRecorder, x: ArrayValue, entries: Sequence[Any]) -> ArrayValue:
    shape: list[int] = []
    axis = 0
    for each in entries:
        if each is None:
            shape.append(1)
            continue
        if isinstance(each, int):
            at = _position(x, axis, each)
            x = part(r, x, axis, at, at + 1)
        else:
            x = _sliced(r, x, axis, each)
            shape.append(x.shape[axis])
        axis += 1
    return reshaped(r, x, shape)


def _position(x: ArrayValue, axis: int, index: int) -> int:
    size = x.shape[axis]
    if not -size <= index < size:
        raise KernelError(
            "kernel-shape",
            f"index {index} is out of range for dimension {axis} of size {size}",
            cause=f"the array is {x}",
        )
    return index % size


def _sliced(r: KernelRecorder, x: ArrayValue, axis: int, each: slice) -> ArrayValue:
    start, stop, step = _bounds(each, x.shape[axis])
    if step > 0:
        return part(r, x, axis, start, max(start, stop), step)
    flipped = r.call("aten.flip.default", x.dtype, x.shape, self=x, dims=[axis])
    last = x.shape[axis] - 1
    return part(r, flipped, axis, last - start, max(last - start, last - stop), -step)


def _bounds(each: slice, size: int) -> tuple[int, int, int]:
    fields = (each.start, each.stop, each.step)
    known = [None if f is None else constant_int("a bound of a slice", f) for f in fields]
    if known[2] == 0:
        raise KernelError("kernel-shape", "the step of a slice is 0")
    return slice(*known).indices(size)


@language("put")
def put(r: KernelRecorder, x: Any, key: Any, value: Any, /) -> ArrayValue:
    """A copy of `x` in which `x[key]` is `value`; what `x[key] = value` means in a kernel."""
    target = array_of("xl.put", x)
    entries = expanded_key(r, target, key)
    arrays = [each for each in entries if isinstance(each, ArrayValue)]
    if len(arrays) == 1 and arrays[0].dtype == "bool":
        return _put_masked(r, target, entries, arrays[0], value)
    if any(each.dtype == "bool" for each in arrays):
        raise KernelError("kernel-type", "one mask, or positions, say where to write")
    common_dtype(target, value, what="an assignment")
    new = lifted(r, value, target.dtype)
    if not isinstance(new, ArrayValue):
        new = r.call("aten.full.default", target.dtype, (), fill_value=new)
    entries = [each for each in entries if each is not None]
    if arrays or any(isinstance(e, slice) and e.step not in (None, 1) for e in entries):
        return _put_at(r, target, entries, new)
    spans = [_span(target, axis, each) for axis, each in enumerate(entries)]
    kept = [
        stop - start
        for each, (start, stop) in zip(entries, spans, strict=True)
        if not isinstance(each, int)
    ]
    if broadcast("an assignment", kept, new.shape) != tuple(kept):
        raise KernelError(
            "kernel-shape",
            f"a value of shape {new.shape} is assigned to a part of shape {tuple(kept)}",
        )
    if 0 in kept:
        return target
    wide = (
        new
        if new.shape == tuple(kept)
        else r.call("aten.expand.default", new.dtype, kept, self=new)
    )
    source = reshaped(r, wide, [stop - start for start, stop in spans])
    return _put_block(r, target, spans, source, 0)


def _span(x: ArrayValue, axis: int, each: Any) -> tuple[int, int]:
    if isinstance(each, int):
        at = _position(x, axis, each)
        return at, at + 1
    start, stop, _ = _bounds(each, x.shape[axis])
    return start, max(start, stop)


def _put_block(
    r: KernelRecorder,
    x: ArrayValue,
    spans: Sequence[tuple[int, int]],
    source: ArrayValue,
    axis: int,
) -> ArrayValue:
    """Write a block: into the part of the first dimension that it covers, and that into `x`."""
    while axis < x.ndim and spans[axis] == (0, x.shape[axis]):
        axis += 1
    if axis == x.ndim:
        return source
    start, stop = spans[axis]
    inner = _put_block(r, part(r, x, axis, start, stop), _inside(spans, axis), source, axis + 1)
    return r.call(
        "aten.slice_scatter.default",
        x.dtype,
        x.shape,
        self=x,
        src=inner,
        dim=axis,
        start=start,
        end=stop,
        step=1,
    )


def _inside(spans: Sequence[tuple[int, int]], axis: int) -> list[tuple[int, int]]:
    start, stop = spans[axis]
    return [(0, stop - start) if d == axis else span for d, span in enumerate(spans)]


def _put_at(
    r: KernelRecorder, x: ArrayValue, entries: Sequence[Any], value: ArrayValue
) -> ArrayValue:
    """Write at positions; slices become the positions that they cover."""
    indices: list[Any] = []
    whole = [isinstance(each, slice) and each == slice(None) for each in entries]
    spread = [axis for axis, full in enumerate(whole) if not full]
    has_slices = any(isinstance(entries[axis], slice) for axis in spread)
    if has_slices and any(isinstance(each, ArrayValue) for each in entries):
        raise KernelError(
            "kernel-type",
            "slices and arrays of positions are not mixed where a part is assigned",
            hint="make positions of the slice: xl.arange(start, stop)",
        )
    slices = [axis for axis in spread if isinstance(entries[axis], slice)]
    for axis, each in enumerate(entries):
        if whole[axis]:
            indices.append(None)
        elif isinstance(each, int):
            at = _position(x, axis, each)
            indices.append(r.call("aten.full.default", "int64", (), fill_value=at))
        elif isinstance(each, slice):
            indices.append(_positions(r, x, axis, each, len(slices) - slices.index(axis) - 1))
        else:
            indices.append(each)
    shape = _advanced_shape(x, indices)
    if broadcast("an assignment", shape, value.shape) != tuple(shape):
        raise KernelError(
            "kernel-shape",
            f"a value of shape {value.shape} is assigned to a part of shape {tuple(shape)}",
        )
    if 0 in shape:
        return x
    return r.call(
        "aten.index_put.default",
        x.dtype,
        x.shape,
        self=x,
        indices=indices,
        values=value,
        accumulate=False,
    )


def _positions(r: KernelRecorder, x: ArrayValue, axis: int, each: slice, behind: int) -> ArrayValue:
    start, stop, step = _bounds(each, x.shape[axis])
    count = len(range(start, stop, step))
    shape = [count, *[1] * behind]
    numbers = r.call("xyntra.index", "int64", shape, axis=0)
    scaled = r.call("aten.mul.Tensor", "int64", shape, self=numbers, other=step)
    return r.call("aten.add.Tensor", "int64", shape, self=scaled, other=start)


def _put_masked(
    r: KernelRecorder, x: ArrayValue, entries: Sequence[Any], mask: ArrayValue, value: Any
) -> ArrayValue:
    if entries[0] is not mask or mask.shape != x.shape[: mask.ndim]:
        raise KernelError(
            "kernel-shape",
            f"a mask of shape {mask.shape} does not fit an array {x}",
            hint="xl.where",
        )
    if not is_number(value) and not (isinstance(value, ArrayValue) and not value.shape):
        raise KernelError(
            "kernel-shape",
            "one number is assigned where a mask holds",
            hint="xl.where(mask, new, x)",
        )
    common_dtype(x, value, what="an assignment")
    flags = reshaped(r, mask, [*mask.shape, *[1] * (x.ndim - mask.ndim)])
    new = lifted(r, value, x.dtype)
    return r.call("aten.where.self", x.dtype, x.shape, condition=flags, self=new, other=x)


@language("take")
def take(r: KernelRecorder, x: Any, indices: Any, /, *, axis: Any = None) -> ArrayValue:
    """The parts of `x` at positions along `axis`; negative ones count from the end.

    A position out of range reads NaN, or 0 of integers.
    """
    value, at = array_of("xl.take", x), array_of("xl.take", indices)
    if kind_of(at.dtype) != 1:
        raise KernelError("kernel-dtype", f"positions are integers, not {at.dtype}")
    if axis is None and value.ndim != 1:
        raise KernelError("kernel-shape", f"xl.take of an array {value} needs an axis")
    place = constant_axis("axis", 0 if axis is None else axis, value.ndim)
    indices_of: list[Any] = [None] * value.ndim
    indices_of[place] = at
    return _advanced(r, value, indices_of)


@language("take_along_axis")
def take_along_axis(r: KernelRecorder, x: Any, indices: Any, /, *, axis: Any = -1) -> ArrayValue:
    """For each row along `axis` of `x`, the elements at the positions of that row of `indices`."""
    value, at = array_of("xl.take_along_axis", x), array_of("xl.take_along_axis", indices)
    if kind_of(at.dtype) != 1 or at.ndim != value.ndim:
        raise KernelError("kernel-shape", f"positions {at} do not fit an array {value}")
    place = constant_axis("axis", axis, value.ndim)
    rest = broadcast("xl.take_along_axis", _without(value.shape, place), _without(at.shape, place))
    shape = [*rest[:place], at.shape[place], *rest[place:]]
    wide = [*rest[:place], value.shape[place], *rest[place:]]
    if 0 in shape:
        return r.call("aten.full.default", value.dtype, shape, fill_value=0)
    if 0 in wide:
        raise KernelError("kernel-shape", f"there is nothing to read in an array {value}")
    source = _expanded(r, value, wide)
    positions = _expanded(r, lifted(r, at, "int64"), shape)
    return r.call(
        "aten.gather.default", value.dtype, shape, self=source, dim=place, index=positions
    )


def _without(shape: Sequence[int], axis: int) -> list[int]:
    return [size for d, size in enumerate(shape) if d != axis]


def _expanded(r: KernelRecorder, x: ArrayValue, shape: Sequence[int]) -> ArrayValue:
    if x.shape == tuple(shape):
        return x
    return r.call("aten.expand.default", x.dtype, shape, self=x)


@language("scatter")
def scatter(
    r: KernelRecorder, x: Any, indices: Any, updates: Any, /, *, axis: Any = 0, combine: Any = "set"
) -> ArrayValue:
    """A copy of `x` into which `updates` are combined at positions along `axis`.

    `indices` of one dimension say where whole parts of `x` go, as in `x[indices] += updates`;
    `indices` in the shape of `updates` say it for each element. `combine` is "set" (the last one
    counts), "add", "multiply", "max" or "min". What is out of range is not written.
    """
    target, at = array_of("xl.scatter", x), array_of("xl.scatter", indices)
    if combine not in _COMBINE:
        raise KernelError(
            "kernel-type", f"xl.scatter: combine={combine!r}", hint=", ".join(_COMBINE)
        )
    if kind_of(at.dtype) != 1:
        raise KernelError("kernel-dtype", f"positions are integers, not {at.dtype}")
    place = constant_axis("axis", axis, target.ndim)
    common_dtype(target, updates, what="xl.scatter")
    new = lifted(r, updates, target.dtype)
    if not isinstance(new, ArrayValue):
        new = r.call("aten.full.default", target.dtype, (), fill_value=new)
    if at.ndim == 1:
        shape = [at.shape[0] if d == place else size for d, size in enumerate(target.shape)]
        at = reshaped(r, at, [at.shape[0] if d == place else 1 for d in range(target.ndim)])
    else:
        shape = list(at.shape)
    fits = at.ndim == target.ndim and all(
        n <= size
        for n, size in zip(_without(shape, place), _without(target.shape, place), strict=True)
    )
    if not fits or broadcast("xl.scatter", shape, new.shape) != tuple(shape):
        raise KernelError(
            "kernel-shape",
            f"xl.scatter: positions {tuple(shape)} and updates {new.shape} do not fit {target}",
        )
    if 0 in shape:
        return target
    return _combined(r, target, at, _expanded(r, new, shape), place, combine)


def _combined(
    r: KernelRecorder, x: ArrayValue, at: ArrayValue, new: ArrayValue, axis: int, combine: str
) -> ArrayValue:
    rows = at.size == at.shape[axis] and _without(new.shape, axis) == _without(x.shape, axis)
    if rows and combine in ("set", "add"):
        flat = reshaped(r, at, [at.size])
        front, back = moveaxis(r, x, axis, 0), moveaxis(r, new, axis, 0)
        found = r.call(
            "aten.index_put.default",
            x.dtype,
            front.shape,
            self=front,
            indices=[flat],
            values=back,
            accumulate=combine == "add",
        )
        return moveaxis(r, found, 0, axis)
    positions = _expanded(r, lifted(r, at, "int64"), new.shape)
    if combine == "set":
        return r.call(
            "aten.scatter.src", x.dtype, x.shape, self=x, dim=axis, index=positions, src=new
        )
    return r.call(
        "aten.scatter_reduce.two",
        x.dtype,
        x.shape,
        self=x,
        dim=axis,
        index=positions,
        src=new,
        reduce=_COMBINE[combine],
        include_self=True,
    )
