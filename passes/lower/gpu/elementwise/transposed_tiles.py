# SPDX-License-Identifier: MIT OR Apache-2.0
"""Nests that read an array across the order in which they write: square tiles in shared memory.

Neighbouring threads first load contiguous elements of the input, and then, behind a barrier, store
neighbours of the output; so both go through memory in whole lines. Rows of a tile have a word more
than they need, and columns therefore lie in different banks. A side of a tile walks through several
loops where the innermost one is short, as in the transpose of 8x1500x1280 to 1280x1500x8. Where a
side has 16 to 31 elements, as images of 24 channels, the others of a row idle. On an H100, f16 of
8192x8192 takes 101 us, a copy 90, and a thread for each output 507.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

from torch_mlir.dialects import arith

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.analysis.sizes.size import hint_of
from xyntra.passes.lower.gpu.device import GpuDevice
from xyntra.passes.lower.gpu.emit.scalar_body import emit_on_scalars
from xyntra.passes.lower.gpu.emit.shared_memory import SharedMemory
from xyntra.passes.lower.gpu.emit.thread_grid import (
    LaunchShape,
    as_i32,
    as_index,
    barrier,
    block_number,
    delinearize,
    i32,
    thread_number,
    when,
)
from xyntra.passes.lower.gpu.emit.vectors import coalesced_order, item_bytes
from xyntra.passes.lower.gpu.emit.windows import window_lanes
from xyntra.passes.lower.loops.linear_nest import BufferOperand, LinearNest, collapsed
from xyntra.passes.lower.loops.loop_builder import Position, index, load, offset, store
from xyntra.passes.lower.loops.vector_body import is_vectorizable

_THREADS = 256
_TILE = 64
_SMALL_TILE = 32
_LEAST_SIDE = 16  # elements: of fewer, most threads of a tile would idle
_MIN_ELEMENTS = 1 << 16  # fewer come from a cache, where their order matters little
_WORD = 4  # bytes


@dataclass(frozen=True)
class Transposed:
    """A nest without reductions that reads one input across.

    Attributes:
        nest: the nest.
        number: which of its inputs lies across.
        along: the loops that walk through that input, outermost first.
        inner: the loops that walk through the outputs, outermost first.
        outer: the other loops.
        size: of a tile, in both directions.
    """

    nest: LinearNest
    number: int
    along: tuple[int, ...]
    inner: tuple[int, ...]
    outer: tuple[int, ...]
    size: int

    @property
    def access(self) -> BufferOperand:
        """The input that lies across."""
        return self.nest.inputs[self.number]

    @property
    def pitch(self) -> int:
        """Elements from one row of a tile to the next."""
        return self.size + max(1, _WORD // item_bytes(self.access))

    @property
    def nbytes(self) -> int:
        """Shared memory of a tile."""
        return self.size * self.pitch * item_bytes(self.access)

    def extent(self, *loops: int) -> int:
        """Iterations of loops in one another."""
        return prod(self.nest.loops[loop].extent for loop in loops)

    def tiles(self, side: tuple[int, ...]) -> int:
        """Tiles along a side."""
        return -(-self.extent(*side) // self.size)

    @property
    def blocks_of_loops(self) -> list[tuple[int, int]]:
        """Loops, or the last loops of sides, with the number of blocks along each."""
        loops = [(loop, self.extent(loop)) for loop in self.outer]
        return loops + [(side[-1], self.tiles(side)) for side in (self.along, self.inner)]

    @property
    def blocks(self) -> int:
        """Blocks of the launch."""
        return prod(extent for _, extent in self.blocks_of_loops)


def transposed_of(nest: LinearNest, device: GpuDevice) -> Transposed | None:
    """Return what is known of `nest`; None where no single input lies across, or it is small.

    Args:
        nest: any without reductions; its accesses are linear.
        device: that the code is for.
    """
    found = _transposed(collapsed(nest))
    if found is not None and (
        found.nbytes > device.static_bytes or found.blocks < device.multiprocessors
    ):
        found = replace(found, size=_SMALL_TILE)
    return None if found is None or found.blocks > device.grid else found


def transposed_refusal(found: Transposed, size: int, device: GpuDevice) -> str | None:
    """Return why tiles of `size` cannot compute a nest; None where they can."""
    most = min(found.extent(*found.along), found.extent(*found.inner))
    known = [each for each in (_SMALL_TILE, _TILE) if each <= most or each == _SMALL_TILE]
    allowed = [s for s in known if replace(found, size=s).nbytes <= device.static_bytes]
    return None if size in allowed else f"has tiles of {allowed} elements a side here, not {size}"


def emit_transposed(found: Transposed, shared: SharedMemory) -> LaunchShape:
    """Emit a nest by tiles for a launch of the returned shape.

    Args:
        found: the nest.
        shared: for the tile.
    """
    position = delinearize(block_number(), found.blocks_of_loops)
    starts = {
        side: arith.muli(position.pop(side[-1]), index(found.size))
        for side in (found.along, found.inner)
    }
    element = ir.MemRefType(found.access.value.type).element_type
    tile = shared.allocate(found.size * found.pitch, element)
    _load(found, position, starts, tile)
    barrier()
    _store(found, position, starts, tile)
    return LaunchShape(found.blocks, _THREADS)


def _transposed(nest: LinearNest) -> Transposed | None:
    """Return what is known of `nest`; None where tiles cannot, or need not, be used."""
    elements = prod(loop.extent for loop in nest.loops)
    if nest.indices or not is_vectorizable(nest.body) or nest.reads_outputs:
        return None
    order = coalesced_order(nest)
    if hint_of(elements) < _MIN_ELEMENTS or len(order) != len(nest.loops) or len(order) < 2:
        return None
    if any(each.strides[order[-1]] != 1 for each in nest.outputs):
        return None
    across = [
        number
        for number, each in enumerate(nest.inputs)
        if not each.is_scalar and each.strides[order[-1]] not in (0, 1)
    ]
    if len(across) != 1 or not item_bytes(nest.inputs[across[0]]):
        return None
    strides, in_vectors = nest.inputs[across[0]].strides, window_lanes(nest, order[-1]) > 1
    for size in (_TILE, _SMALL_TILE):
        sides = _sides(nest, order, strides, size)
        if sides is None or (max(map(len, sides)) > 1 and in_vectors):
            continue
        shortest = min(prod(nest.loops[loop].extent for loop in side) for side in sides)
        if shortest >= (_TILE if size == _TILE else _LEAST_SIDE):
            outer = tuple(loop for loop in order if loop not in (*sides[0], *sides[1]))
            return Transposed(nest, across[0], *sides, outer, size)
    return None


def _sides(
    nest: LinearNest, order: Sequence[int], strides: Sequence[int], wanted: int
) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """Return the loops that walk through an input, and those that walk through the outputs.

    Each side has as many of the innermost ones as make up `wanted` elements, if the other side does
    not have them. None where nothing walks through contiguous elements of the input.
    """
    moving = sorted((loop for loop in order if strides[loop]), key=lambda loop: abs(strides[loop]))
    if not moving or strides[moving[0]] != 1:
        return None
    waiting = (moving, list(reversed(order)))
    sides: tuple[list[int], list[int]] = ([], [])
    for _ in order:
        for side, loops in zip(sides, waiting, strict=True):
            length = prod(nest.loops[loop].extent for loop in side)
            taken = loops[len(side) :][:1]
            if length < wanted and taken and taken[0] not in (*sides[0], *sides[1]):
                side.extend(taken)
    along, inner = (tuple(reversed(side)) for side in sides)
    return along, inner


_Starts = Mapping[tuple[int, ...], ir.Value]


def _load(found: Transposed, outer: Position, starts: _Starts, tile: ir.Value) -> None:
    """Let neighbouring threads load contiguous elements of the input; all loads come first."""
    values = []
    for row, column in _places(found.size):
        position = dict(outer)
        for side, place in ((found.inner, row), (found.along, column)):
            number = _inside(found, side, arith.addi(starts[side], place))
            position |= _loops_at(found, side, number)
        values.append(load(found.access, offset(found.access, position)))
    for (row, column), value in zip(_places(found.size), values, strict=True):
        place = arith.addi(arith.muli(row, index(found.pitch)), column)
        ir.Operation.create("memref.store", operands=[value, tile, place])


def _inside(found: Transposed, side: tuple[int, ...], number: ir.Value) -> ir.Value:
    """Return a number on a side; what lies behind the end is loaded from the last element."""
    if found.extent(*side) % found.size == 0:
        return number
    return arith.minui(number, index(found.extent(*side) - 1))


def _loops_at(found: Transposed, side: tuple[int, ...], number: ir.Value) -> Position:
    """Return where the loops of a side are at one of its numbers."""
    if len(side) == 1:
        return {side[0]: number}
    return delinearize(as_i32(number), [(loop, found.extent(loop)) for loop in side])


def _store(found: Transposed, outer: Position, starts: _Starts, tile: ir.Value) -> None:
    """Let neighbouring threads compute contiguous elements of the outputs."""
    element = ir.MemRefType(found.access.value.type).element_type
    for row, column in _places(found.size):
        numbers = {
            side: arith.addi(starts[side], place)
            for side, place in ((found.along, row), (found.inner, column))
        }
        place = arith.addi(arith.muli(column, index(found.pitch)), row)
        value = emit("memref.load", [tile, place], element)
        conditions = [
            arith.cmpi(arith.CmpIPredicate.ult, number, index(found.extent(*side)))
            for side, number in numbers.items()
            if found.extent(*side) % found.size
        ]
        position = dict(outer)
        for side, number in numbers.items():
            position |= _loops_at(found, side, number)
        _guarded(conditions, found, position, value)


def _guarded(
    conditions: Sequence[ir.Value], found: Transposed, position: Position, value: ir.Value
) -> None:
    if conditions:
        with when(conditions[0]):
            _guarded(conditions[1:], found, position, value)
        return
    values = [
        value if number == found.number else _value(each, position)
        for number, each in enumerate(found.nest.inputs)
    ]
    for result, output in zip(
        emit_on_scalars(found.nest.body, values), found.nest.outputs, strict=True
    ):
        store(result, output, offset(output, position))


def _value(access: BufferOperand, position: Position) -> ir.Value:
    return access.value if access.is_scalar else load(access, offset(access, position))


def _places(size: int) -> Iterator[tuple[ir.Value, ir.Value]]:
    """Yield row and column of every element of a tile that this thread takes, row by row."""
    thread = thread_number()
    column = as_index(arith.andi(thread, i32(size - 1)))
    row = as_index(arith.shrui(thread, i32(size.bit_length() - 1)))
    for first in range(0, size, _THREADS // size):
        yield arith.addi(row, index(first)), column
