# SPDX-License-Identifier: MIT OR Apache-2.0
"""A thread's part of a tile that tensor cores have computed, and the elements that belong to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from torch_mlir.dialects import arith

from xyntra.dialects.dtypes import ITEM_BYTES
from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.lower.cuda.matmul.row_table import RowTable
from xyntra.passes.lower.cuda.matmul.wgmma.tiles import SWIZZLE, WARPGROUP, Tile
from xyntra.passes.lower.cuda.ptx.warps import WARP
from xyntra.passes.lower.gpu.contraction.product import BatchedMatmul, Dimension
from xyntra.passes.lower.gpu.emit.thread_grid import as_index, i32, thread_number, when
from xyntra.passes.lower.loops.linear_nest import BufferOperand
from xyntra.passes.lower.loops.loop_builder import Position, index, load, offset, plus, store
from xyntra.passes.lower.loops.vector_body import broadcast

COLUMN_STEP = 8
"""Columns of which a thread holds a pair."""
_HALF_ROWS = 8  # between the two rows of a thread
_WARP_ROWS = 16
_CHUNK = 16  # bytes that are permuted in shared memory


@dataclass(frozen=True)
class Fragment:
    """The elements of one thread; rows and columns are i32s.

    Attributes:
        product: what is computed.
        tile: how it is cut.
        batch: position of the batch loops.
        row: the first of the thread's two rows, in the output.
        column: the first of its columns, in the output.
        lane: number of the thread in its warp.
        warp: number of the warp in its warpgroup.
        table: values of the tile's rows.
        table_row: the first of the thread's two rows, in the table.
    """

    product: BatchedMatmul
    tile: Tile
    batch: Position
    row: ir.Value
    column: ir.Value
    lane: ir.Value
    warp: ir.Value
    table: RowTable | None
    table_row: ir.Value
    _known: dict[tuple[BufferOperand, int, int], ir.Value] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        product: BatchedMatmul,
        tile: Tile,
        corner: tuple[Position, ir.Value, ir.Value],
        table: RowTable | None,
        begin: ir.Value,
    ) -> Fragment:
        """Return the thread's part of a warpgroup's rows of a tile.

        Args:
            product: what is computed.
            tile: how it is cut.
            corner: position of the batch loops, and the first row and column, i32s.
            table: values of the tile's rows.
            begin: the warpgroup's first row in the table, an i32.
        """
        batch, row, column = corner
        lane = arith.andi(thread_number(), i32(WARP - 1))
        own = arith.andi(thread_number(), i32(WARPGROUP - 1))
        warp = arith.shrui(own, i32(WARP.bit_length() - 1))
        inside = arith.addi(arith.muli(warp, i32(_WARP_ROWS)), arith.shrui(lane, i32(2)))
        pair = arith.shli(arith.andi(lane, i32(3)), i32(1))
        return cls(
            product,
            tile,
            batch,
            arith.addi(row, inside),
            arith.addi(column, pair),
            lane,
            warp,
            table,
            arith.addi(begin, inside),
        )

    @property
    def rows(self) -> int:
        """Rows of the output."""
        return self.product.size(self.product.rows)

    @property
    def columns(self) -> int:
        """Columns of the output."""
        return self.product.size(self.product.columns)

    @property
    def has_all_rows(self) -> bool:
        """Tell whether no tile has rows outside of the output."""
        return self.rows % self.tile.rows == 0

    @property
    def has_all_columns(self) -> bool:
        """Tell whether no tile has columns outside of the output."""
        return self.columns % self.tile.columns == 0

    def load(self, access: BufferOperand, column: int, half: int) -> ir.Value:
        """Return a pair of contiguous elements of `access`; outside of the output, any others.

        Args:
            access: an operand of the epilogue in memory.
            column: of the tile, a multiple of eight.
            half: which of the thread's two rows.
        """
        slot = None if self.table is None else self.table.values.slot(access)
        if self.table is not None and slot is not None:
            return self._value(self.table, slot, access, half)
        rows = self.product.dimensions(access, self.product.rows)
        key = (access, column, half if any(each.stride for each in rows) else 0)
        columns = self.product.dimensions(access, self.product.columns)
        if not any(each.stride for each in columns):
            key = (key[0], -1, key[2])
        if key not in self._known:
            self._known[key] = self._load(access, columns, column, half)
        return self._known[key]

    def is_inside(self, row: ir.Value, column: ir.Value) -> ir.Value:
        """Tell whether a row and a column, i32s, are inside of the output."""
        rows = None if self.has_all_rows else _below(row, self.rows)
        return _both(rows, self._column_check(column))

    def store(self, value: ir.Value, access: BufferOperand, column: int, half: int) -> None:
        """Store a pair, where it is inside of the output."""
        row = self.row_of(half)
        first = arith.addi(self.column, i32(column))
        base = self.row_start(access, row)
        is_inside = None if self.has_all_rows else _below(row, self.rows)
        columns = self.product.dimensions(access, self.product.columns)
        if self._is_pair(access, columns):
            inside = _both(is_inside, self._column_check(first))
            with when(inside):
                place = plus(base, _moved(columns, first))
                _store_vector(value, access, place)
            return
        for number in range(2):
            each = arith.addi(first, i32(number))
            with when(_both(is_inside, self._column_check(each))):
                element = emit(
                    "vector.extract",
                    [value],
                    ir.VectorType(value.type).element_type,
                    static_position=ir.DenseI64ArrayAttr.get([number]),
                )
                store(element, access, plus(base, _moved(columns, each)))

    def matrix_address(self, start: ir.Value, column: int) -> ir.Value:
        """Return where this lane's row of four matrices of 8 by 8 starts, for `store_matrices`.

        Args:
            start: address of 64 rows of 128 bytes, whose chunks of 16 bytes are permuted.
            column: the first of sixteen, of 16-bit elements.
        """
        row = arith.andi(self.lane, i32(_WARP_ROWS - 1))
        row = arith.addi(arith.muli(self.warp, i32(_WARP_ROWS)), row)
        own = arith.shrui(self.lane, i32(4))
        chunk = arith.xori(own, arith.andi(self.lane, i32(7)))
        chunk = arith.xori(chunk, i32(column // COLUMN_STEP))
        place = arith.addi(arith.muli(row, i32(SWIZZLE)), arith.muli(chunk, i32(_CHUNK)))
        return arith.addi(start, place)

    def pair_address(self, start: ir.Value, column: int, half: int) -> ir.Value:
        """Return where a pair of f32s goes.

        Args:
            start: as for `matrix_address`.
            column: a multiple of eight.
            half: which of the thread's two rows.
        """
        group = arith.shrui(self.lane, i32(2))
        row = arith.addi(arith.muli(self.warp, i32(_WARP_ROWS)), group)
        row = arith.addi(row, i32(half * _HALF_ROWS))
        own = arith.shrui(arith.andi(self.lane, i32(3)), i32(1))
        chunk = arith.addi(own, i32(column * 4 // _CHUNK))
        chunk = arith.xori(chunk, group)
        place = arith.addi(arith.muli(row, i32(SWIZZLE)), arith.muli(chunk, i32(_CHUNK)))
        inside = arith.muli(arith.andi(self.lane, i32(1)), i32(_CHUNK // 2))
        return arith.addi(start, arith.addi(place, inside))

    def _value(self, table: RowTable, slot: int, access: BufferOperand, half: int) -> ir.Value:
        key = (access, -1, half)
        if key not in self._known:
            row = arith.addi(self.table_row, i32(half * _HALF_ROWS))
            self._known[key] = broadcast(table.load(slot, row), 2)
        return self._known[key]

    def _load(
        self, access: BufferOperand, columns: Sequence[Dimension], column: int, half: int
    ) -> ir.Value:
        row = self.row_of(half)
        if not self.has_all_rows:
            row = arith.minui(row, i32(self.rows - 1))
        base = self.row_start(access, row)
        if not any(each.stride for each in columns):
            return broadcast(load(access, base), 2)
        first = arith.addi(self.column, i32(column))
        if self._is_pair(access, columns):
            place = plus(base, self._column_place(columns, first, column, 2))
            element = access.element_type
            kind = ir.VectorType.get([2], element)
            return emit("vector.load", [access.value, place], kind, alignment=_alignment(element))
        places = [
            plus(base, self._column_place(columns, arith.addi(first, i32(each)), column, 1))
            for each in range(2)
        ]
        values = [load(access, place) for place in places]
        kind = ir.VectorType.get([2], values[0].type)
        return emit("vector.from_elements", values, kind)

    def _column_place(
        self, columns: Sequence[Dimension], first: ir.Value, column: int, count: int
    ) -> ir.Value:
        """Return how far a column moves; those outside of the output move as the last ones do."""
        if not self.has_all_columns:
            return _moved(columns, arith.minui(first, i32(self.columns - count)))
        if len(columns) > 1 or count == 1:
            return _moved(columns, first)
        own = _moved(columns, self.column)  # and a constant, which loads can add by themselves
        return arith.addi(own, index(column * columns[0].stride))

    def row_of(self, half: int) -> ir.Value:
        """Return one of the thread's two rows, in the output."""
        return arith.addi(self.row, i32(half * _HALF_ROWS))

    def row_start(self, access: BufferOperand, row: ir.Value) -> ir.Value:
        """Return where a row of `access`, an i32, starts."""
        rows = self.product.dimensions(access, self.product.rows)
        return plus(offset(access, self.batch), _moved(rows, row))

    def _is_pair(self, access: BufferOperand, columns: Sequence[Dimension]) -> bool:
        """Tell whether pairs of contiguous elements start at multiples of two elements."""
        rows = self.product.dimensions(access, self.product.rows)
        others = [each.stride for each in [*rows, *columns[1:]]]
        others += [access.strides[number] for number in self.product.batch]
        first = access.start
        # In memory a boolean is a byte, in a vector a bit.
        is_boolean = str(access.element_type) == "i1"
        return (
            not is_boolean
            and columns[0].stride == 1
            and columns[0].extent % 2 == 0
            and all(place % 2 == 0 for place in [first, *others])
        )

    def _column_check(self, column: ir.Value) -> ir.Value | None:
        return None if self.has_all_columns else _below(column, self.columns)


def _moved(dimensions: Sequence[Dimension], number: ir.Value) -> ir.Value:
    """Return how far `number` steps, an i32, move through a buffer; an index."""
    total = index(0)
    for place, each in enumerate(dimensions):
        is_last = place == len(dimensions) - 1
        own = number if is_last else arith.remui(number, i32(each.extent))
        if each.stride:
            total = arith.addi(total, arith.muli(as_index(own), index(each.stride)))
        if not is_last:
            number = arith.divui(number, i32(each.extent))
    return total


def _below(number: ir.Value, limit: int) -> ir.Value:
    return arith.cmpi(arith.CmpIPredicate.ult, number, i32(limit))


def _both(first: ir.Value | None, second: ir.Value | None) -> ir.Value:
    if first is not None and second is not None:
        return arith.andi(first, second)
    known = first if first is not None else second
    if known is not None:
        return known
    bit = ir.IntegerType.get_signless(1)
    return emit("arith.constant", [], bit, value=ir.IntegerAttr.get(bit, 1))


def _store_vector(value: ir.Value, access: BufferOperand, place: ir.Value) -> None:
    element = access.element_type
    ir.Operation.create(
        "vector.store",
        operands=[value, access.value, place],
        attributes={"alignment": _alignment(element)},
    )


def _alignment(element: ir.Type) -> ir.Attribute:
    return ir.IntegerAttr.get(ir.IntegerType.get_signless(64), 2 * ITEM_BYTES[str(element)])
