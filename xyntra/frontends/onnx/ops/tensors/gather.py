# SPDX-License-Identifier: MIT OR Apache-2.0
"""Reading at positions that a tensor holds.

Module `indices` says what happens out of range.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

import numpy as np
from torch_mlir import ir

from xyntra.dialects.builder import Operand, Tensor, TensorBuilder
from xyntra.dialects.scalar import Scalar
from xyntra.frontends.onnx.file.patterns import EvenValues, even_values
from xyntra.frontends.onnx.node import Node, handles
from xyntra.frontends.onnx.ops.tensors.indices import address, checked_indices, missing

Position = Callable[..., tuple[list[Scalar], "Scalar | None"]]


def read_at(
    b: TensorBuilder,
    x: Tensor,
    shape: Sequence[int],
    indices: Sequence[tuple[Tensor, ir.AffineMap]],
    position: Position,
) -> Tensor:
    """A tensor whose elements are those of `x` at computed positions.

    Args:
        b: where to build.
        x: the tensor to read.
        shape: shape of the result.
        indices: tensors of indices, with the maps that read them over the result's dimensions.
        position: takes one index of each tensor and returns where to read, in bounds, with a
            boolean that is false where there is no such element (None: always true).
    """

    def body(*scalars: Scalar) -> Scalar:
        where, inside = position(*scalars[:-1])
        value = b.extract(x, where)
        return value if inside is None else inside.select(value, missing(x.dtype))

    output = (b.empty(shape, x.dtype), x.dtype, b.identity(len(shape)))
    return b.generic(indices, [output], ["parallel"] * len(shape), body)[0]


def take(b: TensorBuilder, x: Tensor, indices: Operand, axis: int) -> Tensor:
    """`numpy.take(x, indices, axis)`; an array of indices must be checked already."""
    shape = (*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :])
    if isinstance(indices, np.ndarray):
        step = _constant_step(indices)
        if step:
            sizes = [indices.size if d == axis else n for d, n in enumerate(x.shape)]
            starts = [int(indices.flat[0]) if d == axis else 0 for d in range(x.rank)]
            steps = [step if d == axis else 1 for d in range(x.rank)]
            return b.reshape(b.slice(x, starts, sizes, steps), shape)
        even = _even_places(indices) if indices.ndim > 1 and prod(shape) else None
        if even is not None and min(even.steps) >= 0:
            return _read_evenly(b, x, shape, axis, even)
    tensor = b.tensor(indices)
    known = isinstance(indices, np.ndarray)

    def position(index: Scalar) -> tuple[list[Scalar], Scalar | None]:
        at, inside = (index.cast("index"), None) if known else address(index, x.shape[axis])
        after = range(axis + tensor.rank, len(shape))
        return [*(b.index(d) for d in range(axis)), at, *(b.index(d) for d in after)], inside

    return read_at(b, x, shape, [(tensor, _dims_map(b, len(shape), axis, tensor.rank))], position)


def _constant_step(indices: np.ndarray) -> int | None:
    """The step of an arithmetic progression; 1 for a single index, None where there is no step."""
    if indices.size < 2:
        return 1 if indices.size else None
    steps = np.diff(indices.reshape(-1))
    return int(steps[0]) if steps[0] and (steps == steps[0]).all() else None


def _even_places(indices: np.ndarray) -> EvenValues | None:
    places = np.ascontiguousarray(indices, np.int64)
    return even_values(places.data.cast("B"), "int64", places.shape)


def _read_evenly(
    b: TensorBuilder, x: Tensor, shape: Sequence[int], axis: int, even: EvenValues
) -> Tensor:
    """Frames of a dimension, which may overlap: an access that is linear in all their loops."""
    rank = len(shape)
    if even.first == 0 and sorted(even.steps)[-2:] in ([1], [0, 1]):
        # Whoever is read by the number of a loop has the extent of this loop in linalg.
        count = shape[axis + even.steps.index(1)]
        sizes = [count if d == axis else n for d, n in enumerate(x.shape)]
        x = b.slice(x, [0] * x.rank, sizes, [1] * x.rank)
    with b.location:
        dims = [ir.AffineDimExpr.get(d) for d in range(rank)]
        place: ir.AffineExpr = ir.AffineConstantExpr.get(even.first)
        for step, dim in zip(even.steps, dims[axis:], strict=False):
            place = place + dim * step
        read = ir.AffineMap.get(rank, 0, [*dims[:axis], place, *dims[axis + len(even.steps) :]])
    output = (b.empty(shape, x.dtype), x.dtype, b.identity(rank))
    return b.generic([(x, read)], [output], ["parallel"] * rank, lambda value, _: value)[0]


def _dims_map(b: TensorBuilder, rank: int, first: int, count: int, *last: int) -> ir.AffineMap:
    """Reads `count` dimensions from `first` on, and constants `last` behind them."""
    with b.location:
        dims = [ir.AffineDimExpr.get(first + d) for d in range(count)]
        return ir.AffineMap.get(rank, 0, [*dims, *(ir.AffineConstantExpr.get(n) for n in last)])


def _require_elements(node: Node, x: Tensor, axes: Sequence[int], shape: Sequence[int]) -> None:
    if prod(shape) and any(x.shape[axis] == 0 for axis in axes):
        raise node.invalid(f"there is nothing to gather from shape {x.shape}")


@handles("Gather")
def gather(node: Node) -> Tensor:
    x = node.tensor(0)
    axis = node.axis(node.attribute("axis", 0), x.rank)
    indices = node.operand(1)
    _require_elements(node, x, [axis], indices.shape)
    return take(node.b, x, checked_indices(node, indices, x.shape[axis]), axis)


@handles("GatherElements")
def gather_elements(node: Node) -> Tensor:
    x, b = node.tensor(0), node.b
    axis = node.axis(node.attribute("axis", 0), x.rank)
    indices = node.operand(1)
    shape = indices.shape
    if len(shape) != x.rank or any(
        n > m for d, (n, m) in enumerate(zip(shape, x.shape, strict=True)) if d != axis
    ):
        raise node.invalid(f"indices of shape {shape} do not fit data of shape {x.shape}")
    _require_elements(node, x, [axis], shape)
    tensor = b.tensor(checked_indices(node, indices, x.shape[axis]))

    def position(index: Scalar) -> tuple[list[Scalar], Scalar | None]:
        at, inside = address(index, x.shape[axis])
        return [at if d == axis else b.index(d) for d in range(x.rank)], inside

    return read_at(b, x, shape, [(tensor, b.identity(x.rank))], position)


@handles("GatherND")
def gather_nd(node: Node) -> Tensor:
    x, b = node.tensor(0), node.b
    indices, batch = node.operand(1), int(node.attribute("batch_dims", 0))
    rank = len(indices.shape)
    depth = indices.shape[-1] if rank else 0
    if not 0 <= batch < min(x.rank, rank) or batch + depth > x.rank:
        raise node.invalid(f"indices of shape {indices.shape} do not fit data of {x.shape}")
    if x.shape[:batch] != tuple(indices.shape[:batch]):
        raise node.invalid("the batch dimensions of data and indices differ")
    sizes = x.shape[batch : batch + depth]
    shape = (*indices.shape[:-1], *x.shape[batch + depth :])
    _require_elements(node, x, range(batch, batch + depth), shape)
    tensor = b.tensor(checked_indices(node, indices, sizes))

    def position(*scalars: Scalar) -> tuple[list[Scalar], Scalar | None]:
        found = [address(index, size) for index, size in zip(scalars, sizes, strict=True)]
        inside = None
        for _, valid in found:
            inside = valid if inside is None else inside & valid
        after = range(rank - 1, len(shape))
        where = [*(b.index(d) for d in range(batch)), *(at for at, _ in found)]
        return [*where, *(b.index(d) for d in after)], inside

    reads = [(tensor, _dims_map(b, len(shape), 0, rank - 1, n)) for n in range(depth)]
    return read_at(b, x, shape, reads, position)


@handles("ReverseSequence")
def reverse_sequence(node: Node) -> Tensor:
    """Lengths beyond the time axis count as all of it, and negative ones as none."""
    x, b = node.tensor(0), node.b
    time, batch = node.attribute("time_axis", 0), node.attribute("batch_axis", 1)
    if sorted((time, batch)) != [0, 1]:
        raise node.invalid(f"time_axis {time} and batch_axis {batch} are not 0 and 1")
    lengths = node.tensor(1)
    if x.rank < 2 or lengths.shape != (x.shape[batch],):
        raise node.invalid(f"lengths of shape {lengths.shape} do not fit data of {x.shape}")

    def position(length: Scalar) -> tuple[list[Scalar], None]:
        step = b.index(time).cast("int64")
        count = length.cast("int64").minimum(x.shape[time])
        source = (step < count).select(count - 1 - step, step).cast("index")
        return [source if d == time else b.index(d) for d in range(x.rank)], None

    return read_at(b, x, x.shape, [(lengths, _dims_map(b, x.rank, batch, 1))], position)
