# SPDX-License-Identifier: MIT OR Apache-2.0
"""Emits reductions over windows of an image: a tile of the image in shared memory for each block.

Threads bring the tile, with the value of the padding where it leaves the image, and then compute
several rows and columns of outputs each, whose windows overlap: what a thread reads of the tile
goes into registers and serves all of its outputs. Where channels are innermost, a thread has a few
of them, all of one group where several are combined; elsewhere neighbouring columns. An image that
lies across the output is turned on its way into shared memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from torch_mlir.dialects import arith, scf

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.lower.gpu.conv.image_axes import ImageAxis
from xyntra.passes.lower.gpu.conv.sliding import SlidingWindows
from xyntra.passes.lower.gpu.conv.window_staging import WindowStaging
from xyntra.passes.lower.gpu.conv.window_sums import WindowSums
from xyntra.passes.lower.gpu.conv.window_tile import TiledWindows, rounded_up
from xyntra.passes.lower.gpu.emit.shared_memory import SharedMemory
from xyntra.passes.lower.gpu.emit.thread_grid import (
    LaunchShape,
    as_i32,
    barrier,
    block_number,
    delinearize,
    i32,
    rolled_loop,
    thread_number,
    when,
)
from xyntra.passes.lower.gpu.emit.vectors import store_vector, vector_of
from xyntra.passes.lower.loops.integers import addi, divui, muli, remui
from xyntra.passes.lower.loops.loop_builder import Position, index, offset
from xyntra.passes.lower.loops.vector_body import (
    broadcast,
    emit_results_on_vectors,
    lane_of,
)

_WARP = 32
_GROUP, _DOWN, _ACROSS, _SIDE = range(4)  # what a block, or a thread, is numbered by


def emit_window_tiles(found: TiledWindows, shared: SharedMemory) -> LaunchShape:
    """Emit a reduction over windows for a launch of the returned shape.

    Args:
        found: the reduction, in tiles.
        shared: for the tile of the image.
    """
    memory = shared.allocate(found.elements, found.windows.access.element_type)
    place = _Place(found)
    staging = WindowStaging(found, place.block, memory)
    sums = WindowSums(found, place.thread, memory)

    def step(totals: Sequence[ir.Value], tap: ir.Value) -> list[ir.Value]:
        taps = place.outer_taps(tap)
        staging.bring(taps)
        barrier()
        return sums.add(totals, place.position | taps)

    first = broadcast(found.windows.group.initial, sums.lanes)
    totals = [first] * sums.count
    if found.windows.outer_taps == 1:
        totals = step(totals, i32(0))
    else:
        built = rolled_loop(found.windows.outer_taps, 1, totals)
        with ir.InsertionPoint(built.body):
            barrier()
            scf.YieldOp(step(list(built.inner_iter_args), built.induction_variable))
        totals = list(built.results)
    _store(found, place, totals)
    return LaunchShape(found.blocks, rounded_up(found.tile.block, _WARP))


class _Place:
    """The position of a block and of a thread.

    Threads that fill up the last warp do as the one before them, and those without a plane, or
    channels, of their own take the last ones; none of these stores anything.
    """

    def __init__(self, found: TiledWindows) -> None:
        windows, tile = found.windows, found.tile
        self.found = found
        self.conditions: list[ir.Value] = []
        self.block = delinearize(block_number(), list(enumerate(found.counts)))
        number = thread_number()
        if tile.block % _WARP:
            self.conditions.append(_is_below(number, i32(tile.block)))
            number = arith.minui(number, i32(tile.block - 1))
        self.thread = delinearize(number, list(enumerate([tile.planes, *tile.threads])))
        plane = self._number(_GROUP, tile.planes, 1, windows.plane_count)
        loops = [(loop, windows.extent(loop)) for loop in windows.planes]
        self.position = delinearize(as_i32(plane), loops)
        """Of the loops of planes, and of channels."""
        if not windows.slides_inside:
            channel = self._number(_SIDE, tile.outputs, tile.vector, windows.outputs)
            self.position |= _at_channel(windows, channel)

    def _number(self, of: int, many: int, own: int, extent: int) -> ir.Value:
        """Return which of `extent` iterations is the first of `own` that the thread has."""
        first = muli(self.block[of], index(many))
        number = addi(first, muli(self.thread[of], index(own)))
        if extent % many == 0:
            return number
        self.conditions.append(_is_below(number, index(extent)))
        return arith.minui(number, index(extent - own))

    def outer_taps(self, number: ir.Value) -> Position:
        """Return the position of each loop over outer taps, given the number of a tap."""
        outer = self.found.windows.outer
        loops = [(axis.tap, axis.taps) for axis in outer if axis.tap is not None]
        return delinearize(number, loops)

    def first(self, of: int, many: int, own: int) -> ir.Value:
        """Return the thread's first row or column of outputs."""
        return addi(muli(self.block[of], index(many)), muli(self.thread[of], index(own)))


def _at_channel(windows: SlidingWindows, channel: ir.Value) -> Position:
    """Return the position of the loops over channels of the result."""
    groups, shared = windows.groups, windows.shared
    if groups is None or groups == windows.inner:
        return {windows.inner: channel}
    group = divui(channel, index(shared))
    return {groups: group, windows.inner: remui(channel, index(shared))}


def _store(found: TiledWindows, place: _Place, totals: Sequence[ir.Value]) -> None:
    windows, tile = found.windows, found.tile
    row = place.first(_DOWN, tile.tile_rows, tile.rows)
    column = place.first(_ACROSS, tile.tile_columns, tile.columns)
    lanes = min(windows.lanes, tile.columns) if windows.slides_inside else tile.vector
    with _all_hold(place.conditions):
        for i in range(tile.rows):
            down = _output(windows.down, row, i)
            with _all_hold(_guards(windows.down, down, tile.tile_rows)):
                for j in range(0, tile.columns, lanes if windows.slides_inside else 1):
                    across = _output(windows.across, column, j)
                    with _all_hold(_guards(windows.across, across, tile.tile_columns)):
                        value = _total(found, totals, i, j, lanes)
                        _write(found, place.position | down | across, value, lanes)


def _output(axis: ImageAxis, first: ir.Value, ahead: int) -> Position:
    """Return the position of an output along a dimension."""
    return {} if axis.row is None else {axis.row: addi(first, index(ahead))}


def _guards(axis: ImageAxis, position: Position, many: int) -> list[ir.Value]:
    """Return the conditions under which there is an output, where tiles are larger than all."""
    if axis.outputs % many == 0:
        return []
    return [_is_below(each, index(axis.outputs)) for each in position.values()]


def _total(
    found: TiledWindows, totals: Sequence[ir.Value], row: int, column: int, lanes: int
) -> ir.Value:
    """Return the sums of `lanes` contiguous outputs."""
    if not found.windows.slides_inside:
        return totals[row * found.tile.columns + column]
    whole = totals[row]
    if lanes == found.tile.columns:
        return whole
    elements = [lane_of(whole, column + i) for i in range(lanes)]
    kind = ir.VectorType.get([lanes], elements[0].type)
    return emit("vector.from_elements", elements, kind)


def _write(found: TiledWindows, position: Position, total: ir.Value, lanes: int) -> None:
    """Emit what follows the reduction, and its stores."""
    windows = found.windows
    epilogue, inner = windows.group.epilogue, windows.inner
    values, targets = [total], list(windows.nest.outputs)
    if epilogue is not None:
        inputs = [
            total if each is None else vector_of(each, inner, lanes, position)
            for each in epilogue.inputs
        ]
        values, targets = emit_results_on_vectors(epilogue.body, inputs, lanes), []
        targets += epilogue.outputs
        if epilogue.result is not None:
            values, targets = [*values, total], [*targets, epilogue.result]
    for value, target in zip(values, targets, strict=True):
        store_vector(value, target, lanes, offset(target, position))


def _is_below(number: ir.Value, limit: ir.Value) -> ir.Value:
    return arith.cmpi(arith.CmpIPredicate.ult, number, limit)


@contextmanager
def _all_hold(conditions: Sequence[ir.Value]) -> Iterator[None]:
    """Emit what follows under conditions, all of which must hold."""
    if not conditions:
        yield
        return
    with when(conditions[0]), _all_hold(conditions[1:]):
        yield
