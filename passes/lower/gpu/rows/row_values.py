# SPDX-License-Identifier: MIT OR Apache-2.0
"""Holds one thread's part of a row in registers: its vectors, and what all elements share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce

from torch_mlir.dialects import arith

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.analysis.cloning import repeat
from xyntra.passes.lower.gpu.elementwise.row_gathers import RowGathers, gathered_vector, row_gathers
from xyntra.passes.lower.gpu.emit.thread_grid import as_index, i32, when
from xyntra.passes.lower.gpu.emit.vectors import load_vector, store_vector
from xyntra.passes.lower.gpu.rows.row_accesses import Place, is_common, is_row, place_of
from xyntra.passes.lower.gpu.rows.row_extras import StagedRows
from xyntra.passes.lower.gpu.rows.row_pieces import is_piece, of_piece, together
from xyntra.passes.lower.gpu.rows.row_plan import RowPlan
from xyntra.passes.lower.loops.index_vectors import index_vectors
from xyntra.passes.lower.loops.linear_nest import BufferOperand, LinearNest
from xyntra.passes.lower.loops.loop_builder import Position, index, load, offset
from xyntra.passes.lower.loops.memrefs import root
from xyntra.passes.lower.loops.vector_body import broadcast, side_by_side

Row = list[ir.Value]
"""A vector for each step of a thread."""
_Key = tuple[ir.Value, Place]


class ThreadRowValues:
    """The part of one thread in one row.

    Args:
        plan: how the row is shared.
        count: loops over rows.
        position: the row.
        thread: number of the thread among those of the row, an i32.
        staging: where rows wait, None where they are loaded into registers.
        is_there: whether results are written; None where they always are.
    """

    def __init__(
        self,
        plan: RowPlan,
        count: int,
        position: Position,
        thread: ir.Value,
        staging: StagedRows | None = None,
        is_there: ir.Value | None = None,
    ) -> None:
        self._plan = plan
        self._count = count
        self._position = position
        self._thread = thread
        self._staging = staging
        self.is_there = is_there
        self._rows: dict[_Key, Callable[[int], ir.Value]] = {}
        self._scalars: dict[_Key, ir.Value] = {}
        self._once: dict[ir.Block, dict[ir.Value, ir.Value]] = {}
        self._together: dict[tuple[ir.Value, int, tuple[int, ...], int], ir.Value] = {}
        self._inside: ir.Value | None = None
        self._places = [self._place(step) for step in range(plan.steps)]

    @property
    def position(self) -> Position:
        """The row."""
        return self._position

    def operand(self, nest: LinearNest, access: BufferOperand) -> Callable[[int], ir.Value]:
        """Return what gives the vector of a step."""
        lanes = self._plan.lanes
        if not is_row(nest, access, self._count):
            value = broadcast(self.scalar(nest, access), lanes)
            return lambda step: value
        if access.every > 1:
            return lambda step: self._stepped(access, step)
        key = self._key(nest, access)
        if key not in self._rows and not self._is_ahead(access):
            return lambda step: self._loaded(access, step)
        self.load_ahead(nest, access)
        return self._rows[key]

    def _stepped(self, access: BufferOperand, step: int) -> ir.Value:
        """Return a vector of elements of which several neighbours have one in common."""
        lanes = self._plan.lanes
        firsts = range(1 if access.every % lanes == 0 else lanes)
        places = [arith.addi(self._places[step], index(first)) for first in firsts]
        numbers = [arith.divui(place, index(access.every)) for place in places]
        found = [
            load(access, offset(access, self._position | {self._count: number}))
            for number in numbers
        ]
        if len(found) == 1:
            return broadcast(found[0], lanes)
        kind = ir.VectorType.get([lanes], access.element_type)
        return emit("vector.from_elements", found, kind)

    def load_ahead(self, nest: LinearNest, access: BufferOperand) -> None:
        """Load a row, if it is not there and should be loaded before it is used."""
        key = self._key(nest, access)
        if key in self._rows or not self._is_ahead(access):
            return
        if self._staging is None or is_common(access, self._count):
            row = [self._loaded(access, step) for step in range(self._plan.steps)]
            self._rows[key] = row.__getitem__
        else:
            self._rows[key] = self._stage(access, self._staging)

    def _stage(self, access: BufferOperand, staging: StagedRows) -> Callable[[int], ir.Value]:
        """Send a row, or most of it, to shared memory; return what gives a step's vector."""
        staged, lanes = self._plan.staged, self._plan.lanes
        places = [self._offset(access, step) for step in range(staged)]
        vectors = staging.copy(access, lanes, places)
        rest = [self._loaded(access, step) for step in range(staged, self._plan.steps)]
        return lambda step: vectors(step) if step < staged else rest[step - staged]

    def _is_ahead(self, access: BufferOperand) -> bool:
        # What all rows share comes from a cache, and may wait for registers.
        return self._plan.ahead or not is_common(access, self._count)

    def keep_row(self, nest: LinearNest, access: BufferOperand, row: Row) -> None:
        """Remember what `nest` has written."""
        self._rows[self._key(nest, access)] = row.__getitem__

    def keep_rule(
        self, nest: LinearNest, access: BufferOperand, vector: Callable[[int], ir.Value]
    ) -> None:
        """Remember how what `nest` computes is computed anew, for every step."""
        self._rows[self._key(nest, access)] = vector

    def scalar(self, nest: LinearNest, access: BufferOperand) -> ir.Value:
        """Return what all elements of a row share."""
        if access.is_scalar:
            return access.value
        key = self._key(nest, access)
        if key not in self._scalars:
            self._scalars[key] = load(access, offset(access, self._position))
        return self._scalars[key]

    def keep_scalar(self, nest: LinearNest, access: BufferOperand, value: ir.Value) -> None:
        """Remember what `nest` has written for all elements of a row."""
        self._scalars[self._key(nest, access)] = value

    def store(self, access: BufferOperand, step: int, *pieces: ir.Value) -> None:
        """Write a vector, where it is not behind the row.

        Args:
            access: of the vector, or of the first of several pieces.
            step: number of the vector among those of the thread.
            pieces: the vector, or those of all pieces.
        """
        place = self._offset(access, step)
        vector = pieces[0] if len(pieces) == 1 else together(pieces)
        lanes = self._plan.lanes * len(pieces)
        conditions = [self._inside] if self._is_partial(step) else []
        conditions += [] if self.is_there is None else [self.is_there]
        if not conditions:
            store_vector(vector, access, lanes, place)
            return
        with when(reduce(arith.andi, conditions)):
            store_vector(vector, access, lanes, place)

    def inside(self, step: int, vector: ir.Value, otherwise: ir.Value) -> ir.Value:
        """Return `vector`, or what takes its place behind the row."""
        return arith.select(self._inside, vector, otherwise) if self._is_partial(step) else vector

    def results(self, nest: LinearNest, arguments: Sequence[ir.Value], step: int) -> Row:
        """Emit the body of `nest` on the vectors of a step, and return what it yields."""
        known = dict(zip(nest.body.arguments, arguments, strict=False))
        known |= index_vectors(nest, self._at(step), self._count, self._plan.lanes)
        known |= self._gathered(nest, step)
        return side_by_side(nest.body, [known], self._plan.lanes)[0]

    def _gathered(self, nest: LinearNest, step: int) -> dict[ir.Value, ir.Value]:
        """Load what the body of `nest` gathers for a step; what it needs for that is computed once.

        Returns:
            What stands for the results of these operations.
        """
        gathers = row_gathers(nest, self._count)
        if gathers is None:
            return {}
        if nest.body not in self._once:
            self._once[nest.body] = self._computed_once(nest, gathers)
        once, lanes = self._once[nest.body], self._plan.lanes
        known = {}
        for op in gathers.once:
            value = once[op.result]
            is_index = isinstance(value.type, ir.IndexType)
            known[op.result] = value if is_index else broadcast(value, lanes)
        for op in gathers.loads:
            memory, *indices = op.operands
            place = [*(once.get(each, each) for each in indices[:-1]), self._places[step]]
            known[op.result] = gathered_vector(memory, place, lanes)
        return known

    def _computed_once(self, nest: LinearNest, gathers: RowGathers) -> dict[ir.Value, ir.Value]:
        known = {
            nest.body.arguments[number]: self.scalar(nest, nest.inputs[number])
            for number in gathers.arguments
        }
        for op in gathers.once:
            repeat(op, known)
        return known

    def _place(self, step: int) -> ir.Value:
        """Return the first element of a vector; one of the last where it lies behind the row."""
        plan = self._plan
        number = arith.addi(self._thread, i32(step * plan.sharing))
        if (step + 1) * plan.sharing > plan.vectors:
            last = i32(plan.vectors - 1)
            self._inside = arith.cmpi(arith.CmpIPredicate.ule, number, last)
            number = arith.minui(number, last)
        return as_index(arith.muli(number, i32(plan.lanes)))

    def _is_partial(self, step: int) -> bool:
        return self._inside is not None and step == self._plan.steps - 1

    def _at(self, step: int) -> Position:
        return self._position | {self._count: self._places[step]}

    def _key(self, nest: LinearNest, access: BufferOperand) -> _Key:
        return root(access.value), place_of(nest, access, self._count)

    def _loaded(self, access: BufferOperand, step: int) -> ir.Value:
        if not is_piece(access, self._count):
            return load_vector(access, self._plan.lanes, self._offset(access, step))
        pieces = access.strides[self._count]
        number = access.start % pieces
        key = root(access.value), access.start - number, access.strides, step
        if key not in self._together:
            place = arith.subi(self._offset(access, step), index(number))
            self._together[key] = load_vector(access, self._plan.lanes * pieces, place)
        return of_piece(self._together[key], number, pieces)

    def _offset(self, access: BufferOperand, step: int) -> ir.Value:
        """Return the first element of a vector, which lies in one run of a row of several."""
        place = offset(access, self._at(step))
        for length, distance in access.jumps:
            number = arith.divui(self._places[step], index(length))
            place = arith.addi(place, arith.muli(number, index(distance)))
        return place
