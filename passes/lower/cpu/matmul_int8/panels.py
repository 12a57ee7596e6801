# SPDX-License-Identifier: MIT OR Apache-2.0
"""Copies of the factors of an integer product, in the order in which dot products read them.

Neighbouring steps of the reduction, `group` of them, lie side by side and make one lane. Where the
reduction does not fill the last group, zeros do.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import gcd

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.lower.cpu.matmul_int8.dot_products import DotProduct
from xyntra.passes.lower.cpu.matmul_int8.product import IntegerMatmul, IntegerOperand
from xyntra.passes.lower.kernels.prepared_operands import is_constant, prepared
from xyntra.passes.lower.loops import integers
from xyntra.passes.lower.loops.linear_nest import BufferOperand
from xyntra.passes.lower.loops.loop_builder import (
    Position,
    index,
    load,
    loop,
    nested_loops,
    offset,
    plus,
    store,
    tile_start,
)
from xyntra.passes.lower.loops.memrefs import allocate

__all__ = ["ColumnPanels", "PanelCopy", "RowPanel"]

_LINE_BYTES = 64
_CHUNK = 16  # elements that are copied at once where they are contiguous


@dataclass(frozen=True)
class PanelCopy:
    """A copy of elements of a factor into a panel.

    Attributes:
        product: what the factor belongs to.
        factor: the factor.
        dot: what reads the panel.
        flip: change the sign of 8-bit elements by 128, which makes signed ones of unsigned ones.
    """

    product: IntegerMatmul
    factor: IntegerOperand
    dot: DotProduct
    flip: bool = False

    @property
    def is_prepared(self) -> bool:
        """Tell whether the panel of all rows or columns is made when the model is loaded."""
        access = self.factor.access
        moves = any(access.strides[number] for number in self.product.outer)
        return not moves and is_constant(access)

    def reading(self, source: BufferOperand) -> PanelCopy:
        """Return the copy of another factor of the same form."""
        return replace(self, factor=replace(self.factor, access=source))

    @property
    def element(self) -> ir.Type:
        """The type of a panel's elements."""
        return ir.IntegerType.get_signless(self.dot.bits)

    @property
    def depth(self) -> int:
        """Steps of the reduction, rounded up to whole groups."""
        return -(-self.product.depth // self.dot.group) * self.dot.group

    @property
    def reductions(self) -> list[tuple[int, int]]:
        """The loops of the reduction, outermost first, with their extents."""
        return [
            (number, self.product.nest.loops[number].extent) for number in self.product.reductions
        ]

    def flat(self, steps: Position) -> ir.Value:
        """Return the number of the reduction's step."""
        total = index(0)
        for number, extent in self.reductions:
            total = integers.addi(integers.muli(total, index(extent)), steps[number])
        return total

    def place(self, number: ir.Value) -> ir.Value:
        """Return how far the factor moves to its row or column `number`."""
        total, access = index(0), self.factor.access
        for position in reversed(range(len(self.factor.loops))):
            loop_number, extent = self.factor.loops[position], index(self.factor.extents[position])
            step = integers.remui(number, extent) if position else number
            total = plus(total, integers.muli(step, index(access.strides[loop_number])))
            number = integers.divui(number, extent) if position else number
        return total

    def widened(self, value: ir.Value) -> ir.Value:
        """Return elements, or a vector of them, as they are in a panel."""
        narrow, kind = self.factor.narrow, value.type
        if narrow.bits < self.dot.bits:
            wide = self.element
            if isinstance(kind, ir.VectorType):
                wide = ir.VectorType.get(kind.shape, wide)
            return emit("arith.extui" if narrow.is_unsigned else "arith.extsi", [value], wide)
        if not self.flip:
            return value
        number = ir.IntegerAttr.get(self.element, -128)
        if isinstance(kind, ir.VectorType):
            number = ir.DenseElementsAttr.get_splat(kind, number)
        return integers.xori(value, emit("arith.constant", [], kind, value=number))


@dataclass(frozen=True)
class RowPanel:
    """Memory for some rows, each with all steps of the reduction.

    Attributes:
        copy: what is copied.
        memory: a flat buffer.
        stride: elements from one row to the next.
        is_whole: all rows are there.
    """

    copy: PanelCopy
    memory: BufferOperand
    stride: int
    is_whole: bool

    @classmethod
    def made(cls, copy: PanelCopy, rows: int) -> RowPanel:
        """Return a panel for `rows` rows, allocated at the insertion point, or a prepared one."""
        line = _LINE_BYTES * 8 // copy.dot.bits
        stride = -(-copy.depth // line) * line
        extent = copy.factor.extent
        if not copy.is_prepared:
            memory = _flat(allocate(rows * stride, copy.element))
            return cls(copy, memory, stride, rows == extent)
        place = prepared(copy.factor.access, extent * stride, copy.element)
        with place.filling():
            target = cls(copy.reading(place.source), _flat(place.copy), stride, is_whole=True)
            target.fill({}, index(0), extent)
        return cls(copy, _flat(place.memory), stride, is_whole=True)

    def fill(self, position: Position, first: ir.Value, count: int | ir.Value) -> None:
        """Emit the loops that copy `count` rows from `first` on, at `position` of outer loops."""
        copy, access = self.copy, self.copy.factor.access
        *around, (inner, extent) = copy.reductions
        with loop(count, parallel=True) as row:
            start = plus(offset(access, position), copy.place(integers.addi(first, row)))
            target = integers.muli(row, index(self.stride))

            def copy_run(steps: Position) -> None:
                place = plus(start, _moved(access, steps))
                to = plus(target, copy.flat(steps | {inner: index(0)}))
                self._copy_run(place, to, access.strides[inner], extent)

            nested_loops(around, {}, copy_run)
            for step in range(copy.product.depth, copy.depth):
                store(_zero(copy.element), self.memory, plus(target, index(step)))

    def _copy_run(self, place: ir.Value, to: ir.Value, stride: int, extent: int) -> None:
        access = self.copy.factor.access
        chunks = extent // _CHUNK if stride == 1 else 0
        kind = ir.VectorType.get([_CHUNK], access.element_type)
        if chunks:
            with loop(chunks) as number:
                moved = integers.muli(number, index(_CHUNK))
                values = emit("vector.load", [access.value, plus(place, moved)], kind)
                _store_vector(self.copy.widened(values), self.memory, plus(to, moved))
        if extent > chunks * _CHUNK:
            with loop(extent - chunks * _CHUNK) as number:
                step = plus(number, index(chunks * _CHUNK))
                value = load(access, plus(place, integers.muli(step, index(stride))))
                store(self.copy.widened(value), self.memory, plus(to, step))

    def read(self, row: ir.Value, group: ir.Value, lanes: int) -> ir.Value:
        """Return one group of a row, repeated in every one of `lanes` lanes."""
        size = self.copy.dot.group
        place = plus(integers.muli(row, index(self.stride)), integers.muli(group, index(size)))
        kind = ir.VectorType.get([size], self.copy.element)
        values = emit("vector.load", [self.memory.value, place], kind)
        word = ir.VectorType.get([1], ir.IntegerType.get_signless(32))
        number = emit("vector.bitcast", [values], word)
        all_lanes = ir.VectorType.get([lanes], word.element_type)
        scalar = emit(
            "vector.extract",
            [number],
            word.element_type,
            static_position=ir.DenseI64ArrayAttr.get([0]),
        )
        spread = emit("vector.broadcast", [scalar], all_lanes)
        return emit(
            "vector.bitcast", [spread], ir.VectorType.get([lanes * size], self.copy.element)
        )


@dataclass(frozen=True)
class ColumnPanels:
    """Memory for some tiles of columns: for every group of steps a row of the tile's columns.

    Attributes:
        copy: what is copied.
        memory: a flat buffer.
        columns: columns of a tile.
        accumulators: for every column the sum over the reduction, where that is needed.
        is_whole: all tiles are there.
    """

    copy: PanelCopy
    memory: BufferOperand
    columns: int
    accumulators: BufferOperand | None
    is_whole: bool

    @classmethod
    def made(cls, copy: PanelCopy, columns: int, tiles: int, *, with_sums: bool) -> ColumnPanels:
        """Return panels for `tiles` tiles, allocated at the insertion point, or prepared ones."""
        extent, word = copy.factor.extent, ir.IntegerType.get_signless(32)
        whole = -(-extent // columns)
        if not copy.is_prepared:
            memory = _flat(allocate(tiles * columns * copy.depth, copy.element))
            accumulators = _flat(allocate(tiles * columns, word)) if with_sums else None
            return cls(copy, memory, columns, accumulators, tiles == whole)
        access, size = copy.factor.access, whole * columns
        place = prepared(access, size * copy.depth, copy.element)
        totals = prepared(access, size, word) if with_sums else None
        with place.filling():
            target = cls(
                copy.reading(place.source),
                _flat(place.copy),
                columns,
                None if totals is None else _flat(totals.copy),
                is_whole=True,
            )
            target.fill({}, whole, lambda tile: tile_start(tile, columns, extent))
        accumulators = None if totals is None else _flat(totals.memory)
        return cls(copy, _flat(place.memory), columns, accumulators, is_whole=True)

    @property
    def size(self) -> int:
        """Elements of one panel."""
        return self.columns * self.copy.depth

    def start(self, tile: ir.Value) -> ir.Value:
        """Return where the panel of a tile starts."""
        return integers.muli(tile, index(self.size))

    def fill(
        self,
        position: Position,
        count: int | ir.Value,
        first_column: Callable[[ir.Value], ir.Value],
    ) -> None:
        """Emit the loops that copy `count` tiles, at `position` of the outer loops.

        Args:
            position: of the product's own loops.
            count: the number of tiles.
            first_column: the number of a tile's first column.
        """
        start = offset(self.copy.factor.access, position)
        with loop(count, parallel=True) as tile:
            first, target = first_column(tile), self.start(tile)
            run = self._run()
            if run > 1:
                firsts = [integers.addi(first, index(n)) for n in range(0, self.columns, run)]
                self._copy_groups([plus(start, self.copy.place(n)) for n in firsts], run, target)
            else:
                self._copy_columns(start, first, target)
            if self.accumulators is not None:
                self._add_up(self.accumulators, tile)

    def _run(self) -> int:
        """How many columns are contiguous wherever a tile starts; 1 where groups are not regular.

        Groups are where their steps are those of one loop.
        """
        copy = self.copy
        if not copy.factor.loops or copy.reductions[-1][1] % copy.dot.group:
            return 1
        if copy.factor.access.strides[copy.factor.loops[-1]] != 1:
            return 1
        if len(copy.factor.loops) == 1:
            return self.columns
        return gcd(copy.factor.extents[-1], self.columns)

    def _copy_groups(self, places: list[ir.Value], run: int, target: ir.Value) -> None:
        """Copy `run` columns from each of `places`, one group of steps after the other."""
        copy, access, group = self.copy, self.copy.factor.access, self.copy.dot.group
        *around, (inner, extent) = copy.reductions
        kind = ir.VectorType.get([run], access.element_type)

        def copy_group(steps: Position) -> None:
            steps = steps | {inner: integers.muli(steps[inner], index(group))}
            moved = _moved(access, steps)
            to = plus(target, integers.muli(copy.flat(steps), index(self.columns)))
            for number, place in enumerate(places):
                starts = [
                    plus(place, moved, index(step * access.strides[inner])) for step in range(group)
                ]
                rows = [emit("vector.load", [access.value, start], kind) for start in starts]
                values = _interleaved([copy.widened(row) for row in rows])
                _store_vector(values, self.memory, plus(to, index(number * run * group)))

        nested_loops([*around, (inner, extent // group)], {}, copy_group)

    def _copy_columns(self, start: ir.Value, first: ir.Value, target: ir.Value) -> None:
        copy, access, group = self.copy, self.copy.factor.access, self.copy.dot.group
        with loop(self.columns) as column:
            source = plus(start, copy.place(integers.addi(first, column)))
            to = plus(target, integers.muli(column, index(group)))

            def place_of(step: ir.Value) -> ir.Value:
                whole = integers.muli(
                    integers.divui(step, index(group)), index(self.columns * group)
                )
                return plus(to, whole, integers.remui(step, index(group)))

            def copy_one(steps: Position) -> None:
                value = load(access, plus(source, _moved(access, steps)))
                store(copy.widened(value), self.memory, place_of(copy.flat(steps)))

            nested_loops(copy.reductions, {}, copy_one)
            for step in range(copy.product.depth, copy.depth):
                store(_zero(copy.element), self.memory, place_of(index(step)))

    def _add_up(self, accumulators: BufferOperand, tile: ir.Value) -> None:
        """Sum the elements of every column of a tile."""
        word = ir.IntegerType.get_signless(32)
        is_unsigned = self.copy.factor.narrow.is_unsigned
        start, group = self.start(tile), self.copy.dot.group
        with loop(self.columns) as column:
            place = plus(integers.muli(tile, index(self.columns)), column)
            store(_zero(word), accumulators, place)
            with loop(self.copy.depth // group) as number:
                at = integers.muli(integers.muli(number, index(self.columns)), index(group))
                at = plus(start, at, integers.muli(column, index(group)))
                total = load(accumulators, place)
                for step in range(group):
                    value = load(self.memory, plus(at, index(step)))
                    name = "arith.extui" if is_unsigned else "arith.extsi"
                    total = integers.addi(total, emit(name, [value], word))
                store(total, accumulators, place)

    def read(self, start: ir.Value, group: ir.Value, first: int, lanes: int) -> ir.Value:
        """Return one group of each of `lanes` columns from number `first` of a tile on."""
        size = self.copy.dot.group
        place = plus(start, integers.muli(group, index(self.columns * size)), index(first * size))
        kind = ir.VectorType.get([lanes * size], self.copy.element)
        return emit("vector.load", [self.memory.value, place], kind)


def _flat(memory: ir.Value) -> BufferOperand:
    return BufferOperand(memory, 0, ())


def _moved(access: BufferOperand, steps: Position) -> ir.Value:
    total = index(0)
    for number, step in steps.items():
        total = plus(total, integers.muli(step, index(access.strides[number])))
    return total


def _interleaved(vectors: list[ir.Value]) -> ir.Value:
    """Return the first elements of all vectors, then their second elements, and so on."""
    while len(vectors) > 1:
        half = len(vectors) // 2
        vectors = [_pairs(vectors[number], vectors[number + half]) for number in range(half)]
    return vectors[0]


def _pairs(first: ir.Value, second: ir.Value) -> ir.Value:
    kind = ir.VectorType(first.type)
    size = kind.shape[0]
    mask = [number + side * size for number in range(size) for side in (0, 1)]
    double = ir.VectorType.get([2 * size], kind.element_type)
    return emit("vector.shuffle", [first, second], double, mask=ir.DenseI64ArrayAttr.get(mask))


def _store_vector(values: ir.Value, access: BufferOperand, place: ir.Value) -> None:
    ir.Operation.create("vector.store", operands=[values, access.value, place])


def _zero(kind: ir.Type) -> ir.Value:
    return emit("arith.constant", [], kind, value=ir.IntegerAttr.get(kind, 0))
