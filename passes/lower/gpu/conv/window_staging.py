# SPDX-License-Identifier: MIT OR Apache-2.0
"""Stages a block's tile of the image, with its halo, in shared memory."""

from __future__ import annotations

from functools import reduce

from torch_mlir.dialects import arith, scf

from xyntra.dialects.mlir import ir
from xyntra.passes.lower.gpu.conv.image_axes import ImageAxis
from xyntra.passes.lower.gpu.conv.window_tile import TiledWindows, rounded_up
from xyntra.passes.lower.gpu.emit.thread_grid import (
    as_i32,
    delinearize,
    i32,
    is_below,
    rolled_loop,
    thread_number,
    when,
)
from xyntra.passes.lower.gpu.emit.vectors import load_vector
from xyntra.passes.lower.loops.integers import addi, divui, muli, select
from xyntra.passes.lower.loops.linear_nest import BufferOperand
from xyntra.passes.lower.loops.loop_builder import Position, index, offset
from xyntra.passes.lower.loops.vector_body import broadcast, lane_of

_GROUP, _DOWN, _ACROSS, _SIDE = range(4)
_AT_ONCE = 8  # pieces that a thread asks for before it keeps the first one
_WARP = 32

Piece = tuple[ir.Value, Position]
"""What was brought, and where in the tile it belongs."""


class WindowStaging:
    """Emitter of the copies that bring a tile to shared memory.

    Args:
        found: the reduction over windows, in tiles.
        block: the numbers of the block's group of planes, tile and channels.
        memory: of the tile.
    """

    def __init__(self, found: TiledWindows, block: Position, memory: ir.Value) -> None:
        self.found = found
        self.memory = memory
        self.block = block
        tile = found.tile
        self.threads = rounded_up(tile.block, _WARP)
        side = found.cell
        columns = found.staged_columns
        if found.runs_across:
            columns //= found.piece
        else:
            side //= found.piece
        self.sizes = [tile.planes, found.staged_rows, columns, side]

    def bring(self, taps: Position) -> None:
        """Emit the loads of all pieces of a tile, and their stores to shared memory.

        Args:
            taps: the position of the loops over outer taps.
        """
        rounds = -(-self.found.pieces // self.threads)
        if rounds <= 2 * _AT_ONCE:
            for first in range(0, rounds, _AT_ONCE):
                ahead = range(first, min(first + _AT_ONCE, rounds))
                self._bring(i32(0), [each * self.threads for each in ahead], taps)
            return
        step = _AT_ONCE * self.threads
        built = rolled_loop(rounded_up(self.found.pieces, step), step, [])
        with ir.InsertionPoint(built.body):
            ahead = range(0, step, self.threads)
            self._bring(built.induction_variable, list(ahead), taps)
            scf.YieldOp([])

    def _bring(self, first: ir.Value, ahead: list[int], taps: Position) -> None:
        """Emit loads of a thread's pieces, given how far they are ahead, then their stores."""
        start = addi(first, thread_number())
        numbers = [addi(start, i32(each)) for each in ahead]
        brought = [self._load(number, taps) for number in numbers]
        is_whole = self.found.pieces % (len(ahead) * self.threads) == 0
        for number, (value, position) in zip(numbers, brought, strict=True):
            if is_whole:
                self._keep(value, position)
                continue
            with when(is_below(number, self.found.pieces)):
                self._keep(value, position)

    def _load(self, number: ir.Value, taps: Position) -> Piece:
        """Return a piece; numbers behind the last one's give any value."""
        found, windows = self.found, self.found.windows
        tile, access = found.tile, windows.access
        own = delinearize(number, list(enumerate(self.sizes)))
        planes, inside = self._plane(own[_GROUP])
        rows = [axis.row for axis in windows.outer]  # positions along these are added with taps
        others = {loop: number for loop, number in planes.items() if loop not in rows}
        place = offset(BufferOperand(access.value, windows.base, access.strides), others)
        for axis in windows.outer:
            at = _position(axis, planes, taps)
            inside += _within(axis, at, *_outer_reach(axis))
            place = addi(place, muli(at, index(axis.stride)))
        for axis, of, many, staged, shift in (
            (windows.down, _DOWN, tile.tile_rows, found.staged_rows, 0),
            (windows.across, _ACROSS, tile.tile_columns, found.staged_columns, found.shift),
        ):
            unit = found.piece if of == _ACROSS and found.runs_across else 1
            start = muli(self.block[of], index(many * axis.step))
            at = addi(start, addi(muli(own[of], index(unit)), index(axis.first - shift)))
            last = (found.counts[of] - 1) * many * axis.step + axis.first - shift + staged - 1
            inside += _within(axis, at, axis.first - shift, last)
            place = addi(place, muli(at, index(axis.stride)))
        if not windows.slides_inside:
            unit = 1 if found.runs_across else found.piece
            channel = addi(self._first_channel(), muli(own[_SIDE], index(unit)))
            if windows.channels % found.cell:
                inside.append(_is_below(channel, windows.channels))
            place = addi(place, muli(channel, index(windows.channel_stride)))
        is_there = _is_below(number, found.pieces)
        return self._value(place, [*inside, is_there]), own

    def _first_channel(self) -> ir.Value:
        """Return the first channel of the image that the block needs."""
        found, number = self.found, self.block[_SIDE]
        parts = found.windows.shared // found.tile.outputs  # blocks for a group
        if parts > 1:
            number = divui(number, index(parts))
        return muli(number, index(found.cell))

    def _value(self, place: ir.Value, inside: list[ir.Value]) -> ir.Value:
        found, windows = self.found, self.found.windows
        holds = reduce(arith.andi, inside)
        place = select(holds, place, index(windows.base))  # there is always this one
        value = load_vector(windows.access, found.piece, place)
        if windows.group.outside is None:
            return value
        return arith.select(holds, value, broadcast(windows.group.outside, found.piece))

    def _plane(self, number: ir.Value) -> tuple[Position, list[ir.Value]]:
        """Return the position of a plane of the block, and the conditions that there is one."""
        windows, many = self.found.windows, self.found.tile.planes
        plane = addi(muli(self.block[_GROUP], index(many)), number)
        loops = [(loop, windows.extent(loop)) for loop in windows.planes]
        position = delinearize(as_i32(plane), loops)
        if windows.plane_count % many == 0:
            return position, []
        return position, [_is_below(plane, windows.plane_count)]

    def _keep(self, value: ir.Value, own: Position) -> None:
        found = self.found
        row = addi(muli(own[_GROUP], index(found.staged_rows)), own[_DOWN])
        place = muli(row, index(found.pitch))
        if found.windows.slides_inside:
            place = addi(place, muli(own[_ACROSS], index(found.piece)))
            self._store(value, place)
            return
        channels = found.cell
        if not found.runs_across:
            column = muli(own[_ACROSS], index(channels))
            place = addi(place, addi(column, muli(own[_SIDE], index(found.piece))))
            self._store(value, place)
            return
        column = muli(own[_ACROSS], index(found.piece * channels))
        place = addi(place, addi(column, own[_SIDE]))
        for lane in range(found.piece):
            target = addi(place, index(lane * channels))
            element = lane_of(value, lane)
            ir.Operation.create("memref.store", operands=[element, self.memory, target])

    def _store(self, value: ir.Value, place: ir.Value) -> None:
        nbytes = self.found.piece * self.found.windows.item
        alignment = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), nbytes)
        ir.Operation.create(
            "vector.store",
            operands=[value, self.memory, place],
            attributes={"alignment": alignment},
        )


def _position(axis: ImageAxis, planes: Position, taps: Position) -> ir.Value:
    """Return the position of a tap along a dimension that a tile does not extend in."""
    at = index(axis.first)
    if axis.row is not None:
        at = addi(at, muli(planes[axis.row], index(axis.step)))
    if axis.tap is not None:
        at = addi(at, muli(taps[axis.tap], index(axis.spread)))
    return at


def _outer_reach(axis: ImageAxis) -> tuple[int, int]:
    steps = (axis.outputs - 1) * axis.step + (axis.taps - 1) * axis.spread
    return axis.first, axis.first + steps


def _within(axis: ImageAxis, at: ir.Value, low: int, high: int) -> list[ir.Value]:
    """Return the condition that a position is in the image, where it can be anywhere else."""
    return [] if low >= 0 and high < axis.size else [_is_below(at, axis.size)]


def _is_below(number: ir.Value, limit: int) -> ir.Value:
    # As unsigned numbers, negative ones are large.
    bound = index(limit) if isinstance(number.type, ir.IndexType) else i32(limit)
    return arith.cmpi(arith.CmpIPredicate.ult, number, bound)
