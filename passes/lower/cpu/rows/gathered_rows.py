# SPDX-License-Identifier: MIT OR Apache-2.0
"""Emits vectorised elementwise code with operands gathered or repeated along the innermost loop.

What is the same for a whole row is computed before it: LLVM cannot move loads out of a loop that
stores, as it does not know that they are of other memory. Places that differ from lane to lane are
gathered. Of a sum that is separable, the rows are added into memory of the length of one first.
Places that are the same in every channel are computed once for a vector of them, around a loop over
channels. Columns that a table holds are often neighbours for most of a row, as where an image is
padded with its own elements: the table is looked through once, and such a run is read as vectors.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import reduce

from torch_mlir.dialects import arith, scf

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.analysis.cloning import repeat
from xyntra.passes.analysis.kernel_function import terminator
from xyntra.passes.analysis.sizes.session import size_value, sized_strides
from xyntra.passes.lower.cpu.rows.gather_plan import (
    GatherChoices,
    GatherPlan,
    Reuse,
    Separable,
    Variation,
)
from xyntra.passes.lower.cpu.rows.gathers import gather, gather_neighbours, multiples, near
from xyntra.passes.lower.cpu.rows.streams import Streams
from xyntra.passes.lower.cpu.rows.table_runs import longest_run
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
    tile_start,
)
from xyntra.passes.lower.loops.memrefs import allocate, flattened
from xyntra.passes.lower.loops.vector_body import broadcast

__all__ = ["GatheredRows"]

Values = dict[ir.Value, ir.Value]
_Which = Callable[[ir.Value], bool]


@dataclass(frozen=True)
class GatheredRows:
    """Writes one nest at the current insertion point.

    Attributes:
        plan: of the nest, over flat views.
        lanes: elements of a vector.
        past_caches: whether the result is stored past the caches.
        separable: the sum to compute row by row; None to compute the body as it stands.
        reuse: the loop to put inside the one over vectors; None to leave it outside.
        flat: flat views of the memory in which the body looks elements up.
        table: the columns, where contiguous runs are looked for.
        ahead: how far columns are ahead of lanes, where they are contiguous.
        neighbours: whether a vector of places that follow one another is looked for.
    """

    plan: GatherPlan
    lanes: int
    past_caches: bool
    separable: Separable | None
    reuse: Reuse | None
    flat: dict[ir.Value, ir.Value]
    table: BufferOperand | None = None
    ahead: ir.Value | None = None
    neighbours: bool = False

    @classmethod
    def of(cls, plan: GatherPlan, told: GatherChoices) -> GatheredRows:
        """Return what writes `plan`, after views of the memory that it looks elements up in."""
        operations = [view.operation for view in plan.nest.body.operations]
        memories = {op.operands[0]: None for op in operations if op.name == "memref.load"}
        flat = {memory: flattened(memory) for memory in memories}
        separable = plan.separable if told.separable else None
        reuse = plan.reuse if told.reused else None
        has_table = told.runs and plan.table is not None
        table = plan.nest.inputs[plan.table or 0] if has_table else None
        given = (plan, told.vector, told.past_caches, separable, reuse, flat, table)
        return cls(*given, neighbours=told.neighbours)

    def emit(self) -> None:
        """Emit all loops."""
        inner = None if self.reuse is None else self.reuse.loop
        extents = [
            (number, self.plan.nest.loops[number].extent)
            for number in self.plan.outer
            if number != inner
        ]
        if self.table is None:
            nested_loops(extents, {}, self._row, parallel=True)
            return
        first, end = longest_run(self.table, self.plan.extent)
        column = load(self.table, plus(index(self.table.offset), first))
        step = arith.index_cast(ir.IndexType.get(), column)
        run = _Run(first, end, integers.subi(step, first))
        least = index(max(self.lanes, self.plan.extent // 2))
        is_long = arith.cmpi(arith.CmpIPredicate.sge, integers.subi(end, first), least)
        branch = scf.IfOp(is_long, has_else=True)
        for block, body in (
            (branch.then_block, lambda place: self._row_with_run(place, run)),
            (branch.else_block, self._row),
        ):
            with ir.InsertionPoint(block):
                nested_loops(extents, {}, body, parallel=True)
                scf.YieldOp([])

    def _row_with_run(self, position: Position, run: _Run) -> None:
        """Emit a row of which the lanes of `run` read contiguous elements."""
        output = self.plan.nest.outputs[0]
        uniform = self._uniform(position, {}, _all)

        def at(rows: GatheredRows, start: ir.Value) -> None:
            value = rows._vector(position, start, uniform, None)
            _store(value, output, plus(offset(output, position), start), past_caches=False)

        single, together = replace(self, lanes=1), replace(self, ahead=run.ahead)
        with loop(run.first) as number:
            at(single, number)
        with loop(
            integers.ceildivui(integers.subi(run.end, run.first), index(self.lanes))
        ) as number:
            start = plus(run.first, integers.muli(number, index(self.lanes)))
            at(together, integers.minsi(start, integers.subi(run.end, index(self.lanes))))
        with loop(integers.subi(index(self.plan.extent), run.end)) as number:
            at(single, plus(run.end, number))

    def _row(self, position: Position) -> None:
        if self.reuse is not None:
            self._rows_at_once(self.reuse, position)
            return
        output = self.plan.nest.outputs[0]
        uniform = self._uniform(position, {}, _all)
        summed = None if self.separable is None else self._sum_rows(self.separable, uniform)

        def walk(*, past_caches: bool) -> None:
            with loop(self._tiles) as number:
                start = tile_start(number, self.lanes, self.plan.extent)
                value = self._vector(position, start, uniform, summed)
                _store(value, output, plus(offset(output, position), start), past_caches)

        kind = ir.VectorType.get([self.lanes], output.element_type)
        if not self.past_caches or not Streams.fits(kind) or self.plan.extent % self.lanes:
            walk(past_caches=False)
            return
        branch = scf.IfOp(Streams().aligned([output], position), has_else=True)
        for block, past_caches in ((branch.then_block, True), (branch.else_block, False)):
            with ir.InsertionPoint(block):
                walk(past_caches=past_caches)
                scf.YieldOp([])

    def _rows_at_once(self, reuse: Reuse, position: Position) -> None:
        """Emit the rows of a loop, vector by vector: what does not move with it comes first."""
        output = self.plan.nest.outputs[0]

        def stays(value: ir.Value) -> bool:
            return value not in reuse.moving

        def moves(value: ir.Value) -> bool:
            return value in reuse.moving

        known = self._uniform(position, {}, stays)
        with loop(self._tiles, parallel=True) as number:
            start = tile_start(number, self.lanes, self.plan.extent)
            same = self._arguments(position, start, stays)
            self._compute(same, start, known, stays)
            with loop(self.plan.nest.loops[reuse.loop].extent, parallel=True) as step:
                inside = position | {reuse.loop: step}
                uniform = self._uniform(inside, known, moves)
                values = same | self._arguments(inside, start, moves)
                self._compute(values, start, uniform, moves)
                value = self._yielded(values, uniform)
                _store(value, output, plus(offset(output, inside), start), past_caches=False)

    @property
    def _tiles(self) -> int:
        return -(-self.plan.extent // self.lanes)

    def _uniform(self, position: Position, known: Values, is_wanted: _Which) -> Values:
        """Compute what is wanted of what is the same for a whole row, and add it to `known`."""
        nest, kinds = self.plan.nest, self.plan.kinds
        values = dict(known)
        for argument, access in zip(nest.body.arguments, nest.inputs, strict=False):
            if kinds[argument] is Variation.UNIFORM and list(argument.uses) and is_wanted(argument):
                value = access.value
                values[argument] = (
                    value if access.is_scalar else load(access, offset(access, position))
                )
        for view in nest.body.operations:
            op = view.operation
            if op.name == "linalg.yield" or kinds[op.result] is Variation.LANES:
                continue
            if not is_wanted(op.result):
                continue
            if op.name == "linalg.index":
                # Of a step, the start of the row.
                steps = nest.indices[ir.IntegerAttr(op.attributes["dim"]).value]
                parts = [
                    integers.muli(position[n], index(s))
                    for n, s in enumerate(steps)
                    if s and n in position
                ]
                values[op.result] = plus(index(0), *parts)
                continue
            repeat(op, values)
        return values

    def _vector(
        self, position: Position, start: ir.Value, uniform: Values, summed: BufferOperand | None
    ) -> ir.Value:
        """Compute the lanes from `start` on."""
        values = self._arguments(position, start, _all)
        if self.separable is not None and summed is not None:
            return self._look_up(self.separable, values, start, uniform, summed)
        self._compute(values, start, uniform, _all)
        return self._yielded(values, uniform)

    def _arguments(self, position: Position, start: ir.Value, is_wanted: _Which) -> Values:
        """Load the lanes from `start` on of those arguments that have lanes and are wanted."""
        nest, kinds = self.plan.nest, self.plan.kinds
        return {
            argument: self._argument(access, offset(access, position), start)
            for argument, access in zip(nest.body.arguments, nest.inputs, strict=False)
            if kinds[argument] is Variation.LANES and list(argument.uses) and is_wanted(argument)
        }

    def _compute(self, values: Values, start: ir.Value, uniform: Values, is_wanted: _Which) -> None:
        """Add the results that have lanes and are wanted to `values`."""
        for view in self.plan.nest.body.operations:
            op = view.operation
            if op.name == "linalg.yield" or self.plan.kinds[op.result] is not Variation.LANES:
                continue
            if is_wanted(op.result):
                self._on_lanes(op, values, start, uniform)

    def _yielded(self, values: Values, uniform: Values) -> ir.Value:
        return self._lanes_of(terminator(self.plan.nest.body).operands[0], values, uniform)

    def _argument(self, access: BufferOperand, row: ir.Value, start: ir.Value) -> ir.Value:
        """Load the lanes of an operand from `start` on, given where its row starts."""
        if not self.plan.is_repeated(access):
            step = access.strides[self.plan.lane]
            if step == 1 or self.plan.element is not None:
                return _load(access.value, plus(row, start), self.lanes)
            first = plus(row, integers.muli(start, index(step)))
            return gather(access.value, first, multiples(step, self.lanes), self.lanes)
        copies = self.plan.repeats
        place = plus(row, integers.divui(start, index(copies)))
        elements = _load(access.value, place, self.lanes // copies)
        mask = ir.DenseI64ArrayAttr.get([lane // copies for lane in range(self.lanes)])
        kind = ir.VectorType.get([self.lanes], access.element_type)
        return emit("vector.shuffle", [elements, elements], kind, mask=mask)

    def _lanes_of(self, value: ir.Value, values: Values, uniform: Values) -> ir.Value:
        if value not in values:
            values[value] = broadcast(uniform.get(value, value), self.lanes)
        return values[value]

    def _on_lanes(self, op: ir.Operation, values: Values, start: ir.Value, uniform: Values) -> None:
        """Compute an operation on vectors."""
        if op.name == "memref.load":
            values[op.result] = self._load(op, values, start, uniform)
            return
        operands = [self._lanes_of(each, values, uniform) for each in op.operands]
        if op.name == "arith.index_cast":
            values[op.result] = operands[0]  # places keep their type
            return
        kind = ir.VectorType.get([self.lanes], op.result.type)
        values[op.result] = emit(op.name, operands, kind, **dict(op.attributes.items()))

    def _load(self, op: ir.Operation, values: Values, start: ir.Value, uniform: Values) -> ir.Value:
        memory, *places = op.operands
        kinds = [self.plan.kinds.get(place, Variation.UNIFORM) for place in places]
        flat = self.flat[memory]
        steps = sized_strides(ir.MemRefType(memory.type))
        known = [
            integers.muli(uniform.get(place, place), index(step))
            for place, step, kind in zip(places, steps, kinds, strict=True)
            if kind is not Variation.LANES
        ]
        base = plus(index(0), *known)
        if Variation.LANES not in kinds:
            return _load(flat, plus(base, start), self.lanes)
        if self.ahead is not None:
            return _load(flat, plus(base, start, self.ahead), self.lanes)
        parts = [
            _scaled(values[place], step, self.lanes)
            for place, step, kind in zip(places, steps, kinds, strict=True)
            if kind is Variation.LANES
        ]
        found = reduce(_added, parts)
        if self.reuse is not None and op.result in self.reuse.moving:
            base, found = near(base, found, self.lanes)
        look_up = gather_neighbours if self.neighbours else gather
        return look_up(flat, base, found, self.lanes)

    def _sum_rows(self, found: Separable, uniform: Values) -> BufferOperand:
        """Add the rows, each with its weights, into memory of their length."""
        first, _ = found.rows[0]
        kind = ir.MemRefType(first.operands[0].type)
        width = kind.shape[-1]
        lanes = min(self.lanes, 1 << (width.bit_length() - 1))
        target = BufferOperand(allocate(width, kind.element_type), 0, ())
        multiply, add = _operation(found.multiply, lanes), _operation(found.add, lanes)
        rows = [(self._start_of(op, uniform), weights) for op, weights in found.rows]
        flats = [self.flat[op.operands[0]] for op, _ in found.rows]
        factors = [
            [broadcast(uniform.get(each, each), lanes) for each in weights] for _, weights in rows
        ]
        with loop(-(-width // lanes)) as number:
            place = tile_start(number, lanes, width)
            products = [
                reduce(multiply, weights, _load(flat, plus(start, place), lanes))
                for flat, (start, _), weights in zip(flats, rows, factors, strict=True)
            ]
            _store(reduce(add, products), target, place, past_caches=False)
        return target

    def _start_of(self, op: ir.Operation, uniform: Values) -> ir.Value:
        """Return where the row of an element starts."""
        memory, *places = op.operands
        steps = sized_strides(ir.MemRefType(memory.type))
        parts = [
            integers.muli(uniform.get(place, place), index(step))
            for place, step in zip(places[:-1], steps, strict=False)
        ]
        return plus(index(0), *parts)

    def _look_up(
        self,
        found: Separable,
        values: Values,
        start: ir.Value,
        uniform: Values,
        summed: BufferOperand,
    ) -> ir.Value:
        """Look the columns up in the sum of the rows, and add them with their weights."""
        wanted = {each for column, weights in found.columns for each in (column, *weights)}
        for view in self.plan.nest.body.operations:
            op = view.operation
            if op.name != "linalg.yield" and op.result in wanted and op.result not in uniform:
                self._on_lanes(op, values, start, uniform)
        multiply, add = _operation(found.multiply, self.lanes), _operation(found.add, self.lanes)
        products = []
        for column, weights in found.columns:
            element = gather(summed.value, index(0), values[column], self.lanes)
            factors = [self._lanes_of(each, values, uniform) for each in weights]
            products.append(reduce(multiply, factors, element))
        return reduce(add, products)


@dataclass(frozen=True)
class _Run:
    """Lanes of which each reads the element behind that of the one before: the first, and the end.

    `ahead` is how far what they read is ahead of them.
    """

    first: ir.Value
    end: ir.Value
    ahead: ir.Value


def _all(_: ir.Value) -> bool:
    return True


def _operation(like: ir.Operation, lanes: int) -> Callable[[ir.Value, ir.Value], ir.Value]:
    """Return what does the same as `like`, on vectors."""
    kind = ir.VectorType.get([lanes], like.result.type)
    attributes = dict(like.attributes.items())
    return lambda left, right: emit(like.name, [left, right], kind, **attributes)


def _load(memory: ir.Value, place: ir.Value, lanes: int) -> ir.Value:
    kind = ir.VectorType.get([lanes], ir.MemRefType(memory.type).element_type)
    return emit("vector.load", [memory, place], kind)


def _store(value: ir.Value, access: BufferOperand, place: ir.Value, past_caches: bool) -> None:
    attributes = {}
    if past_caches:
        attributes["nontemporal"] = ir.BoolAttr.get(True)
        attributes["alignment"] = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), 16)
    ir.Operation.create("vector.store", [], [value, access.value, place], attributes)


def _scaled(places: ir.Value, step: int, lanes: int) -> ir.Value:
    if step == 1:
        return places
    kind = ir.VectorType(places.type)
    told = size_value(step)
    if told is not None:
        number = emit("arith.index_cast", [told], kind.element_type)
        return emit("arith.muli", [places, broadcast(number, lanes)], kind)
    factor = emit(
        "arith.constant",
        [],
        kind,
        value=ir.DenseElementsAttr.get_splat(kind, ir.IntegerAttr.get(kind.element_type, step)),
    )
    return emit("arith.muli", [places, factor], kind)


def _added(left: ir.Value, right: ir.Value) -> ir.Value:
    if left.type != right.type:
        kind = ir.VectorType.get(ir.VectorType(left.type).shape, ir.IntegerType.get_signless(64))
        left, right = (
            each if each.type == kind else emit("arith.extsi", [each], kind)
            for each in (left, right)
        )
    return emit("arith.addi", [left, right], left.type)
