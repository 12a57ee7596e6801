# SPDX-License-Identifier: MIT OR Apache-2.0
"""Nests without reductions: every thread computes one vector of neighbouring elements."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from math import prod

from torch_mlir.dialects import arith

from xyntra.dialects.mlir import ir
from xyntra.passes.lower.gpu.emit.thread_grid import (
    MAX_GRID,
    LaunchShape,
    as_index,
    below,
    block_number,
    delinearize,
    global_thread,
    like,
    thread_number,
    when,
)
from xyntra.passes.lower.gpu.emit.vectors import (
    coalesced_order,
    lanes_along,
    store_vector,
    vector_of,
)
from xyntra.passes.lower.nests.linear_nest import LinearNest, collapsed
from xyntra.passes.lower.nests.loop_builder import Position, index, load, offset, store
from xyntra.passes.lower.nests.scalar_nest import emit_body
from xyntra.passes.lower.nests.vector_body import (
    emit_results_on_vectors,
)

_THREADS = 256
_STEPS = 4  # vectors of a thread at most
_LOADS = 16  # of a thread, on their way together
_BLOCKS = 1024  # several for each multiprocessor
_OWN = (2, 4, 8)  # neighbours that one thread computes where there are no more


def emit_pointwise(nest: LinearNest) -> LaunchShape:
    """Emit `nest`, which has no reductions, for a launch of the returned shape.

    Buffers start at multiples of 16 bytes.
    """
    nest = collapsed(nest)
    order = coalesced_order(nest)
    lanes = lanes_along(nest, order[-1]) if order else 1
    extents = [nest.loops[number].extent for number in order]
    if lanes > 1:
        extents[-1] //= lanes
        return _emit_by_vectors(nest, list(zip(order, extents, strict=True)), lanes)
    own = extents[-1] if extents and extents[-1] in _OWN and not nest.reads_outputs else 1
    if own > 1:
        extents[-1] = 1
    loops = list(zip(order, extents, strict=True))
    count = prod(extents)
    if own == 1 and not nest.reads_outputs and _steps(nest, count) > 1:
        return _emit_by_elements(nest, loops)
    shape = LaunchShape(-(-count // _THREADS), _THREADS)
    number = global_thread(shape)
    with below(number, count, always=count % _THREADS == 0):
        position = delinearize(number, loops)
        if own > 1:
            _emit_neighbours(nest, order[-1], own, position)
        else:
            emit_element(nest, position)
    return shape


def _emit_neighbours(nest: LinearNest, inner: int, count: int, position: Position) -> None:
    """Compute `count` elements along loop `inner`; their stores can become one of a vector."""
    places = [position | {inner: index(number)} for number in range(count)]
    values = [emit_body(nest, place, []) for place in places]
    for place, results in zip(places, values, strict=True):
        for value, output in zip(results, nest.outputs, strict=True):
            store(value, output, offset(output, place))


def _emit_by_vectors(nest: LinearNest, loops: Sequence[tuple[int, int]], lanes: int) -> LaunchShape:
    """Emit `nest` with loops of vectors; a thread takes several, a block neighbouring ones."""
    shape, places = _places(nest, loops)
    inner = loops[-1][0]
    for position, _ in places:
        position[inner] = arith.muli(position[inner], index(lanes))
    emit_vectors(nest, inner, lanes, places)
    return shape


def _emit_by_elements(nest: LinearNest, loops: Sequence[tuple[int, int]]) -> LaunchShape:
    """Emit `nest` with several single elements for a thread, whose loads come first."""
    shape, places = _places(nest, loops)
    values = [emit_body(nest, position, []) for position, _ in places]
    for (position, inside), results in zip(places, values, strict=True):
        with nullcontext() if inside is None else when(inside):
            for value, output in zip(results, nest.outputs, strict=True):
                store(value, output, offset(output, position))
    return shape


def _places(
    nest: LinearNest, loops: Sequence[tuple[int, int]]
) -> tuple[LaunchShape, list[tuple[Position, ir.Value | None]]]:
    """Return a launch, and where each step of a thread is in `loops`, and if it is inside."""
    count = prod(extent for _, extent in loops)
    steps = _steps(nest, count)
    tile = _THREADS * steps
    shape = LaunchShape(-(-count // tile), _THREADS)
    wide = shape.grid * tile > MAX_GRID
    block, thread = block_number(), thread_number()
    if wide:
        block, thread = as_index(block), as_index(thread)
    first = arith.addi(arith.muli(block, like(block, tile)), thread)
    places = []
    for step in range(steps):
        number, inside = arith.addi(first, like(first, step * _THREADS)), None
        if count % tile:
            last = like(number, count - 1)
            inside = arith.cmpi(arith.CmpIPredicate.ule, number, last)
            # What lies behind the end is computed from the last one, and not stored.
            number = arith.minui(number, last)
        places.append((delinearize(number, loops), inside))
    return shape, places


def _steps(nest: LinearNest, count: int) -> int:
    """Return how many vectors a thread takes: more where there is enough for all, and room."""
    moving = sum(1 for each in nest.inputs if not each.is_scalar)
    steps = _STEPS
    while steps > 1 and (steps * max(moving, 1) > _LOADS or count < steps * _THREADS * _BLOCKS):
        steps //= 2
    return steps


def emit_element(nest: LinearNest, position: Position) -> None:
    """Compute one element of every output, at `position` of all loops."""
    places = [offset(each, position) for each in nest.outputs]
    present = [load(*each) for each in zip(nest.outputs, places, strict=True)]
    results = emit_body(nest, position, present)
    for value, output, place in zip(results, nest.outputs, places, strict=True):
        store(value, output, place)


def emit_vectors(
    nest: LinearNest, inner: int, lanes: int, steps: Sequence[tuple[Position, ir.Value | None]]
) -> None:
    """Compute a vector of every output for each step: its position, and whether there is one."""
    accesses = nest.accesses if nest.reads_outputs else nest.inputs
    # All loads come first, so that they are on their way together.
    arguments = [
        [vector_of(each, inner, lanes, position) for each in accesses] for position, _ in steps
    ]
    results = [emit_results_on_vectors(nest.body, each, lanes) for each in arguments]
    for (position, inside), values in zip(steps, results, strict=True):
        with nullcontext() if inside is None else when(inside):
            for value, output in zip(values, nest.outputs, strict=True):
                store_vector(value, output, lanes, offset(output, position))
