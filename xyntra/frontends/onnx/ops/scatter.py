# SPDX-License-Identifier: MIT OR Apache-2.0
"""Writing at positions that a tensor holds, one after the other.

Module `indices` says what happens out of range.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from xyntra.dialects.builder import Tensor
from xyntra.dialects.loops import for_each, insert
from xyntra.dialects.reductions import combine
from xyntra.dialects.scalar import Scalar, constant
from xyntra.frontends.onnx.node import Node, handles
from xyntra.frontends.onnx.ops.arithmetic import floor_remainder
from xyntra.frontends.onnx.ops.indices import address, checked_indices

_REDUCTIONS = {"add": "sum", "mul": "prod", "max": "max", "min": "min"}

Position = Callable[[list[Scalar]], tuple[list[Scalar], "Scalar | None"]]


def _write_at(
    node: Node, data: Tensor, updates: Tensor, loops: Sequence[int], position: Position
) -> Tensor:
    """`data` with every element of `updates`, whose shape is `loops`, combined into it."""
    reduction = node.attribute("reduction", "none")
    if reduction not in ("none", *_REDUCTIONS):
        raise node.invalid(f"attribute 'reduction' is '{reduction}'")
    if 0 in loops:
        return data
    b = node.b

    def body(indices: list[Scalar], state: list[Tensor]) -> list[Tensor]:
        where, inside = position(indices)
        old, new = b.extract(state[0], where), b.extract(updates, indices)
        if reduction in _REDUCTIONS:
            new = combine(_REDUCTIONS[reduction], old, new)  # type: ignore[arg-type]
        value = new if inside is None else inside.select(new, old)
        return [insert(value, state[0], where)]

    return for_each(b, loops, [data], body)[0]


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

    return _write_at(node, data, updates, shape, position)


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

    return _write_at(node, data, updates, loops, position)


@handles("TensorScatter")
def tensor_scatter(node: Node) -> Tensor:
    """The cache with `update` written along the axis, from a position of each batch element on.

    What mode `linear` would write behind the end of the cache is dropped.
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
