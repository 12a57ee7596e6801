# SPDX-License-Identifier: MIT OR Apache-2.0
"""Products of a few rows with a matrix that is read once, from memory: speed is that of reading.

The matrix is read a few of its rows at a time, from left to right, which is the order in which it
lies in memory; the accumulators of a block of columns stay in the first-level cache meanwhile.
Tiles would go down the matrix instead, with a new page of memory in every step. A matrix of few
columns is cut into parts of its rows, whose accumulators are added at the end, so that threads can
share the work. The parts are the same for every number of threads, and so is the result.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod

from torch_mlir.dialects import scf

from xyntra.dialects.dtypes import ITEM_BYTES
from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.analysis.kernel_function import terminator
from xyntra.passes.lower.cpu.machine import LoweringOptions
from xyntra.passes.lower.cpu.matmul.panels.panels import block_of
from xyntra.passes.lower.cpu.rows.filled_reductions import Filled
from xyntra.passes.lower.cpu.schedule.emitter import Choices, NestEmitter, require
from xyntra.passes.lower.cpu.schedule.told import bad_schedule
from xyntra.passes.lower.kernels.prepared_operands import is_constant
from xyntra.passes.lower.loops import integers
from xyntra.passes.lower.loops.linear_nest import BufferOperand, LinearNest, split
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
)
from xyntra.passes.lower.loops.memrefs import allocate
from xyntra.passes.lower.loops.scalar_nest import emit_body, is_scalar_code
from xyntra.passes.lower.loops.vector_body import broadcast, emit_on_vectors

_MOST_ROWS = 7
_MIN_BYTES = 256 << 10  # a smaller matrix stays in the second-level cache
_MIN_COLUMNS = 256
_BLOCK_COLUMNS = 4096  # whose accumulators stay in the first-level cache
_PADDING = 24  # elements; rows a power of two apart would meet in the same lines of a cache
_PARTS = (8, 4, 2)
_MIN_STEPS = 64  # in a part
_STEPS = 4  # rows of the matrix that are read side by side
_MOST_STEPS = 16


@dataclass(frozen=True)
class StreamChoices(Choices):
    """The choices of the emitter of streamed products.

    Attributes:
        vector: elements of a vector.
        parts: into which the rows of the matrix are cut.
        block: columns whose accumulators are kept at a time.
        steps: rows of the matrix that are read side by side.
    """

    vector: int = 0
    parts: int = 1
    block: int = _BLOCK_COLUMNS
    steps: int = _STEPS


@dataclass(frozen=True)
class StreamedProduct:
    """Such a product.

    Attributes:
        nest: the contraction; its body only combines.
        row: the loop over the few rows; None for one row.
        column: the loop over the columns of the matrix.
        step: the reduction.
        told: sizes.
    """

    nest: LinearNest
    row: int | None
    column: int
    step: int
    told: StreamChoices

    @classmethod
    def of(cls, nest: LinearNest, item_bytes: int, told: StreamChoices) -> StreamedProduct | None:
        """Return `nest` as such a product, or None where it is none.

        Args:
            nest: a contraction with one output.
            item_bytes: bytes of one element.
            told: sizes.
        """
        if len(nest.reductions) != 1:
            return None
        step = nest.reductions[0]
        output = nest.outputs[0].strides
        free = [i for i, each in enumerate(nest.loops) if i != step]
        columns = [i for i in free if output[i] == 1 and nest.loops[i].extent >= _MIN_COLUMNS]
        if not columns:
            return None
        column = columns[0]
        streamed = [each for each in nest.inputs if each.strides[column]]
        if len(streamed) != 1 or streamed[0].strides[column] != 1:
            return None
        matrix = streamed[0].strides
        extents = [nest.loops[i].extent for i in (column, step)]
        if matrix[step] < extents[0] or prod(extents) * item_bytes < _MIN_BYTES:
            return None
        rows = [i for i in free if i != column and not matrix[i]]
        if len(rows) > 1 or any(nest.loops[i].extent > _MOST_ROWS for i in rows):
            return None
        return cls(nest, rows[0] if rows else None, column, step, told)

    @property
    def lanes(self) -> int:
        """Elements of a vector."""
        return self.told.vector

    def emit(self, initial: ir.Value) -> None:
        """Emit everything at the insertion point; accumulators start from the scalar `initial`."""
        if self.told.parts > 1:
            self._emit_parts(self.told.parts, initial)
            return
        nested_loops(self._outer, {}, lambda place: self._columns(place, initial), parallel=True)

    @property
    def _outer(self) -> list[tuple[int, int]]:
        return [
            (number, each.extent)
            for number, each in enumerate(self.nest.loops)
            if number not in (self.row, self.column, self.step)
        ]

    @property
    def fitting_parts(self) -> list[int]:
        """Into how many parts the reduction can be cut, most first; at last 1."""
        extent = self.nest.loops[self.step].extent
        if self._outer or not _adds(self.nest.body):
            return [1]
        fitting = [n for n in _PARTS if extent % n == 0 and extent // n >= _MIN_STEPS]
        return [*fitting, 1]

    @property
    def best_parts(self) -> int:
        """Return how many parts give threads work; 1 where there are enough columns to share."""
        is_wide = self.nest.loops[self.column].extent >= _BLOCK_COLUMNS * _PARTS[0]
        return 1 if is_wide else self.fitting_parts[0]

    def _emit_parts(self, parts: int, initial: ir.Value) -> None:
        output = self.nest.outputs[0]
        columns = self.nest.loops[self.column].extent
        nest = split(self.nest, self.step, self.nest.loops[self.step].extent // parts)
        row, column = (_behind(self.step, each) for each in (self.row, self.column))
        strides = [0] * len(nest.loops)
        pitch = columns + _PADDING
        strides[self.step], strides[column or 0] = self._rows * pitch, 1
        if row is not None:
            strides[row] = pitch
        memory = allocate(parts * self._rows * pitch, initial.type)
        accumulators = BufferOperand(memory, 0, tuple(strides))
        whole = replace(nest, outputs=(accumulators,))
        each = replace(self, nest=whole, row=row, column=column or 0, step=self.step + 1)
        zero = emit("arith.constant", [], initial.type, value=_zero(initial.type))
        with loop(parts, parallel=True) as part:
            each._columns({self.step: part}, zero)
        rows = [] if self.row is None else [(self.row, self._rows)]

        def add(place: Position) -> None:
            start = {_behind(self.step, number) or 0: value for number, value in place.items()}
            total = initial
            for part in range(parts):
                value = load(accumulators, offset(accumulators, start | {self.step: index(part)}))
                total = _sum(total, value)
            store(total, output, offset(output, place))

        nested_loops([*rows, (self.column, columns)], {}, add, parallel=True)

    def _columns(self, position: Position, initial: ir.Value) -> None:
        extent = self.nest.loops[self.column].extent
        even = extent - extent % self.lanes
        with loop(-(-even // self.told.block), parallel=True) as number:
            block = block_of(number, self.told.block, even)
            vectors = integers.divui(block.count, index(self.lanes))
            self._block(position | {self.column: block.first}, vectors, initial)
        if extent > even:
            with loop(extent - even, parallel=True) as number:
                last = integers.addi(index(even), number)
                self._single(position | {self.column: last}, initial)

    @property
    def _rows(self) -> int:
        return 1 if self.row is None else self.nest.loops[self.row].extent

    def _block(self, position: Position, vectors: ir.Value, initial: ir.Value) -> None:
        """Emit the accumulators of as many vectors of columns as `vectors` says."""
        with loop(vectors) as number:
            self._store([broadcast(initial, self.lanes)] * self._rows, position, number)
        extent = self.nest.loops[self.step].extent
        together = self.told.steps
        with loop(extent // together) as number:
            first = integers.muli(number, index(together))
            steps = [integers.addi(first, index(each)) for each in range(together)]
            self._add(position, vectors, steps)
        with loop(extent % together) as number:
            step = integers.addi(index(extent - extent % together), number)
            self._add(position, vectors, [step])

    def _add(self, position: Position, vectors: ir.Value, steps: Sequence[ir.Value]) -> None:
        """Emit the loop that adds the products of some rows of the matrix."""
        places = [position | {self.step: step} for step in steps]
        rows = range(self._rows)
        fixed = [
            [[self._scalar(access, place, row) for access in self.nest.inputs] for row in rows]
            for place in places
        ]
        with loop(vectors) as number:
            accumulators = self._load_sums(position, number)
            for place, scalars in zip(places, fixed, strict=True):
                streamed = [self._vector(access, place, number) for access in self.nest.inputs]
                for row, known in enumerate(scalars):
                    pairs = zip(known, streamed, strict=True)
                    arguments = [b if a is None else a for a, b in pairs]
                    arguments.append(accumulators[row])
                    accumulators[row] = emit_on_vectors(self.nest.body, arguments, self.lanes)
            self._store(accumulators, position, number)

    def _scalar(self, access: BufferOperand, place: Position, row: int) -> ir.Value | None:
        """A vector of an input that does not move with the columns; None for the matrix."""
        if access.is_scalar:
            return broadcast(access.value, self.lanes)
        if access.strides[self.column]:
            return None
        return broadcast(load(access, self._place(access, place, row)), self.lanes)

    def _vector(self, access: BufferOperand, place: Position, number: ir.Value) -> ir.Value | None:
        if access.is_scalar or not access.strides[self.column]:
            return None
        return self._load(access, place, number, 0)

    def _place(self, access: BufferOperand, place: Position, row: int) -> ir.Value:
        distance = 0 if self.row is None else row * access.strides[self.row]
        return plus(offset(access, place), index(distance))

    def _load(self, access: BufferOperand, place: Position, number: ir.Value, row: int) -> ir.Value:
        element = access.element_type
        start = plus(self._place(access, place, row), integers.muli(number, index(self.lanes)))
        return emit("vector.load", [access.value, start], ir.VectorType.get([self.lanes], element))

    def _load_sums(self, position: Position, number: ir.Value) -> list[ir.Value]:
        output = self.nest.outputs[0]
        return [self._load(output, position, number, row) for row in range(self._rows)]

    def _store(
        self, accumulators: Sequence[ir.Value], position: Position, number: ir.Value
    ) -> None:
        output = self.nest.outputs[0]
        for row, value in enumerate(accumulators):
            start = self._place(output, position, row)
            start = plus(start, integers.muli(number, index(self.lanes)))
            ir.Operation.create("vector.store", operands=[value, output.value, start])

    def _single(self, position: Position, initial: ir.Value) -> None:
        """Emit the accumulators of one column."""
        output = self.nest.outputs[0]
        for row in range(self._rows):
            place = position if self.row is None else position | {self.row: index(row)}
            built = carrying_loop(self.nest.loops[self.step].extent, [initial])
            with ir.InsertionPoint(built.body):
                inside = place | {self.step: built.induction_variable}
                scf.YieldOp(emit_body(self.nest, inside, list(built.inner_iter_args)))
            store(built.results[0], output, offset(output, place))


class StreamedProducts(NestEmitter):
    """Emits the products whose speed is that of reading a matrix."""

    name = "streamed-product"
    choices = StreamChoices

    def choose(self, place: Filled, machine: LoweringOptions) -> StreamChoices | None:
        """Cut the matrix into as many parts as give threads work."""
        told = StreamChoices(machine.registers(place.initial.type).lanes)
        found = _product(place, told)
        return None if found is None else replace(told, parts=found.best_parts)

    def check(self, place: Filled, choices: StreamChoices) -> None:
        """Check that blocks are whole vectors and parts equal."""
        found, vector = _product(place, choices), choices.vector
        if found is None:
            raise bad_schedule(place.op, f"{self.name} makes no code of this")
        is_power = vector > 1 and vector & (vector - 1) == 0
        require(is_power, place, "vector", vector, "allowed are powers of two from 2 on")
        parts, block, steps = choices.parts, choices.block, choices.steps
        fitting = found.fitting_parts
        require(parts in fitting, place, "parts", parts, f"allowed are {_listed(fitting)}")
        is_whole = block > 0 and block % vector == 0
        require(is_whole, place, "block", block, f"allowed are multiples of {vector}")
        fits = 0 < steps <= _MOST_STEPS
        require(fits, place, "steps", steps, f"allowed are 1 to {_MOST_STEPS}")

    def group(self, place: Filled, choices: StreamChoices) -> list[ir.Operation]:
        """Return the fill and the product."""
        return place.group(epilogue=False)

    def emit(self, place: Filled, choices: StreamChoices) -> None:
        """Emit everything."""
        found = _product(place, choices, flat=True)
        if found is None:
            raise ValueError("the schedule has not been checked")
        found.emit(place.initial)

    def space(self, place: Filled, machine: LoweringOptions) -> Iterator[StreamChoices]:
        """Yield all numbers of parts, with a few sizes of blocks and steps."""
        told = self.choose(place, machine)
        found = None if told is None else _product(place, told)
        if told is None or found is None:
            return
        for parts in found.fitting_parts:
            for block in (1024, 2048, 4096, 8192):
                for steps in (2, 4, 8):
                    yield StreamChoices(told.vector, parts, block, steps)


def _product(place: Filled, told: StreamChoices, *, flat: bool = False) -> StreamedProduct | None:
    reduction = place.reduction(epilogue=False, flat=flat)
    if reduction is None or not is_scalar_code(reduction.nest.body):
        return None
    if any(is_constant(access) for access in reduction.nest.inputs):
        return None
    return StreamedProduct.of(reduction.nest, ITEM_BYTES[str(place.initial.type)], told)


def _listed(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers))


def _behind(step: int, number: int | None) -> int | None:
    """The number of a loop after loop `step` was split into two."""
    return None if number is None else number + (number > step)


def _adds(body: ir.Block) -> bool:
    """Tell whether `body` adds something that it computes from the inputs alone to the sum."""
    total = body.arguments[len(body.arguments) - 1]
    yielded = terminator(body).operands[0]
    if isinstance(yielded.owner, ir.Block) or len(list(total.uses)) != 1:
        return False
    last = yielded.owner.operation
    return last.name in ("arith.addf", "arith.addi") and total in list(last.operands)


def _zero(kind: ir.Type) -> ir.Attribute:
    if isinstance(kind, ir.IntegerType):
        return ir.IntegerAttr.get(kind, 0)
    return ir.FloatAttr.get(kind, 0.0)


def _sum(first: ir.Value, second: ir.Value) -> ir.Value:
    name = "arith.addi" if isinstance(first.type, ir.IntegerType) else "arith.addf"
    return emit(name, [first, second], first.type)
