# SPDX-License-Identifier: MIT OR Apache-2.0
"""Attention without tensor cores, whose scores never leave shared memory.

A block copies tiles of keys and values to shared memory, where all its queries read them (Dao et
al., "FlashAttention", 2022). Several threads work on a query: each multiplies it by some keys of a
tile, and weights some columns of all its values.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from xyntra.dialects.attention_layout import VALUE_SIZE
from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import Scalar, emit
from xyntra.passes.lower.gpu.attention.layout import FragmentLayout
from xyntra.passes.lower.gpu.attention.masks import WarpMasks
from xyntra.passes.lower.gpu.attention.problem import Located, Problem, outer_of
from xyntra.passes.lower.gpu.attention.rows_plan import RowsPlan
from xyntra.passes.lower.gpu.attention.values import (
    Division,
    Registers,
    finite,
    fused,
    larger,
    loop,
    number,
    real,
    when,
)
from xyntra.passes.lower.gpu.emit.shared_memory import SharedMemory
from xyntra.passes.lower.gpu.emit.thread_grid import (
    LaunchShape,
    barrier,
    block_number,
    strided_loop,
    thread_number,
)
from xyntra.passes.lower.gpu.math.exponential import exponential

_VECTOR = 4
PLACES = "uint32"
"""Elements of a buffer are counted in it: a binding has fewer than 2^32."""


def emit_rows(problem: Problem, plan: RowsPlan, shared: SharedMemory) -> LaunchShape:
    """Emit an attention for a launch of the returned shape."""
    b, h, s, *_ = problem.sizes
    _Block(problem, plan, shared).emit()
    return LaunchShape(b * h * -(-s // plan.rows), plan.threads)


class _Block:
    """One block's queries, and what its thread holds of them."""

    def __init__(self, problem: Problem, plan: RowsPlan, shared: SharedMemory) -> None:
        _, h, s, t, _, _ = problem.sizes
        self._problem, self._plan = problem, plan
        thread, block = Scalar(thread_number(), "uint32"), Scalar(block_number(), "uint32")
        tiles = -(-s // plan.rows)
        tile, pair = block % tiles, block / tiles
        self._outer = outer_of((pair / h).cast("int32"), (pair % h).cast("int32"))
        self._row, self._share = thread % plan.rows, thread / plan.rows
        self._first = (tile * plan.rows).cast("int32")
        self._query = self._first + self._row.cast("int32")
        sizes = (plan.keys * plan.key_size, plan.keys * plan.value_size)
        scores = plan.rows * plan.pitch
        self._keys, self._values, self._scores, self._weights = (
            shared.allocate(size, ir.F32Type.get()) for size in (*sizes, scores, scores)
        )
        self._unit = problem.op.scale if problem.is_raw else 1.0
        zero, columns = number(0), tuple(range(plan.columns))
        layout = FragmentLayout(
            self._row.cast("int32"), (0,), zero, tuple(range(plan.own)), zero, columns, _VECTOR, 1
        )
        is_ragged = t % plan.keys != 0
        masks = (problem, self._outer, layout, self._query, plan.keys, is_ragged, _tanh)
        self._masks = WarpMasks(*masks)

    def emit(self) -> None:
        """Emit the whole block."""
        plan = self._plan
        last = self._problem.sizes[2] - 1
        query = self._line(self._problem.query, self._query.minimum(last), plan.key_size)
        state = [real(float("-inf")), real(0.0), *[real(0.0)] * plan.columns]

        def step(place: Scalar, carried: Registers) -> Registers:
            return self._step(place, query, carried)

        _, total, *result = loop(self._steps(), state, step)
        divide = Division(self._problem.op.masked_rows, total)
        first = self._share * plan.columns
        for column in range(0, plan.columns, _VECTOR):
            four = result[column : column + _VECTOR]
            self._store(first + column, [divide(each) for each in four])

    def _steps(self) -> Scalar:
        """Return how many tiles of keys there are for the block, an int32."""
        keys, step = self._problem.sizes[3], self._plan.keys
        if not self._problem.skips_keys:
            return number(-(-keys // step))
        seen = self._first + (self._plan.rows + (self._problem.op.causal_offset or 0))
        return (seen.maximum(0).minimum(keys) + (step - 1)) / step

    def _step(self, place: Scalar, query: Registers, state: Registers) -> Registers:
        """Take the next tile of keys into account."""
        plan, problem = self._plan, self._problem
        tile = place * plan.keys
        barrier()  # the last tile has been read
        self._stage(problem.key, tile, self._keys, plan.key_size)
        self._stage(problem.value, tile, self._values, plan.value_size)
        barrier()
        mine = self._share * plan.own
        first = tile + mine.cast("int32")
        read = self._masks.read(first)
        products = [
            _dot(query, self._keys, (mine + key) * plan.key_size) for key in range(plan.own)
        ]
        (scores,) = self._masks.apply([products], read, first, tile)
        line = self._row * plan.pitch
        for key, score in enumerate(scores):
            _store(self._scores, line + mine + key, score)
        barrier()
        top, total, *result = state
        best = reduce(larger, _numbers(self._scores, line, plan.keys), top)
        reference = finite(best)
        for key, score in enumerate(scores):
            _store(self._weights, line + mine + key, self._weight(score, reference))
        factor = self._weight(top, reference)
        barrier()
        return [best, *self._add(line, [each * factor for each in (total, *result)])]

    def _add(self, line: Scalar, sums: Registers) -> Registers:
        """Return the total of the weights, and the thread's columns, with those of a tile."""
        plan, first = self._plan, self._share * self._plan.columns

        def step(place: Scalar, carried: Registers) -> Registers:
            key = place.cast("uint32")
            weight = _load_one(self._weights, line + key)
            total, *result = carried
            start = key * plan.value_size + first
            return [total + weight, *_weighted(weight, self._values, start, result)]

        return loop(number(plan.keys), sums, step)

    def _weight(self, score: Scalar, reference: Scalar) -> Scalar:
        difference = score - reference
        if self._unit != 1.0:
            difference = difference * self._unit
        return Scalar(exponential(difference.value), "float32")

    def _stage(self, operand: Located, first: Scalar, memory: ir.Value, size: int) -> None:
        """Copy the rows of a tile, with zeros behind the last key and column."""
        plan, keys = self._plan, self._problem.sizes[3]
        groups = size // _VECTOR

        def copy(place: ir.Value) -> tuple[()]:
            flat = Scalar(place, "uint32")
            key, column = first + (flat / groups).cast("int32"), (flat % groups) * _VECTOR
            values = self._elements(operand, key.minimum(keys - 1), column, size)
            if keys % plan.keys:
                values = [(key < keys).select(each, 0.0) for each in values]
            _store_four(memory, flat * _VECTOR, values)
            return ()

        strided_loop(plan.keys * groups, plan.threads, [], copy)

    def _line(self, operand: Located, row: Scalar, size: int) -> Registers:
        """Return a row of an operand as f32, with zeros behind the last column."""
        found: Registers = []
        for column in range(0, size, _VECTOR):
            found += self._elements(operand, row, number(column, PLACES), size)
        return found

    def _elements(self, operand: Located, row: Scalar, column: Scalar, size: int) -> Registers:
        """Return four elements of a row as f32, from a column, a multiple of four, on.

        Of `size` columns, those behind the last that there is are any number in vectors, which are
        of columns of the result that there are not, or else zero.
        """
        down, along = operand.strides
        columns = self._width(operand)
        start = operand.start(self._outer) + row.cast("uint32") * down
        memory = operand.matrix.memory
        if _is_in_vectors(operand, columns):
            inside = column.minimum(columns - _VECTOR) if size > columns else column
            return _four(memory, start + inside)
        found = []
        for ahead in range(_VECTOR):
            place = column + ahead
            inside = place.minimum(columns - 1) if size > columns else place
            value = _load(operand, start + inside * along)
            found.append((place < columns).select(value, 0.0) if size > columns else value)
        return found

    def _width(self, operand: Located) -> int:
        """Return the columns of an operand."""
        *_, d, e = self._problem.sizes
        return e if operand.column == VALUE_SIZE else d

    def _store(self, column: Scalar, values: Registers) -> None:
        """Write four elements of the thread's query, if there is such a one."""
        operand, columns = self._problem.result, self._problem.sizes[5]
        down, along = operand.strides
        is_there = self._query < self._problem.sizes[2]
        if self._plan.value_size - columns >= _VECTOR:
            is_there = is_there & (column < columns)
        with when(is_there):
            start = operand.start(self._outer) + self._query.cast("uint32") * down
            place = start + column.cast("uint32") * along
            if _is_in_vectors(operand, columns):
                _store_four(operand.matrix.memory, place, values)
                return
            for ahead, value in enumerate(values):
                with when(column + ahead < columns):
                    _store(operand.matrix.memory, place + ahead * along, value.cast(operand.dtype))


def _is_in_vectors(operand: Located, columns: int) -> bool:
    is_wide = operand.access_bytes == _VECTOR * operand.item_bytes and operand.strides[1] == 1
    return operand.dtype == "float32" and is_wide and columns % _VECTOR == 0


def _dot(query: Sequence[Scalar], memory: ir.Value, start: Scalar) -> Scalar:
    total = real(0.0)
    for column in range(0, len(query), _VECTOR):
        for a, b in zip(query[column:], _four(memory, start + column), strict=False):
            total = fused(a, b, total)
    return total


def _weighted(weight: Scalar, memory: ir.Value, start: Scalar, result: Registers) -> Registers:
    found: Registers = []
    for column in range(0, len(result), _VECTOR):
        four = _four(memory, start + column)
        found += [fused(weight, b, c) for b, c in zip(four, result[column:], strict=False)]
    return found


def _tanh(value: Scalar) -> Scalar:
    """Return the hyperbolic tangent, with an absolute error of 2^-21."""
    size = value.absolute()
    power = Scalar(exponential((size * -2.0).value), value.dtype)
    found = (real(1.0) - power) / (power + 1.0)
    return (value < 0.0).select(-found, found)


def _load(operand: Located, place: Scalar) -> Scalar:
    kind = ir.MemRefType(operand.matrix.memory.type).element_type
    value = emit("memref.load", [operand.matrix.memory, place.cast("index").value], kind)
    return Scalar(value, operand.dtype).cast("float32")


def _numbers(memory: ir.Value, start: Scalar, count: int) -> Registers:
    """Return contiguous f32 from a multiple of four on."""
    whole = count - count % _VECTOR
    fours = [each for k in range(0, whole, _VECTOR) for each in _four(memory, start + k)]
    return fours + [_load_one(memory, start + k) for k in range(whole, count)]


def _load_one(memory: ir.Value, place: Scalar) -> Scalar:
    value = emit("memref.load", [memory, place.cast("index").value], ir.F32Type.get())
    return Scalar(value, "float32")


def _four(memory: ir.Value, place: Scalar) -> Registers:
    """Return four contiguous f32 from a multiple of four on."""
    kind = ir.VectorType.get([_VECTOR], ir.F32Type.get())
    vector = emit("vector.load", [memory, place.cast("index").value], kind, alignment=_aligned())
    lanes = (ir.DenseI64ArrayAttr.get([lane]) for lane in range(_VECTOR))
    found = (
        emit("vector.extract", [vector], kind.element_type, static_position=at) for at in lanes
    )
    return [Scalar(each, "float32") for each in found]


def _store(memory: ir.Value, place: Scalar, value: Scalar) -> None:
    operands = [value.value, memory, place.cast("index").value]
    ir.Operation.create("memref.store", operands=operands)


def _store_four(memory: ir.Value, place: Scalar, values: Registers) -> None:
    """Write four contiguous f32 from a multiple of four on."""
    kind = ir.VectorType.get([_VECTOR], ir.F32Type.get())
    vector = emit("vector.from_elements", [each.value for each in values], kind)
    operands = [vector, memory, place.cast("index").value]
    ir.Operation.create("vector.store", operands=operands, attributes={"alignment": _aligned()})


def _aligned() -> ir.Attribute:
    return ir.IntegerAttr.get(ir.IntegerType.get_signless(64), 4 * _VECTOR)
