# SPDX-License-Identifier: MIT OR Apache-2.0
"""Emits depthwise convolutions and poolings that stride along contiguous elements.

Vectors are neighbouring positions of a row. The rows that a block of them reads are copied, with
their padding, into a few kilobytes of memory first, where the elements of a row lie apart by
phase: those that are a multiple of the stride behind the first, those one further, and so on. Each
tap then reads a vector of one phase, which is contiguous.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from torch_mlir.dialects import arith, scf

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.lower.cpu.conv.window_plan import Slide
from xyntra.passes.lower.cpu.matmul.tile_epilogue import TileEpilogue
from xyntra.passes.lower.loops import integers
from xyntra.passes.lower.loops.linear_nest import BufferOperand, LinearNest
from xyntra.passes.lower.loops.loop_builder import (
    Position,
    carrying_loop,
    index,
    load,
    loop,
    nested_loops,
    offset,
    plus,
    tile_start,
)
from xyntra.passes.lower.loops.memrefs import allocate
from xyntra.passes.lower.loops.vector_body import broadcast, emit_on_vectors

__all__ = ["PhaseRows", "Phases"]

_BLOCK = -1  # key of a `Position` beside the numbers of the nest's loops
_LINE = 16  # elements; phases begin at multiples of it


@dataclass(frozen=True)
class Phases:
    """How a row lies in memory.

    Attributes:
        slide: how windows slide along it.
    """

    slide: Slide

    @cached_property
    def used(self) -> list[int]:
        """The phases that taps read, in order."""
        return sorted({self.at(tap)[0] for tap in range(self.slide.taps)})

    def at(self, tap: int) -> tuple[int, int]:
        """Return the phase that a tap reads, and how far behind the position."""
        shift, phase = divmod(tap * self.slide.dilation, self.slide.stride)
        return phase, shift

    @property
    def read(self) -> int:
        """How many elements of each phase are read at most."""
        return self.slide.places + max(self.at(tap)[1] for tap in range(self.slide.taps))

    @property
    def width(self) -> int:
        """Elements from one phase to the next, where all of a row find a place."""
        last = (self.slide.low + self.slide.extent - 1) // self.slide.stride
        return -(-max(self.read, last + 1) // _LINE) * _LINE

    @property
    def size(self) -> int:
        """Elements of a row in all phases."""
        return self.width * len(self.used)

    def place(self, element: int) -> int | None:
        """Return where an element of the image lies, counted from its first; None if nowhere."""
        number, phase = divmod(self.slide.low + element, self.slide.stride)
        return self.used.index(phase) * self.width + number if phase in self.used else None

    @cached_property
    def frame(self) -> list[int]:
        """The places that are read and outside of the image."""
        stride, low, extent = self.slide.stride, self.slide.low, self.slide.extent
        return [
            order * self.width + number
            for order, phase in enumerate(self.used)
            for number in range(self.read)
            if not 0 <= number * stride + phase - low < extent
        ]

    def lanes(self, widest: int) -> int:
        """Return how many elements of each phase are copied at once; 0 where a row has too few."""
        most = min(widest, self.slide.extent // self.slide.stride)
        return 1 << (most.bit_length() - 1) if most > 1 else 0


@dataclass(frozen=True)
class PhaseRows:
    """Writes one window reduction at the current insertion point.

    Attributes:
        nest: its loops.
        image: what is read.
        slides: how, down the rows and along them.
        weights: the scalars of each tap; None for a pooling.
        initial: the scalar that every element of the output starts from.
        filling: the scalar that padding holds.
        epilogue: what happens to the values of a tile, which it also describes.
    """

    nest: LinearNest
    image: BufferOperand
    slides: tuple[Slide, Slide]
    weights: BufferOperand | None
    initial: ir.Value
    filling: ir.Value
    epilogue: TileEpilogue

    def emit(self) -> None:
        """Emit all loops; positions at an end may be computed twice."""
        down, along = self.slides
        rows = self.epilogue.plan.rows
        inside = {down.place, along.place, *self.nest.reductions}
        outer = [(n, each.extent) for n, each in enumerate(self.nest.loops) if n not in inside]

        def block(position: Position) -> None:
            first = tile_start(position.pop(_BLOCK), rows, down.places)
            memory = allocate(self._rows * self._phases.size, self.image.element_type)
            self._copy_rows(position, first, memory)
            self._tiles(position, first, memory)

        nested_loops([*outer, (_BLOCK, -(-down.places // rows))], {}, block, parallel=True)

    @cached_property
    def _phases(self) -> Phases:
        return Phases(self.slides[1])

    @property
    def _rows(self) -> int:
        """Rows of the image that a block reads."""
        down = self.slides[0]
        return (self.epilogue.plan.rows - 1) * down.stride + (down.taps - 1) * down.dilation + 1

    def _copy_rows(self, position: Position, first: ir.Value, memory: ir.Value) -> None:
        """Copy the rows for positions from `first` on."""
        down, along = self.slides
        step = self.image.strides[down.tap] // down.dilation
        start = plus(offset(self.image, position), index(along.low))
        top = integers.muli(first, index(down.stride))
        with loop(self._rows) as number:
            target = integers.muli(number, index(self._phases.size))
            row = integers.addi(top, number)
            source = plus(start, integers.muli(row, index(step)))
            if down.is_inside:
                self._copy_row(source, memory, target)
                return
            above = arith.cmpi(arith.CmpIPredicate.sge, row, index(down.low))
            below = arith.cmpi(arith.CmpIPredicate.slt, row, index(down.low + down.extent))
            branch = scf.IfOp(integers.andi(above, below), has_else=True)
            with ir.InsertionPoint(branch.then_block):
                self._copy_row(source, memory, target)
                scf.YieldOp([])
            with ir.InsertionPoint(branch.else_block):
                self._fill_row(memory, target)
                scf.YieldOp([])

    def _fill_row(self, memory: ir.Value, target: ir.Value) -> None:
        value = broadcast(self.filling, _LINE)
        with loop(self._phases.size // _LINE) as number:
            place = plus(target, integers.muli(number, index(_LINE)))
            ir.Operation.create("vector.store", operands=[value, memory, place])

    def _copy_row(self, source: ir.Value, memory: ir.Value, target: ir.Value) -> None:
        """Copy one row, of which `source` is the first element, and write what is around."""
        phases, stride = self._phases, self.slides[1].stride
        extent, lanes = self.slides[1].extent, phases.lanes(self.epilogue.plan.lanes)
        for border in phases.frame:
            ir.Operation.create("memref.store", [], [self.filling, memory, _moved(target, border)])
        count = -(-extent // (lanes * stride))
        last = extent // stride - lanes
        with loop(count) as number:
            step = integers.muli(number, index(lanes))
            step = integers.minsi(step, index(last)) if (count - 1) * lanes > last else step
            start = plus(source, integers.muli(step, index(stride)))
            kind = ir.VectorType.get([lanes], self.image.element_type)
            vectors = [
                emit("vector.load", [self.image.value, _moved(start, each * lanes)], kind)
                for each in range(stride)
            ]
            for element in range(stride):
                place = phases.place(element)
                if place is not None:
                    value = _every(vectors, element)
                    where = _moved(plus(target, step), place)
                    ir.Operation.create("vector.store", operands=[value, memory, where])
        for element in range(extent // stride * stride, extent):
            place = phases.place(element)
            if place is not None:
                value = load(self.image, _moved(source, element))
                ir.Operation.create("memref.store", [], [value, memory, _moved(target, place)])

    def _tiles(self, position: Position, first: ir.Value, memory: ir.Value) -> None:
        down, along = self.slides
        plan = self.epilogue.plan
        with loop(-(-along.places // plan.columns)) as number:
            column = tile_start(number, plan.columns, along.places)
            sums = [broadcast(self.initial, plan.lanes)] * (plan.rows * plan.vectors)
            built = carrying_loop(down.taps, sums)
            with ir.InsertionPoint(built.body):
                inside = position | {down.tap: built.induction_variable}
                carried = list(built.inner_iter_args)
                scf.YieldOp(self._row_of_taps(inside, column, memory, carried))
            put = self.epilogue.at(position | {down.place: first}, column)
            for each, value in enumerate(built.results):
                put(value, *divmod(each, plan.vectors))

    def _row_of_taps(
        self, position: Position, column: ir.Value, memory: ir.Value, sums: Sequence[ir.Value]
    ) -> list[ir.Value]:
        """Combine what one row of taps reads into all positions of a tile."""
        down, along = self.slides
        plan, size = self.epilogue.plan, self._phases.size
        kind = ir.VectorType.get([plan.lanes], self.image.element_type)
        top = integers.muli(position[down.tap], index(down.dilation * size))
        start = plus(top, column)
        found = list(sums)
        for tap in range(along.taps):
            phase, shift = self._phases.at(tap)
            beside = self._phases.used.index(phase) * self._phases.width + shift
            weight = self._weight(position, tap)
            for each, running in enumerate(found):
                row, vector = divmod(each, plan.vectors)
                place = _moved(start, row * down.stride * size + beside + vector * plan.lanes)
                x = emit("vector.load", [memory, place], kind)
                arguments = [x, x if weight is None else weight, running]
                found[each] = emit_on_vectors(self.nest.body, arguments, plan.lanes)
        return found

    def _weight(self, position: Position, tap: int) -> ir.Value | None:
        if self.weights is None:
            return None
        distance = tap * self.weights.strides[self.slides[1].tap]
        place = _moved(offset(self.weights, position), distance)
        return broadcast(load(self.weights, place), self.epilogue.plan.lanes)


def _moved(start: ir.Value, distance: int) -> ir.Value:
    return integers.addi(start, index(distance)) if distance else start


def _every(vectors: Sequence[ir.Value], first: int) -> ir.Value:
    """Return the elements `first`, and every `len(vectors)`-th behind it, of vectors in a row."""
    stride, kind = len(vectors), ir.VectorType(vectors[0].type)
    lanes = kind.shape[0]
    sources = [divmod(first + lane * stride, lanes) for lane in range(lanes)]
    if stride == 1:
        return vectors[0]
    found = vectors[0]
    for number in range(1, stride):
        mask = [
            lanes + place if vector == number else (place if number == 1 else lane)
            for lane, (vector, place) in enumerate(sources)
        ]
        mask = ir.DenseI64ArrayAttr.get(mask)
        found = emit("vector.shuffle", [found, vectors[number]], kind, mask=mask)
    return found
