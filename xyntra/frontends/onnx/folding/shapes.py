# SPDX-License-Identifier: MIT OR Apache-2.0
"""Evaluation of operators that move, select, count or combine elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import onnx

from xyntra.dialects.tensors.broadcasting import broadcast_shapes
from xyntra.dialects.tensors.reductions import Reduction, identity_of
from xyntra.frontends.onnx.folding.fold import TooLargeError, bounded, folds
from xyntra.frontends.onnx.node import Node
from xyntra.frontends.onnx.ops.elementwise.precision import accumulator_of
from xyntra.frontends.onnx.ops.reductions.reduce import reduction_axes
from xyntra.frontends.onnx.ops.tensors.constant import range_length
from xyntra.frontends.onnx.ops.tensors.indices import checked_indices
from xyntra.frontends.onnx.ops.tensors.joins import concat_axis, split_ranges
from xyntra.frontends.onnx.ops.tensors.shape import reshaped, tile_repeats, transposed_axes
from xyntra.frontends.onnx.ops.tensors.slice import slice_spans

_REDUCTIONS: dict[str, tuple[Callable[..., np.ndarray], Reduction]] = {
    "ReduceSum": (np.sum, "sum"),
    "ReduceProd": (np.prod, "prod"),
    "ReduceMax": (np.max, "max"),
    "ReduceMin": (np.min, "min"),
}


@folds("Reshape", "Flatten", "Squeeze", "Unsqueeze")
def _reshape(node: Node) -> np.ndarray:
    x = node.constant(0)
    return x.reshape(reshaped(node, x.shape))


@folds("Transpose")
def _transpose(node: Node) -> np.ndarray:
    x = node.constant(0)
    return x.transpose(transposed_axes(node, x.ndim))


@folds("Expand")
def _expand(node: Node) -> np.ndarray:
    x, wanted = node.constant(0), [int(n) for n in node.constant(1).reshape(-1)]
    return np.array(np.broadcast_to(x, _kept_small(x, broadcast_shapes(x.shape, wanted))))


@folds("Tile")
def _tile(node: Node) -> np.ndarray:
    x = node.constant(0)
    repeats = tile_repeats(node, x.shape)
    _kept_small(x, [n * m for n, m in zip(x.shape, repeats, strict=True)])
    return np.tile(x, repeats)


def _kept_small(x: np.ndarray, shape: Sequence[int]) -> tuple[int, ...]:
    """Return the shape of repeated elements, which are computed now if they may be sizes.

    Data is repeated where it is used, whatever its shape: a free dimension may be part of that.
    """
    if x.dtype.kind == "f" and len(shape) > 1:
        raise TooLargeError
    return bounded(shape)


@folds("Concat")
def _concat(node: Node) -> np.ndarray:
    parts = [node.constant(position) for position in range(len(node.operands))]
    return np.concatenate(parts, concat_axis(node, [part.shape for part in parts]))


@folds("Split")
def _split(node: Node) -> list[np.ndarray]:
    x = node.constant(0)
    axis, ranges = split_ranges(node, x.shape)
    return [np.take(x, range(start, start + size), axis) for start, size in ranges]


@folds("Slice")
def _slice(node: Node) -> np.ndarray:
    x = node.constant(0)
    for axis, (start, size, step) in enumerate(slice_spans(node, x.shape)):
        x = np.take(x, [start + n * step for n in range(size)], axis)
    return x


@folds("Gather")
def _gather(node: Node) -> np.ndarray:
    x, indices = node.constant(0), node.constant(1)
    axis = node.axis(node.attribute("axis", 0), x.ndim)
    bounded((*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :]))
    return np.take(x, np.asarray(checked_indices(node, indices, x.shape[axis])), axis)


@folds("GatherElements")
def _gather_elements(node: Node) -> np.ndarray:
    """The indices may be fewer than the elements along any dimension."""
    x, indices = node.constant(0), node.constant(1)
    axis = node.axis(node.attribute("axis", 0), x.ndim)
    if indices.ndim != x.ndim:
        raise node.invalid(f"indices of shape {indices.shape} do not fit {x.shape}")
    position: list[np.ndarray] = list(np.ogrid[tuple(slice(n) for n in indices.shape)])
    position[axis] = np.asarray(checked_indices(node, indices, x.shape[axis]))
    return np.asarray(x[tuple(position)])


@folds("NonZero")
def _non_zero(node: Node) -> np.ndarray:
    return np.array(np.nonzero(np.atleast_1d(node.constant(0))), np.int64)


@folds("ConstantOfShape")
def _constant_of_shape(node: Node) -> np.ndarray:
    shape = [int(n) for n in node.constant(0).reshape(-1)]
    if min(shape, default=0) < 0:
        raise node.invalid(f"shape {shape} has a negative size")
    value = node.attribute("value")
    array = np.zeros(1, np.float32) if value is None else onnx.numpy_helper.to_array(value)
    return np.full(bounded(shape), array.item(), array.dtype)


@folds("Range")
def _range(node: Node) -> np.ndarray:
    start, _, delta = (node.constant(position) for position in range(3))
    (count,) = bounded([range_length(node)])
    wide = np.dtype(accumulator_of(start.dtype.name))
    first, step = (array.reshape(()).astype(wide) for array in (start, delta))
    values: np.ndarray = first + np.arange(count).astype(wide) * step
    return values.astype(start.dtype)


@folds(*_REDUCTIONS)
def _reduce(node: Node) -> np.ndarray:
    x = node.constant(0)
    function, kind = _REDUCTIONS[node.op_type]
    wide = x.astype(np.dtype(accumulator_of(x.dtype.name)))
    axes, initial = tuple(reduction_axes(node, x.ndim)), identity_of(kind, wide.dtype.name)
    keepdims = bool(node.attribute("keepdims", 1))
    result = function(wide, axis=axes, keepdims=keepdims, initial=initial)
    return np.asarray(result).astype(x.dtype)
