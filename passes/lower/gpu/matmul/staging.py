# SPDX-License-Identifier: MIT OR Apache-2.0
"""Stages one K-step of an operand in shared memory, through the registers of all threads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

from torch_mlir.dialects import arith

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.lower.gpu.conv.window import ImagePosition
from xyntra.passes.lower.gpu.emit.thread_grid import as_index, delinearize, i32
from xyntra.passes.lower.gpu.matmul.roles import extents, size
from xyntra.passes.lower.gpu.matmul.tile_shape import VECTOR
from xyntra.passes.lower.loops.linear_nest import BufferOperand, LinearNest
from xyntra.passes.lower.loops.loop_builder import (
    Position,
    index,
    load,
    offset,
    offset_along,
    plus,
)
from xyntra.passes.lower.loops.memrefs import view_offset

_WIDEST_BITS = 128
Start = tuple[ir.Value, tuple[ir.Value, ...]]
"""Where a vector is in memory, and its positions in the dimensions of the windows."""
_PADDING = 4  # elements behind every step, so that steps start in different banks


@dataclass(frozen=True)
class Staging:
    """The part of one factor that a tile needs for `depth` steps of the reduction.

    In shared memory it lies as [depth][width + padding], whatever its order in the factor; or as
    [width][depth + padding] where it comes in vectors along the depth and memory is declared as
    vectors, all of which have to be stored whole.

    Attributes:
        nest: the contraction.
        access: the factor.
        loops: those that the tile is cut from.
        reductions: the loops of the reduction.
        width: the tile's extent along `loops`.
        depth: steps of the reduction at once.
        threads: of a team.
        thread: number of this one in its team, an i32.
        start: where the team's part of `buffer` starts, an i32.
        buffer: flat shared memory.
        in_vectors: whether the device stores vectors at once only where memory is one of vectors.
        windows: the dimensions in which the factor may be read outside of its memory, for zeros.
    """

    nest: LinearNest
    access: BufferOperand
    loops: tuple[int, ...]
    reductions: tuple[int, ...]
    width: int
    depth: int
    threads: int
    thread: ir.Value
    start: ir.Value
    buffer: ir.Value
    in_vectors: bool = False
    windows: tuple[ImagePosition, ...] = ()

    @staticmethod
    def elements(width: int, depth: int, in_vectors: bool = False) -> int:
        """Return how many elements `buffer` has, in either order where memory may be of vectors."""
        wide = width * (depth + _PADDING) if in_vectors else 0
        return max(wide, depth * (width + _PADDING))

    @property
    def count(self) -> int:
        """Vectors that one thread brings."""
        return self.width * self.depth // (self.threads * self.lanes)

    @property
    def lanes(self) -> int:
        """Contiguous elements that a thread takes at once."""
        fast = (self.reductions if self.is_deep else self.loops)[-1:]
        share = self.width * self.depth // self.threads
        if not fast or share % VECTOR:
            return 1
        return contiguous_lanes(self.nest, self.access, fast[0], self.windows)

    @property
    def is_along_steps(self) -> bool:
        """Tell whether vectors in shared memory are of steps of the reduction."""
        element = ir.MemRefType(self.access.value.type).element_type
        is_vector = self.lanes * element.width == _WIDEST_BITS
        return self.in_vectors and self.is_deep and is_vector

    @property
    def is_deep(self) -> bool:
        """Tell whether contiguous elements are steps of the reduction."""
        return runs_deep(self.access, self.loops, self.reductions)

    def starts(self, first: ir.Value, position: Position) -> list[Start]:
        """Return where each of the thread's vectors is in the factor before the first step.

        Args:
            first: the tile's first row or column, an i32.
            position: of the loops that are fixed for a tile.
        """
        base = offset(self.access, position)
        before = [self._along(each, position, each.first) for each in self.windows]
        extent = size(self.nest, self.loops)
        found = []
        for wide, _ in self._places():
            number = arith.addi(first, wide)
            if extent % self.width:
                # Behind the end the last elements are read again; nothing is made of them.
                last = extent - (1 if self.is_deep else self.lanes)
                number = arith.minsi(number, i32(last))
            inside = delinearize(number, extents(self.nest, self.loops))
            found.append(self._ahead((base, tuple(before)), inside))
        return found

    def load(self, starts: Sequence[Start], step: ir.Value, limit: int) -> list[ir.Value]:
        """Return the thread's vectors for the steps from `step`, an i32, on.

        Args:
            starts: what `starts` returned.
            step: the first step.
            limit: steps in all; behind them the last one is read again.
        """
        values = []
        for start, (_, deep) in zip(starts, self._places(), strict=True):
            number = arith.addi(step, deep)
            if limit % self.depth:
                last = limit - (self.lanes if self.is_deep else 1)
                number = arith.minsi(number, i32(last))
            inside = delinearize(number, extents(self.nest, self.reductions))
            values.append(self._read_inside(*self._ahead(start, inside)))
        return values

    def _ahead(self, start: Start, position: Position) -> Start:
        """Return where `position` leads from `start`."""
        place, windows = start
        moved = [
            plus(each, self._along(window, position))
            for each, window in zip(windows, self.windows, strict=True)
        ]
        return plus(place, _moved(self.access, position)), tuple(moved)

    def _along(self, window: ImagePosition, position: Position, first: int = 0) -> ir.Value:
        """Return how far `position` is in the dimension of a window, from `first` on."""
        steps = dict(window.steps)
        return offset_along([steps.get(i, 0) for i in range(len(self.nest.loops))], position, first)

    def _read_inside(self, place: ir.Value, windows: Sequence[ir.Value]) -> ir.Value:
        """Return what is in memory; zeros for what is outside, in place of which 0 is read."""
        if not windows:
            return self._fetch(place)
        tests = [
            arith.cmpi(arith.CmpIPredicate.ult, each, index(window.size))
            for each, window in zip(windows, self.windows, strict=True)
        ]
        is_inside = reduce(arith.andi, tests)
        value = self._fetch(arith.select(is_inside, place, index(0)))
        return arith.select(is_inside, value, _zeros(value.type))

    def _fetch(self, place: ir.Value) -> ir.Value:
        if self.lanes == 1:
            return load(self.access, place)
        element = ir.MemRefType(self.access.value.type).element_type
        kind = ir.VectorType.get([self.lanes], element)
        return emit("vector.load", [self.access.value, place], kind, alignment=_alignment(kind))

    def keep(self, values: Sequence[ir.Value]) -> None:
        """Write the thread's vectors to shared memory."""
        pitch = (self.depth if self.is_along_steps else self.width) + _PADDING
        for value, (wide, deep) in zip(values, self._places(), strict=True):
            slow, fast = (wide, deep) if self.is_along_steps else (deep, wide)
            place = arith.addi(self.start, arith.addi(arith.muli(slow, i32(pitch)), fast))
            if self.lanes == 1:
                ir.Operation.create("memref.store", operands=[value, self.buffer, as_index(place)])
            elif self.is_deep and not self.is_along_steps:
                for number in range(self.lanes):
                    below = as_index(arith.addi(place, i32(number * pitch)))
                    operands = [_lane(value, number), self.buffer, below]
                    ir.Operation.create("memref.store", operands=operands)
            else:
                ir.Operation.create(
                    "vector.store",
                    operands=[value, self.buffer, as_index(place)],
                    attributes={"alignment": _alignment(value.type)},
                )

    def read(self, step: ir.Value, wide: ir.Value, count: int) -> list[ir.Value]:
        """Return `count` contiguous elements of one step, from `wide` on, a multiple of `count`."""
        return self._vector(step, self.width + _PADDING, wide, count)

    def read_steps(self, step: ir.Value, wide: ir.Value) -> list[list[ir.Value]]:
        """Return four elements from `wide` on of each of four steps, where vectors are of steps.

        Args:
            step: the first one, a multiple of four.
            wide: the first element, an i32.
        """
        pitch = self.depth + _PADDING
        rows = [
            self._vector(arith.addi(wide, i32(number)), pitch, step, VECTOR)
            for number in range(VECTOR)
        ]
        return [list(each) for each in zip(*rows, strict=True)]

    def _vector(self, slow: ir.Value, pitch: int, fast: ir.Value, count: int) -> list[ir.Value]:
        """Return `count` elements that lie side by side in shared memory."""
        element = ir.MemRefType(self.buffer.type).element_type
        kind = ir.VectorType.get([count], element)
        place = arith.addi(arith.muli(slow, i32(pitch)), fast)
        place = arith.addi(self.start, place)
        vector = emit(
            "vector.load", [self.buffer, as_index(place)], kind, alignment=_alignment(kind)
        )
        return [_lane(vector, number) for number in range(count)]

    def _places(self) -> list[tuple[ir.Value, ir.Value]]:
        """Return, for each vector of a thread, its place in the tile and its step, i32s."""
        inner = (self.depth if self.is_deep else self.width) // self.lanes
        found = []
        for number in range(self.count):
            low, high = _divided(self.thread, number * self.threads, inner)
            low = arith.muli(low, i32(self.lanes))
            found.append((high, low) if self.is_deep else (low, high))
        return found


def contiguous_lanes(
    nest: LinearNest, access: BufferOperand, fast: int, windows: Sequence[ImagePosition] = ()
) -> int:
    """Return how many elements of a factor can be read at once along the loop `fast`: 4 or 1.

    Args:
        nest: the contraction.
        access: the factor.
        fast: number of the loop.
        windows: the dimensions in which it may be read outside of its memory; vectors that lie
            along one could be half inside.
    """
    if any(loop == fast for window in windows for loop, _ in window.steps):
        return 1
    others = [step for i, step in enumerate(access.strides) if i != fast]
    first = access.offset + view_offset(access.value)
    fits = VECTOR * ir.MemRefType(access.value.type).element_type.width <= _WIDEST_BITS
    aligned = all(place % VECTOR == 0 for place in [nest.loops[fast].extent, first, *others])
    return VECTOR if fits and aligned and access.strides[fast] == 1 else 1


def runs_deep(access: BufferOperand, loops: Sequence[int], reductions: Sequence[int]) -> bool:
    """Tell whether contiguous elements of a factor are steps of the reduction."""
    wide = abs(access.strides[loops[-1]]) if loops else 0
    return abs(access.strides[reductions[-1]]) == 1 and wide != 1


def _zeros(kind: ir.Type) -> ir.Value:
    if not isinstance(kind, ir.VectorType):
        return emit("arith.constant", [], kind, value=_zero(kind))
    vector = ir.VectorType(kind)
    value = ir.DenseElementsAttr.get_splat(vector, _zero(vector.element_type))
    return emit("arith.constant", [], kind, value=value)


def _zero(kind: ir.Type) -> ir.Attribute:
    is_integer = isinstance(kind, ir.IntegerType)
    return ir.IntegerAttr.get(kind, 0) if is_integer else ir.FloatAttr.get(kind, 0.0)


def _divided(thread: ir.Value, ahead: int, inner: int) -> tuple[ir.Value, ir.Value]:
    """Return remainder and quotient by `inner` of a thread's number plus `ahead`."""
    size = i32(inner)
    if ahead % inner == 0:  # constants, so that addresses differ by constants as well
        low, high = arith.remui(thread, size), arith.divui(thread, size)
        return low, arith.addi(high, i32(ahead // inner))
    flat = arith.addi(thread, i32(ahead))
    return arith.remui(flat, size), arith.divui(flat, size)


def _moved(access: BufferOperand, position: Position) -> ir.Value:
    """Return how far `position` moves `access` from its first element."""
    return offset(BufferOperand(access.value, 0, access.strides), position)


def _lane(vector: ir.Value, number: int) -> ir.Value:
    place = ir.DenseI64ArrayAttr.get([number])
    return emit("vector.extract", [vector], vector.type.element_type, static_position=place)


def _alignment(kind: ir.VectorType) -> ir.Attribute:
    nbytes = kind.shape[0] * kind.element_type.width // 8
    return ir.IntegerAttr.get(ir.IntegerType.get_signless(64), nbytes)
