# SPDX-License-Identifier: MIT OR Apache-2.0
"""Moves of data in numpy where onnx's reference is slow or does not take every type."""

from __future__ import annotations

import numpy as np

from verify.random_graphs.dtypes import is_float, wide
from verify.random_graphs.reference.call import Call, kernel

__all__: list[str] = []

Array = np.ndarray


@kernel("Transpose")
def transpose(call: Call) -> Array:
    return np.transpose(call.inputs[0], call.get("perm"))


@kernel("Constant")
def constant(call: Call) -> Array:
    (name,) = call.attributes
    value = call.attributes[name]
    if name == "value":
        return wide(value)
    return np.array(value, np.float64 if "float" in name else np.int64)


@kernel("ConstantOfShape")
def constant_of_shape(call: Call) -> Array:
    value = call.get("value", np.zeros(1, np.float32))
    return wide(np.full([int(n) for n in call.inputs[0]], value.reshape(())[()], value.dtype))


@kernel("Shape")
def shape(call: Call) -> Array:
    x = call.inputs[0]
    return np.array(x.shape[slice(call.get("start", 0), call.get("end"))], np.int64)


@kernel("Reshape")
def reshape(call: Call) -> Array:
    x, target = call.inputs[0], [int(n) for n in call.inputs[1]]
    if not call.get("allowzero", 0):
        target = [x.shape[i] if n == 0 else n for i, n in enumerate(target)]
    return x.reshape(target)


@kernel("Unsqueeze")
def unsqueeze(call: Call) -> Array:
    x, axes = call.inputs[0], call.integers("axes", 1) or []
    places = {axis % (x.ndim + len(axes)) for axis in axes}
    sizes = iter(x.shape)
    return x.reshape([1 if i in places else next(sizes) for i in range(x.ndim + len(axes))])


@kernel("Expand")
def expand(call: Call) -> Array:
    x, target = call.inputs[0], tuple(int(n) for n in call.inputs[1])
    return np.broadcast_to(x, np.broadcast_shapes(x.shape, target))


@kernel("Gather")
def gather(call: Call) -> Array:
    return np.take(call.inputs[0], call.inputs[1], call.get("axis", 0))


@kernel("GatherElements")
def gather_elements(call: Call) -> Array:
    x, index, axis = call.inputs[0], call.inputs[1], call.get("axis", 0) % call.inputs[0].ndim
    grid = list(np.indices(index.shape, sparse=True))
    grid[axis] = index
    return x[tuple(grid)]


@kernel("Slice")
def slice_(call: Call) -> Array:
    x = call.inputs[0]
    starts, ends = call.integers("starts", 1), call.integers("ends", 2)
    axes = call.integers("axes", 3) or list(range(len(starts or [])))
    steps = call.integers("steps", 4) or [1] * len(starts or [])
    key = [slice(None)] * x.ndim
    for start, end, axis, step in zip(starts or [], ends or [], axes, steps, strict=True):
        size = x.shape[axis]
        start = start + size if start < 0 else start
        end = end + size if end < 0 else end
        if step > 0:
            key[axis] = slice(min(max(start, 0), size), min(max(end, 0), size), step)
        else:
            start, end = min(max(start, 0), size - 1), min(max(end, -1), size - 1)
            key[axis] = slice(start, None if end < 0 else end, step) if size else slice(0, 0)
    return x[tuple(key)]


@kernel("Concat")
def concat(call: Call) -> Array:
    return np.concatenate([np.asarray(each) for each in call.inputs], call.get("axis", 1))


@kernel("OneHot")
def one_hot(call: Call) -> Array:
    """Indices of other types are cast to integers first."""
    index, depth = np.trunc(call.inputs[0]).astype(np.int64), int(np.ravel(call.inputs[1])[0])
    axis = call.get("axis", -1) % (index.ndim + 1)
    wrapped = np.expand_dims(np.where(index < 0, index + depth, index), axis)
    places = np.arange(depth).reshape([-1 if i == axis else 1 for i in range(index.ndim + 1)])
    return np.where(wrapped == places, call.inputs[2][1], call.inputs[2][0])


@kernel("EyeLike")
def eye_like(call: Call) -> Array:
    elem = int(call.get("dtype", call.elems[0] or 1))
    eye = np.eye(*call.inputs[0].shape, k=call.get("k", 0))
    return eye if is_float(elem) else eye.astype(np.int64)


@kernel("CumSum")
def cumulative_sum(call: Call) -> Array:
    x, axis = call.inputs[0], int(np.ravel(call.inputs[1])[0])
    if call.get("reverse", 0):
        x = np.flip(x, axis)
    result = np.cumsum(x, axis, dtype=x.dtype)
    if call.get("exclusive", 0):
        result = np.roll(result, 1, axis)
        if result.shape[axis]:
            np.moveaxis(result, axis, 0)[0] = 0
    return np.flip(result, axis) if call.get("reverse", 0) else result
