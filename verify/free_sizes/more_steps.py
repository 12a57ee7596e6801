# SPDX-License-Identifier: MIT OR Apache-2.0
"""Operators that compute with sizes, cut, join, scan and fold along free dimensions."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from onnx import TensorProto

from verify.free_sizes.maker import Maker, Shape

__all__ = ["MORE_STEPS"]

_ROWS = 128


def _free_axes(shape: Shape) -> list[int]:
    return [axis for axis, size in enumerate(shape) if isinstance(size, str)]


def _is_told(size: int | str) -> bool:
    """Tell whether a size is one that an input has, and not much larger."""
    return isinstance(size, str) and size in {"b", "s"}


def _numbered(maker: Maker, name: str, shape: Shape, axis: int) -> str:
    """Add the numbers 0, 1, ... of places along a dimension, as floats that broadcast."""
    count = maker.node("Squeeze", maker.size(name, axis))
    start, step = maker.weight(np.asarray(0)), maker.weight(np.asarray(1))
    places = maker.node("Range", start, count, step)
    floats = maker.node("Cast", places, to=TensorProto.FLOAT)
    return maker.node("Reshape", floats, maker.numbers(-1, *[1] * (len(shape) - axis - 1)))


def _positions(maker: Maker, name: str, shape: Shape) -> None:
    if axes := _free_axes(shape):
        places = _numbered(maker, name, shape, maker.random.choice(axes))
        scaled = maker.node("Mul", places, maker.scalar(0.05))
        maker.op("Add", [name, maker.node("Sin", scaled)], shape)


def _masked(maker: Maker, name: str, shape: Shape) -> None:
    if len(shape) > 1 and isinstance(shape[-1], str) and isinstance(shape[-2], str):
        rows = _numbered(maker, name, shape, len(shape) - 2)
        columns = _numbered(maker, name, shape, len(shape) - 1)
        hidden = maker.node("Less", rows, columns)
        maker.op("Where", [hidden, maker.scalar(-3.0), name], shape)


def _triangle(maker: Maker, name: str, shape: Shape) -> None:
    if len(shape) > 1:
        maker.op("Trilu", [name], shape, upper=maker.random.randrange(2))


def _table(maker: Maker, name: str, shape: Shape) -> None:
    if len(shape) > 1 and _is_told(shape[-2]) and isinstance(shape[-1], int):
        zero, end = maker.numbers(0), maker.size(name, len(shape) - 2)
        table = maker.weight(_drawn(maker, _ROWS, shape[-1]))
        maker.op("Add", [name, maker.node("Slice", table, zero, end, zero)], shape)


def _drawn(maker: Maker, *shape: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    rng = np.random.default_rng(maker.random.randrange(1 << 30))
    return rng.standard_normal(shape).astype(np.float32)


def _looked_up(maker: Maker, name: str, shape: Shape) -> None:
    inputs = [(each, axes) for each, axes in maker.inputs.items() if len(axes) > 1]
    if inputs:
        name, shape = inputs[0]
        axis = maker.random.choice([n for n, size in enumerate(shape) if isinstance(size, int)])
        best = maker.node("ArgMax", name, axis=axis, keepdims=0)
        table = maker.weight(_drawn(maker, int(shape[axis]), 8))
        maker.op("Gather", [table, best], (*shape[:axis], *shape[axis + 1 :], 8), axis=0)


def _end(maker: Maker, name: str, shape: Shape) -> None:
    if axes := _free_axes(shape):
        axis, place = maker.random.choice(axes), maker.random.choice((0, -1))
        left = (*shape[:axis], *shape[axis + 1 :])
        maker.op("Gather", [name, maker.weight(np.asarray(place))], left, axis=axis)


def _flipped(maker: Maker, name: str, shape: Shape) -> None:
    if axes := _free_axes(shape):
        ends = [maker.numbers(-1), maker.numbers(-(1 << 40))]
        rest = [maker.numbers(maker.random.choice(axes)), maker.numbers(-1)]
        maker.op("Slice", [name, *ends, *rest], shape)


def _shifted(maker: Maker, name: str, shape: Shape) -> None:
    """Move everything one place on."""
    if axes := _free_axes(shape):
        axis = maker.random.choice(axes)
        pads = [0] * (2 * len(shape))
        pads[axis] = 1
        padded = maker.node("Pad", name, maker.numbers(*pads))
        ends = [maker.numbers(0), maker.numbers(-1), maker.numbers(axis)]
        maker.op("Slice", [padded, *ends], shape)


def _padded(maker: Maker, name: str, shape: Shape) -> None:
    axes = [axis for axis in _free_axes(shape) if _is_told(shape[axis])]
    if axes:
        axis, more = maker.random.choice(axes), maker.random.randrange(1, 4)
        pads = [0] * (2 * len(shape))
        pads[len(shape) + axis] = more
        wider = (*shape[:axis], f"{shape[axis]}+{more}", *shape[axis + 1 :])
        maker.op("Pad", [name, maker.numbers(*pads)], wider)


def _class_token(maker: Maker, name: str, shape: Shape) -> None:
    """Put a row ahead of the others, as vision transformers do."""
    if len(shape) == 3 and _is_told(shape[1]) and isinstance(shape[2], int):
        tail = maker.numbers(1, shape[2])
        sizes = maker.node("Concat", maker.size(name, 0), tail, axis=0)
        token = maker.node("Expand", maker.weight(_drawn(maker, 1, 1, shape[2])), sizes)
        maker.op("Concat", [token, name], (shape[0], f"{shape[1]}+1", shape[2]), axis=1)


def _joined(maker: Maker, name: str, shape: Shape) -> None:
    axes = [axis for axis in _free_axes(shape) if _is_told(shape[axis])]
    same = [other for other, found in maker.tensors if found == shape]
    if axes:
        axis = maker.random.choice(axes)
        wider = (*shape[:axis], f"2*{shape[axis]}", *shape[axis + 1 :])
        maker.op("Concat", [name, maker.random.choice(same)], wider, axis=axis)


def _are_of_inputs(maker: Maker, shape: Shape) -> bool:
    """Tell whether all sizes are numbers, or such as inputs have."""
    known = {size for each in maker.inputs.values() for size in each}
    return all(isinstance(size, int) or size in known for size in shape)


def _with_past(maker: Maker, name: str, shape: Shape, axis: int) -> tuple[str, Shape]:
    """Put an input ahead that may have no elements."""
    past = f"past{len(maker.inputs)}"
    maker.inputs[past] = (*shape[:axis], "p", *shape[axis + 1 :])
    longer = (*shape[:axis], f"p+{shape[axis]}", *shape[axis + 1 :])
    maker.op("Concat", [past, name], longer, axis=axis)
    return maker.tensors[-1]


def _after_past(maker: Maker, name: str, shape: Shape) -> None:
    axes = [axis for axis in _free_axes(shape) if _is_told(shape[axis])]
    if axes and _are_of_inputs(maker, shape):
        _with_past(maker, name, shape, maker.random.choice(axes))


def _attention_to_past(maker: Maker, name: str, shape: Shape) -> None:
    """Attend to what an input holds, and to what follows it."""
    if len(shape) < 2 or not _are_of_inputs(maker, shape):
        return
    if _is_told(shape[-2]) and isinstance(shape[-1], int):
        keys, found = _with_past(maker, name, shape, len(shape) - 2)
        order = [*range(len(shape) - 2), len(shape) - 1, len(shape) - 2]
        turned = maker.node("Transpose", keys, perm=order)
        scores = maker.node("MatMul", name, turned)
        if maker.random.random() < 0.5:
            scores = maker.node("Mul", scores, maker.scalar(shape[-1] ** -0.5))
        if maker.random.random() < 0.5:
            maker.op("Softmax", [scores], (*shape[:-1], found[-2]), axis=-1)
            scores = maker.tensors[-1][0]
        else:
            scores = maker.node("Softmax", scores, axis=-1)
        maker.op("MatMul", [scores, keys], shape)


def _tiled(maker: Maker, name: str, shape: Shape) -> None:
    axes = [axis for axis in _free_axes(shape) if _is_told(shape[axis])]
    if axes:
        axis = maker.random.choice(axes)
        times = [1] * len(shape)
        times[axis] = 2
        wider = (*shape[:axis], f"2*{shape[axis]}", *shape[axis + 1 :])
        maker.op("Tile", [name, maker.numbers(*times)], wider)


def _halves(maker: Maker, name: str, shape: Shape) -> None:
    axes = [n for n, size in enumerate(shape) if isinstance(size, int) and size % 2 == 0]
    if axes:
        axis = maker.random.choice(axes)
        half = int(shape[axis]) // 2
        parts = [maker.numbers(0), maker.numbers(half), maker.numbers(2 * half)]
        place = maker.numbers(axis)
        one = maker.node("Slice", name, parts[0], parts[1], place)
        other = maker.node("Slice", name, parts[1], parts[2], place)
        gate = maker.node("Sigmoid", other)
        maker.op("Mul", [one, gate], (*shape[:axis], half, *shape[axis + 1 :]))


def _rotated(maker: Maker, name: str, shape: Shape) -> None:
    """Swap the halves of rows, one of them with the other sign."""
    if shape and isinstance(shape[-1], int) and shape[-1] % 2 == 0:
        half, axis = shape[-1] // 2, maker.numbers(-1)
        parts = [maker.numbers(0), maker.numbers(half), maker.numbers(shape[-1])]
        one = maker.node("Slice", name, parts[0], parts[1], axis)
        other = maker.node("Slice", name, parts[1], parts[2], axis)
        maker.op("Concat", [maker.node("Neg", other), one], shape, axis=-1)


def _running(maker: Maker, name: str, shape: Shape) -> None:
    if shape:
        axis = maker.weight(np.asarray(maker.random.randrange(len(shape))))
        maker.op("CumSum", [name, axis], shape, reverse=maker.random.randrange(2))


def _largest(maker: Maker, name: str, shape: Shape) -> None:
    axes = [n for n, size in enumerate(shape) if isinstance(size, int) and size > 2]
    if axes:
        axis = maker.random.choice(axes)
        found = (*shape[:axis], 3, *shape[axis + 1 :])
        maker.op("TopK", [name, maker.numbers(3)], found, axis=axis, unread=1)


def _deviation(maker: Maker, name: str, shape: Shape) -> None:
    """Norm a dimension, written out."""
    if shape:
        axis = maker.numbers(maker.random.randrange(len(shape)))
        centred = maker.node("Sub", name, maker.node("ReduceMean", name, axis))
        squared = maker.node("ReduceMean", maker.node("Mul", centred, centred), axis)
        deviation = maker.node("Sqrt", maker.node("Add", squared, maker.scalar(0.1)))
        maker.op("Div", [centred, deviation], shape)


def _summed_twice(maker: Maker, name: str, shape: Shape) -> None:
    if len(shape) > 2:
        axes = sorted(maker.random.sample(range(len(shape)), 2))
        left = tuple(size for axis, size in enumerate(shape) if axis not in axes)
        maker.op("ReduceMean", [name, maker.numbers(*axes)], left, keepdims=0)


def _mixed(maker: Maker, name: str, shape: Shape) -> None:
    """Multiply two values."""
    if len(shape) < 2:
        return
    fitting = [
        (other, found)
        for other, found in maker.tensors
        if len(found) == len(shape) and found[:-2] == shape[:-2] and found[-2] == shape[-1]
    ]
    if fitting:
        other, found = maker.random.choice(fitting)
        maker.op("MatMul", [name, other], (*shape[:-1], found[-1]))


def _flattened(maker: Maker, name: str, shape: Shape) -> None:
    if len(shape) > 1:
        axis = maker.random.randrange(1, len(shape))
        parts = ["*".join(map(str, each)) for each in (shape[:axis], shape[axis:])]
        sizes: Shape = tuple(int(each) if each.isdigit() else each for each in parts)
        maker.op("Flatten", [name], sizes, axis=axis)


def _selected(maker: Maker, name: str, shape: Shape) -> None:
    above = maker.node("Greater", name, maker.scalar(0.0))
    maker.op("Where", [above, name, maker.node("Mul", name, maker.scalar(0.1))], shape)


def _gelu(maker: Maker, name: str, shape: Shape) -> None:
    erf = maker.node("Erf", maker.node("Mul", name, maker.scalar(0.7071)))
    half = maker.node("Mul", name, maker.scalar(0.5))
    maker.op("Mul", [half, maker.node("Add", erf, maker.scalar(1.0))], shape)


MORE_STEPS: tuple[Callable[[Maker, str, Shape], None], ...] = (
    _positions, _masked, _triangle, _table, _looked_up, _end, _flipped, _shifted, _padded,
    _class_token, _joined, _tiled, _halves, _rotated, _running, _largest, _deviation,
    _summed_twice, _mixed, _flattened, _selected, _gelu, _after_past, _attention_to_past,
)  # fmt: skip
