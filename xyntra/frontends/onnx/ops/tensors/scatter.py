# SPDX-License-Identifier: MIT OR Apache-2.0
"""Writing at positions that a tensor holds, one after the other.

Module `indices` says what happens out of range.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod

import numpy as np

from xyntra.dialects.builder import Tensor
from xyntra.dialects.scalar import Scalar, constant
from xyntra.dialects.tensors.loops import for_each, insert, nested, when
from xyntra.dialects.tensors.reductions import combine
from xyntra.frontends.onnx.node import Node, handles
from xyntra.frontends.onnx.ops.elementwise.arithmetic import floor_remainder
from xyntra.frontends.onnx.ops.tensors.indices import address, checked_indices

_REDUCTIONS = {"add": "sum", "mul": "prod", "max": "max", "min": "min"}

Position = Callable[[list[Scalar]], tuple[list[Scalar], "Scalar | None"]]


def _write_at(
    node: Node, data: Tensor, updates: Tensor, position: Position, slices: int = 0
) -> Tensor:
    """`data` with every element of `updates` combined into it.

    Args:
        node: says how values combine.
        data: where to write.
        updates: what to write.
        position: takes the indices of an update and says where it goes, and whether that is inside.
        slices: trailing dimensions of both tensors that the positions do not depend on.
    """
    loops = updates.shape
    reduction = node.attribute("reduction", "none")
    if reduction not in ("none", *_REDUCTIONS):
        raise node.invalid(f"attribute 'reduction' is '{reduction}'")
    if 0 in loops:
        return data
    b = node.b
    if prod(loops) == 1:
        return _write_one(node, data, updates, position)

    def body(indices: list[Scalar], state: list[Tensor]) -> list[Tensor]:
        where, inside = position(indices)

        def write() -> list[Tensor]:
            new = b.extract(updates, indices)
            if reduction in _REDUCTIONS:
                new = combine(_REDUCTIONS[reduction], b.extract(state[0], where), new)  # type: ignore[arg-type]
            return [insert(new, state[0], where)]

        return write() if inside is None else when(inside, state, write)

    outer = loops[: len(loops) - slices]

    def rows(indices: list[Scalar], state: list[Tensor]) -> list[Tensor]:
        start, inside = position([*indices, *[constant(0, "index") for _ in range(slices)]])

        def row(inner: list[Scalar], tensors: list[Tensor]) -> list[Tensor]:
            where = [*start[: len(start) - slices], *inner]
            new = b.extract(updates, [*indices, *inner])
            if reduction in _REDUCTIONS:
                new = combine(_REDUCTIONS[reduction], b.extract(tensors[0], where), new)  # type: ignore[arg-type]
            return [insert(new, tensors[0], where)]

        def write() -> list[Tensor]:
            return nested(loops[len(outer) :], state, row, range(slices))

        return write() if inside is None else when(inside, state, write)

    # Without a loop around it, a row would not be one operation, which a kernel is.
    is_by_rows = slices > 0 and prod(outer) > 1
    return for_each(b, outer if is_by_rows else loops, [data], rows if is_by_rows else body)[0]


def _write_one(node: Node, data: Tensor, updates: Tensor, position: Position) -> Tensor:
    """`_write_at` of one element, as an operation on all: a loop of one step would be none."""
    b, reduction = node.b, node.attribute("reduction", "none")

    def body(old: Scalar) -> Scalar:
        first = [constant(0, "index")] * updates.rank
        where, inside = position(first)
        new = b.extract(updates, first)
        if reduction in _REDUCTIONS:
            new = combine(_REDUCTIONS[reduction], old, new)  # type: ignore[arg-type]
        here = constant(True, "bool") if inside is None else inside
        for dimension, at in enumerate(where):
            here = here & b.index(dimension).equals(at)
        return here.select(new, old)

    return b.map(body, data, dtype=data.dtype)


@handles("ScatterElements", "Scatter")
def scatter_elements(node: Node) -> Tensor:
    """Updates of one position are applied in the order of `updates`."""
    data, updates = node.tensor(0), node.tensor(2)
    axis = node.axis(node.attribute("axis", 0), data.rank)
    indices = node.operand(1)
    shape = tuple(indices.shape)
    if shape != updates.shape or len(shape) != data.rank:
        raise node.invalid(f"indices {shape} and updates {updates.shape} do not fit {data.shape}")
    if any(n > m for d, (n, m) in enumerate(zip(shape, data.shape, strict=True)) if d != axis):
        raise node.invalid(f"indices of shape {shape} do not fit data of shape {data.shape}")
    if 0 not in shape and data.shape[axis] == 0:
        raise node.invalid(f"there is nothing to scatter into in shape {data.shape}")
    tensor = node.b.tensor(checked_indices(node, indices, data.shape[axis]))

    def position(loops: list[Scalar]) -> tuple[list[Scalar], Scalar]:
        at, inside = address(node.b.extract(tensor, loops), data.shape[axis])
        return [at if d == axis else i for d, i in enumerate(loops)], inside

    return _write_at(node, data, updates, position)


@handles("ScatterND")
def scatter_nd(node: Node) -> Tensor:
    """Updates of one position are applied in the order of `updates`."""
    data, updates = node.tensor(0), node.tensor(2)
    indices = node.operand(1)
    rank = len(indices.shape)
    depth = indices.shape[-1] if rank else 0
    if not rank or depth > data.rank:
        raise node.invalid(f"indices of shape {indices.shape} do not fit data of {data.shape}")
    loops = (*indices.shape[:-1], *data.shape[depth:])
    if updates.shape != loops:
        raise node.invalid(f"updates have shape {updates.shape}, the indices ask for {loops}")
    if 0 not in loops and 0 in data.shape:
        raise node.invalid(f"there is nothing to scatter into in shape {data.shape}")
    sizes = data.shape[:depth]
    tensor = node.b.tensor(checked_indices(node, indices, sizes))

    def position(loops: list[Scalar]) -> tuple[list[Scalar], Scalar | None]:
        where, inside = [], None
        for n, size in enumerate(sizes):
            column = constant(n, "index")
            at, valid = address(node.b.extract(tensor, [*loops[: rank - 1], column]), size)
            where.append(at)
            inside = valid if inside is None else inside & valid
        return [*where, *loops[rank - 1 :]], inside

    return _write_at(node, data, updates, position, slices=data.rank - depth)


@handles("TensorScatter")
def tensor_scatter(node: Node) -> Tensor:
    """The cache with `update` written along the axis, from a position of each batch element on.

    What mode `linear` would write behind the end of the cache is dropped; all of it is where the
    cache is an input that the result is written over.
    """
    cache, update, b = node.tensor(0), node.tensor(1), node.b
    axis, mode = node.axis(node.attribute("axis", -2), cache.rank), node.attribute("mode", "linear")
    if mode not in ("linear", "circular"):
        raise node.invalid(f"attribute 'mode' is '{mode}'")
    capacity, length = cache.shape[axis], update.shape[axis] if update.rank == cache.rank else 0
    expected = tuple(length if d == axis else n for d, n in enumerate(cache.shape))
    starts = node.operand(2) if node.has(2) else np.zeros(cache.shape[0], np.int64)
    if axis == 0 or update.shape != expected or length > capacity:
        raise node.invalid(f"an update of shape {update.shape} does not fit {cache.shape}")
    if starts.shape != (cache.shape[0],):
        raise node.invalid(f"write indices of shape {starts.shape} do not fit {cache.shape}")
    if 0 in update.shape:
        return cache
    if mode == "linear" and node.states.holds(cache):
        return node.states.appended(b, cache, update, b.tensor(starts), axis)
    spread = b.reshape(b.tensor(starts), [cache.shape[0], *[1] * (cache.rank - 1)])

    def body(old: Scalar, start: Scalar) -> Scalar:
        step = b.index(axis).cast("int64") - start.cast("int64")
        if mode == "circular":
            step = floor_remainder(step, constant(capacity, "int64"))
        inside = step.cast("uint64") < length
        at = inside.select(step, 0).cast("index")
        where = [at if d == axis else b.index(d) for d in range(cache.rank)]
        return inside.select(b.extract(update, where), old)

    return b.map(body, cache, spread, dtype=cache.dtype)
