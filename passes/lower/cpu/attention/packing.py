# SPDX-License-Identifier: MIT OR Apache-2.0
"""Copies of the matrices of one head in panels that a register tile reads from end to end."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from torch_mlir.dialects import arith

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.analysis.sizes.size import Size
from xyntra.passes.lower.cpu.attention.tiles import KeyPanels
from xyntra.passes.lower.cpu.rows.streams import Streams
from xyntra.passes.lower.kernels.attention_operands import load_vector, store_vector
from xyntra.passes.lower.loops import integers
from xyntra.passes.lower.loops.linear_nest import BufferOperand
from xyntra.passes.lower.loops.loop_builder import index, load, loop, plus, store
from xyntra.passes.lower.loops.vector_body import broadcast

__all__ = ["MatrixSource", "clear_rest", "copy_rows", "pack_columns", "zero"]


@dataclass(frozen=True)
class MatrixSource:
    """A matrix in a flat buffer: where it starts, its extents and its strides."""

    memory: ir.Value
    start: ir.Value
    rows: int
    columns: int
    row_stride: int
    column_stride: int

    def place(self, row: ir.Value, column: ir.Value) -> ir.Value:
        """Return where an element is."""
        down = integers.muli(row, index(self.row_stride))
        return plus(self.start, down, integers.muli(column, index(self.column_stride)))


def pack_columns(
    source: MatrixSource,
    target: KeyPanels,
    depth: int,
    panel: int,
    lanes: int,
    scale: float = 1.0,
) -> None:
    """Copy a matrix, times `scale`, into panels of `panel` columns, each with `depth` rows.

    Args:
        source: what is copied; its rows may be fewer than `depth`.
        target: the panels, of which the rest is left as it is.
        depth: rows of a panel.
        panel: columns of a panel.
        lanes: elements of a vector, which `panel` is a multiple of.
        scale: what elements are multiplied with.
    """
    _Packing(source, target, depth, panel, lanes, scale).emit()


@dataclass(frozen=True)
class _Packing:
    source: MatrixSource
    target: KeyPanels
    depth: int
    panel: int
    lanes: int
    scale: float

    def emit(self) -> None:
        """Emit vectors as far as they reach, and single elements for the columns that remain."""
        source, lanes = self.source, self.lanes
        whole, rest = divmod(source.columns, self.panel)
        vectors = rest // lanes
        if source.column_stride == 1:
            self._lines(whole, vectors)
        elif source.row_stride == 1 and source.rows >= lanes:
            self._squares(whole, vectors)
        else:
            whole, vectors = 0, 0
        self._elements(whole * self.panel + vectors * lanes)

    def _packed(self, row: ir.Value, panel: ir.Value, lane: ir.Value) -> ir.Value:
        first = integers.muli(panel, index(self.depth * self.panel))
        return plus(self.target.start, first, integers.muli(row, index(self.panel)), lane)

    def _elements(self, first: int) -> None:
        if first == self.source.columns:
            return
        with loop(self.source.rows) as row, loop(self.source.columns - first) as number:
            column = plus(index(first), number)
            panel = integers.divui(column, index(self.panel))
            lane = integers.remui(column, index(self.panel))
            value = load(BufferOperand(self.source.memory, 0, ()), self.source.place(row, column))
            place = self._packed(row, panel, lane)
            store(self._scaled(value), BufferOperand(self.target.memory, 0, ()), place)

    def _lines(self, whole: int, vectors: int) -> None:
        """Columns are contiguous: each row is read from end to end."""
        with loop(self.source.rows) as row:
            with loop(whole) as panel:
                for lane in range(0, self.panel, self.lanes):
                    self._line(row, panel, lane)
            for lane in _starts(vectors, self.lanes):
                self._line(row, index(whole), lane)

    def _line(self, row: ir.Value, panel: ir.Value, lane: int | ir.Value) -> None:
        start = index(lane) if isinstance(lane, int) else lane
        column = plus(integers.muli(panel, index(self.panel)), start)
        value = load_vector(self.source.memory, self.source.place(row, column), self.lanes)
        place = self._packed(row, panel, start)
        store_vector(self._scaled(value), self.target.memory, place)

    def _scaled(self, value: ir.Value) -> ir.Value:
        if self.scale == 1.0:
            return value
        factor = arith.constant(ir.F32Type.get(), self.scale)
        is_vector = isinstance(value.type, ir.VectorType)
        return arith.mulf(value, broadcast(factor, self.lanes) if is_vector else factor)

    def _squares(self, whole: int, vectors: int) -> None:
        """Columns lie far apart and rows are contiguous: turn square blocks."""
        blocks, rest = divmod(self.source.rows, self.lanes)

        def turn(panel: ir.Value, count: int) -> None:
            with loop(blocks) as block:
                self._turn(integers.muli(block, index(self.lanes)), panel, count)
            if rest:
                self._turn(index(self.source.rows - self.lanes), panel, count)

        with loop(whole) as panel:
            turn(panel, self.panel // self.lanes)
        if vectors:
            turn(index(whole), vectors)

    def _turn(self, row: ir.Value, panel: ir.Value, count: int) -> None:
        first = integers.muli(panel, index(self.panel))
        for start in _starts(count, self.lanes):
            vectors = []
            for lane in range(self.lanes):
                column = plus(first, _plus_number(start, lane))
                place = self.source.place(row, column)
                # Rows that lie apart look like no stream to the processor.
                below = plus(place, index(self.panel * self.source.column_stride))
                Streams.fetch(self.source.memory, below, 1)
                value = load_vector(self.source.memory, place, self.lanes)
                vectors.append(self._scaled(value))
            for lane, vector in enumerate(_transposed(vectors)):
                place = self._packed(plus(row, index(lane)), panel, _plus_number(start, 0))
                store_vector(vector, self.target.memory, place)


def _starts(count: int, step: int) -> Iterator[int | ir.Value]:
    """Yield the multiples of `step` below `count` of them; in a loop, where that is told."""
    if isinstance(count, Size):
        with loop(count) as number:
            yield integers.muli(number, index(step))
        return
    yield from range(0, count * step, step)


def _plus_number(start: int | ir.Value, number: int) -> ir.Value:
    if isinstance(start, int):
        return index(start + number)
    return plus(start, index(number)) if number else start


def _transposed(rows: list[ir.Value]) -> list[ir.Value]:
    """Transpose a square of as many vectors as each has lanes, a power of two."""
    lanes, step = len(rows), 1
    while step < lanes:
        rows = list(rows)
        for upper in range(lanes):
            if upper & step:
                continue
            pair = rows[upper], rows[upper | step]
            low = [x if not x & step else lanes + (x ^ step) for x in range(lanes)]
            high = [x | step if not x & step else lanes + x for x in range(lanes)]
            rows[upper], rows[upper | step] = (_shuffle(*pair, mask) for mask in (low, high))
        step *= 2
    return rows


def _shuffle(first: ir.Value, second: ir.Value, mask: list[int]) -> ir.Value:
    return emit("vector.shuffle", [first, second], first.type, mask=ir.DenseI64ArrayAttr.get(mask))


def copy_rows(source: MatrixSource, rows: ir.Value, target: ir.Value, lanes: int) -> None:
    """Copy the first `rows` rows of a matrix, row after row; the rest of its rows is zeros."""
    none = arith.constant(ir.F32Type.get(), 0.0)
    first = integers.muli(rows, index(source.columns))
    with loop(integers.subi(index(source.rows * source.columns), first)) as place:
        store(none, BufferOperand(target, 0, ()), plus(first, place))
    whole = source.columns // lanes if source.column_stride == 1 else 0
    with loop(rows) as row:
        line = integers.muli(row, index(source.columns))
        if whole:
            with loop(whole) as number:
                column = integers.muli(number, index(lanes))
                value = load_vector(source.memory, source.place(row, column), lanes)
                store_vector(value, target, plus(line, column))
        with loop(source.columns - whole * lanes) as number:
            column = plus(index(whole * lanes), number)
            value = load(BufferOperand(source.memory, 0, ()), source.place(row, column))
            store(value, BufferOperand(target, 0, ()), plus(line, column))


def zero(memory: ir.Value, lanes: int, value: float = 0.0) -> None:
    """Fill a flat buffer with zeros, or with another value, `lanes` at a time."""
    _fill(memory, index(0), ir.MemRefType(memory.type).shape[0], lanes, value)


def clear_rest(source: MatrixSource, target: KeyPanels, depth: int, panel: int, lanes: int) -> None:
    """Write zeros where `pack_columns` leaves panels as they are.

    Args:
        source: what is going to be copied.
        target: the panels.
        depth: rows of a panel.
        panel: columns of a panel.
        lanes: elements of a vector.
    """
    panels, rest = -(-source.columns // panel), depth - source.rows
    if rest:
        with loop(panels) as number:
            first = plus(target.start, integers.muli(number, index(depth * panel)))
            first = plus(first, index(source.rows * panel))
            _fill(target.memory, first, rest * panel, lanes)
    if source.columns % panel:
        first = plus(target.start, index((panels - 1) * depth * panel))
        _fill(target.memory, first, source.rows * panel, lanes)


def _fill(memory: ir.Value, first: ir.Value, count: int, lanes: int, value: float = 0.0) -> None:
    """Write `value` to `count` contiguous elements."""
    element = arith.constant(ir.MemRefType(memory.type).element_type, value)
    whole, rest = divmod(count, lanes)
    if whole:
        vector = broadcast(element, lanes)
        with loop(whole) as number:
            store_vector(vector, memory, plus(first, integers.muli(number, index(lanes))))
    if isinstance(count, Size):
        with loop(rest) as number:
            where = plus(first, index(count - rest), number)
            store(element, BufferOperand(memory, 0, ()), where)
        return
    for place in range(count - rest, count):
        store(element, BufferOperand(memory, 0, ()), plus(first, index(place)))
