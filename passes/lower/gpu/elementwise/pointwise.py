# SPDX-License-Identifier: MIT OR Apache-2.0
"""Nests without reductions: every thread computes one vector of contiguous elements."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from math import prod

from torch_mlir.dialects import arith

from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.sizes.size import hint_of, of_several
from xyntra.passes.cost.work import scalar_cost
from xyntra.passes.lower.gpu.device import GpuDevice
from xyntra.passes.lower.gpu.elementwise.flat_runs import emit_runs, run_lanes
from xyntra.passes.lower.gpu.elementwise.gathered_rows import (
    emit_gathers,
    gathered_lanes,
    gathered_nest,
)
from xyntra.passes.lower.gpu.elementwise.row_gathers import RowGathers
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
from xyntra.passes.lower.gpu.emit.vectors import coalesced_order, item_bytes, store_vector
from xyntra.passes.lower.gpu.emit.windows import (
    interleaved_parts,
    parts_lanes,
    store_windowed,
    stored_together,
    window_lanes,
    windowed_vector,
)
from xyntra.passes.lower.loops.linear_nest import BufferOperand, LinearNest, collapsed
from xyntra.passes.lower.loops.loop_builder import Position, index, load, offset, store
from xyntra.passes.lower.loops.scalar_nest import emit_body
from xyntra.passes.lower.loops.vector_body import (
    emit_results_on_vectors,
)

_THREADS = 256
_STEPS = 4  # vectors of a thread at most, where they are chosen
_MOST_STEPS = 8
_LOADS = 16  # of a thread, on their way together
_BLOCKS = 1024  # several for each multiprocessor
_BALANCE = 8  # instructions that a GPU executes in the time that it moves a byte
_LEAST = 1 << 16  # threads that are left, of which each multiprocessor has two blocks
_LEAST_OWN = 1 << 15  # threads that are left: fewer take as long as one of them
_CACHED = 1 << 14  # bytes of an input that neighbouring blocks find near by
_WORTH = 4  # what is read once has to be a part of all bytes, at least one in so many
_STORE_BYTES = 16  # of one store
_ENLARGED = 4  # times what is read
_WAVES = {"math.sin": 28, "math.cos": 28}  # instructions, which are written out later
_OWN = (2, 4, 8)  # contiguous elements that a thread computes where there are no more


@dataclass(frozen=True)
class PointwiseTile:
    """The elements that one block, and one thread of it, computes.

    Attributes:
        threads: of a block.
        vector: contiguous elements that a thread loads and stores at once.
        own: contiguous elements that a thread computes one by one, all there are along the
            innermost loop, or across the ends of rows of a dense result; so many vectors where it
            has vectors along the loop around that.
        steps: vectors, or single elements, of a thread, whose loads are on their way together.
        reused: vectors of a thread for each of these, along a loop that large inputs do not move
            with, such as angles that all heads are turned by: they are loaded once.
    """

    threads: int = 256
    vector: int = 1
    own: int = 1
    steps: int = 1
    reused: int = 1


def pointwise_tile(nest: LinearNest, beside: int = 0) -> PointwiseTile:
    """Return how threads should share `nest`, which has no reductions.

    Args:
        nest: the nest.
        beside: elements that the same launch computes besides.
    """
    nest = collapsed(nest)
    order = coalesced_order(nest)
    count = prod(loop.extent for loop in nest.loops)
    lanes = window_lanes(nest, order[-1]) if order else 1
    parts = interleaved_parts(nest)
    if parts and parts_lanes(parts) > lanes and not _spreads(nest, parts):
        return PointwiseTile(vector=_parts_vector(parts), own=len(parts))
    lanes = max(lanes, gathered_lanes(nest))
    if lanes > 1:
        lanes = stored_together(nest.outputs, order[-1], lanes)
        reused = _reused(nest, (count + beside) // lanes)
        if reused > 1:
            return PointwiseTile(vector=lanes, reused=reused)
        return PointwiseTile(vector=lanes, steps=_steps(nest, (count + beside) // lanes))
    own = _contiguous(nest)
    if nest.reads_outputs or (own > 1 and (count + beside) // own >= _LEAST_OWN):
        return PointwiseTile(own=own)
    reused = _reused(nest, count + beside, single=True)
    if reused > 1:
        return PointwiseTile(reused=reused)
    run = run_lanes(nest)
    if run > 1 and (count + beside) // run >= _LEAST:
        return PointwiseTile(own=run)
    return PointwiseTile(steps=_steps(nest, count + beside))


def pointwise_refusal(nest: LinearNest, tile: PointwiseTile, device: GpuDevice) -> str | None:
    """Return why threads cannot share `nest` so; None where they can."""
    nest = collapsed(nest)
    order = coalesced_order(nest)
    lanes = window_lanes(nest, order[-1]) if order else 1
    if tile.threads % device.subgroup or not 0 < tile.threads <= device.block_threads:
        return f"has blocks of a multiple of {device.subgroup} threads up to {device.block_threads}"
    parts = interleaved_parts(nest)
    vectors = (parts_lanes(parts), _parts_vector(parts)) if parts else ()
    if tile.vector in vectors and (tile.own, tile.steps) == (len(parts), 1):
        return None
    lanes = max(lanes, gathered_lanes(nest))
    if tile.vector < 1 or lanes % tile.vector:
        return f"takes vectors whose length divides {lanes}, not {tile.vector}"
    own = {_contiguous(nest), run_lanes(nest)}
    if tile.own not in {1, *own} or (tile.own > 1 and tile.vector * tile.steps > 1):
        return f"has {max(own)} contiguous elements in a thread, or one, not {tile.own}"
    found = _reuse(nest, single=tile.vector == 1) if tile.own == 1 else None
    extent = 1 if found is None else nest.loops[found].extent
    if tile.reused < 1 or extent % tile.reused or tile.reused * tile.steps > _MOST_STEPS:
        return f"takes a divisor of {extent} vectors that read the same, not {tile.reused}"
    most = 1 if nest.reads_outputs and tile.vector == 1 else _MOST_STEPS
    return None if 1 <= tile.steps <= most else f"takes 1 to {most} steps, not {tile.steps}"


def _spreads(nest: LinearNest, parts: Sequence[LinearNest]) -> bool:
    """Tell whether little is read and much is written, by stores that fill no sectors.

    A thread of three channels writes 48 contiguous bytes, 16 of them at once.
    """
    (output, *_), found = nest.outputs, 0
    item = item_bytes(output) or 1
    if _parts_vector(parts) * len(parts) * item <= _STORE_BYTES:
        return False
    for each in (access for access in nest.inputs if not access.is_scalar):
        read = prod(ir.MemRefType(each.value.type).shape) * (item_bytes(each) or 1)
        found += int(hint_of(read))
    count = prod(loop.extent for loop in nest.loops)
    return bool(hint_of(count) * item >= _ENLARGED * found)


def _parts_vector(parts: Sequence[LinearNest]) -> int:
    """Return how many elements of each part a thread takes: what one store of all parts holds.

    Of three parts, as of colours, no store does: then as many as there may be.
    """
    inner, lanes = coalesced_order(parts[0])[-1], parts_lanes(parts)
    outputs = [output for each in parts for output in each.outputs]
    together = stored_together(outputs, inner, lanes)
    return together if together > 1 else lanes


def _contiguous(nest: LinearNest) -> int:
    """Return how many contiguous elements a thread may compute one by one: a whole loop of them."""
    order = coalesced_order(nest)
    extent = nest.loops[order[-1]].extent if order else 1
    return extent if extent in _OWN and not nest.reads_outputs else 1


def pointwise_blocks(nest: LinearNest, tile: PointwiseTile) -> int:
    """Return how many blocks compute `nest`."""
    elements = prod(loop.extent for loop in nest.loops)
    return -(-elements // (tile.threads * tile.vector * tile.own * tile.steps * tile.reused))


def emit_pointwise(
    nest: LinearNest, tile: PointwiseTile, block: ir.Value | None = None
) -> LaunchShape:
    """Emit `nest`, which has no reductions, for a launch of the returned shape.

    Buffers start at multiples of 16 bytes.

    Args:
        nest: the nest.
        tile: what a block of it computes.
        block: which one this is, an i32, where the launch does more than this.
    """
    nest = collapsed(nest)
    if tile.vector > 1 and tile.own > 1:
        return _emit_interleaved(interleaved_parts(nest), tile, block)
    order = coalesced_order(nest)
    extents = [nest.loops[number].extent for number in order]
    if tile.own > 1 and extents[-1] != tile.own:
        return emit_runs(nest, tile.own, tile.threads, block)
    if extents:
        extents[-1] //= tile.vector * tile.own
    loops = list(zip(order, extents, strict=True))
    count = prod(extents)
    gathers = gathered_nest(nest) if tile.vector > 1 else None
    if gathers is not None:
        return _emit_gathers(*gathers, tile, block)
    if tile.vector > 1:
        return _emit_by_vectors(nest, loops, tile, block)
    if tile.steps * tile.reused > 1:
        return _emit_by_elements(nest, loops, tile, block)
    shape = LaunchShape(-(-count // tile.threads), tile.threads)
    number = global_thread(shape, block)
    with below(number, count, always=count % tile.threads == 0):
        position = delinearize(number, loops)
        if tile.own > 1:
            _emit_contiguous(nest, order[-1], tile.own, position)
        else:
            emit_element(nest, position)
    return shape


def _emit_contiguous(nest: LinearNest, inner: int, count: int, position: Position) -> None:
    """Compute `count` elements along loop `inner`; their stores can become one of a vector."""
    places = [position | {inner: index(number)} for number in range(count)]
    values = [emit_body(nest, place, []) for place in places]
    for place, results in zip(places, values, strict=True):
        for value, output in zip(results, nest.outputs, strict=True):
            store(value, output, offset(output, place))


def _emit_by_vectors(
    nest: LinearNest,
    loops: Sequence[tuple[int, int]],
    tile: PointwiseTile,
    block: ir.Value | None,
) -> LaunchShape:
    """Emit `nest` with loops of vectors; a thread takes several, a block neighbouring ones."""
    inner = loops[-1][0]
    shape, places = _reusing_places(nest, loops, tile, block)
    for position, _ in places:
        position[inner] = arith.muli(position[inner], index(tile.vector))
    emit_vectors(nest, inner, tile.vector, places)
    return shape


def _emit_gathers(
    nest: LinearNest, gathers: RowGathers, tile: PointwiseTile, block: ir.Value | None
) -> LaunchShape:
    """Emit a nest that gathers rows, its innermost loop last; a thread takes several vectors."""
    loops = [(number, loop.extent) for number, loop in enumerate(nest.loops)]
    inner = len(loops) - 1
    loops[-1] = (inner, loops[-1][1] // tile.vector)
    shape, places = _places(loops, tile, block)
    for position, _ in places:
        position[inner] = arith.muli(position[inner], index(tile.vector))
    results = emit_gathers(nest, gathers, tile.vector, [position for position, _ in places])
    for (position, inside), values in zip(places, results, strict=True):
        with nullcontext() if inside is None else when(inside):
            for value, output in zip(values, nest.outputs, strict=True):
                store_vector(value, output, tile.vector, offset(output, position))
    return shape


def _emit_interleaved(
    parts: Sequence[LinearNest], tile: PointwiseTile, block: ir.Value | None
) -> LaunchShape:
    """Emit nests whose outputs lie between one another; a thread has a vector of each."""
    order = coalesced_order(parts[0])
    inner, lanes = order[-1], tile.vector
    loops = [(number, parts[0].loops[number].extent) for number in order[:-1]]
    loops.append((inner, parts[0].loops[inner].extent // lanes))
    shape, places = _places(loops, replace(tile, own=1), block)
    ((position, inside),) = places
    position[inner] = arith.muli(position[inner], index(lanes))
    given = [[windowed_vector(x, inner, lanes, position) for x in each.inputs] for each in parts]
    results = [emit_results_on_vectors(parts[0].body, each, lanes) for each in given]
    with nullcontext() if inside is None else when(inside):
        for number in range(len(parts[0].outputs)):
            values = [each[number] for each in results]
            outputs = [each.outputs[number] for each in parts]
            store_windowed(values, outputs, inner, lanes, position)
    return shape


def _emit_by_elements(
    nest: LinearNest,
    loops: Sequence[tuple[int, int]],
    tile: PointwiseTile,
    block: ir.Value | None,
) -> LaunchShape:
    """Emit `nest` with several single elements for a thread, whose loads come first."""
    shape, places = _reusing_places(nest, loops, tile, block)
    values = [emit_body(nest, position, []) for position, _ in places]
    for (position, inside), results in zip(places, values, strict=True):
        with nullcontext() if inside is None else when(inside):
            for value, output in zip(results, nest.outputs, strict=True):
                store(value, output, offset(output, position))
    return shape


def _reusing_places(
    nest: LinearNest,
    loops: Sequence[tuple[int, int]],
    tile: PointwiseTile,
    block: ir.Value | None,
) -> tuple[LaunchShape, list[tuple[Position, ir.Value | None]]]:
    """Return what `_places` does, with several places of each step that read the same inputs."""
    apart = _reuse(nest, single=tile.vector == 1) if tile.reused > 1 else None
    if apart is None:
        return _places(loops, tile, block)
    loops = [(loop, extent // (tile.reused if loop == apart else 1)) for loop, extent in loops]
    shape, places = _places(loops, tile, block)
    found = []
    for position, inside in places:
        first = arith.muli(position[apart], index(tile.reused))
        for number in range(tile.reused):
            found.append((position | {apart: arith.addi(first, index(number))}, inside))
    return shape, found


def _places(
    loops: Sequence[tuple[int, int]], tile: PointwiseTile, block: ir.Value | None
) -> tuple[LaunchShape, list[tuple[Position, ir.Value | None]]]:
    """Return a launch, and where each step of a thread is in `loops`, and if it is inside."""
    count = prod(extent for _, extent in loops)
    of_block = tile.threads * tile.steps
    shape = LaunchShape(-(-count // of_block), tile.threads)
    wide = shape.grid * of_block > MAX_GRID
    block, thread = block_number() if block is None else block, thread_number()
    if wide:
        block, thread = as_index(block), as_index(thread)
    first = arith.addi(arith.muli(block, like(block, of_block)), thread)
    places = []
    for step in range(tile.steps):
        number, inside = arith.addi(first, like(first, step * tile.threads)), None
        if count % of_block:
            last = like(number, count - 1)
            inside = arith.cmpi(arith.CmpIPredicate.ule, number, last)
            # What lies behind the end is computed from the last one, and not stored.
            number = arith.minui(number, last)
        places.append((delinearize(number, loops), inside))
    return shape, places


def _steps(nest: LinearNest, count: int) -> int:
    """Return how many vectors a thread takes: more where there is enough for all, and room."""
    moving = [each for each in (*nest.inputs, *nest.outputs) if not each.is_scalar]
    cost = sum(_WAVES.get(view.name, scalar_cost(view.name)) for view in nest.body.operations)
    inner = coalesced_order(nest)[-1:]
    along = [each for each in moving if all(each.strides[loop] for loop in inner)]
    if cost > _BALANCE * sum(map(item_bytes, along)):
        return 1  # registers are better spent on more threads: arithmetic takes longer than memory
    moving = moving[: -len(nest.outputs)]
    steps = _STEPS
    while steps > 1 and (
        steps * max(len(moving), 1) > _LOADS or count < steps * _THREADS * _BLOCKS
    ):
        steps //= 2
    return steps


def _reuse(nest: LinearNest, *, single: bool) -> int | None:
    """Return the loop along which most of what is read stays the same, if that is much.

    Of vectors, what counts is bytes that first-level caches do not hold. Single elements take as
    long as their instructions: loads count, such as those of the places that a body looks up. None
    where nothing is to be had.
    """
    order = coalesced_order(nest)
    moving = [each for each in nest.inputs if not each.is_scalar]
    if single:
        looked_up = sum(view.name == "memref.load" for view in nest.body.operations)
        least = (len(moving) + looked_up) / 2
        weights = [(each, 1) for each in moving]
    else:
        least = sum(map(item_bytes, [*moving, *nest.outputs])) / _WORTH
        weights = [(each, item_bytes(each)) for each in moving if _is_large(nest, each)]
    sizes = [loop.extent for loop in nest.loops]
    saved = {
        loop: sum(weight for each, weight in weights if not each.strides[loop])
        for loop in order[:-1]
        if of_several(1, sizes[loop]) and all(each.strides[loop] for each in nest.outputs)
    }
    best = max(saved, key=lambda loop: (saved[loop], hint_of(sizes[loop])), default=None)
    if best is None or not 0 < least <= saved[best] or nest.reads_outputs:
        return None
    return best if single or gathered_nest(nest) is None else None


def _is_large(nest: LinearNest, access: BufferOperand) -> bool:
    """Whether an input is too large for the nearest cache."""
    loops = zip(nest.loops, access.strides, strict=True)
    elements = prod(each.extent for each, stride in loops if stride)
    return bool(hint_of(elements) * item_bytes(access) >= _CACHED)


def _reused(nest: LinearNest, count: int, *, single: bool = False) -> int:
    """Return how many of `count` vectors, or elements, a thread takes that read the same inputs."""
    loop = _reuse(nest, single=single)
    if loop is None:
        return 1
    moving = [each for each in nest.inputs if not each.is_scalar and each.strides[loop]]
    moving_loads = len(moving) + sum(view.name == "memref.load" for view in nest.body.operations)
    most = min(_STEPS, 2 * _LOADS // max(moving_loads, 1), count // _LEAST)
    fitting = (own for own in range(most, 1, -1) if nest.loops[loop].extent % own == 0)
    return next(fitting, 1)


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
        [windowed_vector(each, inner, lanes, position) for each in accesses]
        for position, _ in steps
    ]
    results = [emit_results_on_vectors(nest.body, each, lanes) for each in arguments]
    for (position, inside), values in zip(steps, results, strict=True):
        with nullcontext() if inside is None else when(inside):
            store_windowed(values, nest.outputs, inner, lanes, position)
