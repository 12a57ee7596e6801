# SPDX-License-Identifier: MIT OR Apache-2.0
"""Records views, joins and copies of parts."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from xyntra.errors import KernelError
from xyntra.frontends.kernel.functions.creation import shape_argument
from xyntra.frontends.kernel.language import (
    array_of,
    broadcast,
    constant,
    constant_axes,
    constant_axis,
    constant_int,
    language,
)
from xyntra.frontends.kernel.promotion import common_dtype, lifted
from xyntra.frontends.kernel.recorder import KernelRecorder
from xyntra.frontends.kernel.values import ArrayValue

__all__ = ["reshaped"]


def reshaped(r: KernelRecorder, x: ArrayValue, shape: Sequence[int]) -> ArrayValue:
    """Return an array under another shape of as many elements."""
    if tuple(shape) == x.shape:
        return x
    return r.call("aten.view.default", x.dtype, shape, self=x)


@language("reshape")
def reshape(r: KernelRecorder, x: Any, /, *shape: Any) -> ArrayValue:
    """The elements in row-major order under another shape; one size may be -1."""
    value = array_of("xl.reshape", x)
    given = shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
    sizes = [constant_int("a size", each) for each in given]
    if sizes.count(-1) == 1:
        known = prod(size for size in sizes if size != -1)
        if known and value.size % known == 0:
            sizes[sizes.index(-1)] = value.size // known
    if any(size < 0 for size in sizes) or prod(sizes) != value.size:
        raise KernelError(
            "kernel-shape",
            f"an array of shape {value.shape} cannot be reshaped to {tuple(sizes)}",
            cause=f"it has {value.size:,} elements",
        )
    return reshaped(r, value, sizes)


@language("permute_dims")
def permute_dims(r: KernelRecorder, x: Any, /, *axes: Any) -> ArrayValue:
    """Dimension `i` of the result is dimension `axes[i]` of `x`."""
    value = array_of("xl.permute_dims", x)
    given = axes[0] if len(axes) == 1 and isinstance(axes[0], (tuple, list)) else axes
    order = [constant_axis("xl.permute_dims", each, value.ndim) for each in given]
    if sorted(order) != list(range(value.ndim)):
        raise KernelError(
            "kernel-shape",
            f"{tuple(order)} is no order of the {value.ndim} dimensions of an array {value}",
        )
    return _permuted(r, value, order)


def _permuted(r: KernelRecorder, x: ArrayValue, order: Sequence[int]) -> ArrayValue:
    if list(order) == list(range(x.ndim)):
        return x
    shape = [x.shape[d] for d in order]
    return r.call("aten.permute.default", x.dtype, shape, self=x, dims=list(order))


@language("matrix_transpose")
def matrix_transpose(r: KernelRecorder, x: Any, /) -> ArrayValue:
    """The last two dimensions exchanged; `x.mT`."""
    value = array_of("xl.matrix_transpose", x)
    if value.ndim < 2:
        raise KernelError("kernel-shape", f"an array {value} has no matrices")
    return _permuted(r, value, [*range(value.ndim - 2), value.ndim - 1, value.ndim - 2])


@language("moveaxis")
def moveaxis(r: KernelRecorder, x: Any, source: Any, destination: Any, /) -> ArrayValue:
    """One dimension moved to another place."""
    value = array_of("xl.moveaxis", x)
    first = constant_axis("source", source, value.ndim)
    order = [d for d in range(value.ndim) if d != first]
    order.insert(constant_axis("destination", destination, value.ndim), first)
    return _permuted(r, value, order)


@language("expand_dims")
def expand_dims(r: KernelRecorder, x: Any, /, *, axis: Any = 0) -> ArrayValue:
    """A dimension of size 1 inserted at `axis`."""
    value = array_of("xl.expand_dims", x)
    at = constant_axis("axis", axis, value.ndim + 1)
    return reshaped(r, value, [*value.shape[:at], 1, *value.shape[at:]])


@language("squeeze")
def squeeze(r: KernelRecorder, x: Any, /, axis: Any) -> ArrayValue:
    """Dimensions of size 1 left out."""
    value = array_of("xl.squeeze", x)
    axes = constant_axes("axis", axis, value.ndim)
    if any(value.shape[d] != 1 for d in axes):
        raise KernelError(
            "kernel-shape", f"xl.squeeze: axis {axis} of {value.shape} is not of size 1"
        )
    return reshaped(r, value, [size for d, size in enumerate(value.shape) if d not in axes])


@language("broadcast_to")
def broadcast_to(r: KernelRecorder, x: Any, /, shape: Any) -> ArrayValue:
    """`x` repeated to a shape by numpy's rule."""
    value = array_of("xl.broadcast_to", x)
    wanted = shape_argument("xl.broadcast_to", shape)
    if broadcast("xl.broadcast_to", value.shape, wanted) != wanted:
        raise KernelError("kernel-shape", f"the shape {value.shape} does not broadcast to {wanted}")
    if wanted == value.shape:
        return value
    return r.call("aten.expand.default", value.dtype, wanted, self=value)


@language("concat")
def concat(r: KernelRecorder, arrays: Any, /, *, axis: Any = 0) -> ArrayValue:
    """Arrays one behind the other along `axis`."""
    values = _arrays("xl.concat", arrays)
    at = constant_axis("axis", axis, values[0].ndim)
    rest = {(*v.shape[:at], *v.shape[at + 1 :]) for v in values}
    if len(rest) > 1 or any(v.ndim != values[0].ndim for v in values):
        texts = ", ".join(str(v.shape) for v in values)
        raise KernelError("kernel-shape", f"xl.concat along axis {at}: {texts} do not fit together")
    dtype = common_dtype(*values, what="xl.concat")
    size = sum(v.shape[at] for v in values)
    shape = [size if d == at else n for d, n in enumerate(values[0].shape)]
    parts = [lifted(r, v, dtype) for v in values]
    return (
        parts[0]
        if len(parts) == 1
        else r.call("aten.cat.default", dtype, shape, tensors=parts, dim=at)
    )


@language("stack")
def stack(r: KernelRecorder, arrays: Any, /, *, axis: Any = 0) -> ArrayValue:
    """Arrays of one shape side by side along a new dimension."""
    values = _arrays("xl.stack", arrays)
    if len({v.shape for v in values}) > 1:
        texts = ", ".join(str(v.shape) for v in values)
        raise KernelError("kernel-shape", f"xl.stack: the shapes {texts} differ")
    at = constant_axis("axis", axis, values[0].ndim + 1)
    shape = values[0].shape
    single = [reshaped(r, v, [*shape[:at], 1, *shape[at:]]) for v in values]
    return concat(r, single, axis=at)


def _arrays(name: str, arrays: Any) -> list[ArrayValue]:
    if not isinstance(arrays, (tuple, list)) or not arrays:
        raise KernelError("kernel-type", f"{name} takes a list of arrays", hint=f"{name}([a, b])")
    return [array_of(name, each) for each in arrays]


@language("flip")
def flip(r: KernelRecorder, x: Any, /, *, axis: Any = None) -> ArrayValue:
    """The order of elements reversed along dimensions."""
    value = array_of("xl.flip", x)
    axes = constant_axes("axis", axis, value.ndim)
    return r.call("aten.flip.default", value.dtype, value.shape, self=value, dims=list(axes))


@language("roll")
def roll(r: KernelRecorder, x: Any, /, shift: Any, *, axis: Any) -> ArrayValue:
    """Elements moved along a dimension; those that leave at one end come in at the other."""
    value = array_of("xl.roll", x)
    at = constant_axis("axis", axis, value.ndim)
    size = value.shape[at]
    cut = constant_int("shift", shift) % size if size else 0
    if not cut:
        return value
    parts = [part(r, value, at, size - cut, size), part(r, value, at, 0, size - cut)]
    return concat(r, parts, axis=at)


def part(
    r: KernelRecorder, x: ArrayValue, axis: int, start: int, stop: int, step: int = 1
) -> ArrayValue:
    """Return the elements from `start` to below `stop` of one dimension; the step is positive."""
    if (start, stop, step) == (0, x.shape[axis], 1):
        return x
    size = len(range(start, stop, step))
    shape = [size if d == axis else n for d, n in enumerate(x.shape)]
    return r.call(
        "aten.slice.Tensor", x.dtype, shape, self=x, dim=axis, start=start, end=stop, step=step
    )


@language("pad")
def pad(r: KernelRecorder, x: Any, pad_width: Any, /, value: Any = 0) -> ArrayValue:
    """`x` with a constant before and behind it; `pad_width` has a pair for each dimension."""
    source = array_of("xl.pad", x)
    pairs = [tuple(constant_int("a padding", n) for n in pair) for pair in constant(pad_width)]
    if len(pairs) != source.ndim or any(len(p) != 2 or min(p) < 0 for p in pairs):
        raise KernelError(
            "kernel-shape", f"xl.pad: {pairs} is not a pair for each dimension of {source.shape}"
        )
    shape = [low + n + high for n, (low, high) in zip(source.shape, pairs, strict=True)]
    flat = [n for pair in reversed(pairs) for n in pair]
    filler = lifted(r, constant(value), source.dtype)
    common_dtype(source, value, what="xl.pad")
    return r.call(
        "aten.constant_pad_nd.default", source.dtype, shape, self=source, pad=flat, value=filler
    )


@language("repeat")
def repeat(r: KernelRecorder, x: Any, repeats: Any, /, *, axis: Any) -> ArrayValue:
    """Every element `repeats` times along `axis`."""
    value = array_of("xl.repeat", x)
    at, count = constant_axis("axis", axis, value.ndim), constant_int("repeats", repeats)
    if count < 0:
        raise KernelError("kernel-shape", f"xl.repeat: {count} repeats")
    head, size, tail = value.shape[:at], value.shape[at], value.shape[at + 1 :]
    single = reshaped(r, value, [*head, size, 1, *tail])
    wide = r.call("aten.expand.default", value.dtype, [*head, size, count, *tail], self=single)
    return reshaped(r, wide, [*head, size * count, *tail])


@language("tile")
def tile(r: KernelRecorder, x: Any, repetitions: Any, /) -> ArrayValue:
    """The whole array repeated along its dimensions."""
    value = array_of("xl.tile", x)
    counts = list(shape_argument("xl.tile", repetitions))
    counts = [1] * (value.ndim - len(counts)) + counts
    sizes = [1] * (len(counts) - value.ndim) + list(value.shape)
    shape = [n * count for n, count in zip(sizes, counts, strict=True)]
    return r.call("aten.repeat.default", value.dtype, shape, self=value, repeats=counts)


@language("diagonal")
def diagonal(r: KernelRecorder, x: Any, /, *, offset: Any = 0) -> ArrayValue:
    """The diagonal of each matrix."""
    value = array_of("xl.diagonal", x)
    if value.ndim < 2:
        raise KernelError("kernel-shape", f"xl.diagonal takes matrices, not an array {value}")
    k = constant_int("offset", offset)
    rows, columns = value.shape[-2:]
    size = max(0, min(rows + min(k, 0), columns - max(k, 0)))
    return r.call(
        "aten.diagonal.default",
        value.dtype,
        [*value.shape[:-2], size],
        self=value,
        offset=k,
        dim1=value.ndim - 2,
        dim2=value.ndim - 1,
    )


@language("windows")
def windows(
    r: KernelRecorder, x: Any, size: Any, /, *, step: Any = 1, axis: Any = -1
) -> ArrayValue:
    """Overlapping windows along `axis`; their elements are a new last dimension."""
    value = array_of("xl.windows", x)
    at = constant_axis("axis", axis, value.ndim)
    width, stride = constant_int("size", size), constant_int("step", step)
    if not 1 <= width <= value.shape[at] or stride < 1:
        raise KernelError(
            "kernel-shape", f"xl.windows: {width} of {value.shape[at]} elements, step {stride}"
        )
    count = (value.shape[at] - width) // stride + 1
    shape = [*(count if d == at else n for d, n in enumerate(value.shape)), width]
    return r.call(
        "aten.unfold.default", value.dtype, shape, self=value, dimension=at, size=width, step=stride
    )
