# SPDX-License-Identifier: MIT OR Apache-2.0
"""Emits products with a matrix of bytes: what is dequantized meets a tile of rows in registers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

from torch_mlir.dialects import scf

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.lower.cpu.matmul.sums_of_lanes import sums_of_lanes
from xyntra.passes.lower.cpu.matmul_packed.packed_plan import PackedChoices, PackedProduct
from xyntra.passes.lower.cpu.rows.vector_reduction import combine, identity
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
    store,
    tile_start,
)
from xyntra.passes.lower.loops.memrefs import allocate
from xyntra.passes.lower.loops.vector_body import broadcast, emit_values, lane_of

__all__ = ["PackedTiles", "with_plain_rows"]

_ROWS, _COLUMNS = -1, -2  # keys of a `Position` beside the numbers of the nest's loops
_PADDING = 5 * 16  # elements, an odd number of lines
_UNROLLED = 4  # vectors of a block


def with_plain_rows(found: PackedProduct, lanes: int) -> PackedProduct:
    """Copy what the rows hold to where its steps are neighbours, and return the nest on that."""
    nest = found.nest

    def plain(access: BufferOperand) -> BufferOperand:
        if found.is_weight(access) or access.strides[found.step] in (0, 1):
            return access
        order = [*([] if found.row is None else [found.row]), *found.blocks, found.step]
        strides, size = _strides(nest, order, {})
        copy = BufferOperand(allocate(size, access.element_type), 0, tuple(strides))
        loops = [(number, nest.loops[number].extent) for number in order]

        def move(place: Position) -> None:
            store(load(access, offset(access, place)), copy, offset(copy, place))

        nested_loops(loops, {}, move, parallel=True)
        return copy

    return replace(found, nest=replace(nest, inputs=tuple(map(plain, nest.inputs))))


def _strides(
    nest: LinearNest, order: Sequence[int], extents: Mapping[int, int]
) -> tuple[list[int], int]:
    """Return how far each loop moves in a copy, outermost first, and the size of that.

    Rows, or columns, of a power of two would meet in the same lines of a cache.
    """
    strides, size = [0] * len(nest.loops), 1
    for number in reversed(order):
        size += _PADDING if number == order[0] and len(order) > 1 else 0
        strides[number], size = size, size * extents.get(number, nest.loops[number].extent)
    return strides, size


@dataclass(frozen=True)
class PackedTiles:
    """The code of a product.

    Attributes:
        found: the product, over flat views.
        told: its tiles.
        initial: the scalar that every element of the output starts from.
        values: of the body, where they have been dequantized for a block of columns.
        first: column of that block.
    """

    found: PackedProduct
    told: PackedChoices
    initial: ir.Value
    values: tuple[BufferOperand, ...] = ()
    first: ir.Value | None = None

    def emit(self) -> None:
        """Emit all loops; the matrix is read once."""
        found, (height, width), block = self.found, self.told.tile, self.told.block
        columns, rows = found.nest.loops[found.column].extent, -(-found.rows // height)
        if not block:
            tiles = [(_COLUMNS, -(-columns // width)), (_ROWS, rows)]
            nested_loops(tiles, {}, self._tile, parallel=True)
            return
        with loop(-(-columns // block), parallel=True) as number:
            first = tile_start(number, block, columns)
            each = replace(self, values=self._dequantized(first), first=first)
            nested_loops([(_ROWS, rows), (_COLUMNS, block // width)], {}, each._tile)

    def _dequantized(self, first: ir.Value) -> tuple[BufferOperand, ...]:
        """Write what a block of columns from `first` on holds to memory that stays in a cache."""
        found, lanes = self.found, self.told.vector
        nest, order = found.nest, (found.column, *found.blocks, found.step)
        block = {found.column: self.told.block}
        extents = {number: nest.loops[number].extent for number in order} | block
        strides, size = _strides(nest, order, block)
        kind = ir.F32Type.get()
        copies = [BufferOperand(allocate(size, kind), 0, tuple(strides)) for _ in self._wanted]
        loops = [(number, extents[number]) for number in order[:-1]]
        loops.append((found.step, extents[found.step] // lanes))

        def write(place: Position) -> None:
            own = place | {found.step: integers.muli(place[found.step], index(lanes))}
            there = own | {found.column: plus(first, own[found.column])}
            values = self._weights(there, 0)
            for value, copy in zip(self._wanted, copies, strict=True):
                operands = [values[value], copy.value, offset(copy, own)]
                ir.Operation.create("vector.store", operands=operands)

        nested_loops(loops, {}, write)
        return tuple(copies)

    @property
    def _wanted(self) -> list[ir.Value]:
        return self.found.weight_values

    def _tile(self, position: Position) -> None:
        found, (height, width) = self.found, self.told.tile
        extent = found.nest.loops[found.column].extent
        if self.first is None:
            column = tile_start(position[_COLUMNS], width, extent)
        else:
            column = plus(self.first, integers.muli(position[_COLUMNS], index(width)))
        place = {found.column: column}
        if found.row is not None:
            place[found.row] = tile_start(position[_ROWS], height, found.rows)
        accumulators = self._sums(place)
        output = found.nest.outputs[0]
        start = broadcast(self.initial, width)
        for row in range(height):
            lanes = sums_of_lanes(self._combine, accumulators[row * width : (row + 1) * width])
            distance = 0 if found.row is None else row * output.strides[found.row]
            first = plus(offset(output, place), index(distance))
            self._store(self._combine(start, lanes), output, first)

    def _store(self, value: ir.Value, output: BufferOperand, first: ir.Value) -> None:
        step = output.strides[self.found.column]
        if step == 1:
            ir.Operation.create("vector.store", operands=[value, output.value, first])
            return
        for lane in range(self.told.tile[1]):
            store(lane_of(value, lane), output, plus(first, index(lane * step)))

    def _combine(self, first: ir.Value, second: ir.Value) -> ir.Value:
        return combine(self.found.combining, first, second)

    def _sums(self, place: Position) -> list[ir.Value]:
        """Return a vector of partial sums for every element of a tile."""
        start = [identity(self.found.combining, self.told.vector)] * prod(self.told.tile)
        return self._blocks(place, self.found.blocks, start)

    def _blocks(
        self, place: Position, loops: Sequence[int], accumulators: list[ir.Value]
    ) -> list[ir.Value]:
        """Add what some loops over blocks, and the bytes of each, come to."""
        if not loops:
            return self._block(place, accumulators)
        built = carrying_loop(self.found.nest.loops[loops[0]].extent, accumulators)
        with ir.InsertionPoint(built.body):
            inside = place | {loops[0]: built.induction_variable}
            scf.YieldOp(self._blocks(inside, loops[1:], list(built.inner_iter_args)))
        return list(built.results)

    def _block(self, place: Position, accumulators: list[ir.Value]) -> list[ir.Value]:
        lanes, step = self.told.vector, self.found.step
        count = self.found.nest.loops[step].extent // lanes
        together = next(n for n in range(_UNROLLED, 0, -1) if count % n == 0)
        trips = count // together
        if trips == 1:
            return self._vectors(place, None, together, accumulators)
        built = carrying_loop(trips, accumulators)
        with ir.InsertionPoint(built.body):
            first = integers.muli(built.induction_variable, index(together * lanes))
            scf.YieldOp(self._vectors(place, first, together, list(built.inner_iter_args)))
        return list(built.results)

    def _vectors(
        self, place: Position, first: ir.Value | None, count: int, accumulators: list[ir.Value]
    ) -> list[ir.Value]:
        """Add the products of `count` vectors of bytes from step `first` on."""
        height, width = self.told.tile
        after = list(accumulators)
        for number in range(count):
            step = index(number * self.told.vector)
            here = place | {self.found.step: step if first is None else plus(first, step)}
            rows = [self._arguments(here, row, weights=False) for row in range(height)]
            for column in range(width):
                weights = self._weights(here, column)
                for row, known in enumerate(rows):
                    place_of = row * width + column
                    after[place_of] = self._added(weights | known, after[place_of])
        return after

    def _weights(self, place: Position, column: int) -> dict[ir.Value, ir.Value]:
        """Return what the body takes of the matrix, dequantized."""
        wanted, lanes = self._wanted, self.told.vector
        if self.first is not None:
            own = place | {self.found.column: integers.subi(place[self.found.column], self.first)}
            return {
                value: self._operand(copy, own, self.found.column, column)
                for value, copy in zip(wanted, self.values, strict=True)
            }
        known = self._arguments(place, column, weights=True)
        found = emit_values(self.found.nest.body, wanted, known, lanes)
        return {value: found[value] for value in wanted}

    def _added(self, known: dict[ir.Value, ir.Value], total: ir.Value) -> ir.Value:
        terms = self.found.terms
        values = emit_values(self.found.nest.body, terms, known, self.told.vector)
        for term in terms:
            total = self._combine(total, values[term])
        return total

    def _arguments(
        self, place: Position, number: int, *, weights: bool
    ) -> dict[ir.Value, ir.Value]:
        """Return vectors for the arguments of the matrix in a column, or of a row."""
        nest = self.found.nest
        along = self.found.column if weights else self.found.row
        return {
            argument: self._operand(access, place, along, number)
            for argument, access in zip(nest.body.arguments, nest.inputs, strict=False)
            if self.found.is_weight(access) == weights
        }

    def _operand(
        self, access: BufferOperand, place: Position, along: int | None, number: int
    ) -> ir.Value:
        lanes = self.told.vector
        if access.is_scalar:
            return broadcast(access.value, lanes)
        distance = 0 if along is None else number * access.strides[along]
        start = plus(offset(access, place), index(distance))
        if not access.strides[self.found.step]:
            return broadcast(load(access, start), lanes)
        kind = ir.VectorType.get([lanes], access.element_type)
        return emit("vector.load", [access.value, start], kind)
