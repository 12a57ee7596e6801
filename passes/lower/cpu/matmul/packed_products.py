# SPDX-License-Identifier: MIT OR Apache-2.0
"""`packed-products`: few rows meet a matrix of bytes, which is dequantized in registers.

The bytes of a column of the product lie along the reduction, and hold one integer or two. Lanes of
vectors run along them, as they lie in memory: each vector is dequantized once, and meets all rows
of a tile. Nothing of the matrix is copied, so that the speed of one row is that of reading it. What
the rows hold is copied instead, where the integers of a byte make its neighbours strides apart.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod

from torch_mlir.dialects import scf

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.analysis.kernel_function import terminator
from xyntra.passes.lower.cpu.machine import LoweringOptions
from xyntra.passes.lower.cpu.matmul.sums_of_lanes import sums_of_lanes
from xyntra.passes.lower.cpu.matmul.tile_plan import Registers
from xyntra.passes.lower.cpu.rows.filled_reductions import Filled
from xyntra.passes.lower.cpu.rows.vector_reduction import combine, identity
from xyntra.passes.lower.cpu.rows.vector_rows import combiner
from xyntra.passes.lower.cpu.schedule.emitter import Choices, NestEmitter, require
from xyntra.passes.lower.cpu.schedule.told import bad_schedule
from xyntra.passes.lower.loops import integers
from xyntra.passes.lower.loops.linear_nest import BufferOperand, LinearNest
from xyntra.passes.lower.loops.loop_builder import (
    Position,
    carrying_loop,
    index,
    load,
    nested_loops,
    offset,
    plus,
    store,
    tile_start,
)
from xyntra.passes.lower.loops.memrefs import allocate
from xyntra.passes.lower.loops.vector_body import (
    broadcast,
    emit_values,
    is_vectorizable,
    lane_of,
)

__all__ = ["PackedProducts"]

_ROWS, _COLUMNS = -1, -2  # keys of a `Position` beside the numbers of the nest's loops
_MOST_ROWS = 12  # of more, panels that all rows share are dequantized as fast
_TILE_ROWS = 4
_WIDTHS = (4, 2, 1)
_MIN_LANES = 4
_MIN_BYTES = 16 << 10  # of a smaller matrix, any order of loops does
_UNROLLED = 4  # vectors of a block


@dataclass(frozen=True)
class PackedChoices(Choices):
    """The choices of the emitter. Loops are numbered as they are after those that walk on merge.

    Attributes:
        vector: elements of a vector, which divide a block.
        tile: rows and columns of a tile; the latter are a power of two.
    """

    vector: int = 0
    tile: tuple[int, ...] = ()


@dataclass(frozen=True)
class _PackedProduct:
    """Such a contraction.

    Attributes:
        nest: the loops.
        row: the loop over rows; None for one row.
        column: the loop over the columns of the product.
        blocks: loops that reduce over blocks; empty where there is one.
        step: the loop that reduces over the bytes of a block.
        combining: the operation that adds one more product to the sum.
    """

    nest: LinearNest
    row: int | None
    column: int
    blocks: tuple[int, ...]
    step: int
    combining: ir.Operation

    @classmethod
    def of(cls, nest: LinearNest) -> _PackedProduct | None:
        """Return `nest` as such a contraction, or None where it is none."""
        if nest.indices or len(nest.outputs) != 1 or not is_vectorizable(nest.body):
            return None
        combining = combiner(nest, 0)
        packed = next((each for each in nest.inputs if _is_bytes(each)), None)
        if combining is None or combining.name != "arith.addf" or packed is None:
            return None
        steps = [number for number in nest.reductions if packed.strides[number] == 1]
        parallel = [i for i, each in enumerate(nest.loops) if not each.is_reduction]
        columns = [number for number in parallel if packed.strides[number]]
        if len(steps) != 1 or len(columns) != 1:
            return None
        rows = [i for i in parallel if i != columns[0]]
        if len(rows) > 1:
            return None
        blocks = tuple(number for number in nest.reductions if number != steps[0])
        found = cls(nest, rows[0] if rows else None, columns[0], blocks, steps[0], combining)
        return found if found._is_regular else None

    @property
    def _is_regular(self) -> bool:
        """Tell whether each input moves with columns or with rows, and weights lie along steps."""
        for each in self.nest.inputs:
            if each.is_scalar:
                continue
            if each.strides[self.column] and (
                (self.row is not None and each.strides[self.row])
                or each.strides[self.step] not in (0, 1)
            ):
                return False
        kind = str(self.nest.outputs[0].element_type)
        return kind == "f32" and self.packed_bytes >= _MIN_BYTES

    @property
    def packed_bytes(self) -> int:
        """How many bytes the matrix has."""
        loops = (self.column, *self.nest.reductions)
        return prod(self.nest.loops[number].extent for number in loops)

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return 1 if self.row is None else self.nest.loops[self.row].extent

    def is_weight(self, access: BufferOperand) -> bool:
        """Tell whether an input belongs to the matrix, rather than to the rows."""
        return access.is_scalar or bool(access.strides[self.column])

    @property
    def weight_values(self) -> list[ir.Value]:
        """Return the values of the body that are computed from the matrix alone, for its rest."""
        body = self.nest.body
        own = {
            argument
            for argument, access in zip(body.arguments, self.nest.inputs, strict=False)
            if self.is_weight(access)
        }
        others = {*body.arguments} - own
        needed = []
        for view in body.operations:
            op = view.operation
            if op == terminator(body) or any(value in others for value in op.operands):
                needed += [value for value in op.operands if value in own]
                others.update(op.results)
            else:
                own.update(op.results)
        return list(dict.fromkeys(needed))

    def vectors(self, registers: Registers) -> list[int]:
        """Return how many elements a vector may have, most first."""
        extent = self.nest.loops[self.step].extent
        sizes = [registers.lanes >> i for i in range(registers.lanes.bit_length())]
        return [size for size in sizes if size >= _MIN_LANES and extent % size == 0]

    def tile(self, registers: Registers) -> tuple[int, int]:
        """Return the rows and columns of a tile that the registers hold."""
        moving = sum(not self.is_weight(each) for each in self.nest.inputs)
        columns = self.nest.loops[self.column].extent
        shapes = [
            (height, width)
            for height in range(1, min(self.rows, _TILE_ROWS) + 1)
            for width in _WIDTHS
            if width <= columns and height * (width + moving) + 4 <= registers.count
        ]
        return max(shapes, key=lambda shape: (shape[0] * shape[1], shape[1]), default=(1, 1))


class PackedProducts(NestEmitter):
    """Emits products of a few rows with a matrix of bytes."""

    name = "packed-products"
    choices = PackedChoices

    def choose(self, place: Filled, machine: LoweringOptions) -> PackedChoices | None:
        """Return the largest tile where few rows meet the matrix."""
        found = _product(place)
        if found is None or found.rows > _MOST_ROWS:
            return None
        registers = machine.registers(place.initial.type)
        vectors = found.vectors(registers)
        return PackedChoices(vectors[0], found.tile(registers)) if vectors else None

    def check(self, place: Filled, choices: PackedChoices) -> None:
        """Check that tiles fit the output, and vectors a block."""
        found = _product(place)
        if found is None:
            raise bad_schedule(place.op, f"{self.name} makes no code of this")
        steps, vector, tile = found.nest.loops[found.step].extent, choices.vector, choices.tile
        is_divisor = vector >= _MIN_LANES and _is_power(vector) and steps % vector == 0
        allowed = f"allowed are powers of two from {_MIN_LANES} on that divide {steps}"
        require(is_divisor, place, "vector", vector, allowed)
        columns = min(found.nest.loops[found.column].extent, vector, _WIDTHS[0])
        fits = len(tile) == 2 and 0 < tile[0] <= min(found.rows, _MOST_ROWS)
        fits = fits and 0 < tile[1] <= columns and _is_power(tile[1])
        allowed = f"allowed are up to {found.rows} rows, and a power of two up to {columns}"
        require(fits, place, "tile", tile, allowed)

    def group(self, place: Filled, choices: PackedChoices) -> list[ir.Operation]:
        """Return the fill and the product."""
        return place.group(epilogue=False)

    def emit(self, place: Filled, choices: PackedChoices) -> None:
        """Emit everything."""
        found = _product(place, flat=True)
        if found is None:
            raise ValueError("the schedule has not been checked")
        _Tiles(_with_plain_rows(found, choices.vector), choices, place.initial).emit()

    def space(self, place: Filled, machine: LoweringOptions) -> Iterator[PackedChoices]:
        """Yield tiles of one to four rows."""
        found = _product(place)
        if found is None:
            return
        registers = machine.registers(place.initial.type)
        for vector in found.vectors(registers):
            for height in range(1, min(found.rows, _TILE_ROWS) + 1):
                for width in _WIDTHS:
                    yield PackedChoices(vector, (height, width))


def _product(place: Filled, *, flat: bool = False) -> _PackedProduct | None:
    found = place.reduction(epilogue=False, flat=flat)
    return None if found is None else _PackedProduct.of(found.nest)


def _is_bytes(access: BufferOperand) -> bool:
    return not access.is_scalar and str(access.element_type) == "i8"


def _is_power(number: int) -> bool:
    return number > 0 and number & (number - 1) == 0


def _with_plain_rows(found: _PackedProduct, lanes: int) -> _PackedProduct:
    """Copy what the rows hold to where its steps are neighbours, and return the nest on that."""
    nest = found.nest

    def plain(access: BufferOperand) -> BufferOperand:
        if found.is_weight(access) or access.strides[found.step] in (0, 1):
            return access
        order = [*([] if found.row is None else [found.row]), *found.blocks, found.step]
        strides, size = [0] * len(nest.loops), 1
        for number in reversed(order):
            strides[number], size = size, size * nest.loops[number].extent
        copy = BufferOperand(allocate(size, access.element_type), 0, tuple(strides))
        loops = [(number, nest.loops[number].extent) for number in order]

        def move(place: Position) -> None:
            store(load(access, offset(access, place)), copy, offset(copy, place))

        nested_loops(loops, {}, move, parallel=True)
        return copy

    return replace(found, nest=replace(nest, inputs=tuple(map(plain, nest.inputs))))


@dataclass(frozen=True)
class _Tiles:
    """The code of a product.

    Attributes:
        found: the product, over flat views.
        told: its tiles.
        initial: the scalar that every element of the output starts from.
    """

    found: _PackedProduct
    told: PackedChoices
    initial: ir.Value

    def emit(self) -> None:
        """Emit all loops; the matrix is read once."""
        loops = self.found.nest.loops
        height, width = self.told.tile
        columns = -(-loops[self.found.column].extent // width)
        rows = -(-self.found.rows // height)
        nested_loops([(_COLUMNS, columns), (_ROWS, rows)], {}, self._tile, parallel=True)

    def _tile(self, position: Position) -> None:
        found, (height, width) = self.found, self.told.tile
        extent = found.nest.loops[found.column].extent
        place = {found.column: tile_start(position[_COLUMNS], width, extent)}
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
        wanted = self.found.weight_values
        known = self._arguments(place, column, weights=True)
        found = emit_values(self.found.nest.body, wanted, known, self.told.vector)
        return {value: found[value] for value in wanted}

    def _added(self, known: dict[ir.Value, ir.Value], total: ir.Value) -> ir.Value:
        body = self.found.nest.body
        running = body.arguments[len(body.arguments) - 1]
        (yielded,) = terminator(body).operands
        return emit_values(body, [yielded], known | {running: total}, self.told.vector)[yielded]

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
