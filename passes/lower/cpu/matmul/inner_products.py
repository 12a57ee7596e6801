# SPDX-License-Identifier: MIT OR Apache-2.0
"""`inner-products`: few products of long rows, with the lanes of vectors along the reduction.

Where both operands of a contraction are contiguous along the reduction, register tiles have to copy
one of them into panels first, which pays where enough rows meet each panel. Here nothing is copied:
a tile of rows and columns has a vector of partial sums for each of its elements, and each vector
that is loaded meets as many of the other operand as the tile is high or wide. The lanes are added
at the end, for neighbouring columns at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

from torch_mlir.dialects import arith, scf

from xyntra.dialects.dtypes import ITEM_BYTES
from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.lower.cpu.machine import LoweringOptions
from xyntra.passes.lower.cpu.matmul.sums_of_lanes import sums_of_lanes
from xyntra.passes.lower.cpu.matmul.tile_plan import Registers, Tiling
from xyntra.passes.lower.cpu.rows.filled_reductions import Filled
from xyntra.passes.lower.cpu.rows.vector_reduction import combine, identity
from xyntra.passes.lower.cpu.rows.vector_rows import combiner
from xyntra.passes.lower.cpu.schedule.emitter import Choices, NestEmitter, require
from xyntra.passes.lower.cpu.schedule.told import bad_schedule
from xyntra.passes.lower.kernels.prepared_operands import is_constant
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
from xyntra.passes.lower.loops.vector_body import broadcast, emit_on_vectors, is_vectorizable

__all__ = ["InnerProducts"]

_ELEMENTS = ("f32", "f64")
_ROWS, _COLUMNS = -1, -2  # keys of a `Position` beside the numbers of the nest's loops
_MOST_ROWS = 8
_WIDTHS = (2, 4, 8)
_CHAINS = (1, 2, 4)
_MOST_HELD = 64  # vectors, twice the registers of any processor
_GAIN = 0.85  # of the time of tiles that are packed, or of rows that are walked through one by one
# Estimated cycles, as in `tile_plan`.
_LATENCY = 5.2
_LOAD = 0.76
_FAR_BYTE = 1 / 40  # that comes from the second-level cache
_NEAR_BYTES = 24 << 10
_TURN = 0.5  # of a loop
_SUM_OF_LANES = 2.5
_TILE = 15.0
_ROW = 25.0  # to walk through a row by itself, beside its vectors


@dataclass(frozen=True)
class InnerChoices(Choices):
    """The choices of the emitter. Loops are numbered as they are after those that walk on merge.

    Attributes:
        vector: elements of a vector.
        tile: rows and columns of a tile; the latter are a power of two.
        row: the loop that the rows of a tile are taken from.
        column: the loop that its columns are taken from.
        chains: vectors of partial sums of each element, which are computed side by side.
    """

    vector: int = 0
    tile: tuple[int, ...] = ()
    row: int = 0
    column: int = 0
    chains: int = 1


@dataclass(frozen=True)
class _InnerProduct:
    """Such a contraction.

    Attributes:
        nest: the loops.
        step: the loop that reduces.
        combiner: the operation that adds one more product to the sum.
    """

    nest: LinearNest
    step: int
    combiner: ir.Operation

    @classmethod
    def of(cls, nest: LinearNest) -> _InnerProduct | None:
        """Return `nest` as such a contraction, or None where it is none."""
        if len(nest.reductions) != 1 or nest.indices or not is_vectorizable(nest.body):
            return None
        step, combining = nest.reductions[0], combiner(nest, 0)
        moving = [each for each in nest.inputs if not each.is_scalar and each.strides[step]]
        if combining is None or len(moving) < 2 or any(each.strides[step] != 1 for each in moving):
            return None
        memory = [each for each in nest.accesses if not each.is_scalar]
        kinds = {str(each.element_type) for each in memory}
        return cls(nest, step, combining) if len(kinds) == 1 and kinds <= {*_ELEMENTS} else None

    @property
    def parallel(self) -> list[int]:
        """The other loops."""
        return [number for number in range(len(self.nest.loops)) if number != self.step]

    def loads(self, choices: InnerChoices) -> int:
        """Vectors that are loaded in one step of a tile."""
        return sum(
            (choices.tile[0] if each.strides[choices.row] else 1)
            * (choices.tile[1] if each.strides[choices.column] else 1)
            for each in self.nest.inputs
            if not each.is_scalar and each.strides[self.step]
        )

    def cost(self, choices: InnerChoices) -> float:
        """Estimate the cycles for one step of the reduction over the whole output."""
        height, width = choices.tile
        extents = {number: self.nest.loops[number].extent for number in self.parallel}
        tiles = -(-extents.pop(choices.row) // height) * -(-extents.pop(choices.column) // width)
        held = height * width
        each = choices.vector * self._item_bytes * _FAR_BYTE if self._is_far(choices) else _LOAD
        work = max(held / 2, each * self.loads(choices)) * choices.chains
        steps = self.nest.loops[self.step].extent / (choices.vector * choices.chains)
        ending = _SUM_OF_LANES * held + held * (choices.chains - 1) / 2 + _TILE
        cycles = steps * (max(work, _LATENCY) + _TURN) + ending
        return prod(extents.values()) * tiles * cycles / self.nest.loops[self.step].extent

    @property
    def _item_bytes(self) -> int:
        return ITEM_BYTES[str(self.nest.outputs[0].element_type)]

    def _is_far(self, choices: InnerChoices) -> bool:
        """Tell whether the first-level cache does not hold what all tiles of one matrix read."""
        rows = sum(self.nest.loops[number].extent for number in (choices.row, choices.column))
        return rows * self.nest.loops[self.step].extent * self._item_bytes > _NEAR_BYTES

    def row_cost(self, lanes: int) -> float:
        """As `cost`, for rows that are walked through one by one."""
        steps = self.nest.loops[self.step].extent
        moving = [each for each in self.nest.inputs if not each.is_scalar]
        cycles = steps / lanes * _LOAD * len(moving) + _ROW
        return prod(self.nest.loops[number].extent for number in self.parallel) * cycles / steps

    def choices(self, registers: Registers) -> Iterator[InnerChoices]:
        """Yield all tiles that fit the registers."""
        if self.nest.loops[self.step].extent < registers.lanes:
            return
        for row, column in product(self.parallel, repeat=2):
            rows, columns = (self.nest.loops[number].extent for number in (row, column))
            heights = range(1, min(_MOST_ROWS, rows) + 1)
            widths = [width for width in _WIDTHS if width <= min(columns, registers.lanes)]
            for height, width, chains in product(heights, widths, _CHAINS):
                held = height * width * chains + min(height, width) + 1
                if row != column and held <= registers.count:
                    yield InnerChoices(registers.lanes, (height, width), row, column, chains)

    def best(self, registers: Registers) -> InnerChoices | None:
        """Return the best tile, or None where there is none."""
        return min(self.choices(registers), key=self.cost, default=None)


class InnerProducts(NestEmitter):
    """Emits contractions whose operands are both contiguous along the reduction, uncopied."""

    name = "inner-products"
    choices = InnerChoices

    def choose(self, place: Filled, machine: LoweringOptions) -> InnerChoices | None:
        """Return the best tile where it beats copying into panels, and walking through rows."""
        registers = machine.registers(place.initial.type)
        found = _product(place) if registers.lanes > 1 else None
        best = None if found is None else found.best(registers)
        if found is None or best is None:
            return None
        constant = frozenset(i for i, each in enumerate(found.nest.inputs) if is_constant(each))
        item_bytes = ITEM_BYTES[str(place.initial.type)]
        tiles = Tiling(found.nest, item_bytes, constant=constant).best(registers)
        other = found.row_cost(registers.lanes) if tiles is None else tiles.cost
        return best if found.cost(best) < _GAIN * other else None

    def check(self, place: Filled, choices: InnerChoices) -> None:
        """Check that tiles fit the output, and vectors the reduction."""
        found = _product(place)
        if found is None:
            raise bad_schedule(place.op, f"{self.name} makes no code of this")
        loops, steps = found.nest.loops, found.nest.loops[found.step].extent
        vector, tile, chains = choices.vector, choices.tile, choices.chains
        allowed = f"allowed are powers of two from 2 to {steps}"
        require(_is_power(vector) and 2 <= vector <= steps, place, "vector", vector, allowed)
        for name in ("row", "column"):
            number = getattr(choices, name)
            allowed = f"allowed are {found.parallel}"
            require(number in found.parallel, place, name, number, allowed)
        require(choices.row != choices.column, place, "column", choices.column, "it has the rows")
        rows, columns = (loops[number].extent for number in (choices.row, choices.column))
        fits = len(tile) == 2 and 0 < tile[0] <= rows and 0 < tile[1] <= min(columns, vector)
        allowed = f"allowed are 1 to {rows} rows, and a power of two up to {min(columns, vector)}"
        require(fits and _is_power(tile[1]), place, "tile", tile, allowed)
        fits = chains > 0 and prod(tile) * chains <= _MOST_HELD
        require(fits, place, "chains", chains, f"a tile may hold 1 to {_MOST_HELD} vectors")

    def group(self, place: Filled, choices: InnerChoices) -> list[ir.Operation]:
        """Return the fill and the product."""
        return place.group(epilogue=False)

    def emit(self, place: Filled, choices: InnerChoices) -> None:
        """Emit everything."""
        found = _product(place, flat=True)
        if found is None:
            raise ValueError("the schedule has not been checked")
        _Tiles(found, choices, place.initial).emit()

    def space(self, place: Filled, machine: LoweringOptions) -> Iterator[InnerChoices]:
        """Yield all tiles."""
        found = _product(place)
        if found is not None:
            yield from found.choices(machine.registers(place.initial.type))


def _product(place: Filled, *, flat: bool = False) -> _InnerProduct | None:
    found = place.reduction(epilogue=False, flat=flat)
    return None if found is None else _InnerProduct.of(found.nest)


def _is_power(number: int) -> bool:
    return number > 0 and number & (number - 1) == 0


@dataclass(frozen=True)
class _Tiles:
    """The code of a product.

    Attributes:
        found: the product, over flat views.
        told: its tiles.
        initial: the scalar that every element of the output starts from.
    """

    found: _InnerProduct
    told: InnerChoices
    initial: ir.Value

    def emit(self) -> None:
        """Emit all loops; the operand that is larger is read once."""
        loops, told = self.found.nest.loops, self.told
        tiled = (told.row, told.column)
        outer = [(i, loops[i].extent) for i in self.found.parallel if i not in tiled]
        tiles = [
            (key, -(-loops[number].extent // size))
            for key, number, size in zip((_ROWS, _COLUMNS), tiled, told.tile, strict=True)
        ]
        if loops[told.row].extent < loops[told.column].extent:
            tiles.reverse()
        nested_loops([*outer, *tiles], {}, self._tile, parallel=True)

    def _tile(self, position: Position) -> None:
        told, nest = self.told, self.found.nest
        place = {number: value for number, value in position.items() if number >= 0}
        for key, number, size in zip(
            (_ROWS, _COLUMNS), (told.row, told.column), told.tile, strict=True
        ):
            place[number] = tile_start(position[key], size, nest.loops[number].extent)
        height, width = told.tile
        accumulators = self._sums(place)
        output = nest.outputs[0]
        start = broadcast(self.initial, width)
        for row in range(height):
            lanes = sums_of_lanes(self._combine, accumulators[row * width : (row + 1) * width])
            first = plus(offset(output, place), index(row * output.strides[told.row]))
            self._store(self._combine(start, lanes), output, first)

    def _store(self, value: ir.Value, output: BufferOperand, first: ir.Value) -> None:
        step = output.strides[self.told.column]
        if step == 1:
            ir.Operation.create("vector.store", operands=[value, output.value, first])
            return
        for lane in range(self.told.tile[1]):
            number = ir.DenseI64ArrayAttr.get([lane])
            scalar = emit("vector.extract", [value], output.element_type, static_position=number)
            store(scalar, output, plus(first, index(lane * step)))

    def _combine(self, first: ir.Value, second: ir.Value) -> ir.Value:
        return combine(self.found.combiner, first, second)

    def _sums(self, place: Position) -> list[ir.Value]:
        """Return a vector of partial sums for every element of a tile."""
        lanes, chains = self.told.vector, self.told.chains
        count = prod(self.told.tile)
        extent = self.found.nest.loops[self.found.step].extent
        trips, left = divmod(extent // lanes, chains)
        accumulators = [identity(self.found.combiner, lanes)] * (count * chains)
        built = carrying_loop(trips, accumulators)
        with ir.InsertionPoint(built.body):
            first = arith.muli(built.induction_variable, index(lanes * chains))
            carried = list(built.inner_iter_args)
            after: list[ir.Value] = []
            for chain in range(chains):
                step = plus(first, index(chain * lanes))
                after += self._step(place, step, carried[chain * count : (chain + 1) * count])
            scf.YieldOp(after)
        accumulators = list(built.results)
        for chain in range(left):
            own = slice(chain * count, (chain + 1) * count)
            accumulators[own] = self._step(
                place, index((trips * chains + chain) * lanes), accumulators[own]
            )
        if extent % lanes:
            accumulators[-count:] = self._last(place, accumulators[-count:])
        total = accumulators[:count]
        for chain in range(1, chains):
            other = accumulators[chain * count : (chain + 1) * count]
            total = [self._combine(*pair) for pair in zip(total, other, strict=True)]
        return total

    def _last(self, place: Position, accumulators: Sequence[ir.Value]) -> list[ir.Value]:
        """Add the last steps, which do not fill a vector, from one that ends with them."""
        lanes, extent = self.told.vector, self.found.nest.loops[self.found.step].extent
        bit = ir.IntegerType.get_signless(1)
        kind = ir.VectorType.get([lanes], bit)
        rest = extent % lanes
        bits = [ir.IntegerAttr.get(bit, int(lane >= lanes - rest)) for lane in range(lanes)]
        is_new = emit("arith.constant", [], kind, value=ir.DenseElementsAttr.get(bits, kind))
        after = self._step(place, index(extent - lanes), accumulators)
        return [
            emit("arith.select", [is_new, new, old], old.type)
            for new, old in zip(after, accumulators, strict=True)
        ]

    def _step(
        self, place: Position, step: ir.Value, accumulators: Sequence[ir.Value]
    ) -> list[ir.Value]:
        """Combine partial sums with the products of `vector` steps from `step` on."""
        nest, told = self.found.nest, self.told
        here = place | {self.found.step: step}
        starts = [None if each.is_scalar else offset(each, here) for each in nest.inputs]
        known: dict[tuple[int, int], ir.Value] = {}
        after = []
        for number, total in enumerate(accumulators):
            row, column = divmod(number, told.tile[1])
            arguments = []
            for i, (access, start) in enumerate(zip(nest.inputs, starts, strict=True)):
                far = 0
                if start is not None:
                    far = row * access.strides[told.row] + column * access.strides[told.column]
                if (i, far) not in known:
                    known[i, far] = self._operand(access, start, far)
                arguments.append(known[i, far])
            after.append(emit_on_vectors(nest.body, [*arguments, total], told.vector))
        return after

    def _operand(self, access: BufferOperand, start: ir.Value | None, far: int) -> ir.Value:
        lanes = self.told.vector
        if start is None:
            return broadcast(access.value, lanes)
        place = plus(start, index(far))
        if not access.strides[self.found.step]:
            return broadcast(load(access, place), lanes)
        kind = ir.VectorType.get([lanes], access.element_type)
        return emit("vector.load", [access.value, place], kind)
