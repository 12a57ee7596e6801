# SPDX-License-Identifier: MIT OR Apache-2.0
"""Emits an epilogue, or nothing but the store, for vectors of one tile."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.lower.cpu.matmul.tile_plan import TilePlan
from xyntra.passes.lower.kernels.epilogue import Epilogue
from xyntra.passes.lower.loops import integers
from xyntra.passes.lower.loops.linear_nest import BufferOperand
from xyntra.passes.lower.loops.loop_builder import Position, index, load, offset, plus, store
from xyntra.passes.lower.loops.vector_body import broadcast, emit_results_on_vectors

Row: TypeAlias = "int | ir.Value"
_Reader: TypeAlias = Callable[[Row, int], ir.Value]


@dataclass(frozen=True)
class TileEpilogue:
    """The epilogue of a tile: code on its values, and where they are stored.

    Attributes:
        plan: the tiles.
        targets: where the values go that come out.
        code: what they are computed by; None stores the values as they are.
    """

    plan: TilePlan
    targets: tuple[BufferOperand, ...]
    code: Epilogue | None

    @classmethod
    def of(cls, plan: TilePlan, output: BufferOperand, code: Epilogue | None) -> TileEpilogue:
        """Return what follows a tile of `output`, which `code`, if given, has places for."""
        if code is None:
            return cls(plan, (output,), None)
        kept = () if code.result is None else (code.result,)
        return cls(plan, (*code.outputs, *kept), code)

    @property
    def size(self) -> int:
        """Operations on one vector."""
        return 0 if self.code is None else len(list(self.code.body.operations))

    def at(self, position: Position, column: ir.Value) -> Callable[[ir.Value, Row, int], None]:
        """Return a function that takes a vector of values, its row and its number in the row.

        Args:
            position: where the loops stand, that of the rows at row 0.
            column: the first column of the tile.
        """
        starts = [self._start(each, position, column) for each in self.targets]
        inputs = () if self.code is None else self.code.inputs
        readers = [
            None if each is None else self._reader(each, position, column) for each in inputs
        ]

        def write(value: ir.Value, row: Row, vector: int) -> None:
            results = self._apply(readers, value, row, vector)
            for access, start, result in zip(self.targets, starts, results, strict=True):
                self._store(result, access, self._place(access, start, row, vector))

        return write

    def prefetch(self, position: Position, column: ir.Value) -> None:
        """Ask for the lines of memory that one tile will touch."""
        for access in () if self.code is None else self.code.accesses:
            if self._column(access) != 1:
                continue
            start = self._start(access, position, column)
            for row in range(self.plan.rows if self.plan.row_stride(access) else 1):
                place = self._place(access, start, row, 0)
                _prefetch(access, place, is_write=access in self.targets)

    def _apply(
        self, readers: list[_Reader | None], value: ir.Value, row: Row, vector: int
    ) -> list[ir.Value]:
        if self.code is None:
            return [value]
        arguments = [value if read is None else read(row, vector) for read in readers]
        results = emit_results_on_vectors(self.code.body, arguments, self.plan.lanes)
        return results if self.code.result is None else [*results, value]

    def _reader(self, access: BufferOperand, position: Position, column: ir.Value) -> _Reader:
        """Return a function that loads the vector for a row and vector of the tile."""
        lanes = self.plan.lanes
        if access.is_scalar:
            return lambda *_: broadcast(access.value, lanes)
        start = self._start(access, position, column)

        def read(row: Row, vector: int) -> ir.Value:
            return load_lanes(access, self._place(access, start, row, vector), lanes, step)

        step = self._column(access)
        return read

    def _column(self, access: BufferOperand) -> int:
        return access.strides[self.plan.column_loops[-1]]

    def _start(self, access: BufferOperand, position: Position, column: ir.Value) -> ir.Value:
        return plus(offset(access, position), integers.muli(column, index(self._column(access))))

    def _place(self, access: BufferOperand, start: ir.Value, row: Row, vector: int) -> ir.Value:
        distance = vector * self.plan.lanes * self._column(access)
        stride = self.plan.row_stride(access)
        if isinstance(row, int):
            return _moved(start, distance + row * stride)
        return _moved(integers.addi(start, integers.muli(row, index(stride))), distance)

    def _store(self, value: ir.Value, access: BufferOperand, place: ir.Value) -> None:
        column = self._column(access)
        if column == 1 and _is_byte_wise(access):
            ir.Operation.create("vector.store", operands=[value, access.value, place])
            return
        element = ir.VectorType(value.type).element_type
        for lane in range(self.plan.lanes):
            number = ir.DenseI64ArrayAttr.get([lane])
            scalar = emit("vector.extract", [value], element, static_position=number)
            store(scalar, access, _moved(place, lane * column))


def _is_byte_wise(access: BufferOperand) -> bool:
    """Tell whether a vector of elements lies in memory as the elements do."""
    return str(access.element_type) != "i1"


def _moved(start: ir.Value, distance: int) -> ir.Value:
    return integers.addi(start, index(distance)) if distance else start


def load_lanes(access: BufferOperand, place: ir.Value, lanes: int, column: int) -> ir.Value:
    """Load a vector of elements that are `column` apart."""
    if column == 0:
        return broadcast(load(access, place), lanes)
    kind = ir.VectorType.get([lanes], access.element_type)
    if column == 1 and _is_byte_wise(access):
        return emit("vector.load", [access.value, place], kind)
    elements = [load(access, _moved(place, lane * column)) for lane in range(lanes)]
    return emit("vector.from_elements", elements, kind)


def _prefetch(access: BufferOperand, place: ir.Value, *, is_write: bool) -> None:
    ir.Operation.create(
        "memref.prefetch",
        operands=[access.value, place],
        attributes={
            "isWrite": ir.BoolAttr.get(is_write),
            "localityHint": ir.IntegerAttr.get(ir.IntegerType.get_signless(32), 3),
            "isDataCache": ir.BoolAttr.get(value=True),
        },
    )
