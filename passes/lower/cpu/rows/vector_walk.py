# SPDX-License-Identifier: MIT OR Apache-2.0
"""Emits the passes over one row, in vectors.

A walk takes several vectors an iteration, each with accumulators of its own. What is left of the
row is done in vectors, then in ever narrower ones, so that no element needs a mask.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from torch_mlir.dialects import scf

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.analysis.cloning import repeat
from xyntra.passes.analysis.kernel_function import terminator
from xyntra.passes.analysis.sizes.size import Size, hint_of
from xyntra.passes.lower.cpu.rows.streams import Streams
from xyntra.passes.lower.cpu.rows.vector_reduction import combine, identity, narrowed, only_lane
from xyntra.passes.lower.cpu.rows.vector_rows import Key, RowPass, combiner, key
from xyntra.passes.lower.loops import integers
from xyntra.passes.lower.loops.linear_nest import BufferOperand, LinearNest
from xyntra.passes.lower.loops.loop_builder import (
    Position,
    carrying_loop,
    index,
    load,
    offset,
    plus,
    store,
)
from xyntra.passes.lower.loops.vector_body import broadcast, side_by_side

_TOGETHER = 4  # vectors: enough to hide latencies, few enough for 16 registers


@dataclass
class Row:
    """One row while it is emitted.

    Attributes:
        position: the iteration of the outer loops.
        lanes: elements of a vector.
        streams: which memory is stored past the caches, or fetched early.
        unread: what no memory has to hold: every reader gets the value itself.
        values: the row's scalars that have been computed.
    """

    position: Position
    lanes: int
    streams: Streams
    unread: set[Key]
    values: dict[Key, ir.Value] = field(default_factory=dict)

    def read(self, access: BufferOperand) -> ir.Value:
        """Return a scalar of the row."""
        if access.is_scalar:
            return access.value
        known = self.values.get(key(access))
        return known if known is not None else load(access, offset(access, self.position))

    def write(self, access: BufferOperand, value: ir.Value) -> None:
        """Set a scalar of the row."""
        self.values[key(access)] = value
        if key(access) not in self.unread:
            store(value, access, offset(access, self.position))


def emit_row(passes: Sequence[RowPass], row: Row) -> None:
    """Emit `passes` at the insertion point."""
    walks = [row_pass for row_pass in passes if row_pass.length]
    for row_pass in passes:
        for nest in row_pass.scalars:
            _emit_scalars(nest, row)
        if not row_pass.length:
            continue
        early = row.streams.early if row_pass is walks[min(1, len(walks) - 1)] else ()
        streamed = [] if _has_reduction(row_pass) else _streamed(row_pass, row)
        if not streamed:
            _Walk(row_pass, row, early, frozenset()).emit()
            continue
        aligned = row.streams.aligned(streamed, row.position)
        branch = scf.IfOp(aligned, has_else=True)
        for block, through in ((branch.then_block, streamed), (branch.else_block, [])):
            with ir.InsertionPoint(block):
                _Walk(row_pass, row, early, frozenset(map(key, through))).emit()
                scf.YieldOp([])


def _emit_scalars(nest: LinearNest, row: Row) -> None:
    arguments = list(nest.body.arguments)
    mapped = dict(zip(arguments, [row.read(each) for each in nest.inputs], strict=False))
    for argument, access in zip(arguments[len(nest.inputs) :], nest.outputs, strict=True):
        if list(argument.uses):
            mapped[argument] = row.read(access)
    _repeat(nest.body, mapped)
    for access, value in zip(nest.outputs, terminator(nest.body).operands, strict=True):
        row.write(access, mapped.get(value, value))


def _repeat(body: ir.Block, mapped: dict[ir.Value, ir.Value]) -> None:
    """Repeat what needs nothing but constants and `mapped`, and add what it computes."""
    arguments, own = set(body.arguments), set[ir.Value]()
    for view in body.operations:
        op = view.operation
        own.update(op.results)
        if op.name == "linalg.yield":
            continue
        if any(v not in mapped and (v in arguments or v in own) for v in op.operands):
            continue
        repeat(op, mapped)


def _has_reduction(row_pass: RowPass) -> bool:
    return any(nest.loops[-1].is_reduction for nest in row_pass.nests)


def _streamed(row_pass: RowPass, row: Row) -> list[BufferOperand]:
    outputs = [each for nest in row_pass.nests for each in nest.outputs]
    return [each for each in outputs if key(each) in row.streams.through]


class _Walk:
    """The loop of a pass."""

    def __init__(
        self, row_pass: RowPass, row: Row, early: Sequence[BufferOperand], through: frozenset[Key]
    ) -> None:
        self.nests, self.length = row_pass.nests, row_pass.length
        self.row, self.through = row, through
        self.starts: dict[Key, ir.Value] = {}
        self.uniform = [self._uniform(nest) for nest in self.nests]
        self.early = [(each.value, row.streams.next_row(each, row.position)) for each in early]

    def emit(self) -> None:
        """Emit the walk, and set the scalars that it reduces the row to."""
        if isinstance(self.length, Size):
            self._emit_told(self.length)
            return
        lanes, together = self.row.lanes, self._together()
        trips = self.length // (lanes * together)
        accumulators = [self._identities(lanes) for _ in range(together)]
        if trips:
            accumulators = self._loop(trips, accumulators)
        done = trips * lanes * together
        left = (self.length - done) // lanes
        places = [index(done + number * lanes) for number in range(left)]
        accumulators[:left] = self._steps(places, lanes, accumulators[:left])
        done += left * lanes
        total = accumulators[0]
        for other in accumulators[1:]:
            total = self._combined(total, other)
        while lanes > 1:
            lanes = 1 if self.length - done < 2 else lanes // 2
            total = [
                narrowed(op, value, lanes)
                for op, value in zip(self._combiners(), total, strict=True)
            ]
            if self.length - done >= lanes:
                (total,) = self._steps([index(done)], lanes, [total])
                done += lanes
        self._finish(total)

    def _together(self) -> int:
        """How many vectors are computed side by side, to hide the latency of each operation."""
        length: int = hint_of(self.length)
        return max(1, min(_TOGETHER, length // self.row.lanes))

    def _emit_told(self, length: Size) -> None:
        """Emit the walk through a row of a length that the kernel is told.

        What is left after each loop takes a loop of narrower vectors, of one step or none but for
        the first.
        """
        lanes, together = self.row.lanes, self._together()
        accumulators = self._loop(
            length // (lanes * together), [self._identities(lanes) for _ in range(together)]
        )
        total = accumulators[0]
        for other in accumulators[1:]:
            total = self._combined(total, other)
        done = lanes * together
        while True:
            left = length % done
            total = self._left(left // lanes, length - left, lanes, total)
            if lanes == 1:
                break
            done, lanes = lanes, lanes // 2
            total = [
                narrowed(op, value, lanes)
                for op, value in zip(self._combiners(), total, strict=True)
            ]
        self._finish(total)

    def _left(
        self, trips: int, first: int, lanes: int, carried: Sequence[ir.Value]
    ) -> list[ir.Value]:
        """Emit a loop of one vector a step from element `first` on."""
        built = carrying_loop(trips, carried)
        with ir.InsertionPoint(built.body):
            place = plus(index(first), integers.muli(built.induction_variable, index(lanes)))
            (after,) = self._steps([place], lanes, [list(built.inner_iter_args)])
            scf.YieldOp(after)
        return list(built.results)

    def _loop(self, trips: int, accumulators: list[list[ir.Value]]) -> list[list[ir.Value]]:
        lanes, count = self.row.lanes, len(accumulators[0])
        flat = [value for values in accumulators for value in values]
        built = carrying_loop(trips, flat)
        with ir.InsertionPoint(built.body):
            first = integers.muli(built.induction_variable, index(lanes * len(accumulators)))
            self._fetch_early(first, lanes * len(accumulators))
            places = [plus(first, index(i * lanes)) for i in range(len(accumulators))]
            after = self._steps(places, lanes, _grouped(built.inner_iter_args, count, len(places)))
            scf.YieldOp([value for values in after for value in values])
        return _grouped(built.results, count, len(accumulators))

    def _fetch_early(self, first: ir.Value, elements: int) -> None:
        for memory, start in self.early:
            self.row.streams.fetch(memory, plus(start, first), elements)

    def _steps(
        self, places: Sequence[ir.Value], lanes: int, carried: Sequence[Sequence[ir.Value]]
    ) -> list[list[ir.Value]]:
        """Emit all nests on one vector at each of `places`; returns the accumulators after it."""
        present: list[dict[Key, ir.Value]] = [{} for _ in places]
        waiting = [list(values) for values in carried]
        after: list[list[ir.Value]] = [[] for _ in places]
        for nest, uniform in zip(self.nests, self.uniform, strict=True):
            reduces = nest.loops[-1].is_reduction
            scalars = {value: broadcast(scalar, lanes) for value, scalar in uniform.items()}
            known = [
                scalars | self._loaded(nest, scalars, place, lanes, mine)
                for place, mine in zip(places, present, strict=True)
            ]
            if reduces:
                for argument in list(nest.body.arguments)[len(nest.inputs) :]:
                    for mapped, values in zip(known, waiting, strict=True):
                        mapped[argument] = values.pop(0)
            for number, results in enumerate(side_by_side(nest.body, known, lanes)):
                if reduces:
                    after[number] += results
                else:
                    self._store_all(nest, results, places[number], present[number])
        return after

    def _loaded(
        self,
        nest: LinearNest,
        scalars: Mapping[ir.Value, ir.Value],
        place: ir.Value,
        lanes: int,
        present: dict[Key, ir.Value],
    ) -> dict[ir.Value, ir.Value]:
        """Return the vectors that the body of `nest` reads; `present` are those in registers."""
        found = {}
        for argument, access in zip(nest.body.arguments, nest.accesses, strict=True):
            if argument in scalars or access.strides[-1] == 0 or not list(argument.uses):
                continue
            name = key(access)
            if name not in present:
                kind = ir.VectorType.get([lanes], access.element_type)
                operands = [access.value, self._at(access, place)]
                present[name] = emit("vector.load", operands, kind)
            found[argument] = present[name]
        return found

    def _store_all(
        self,
        nest: LinearNest,
        values: Sequence[ir.Value],
        place: ir.Value,
        present: dict[Key, ir.Value],
    ) -> None:
        for access, value in zip(nest.outputs, values, strict=True):
            name = key(access)
            present[name] = value
            if name in self.row.unread:
                continue
            attributes = {}
            if name in self.through and Streams.fits(value.type):
                attributes["nontemporal"] = ir.BoolAttr.get(True)
                attributes["alignment"] = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), 16)
            operands = [value, access.value, self._at(access, place)]
            ir.Operation.create("vector.store", operands=operands, attributes=attributes)

    def _at(self, access: BufferOperand, place: ir.Value) -> ir.Value:
        return plus(self.starts[key(access)], place)

    def _uniform(self, nest: LinearNest) -> dict[ir.Value, ir.Value]:
        """Return what the body computes alike for the whole row."""
        mapped: dict[ir.Value, ir.Value] = {}
        for argument, access in zip(nest.body.arguments, nest.inputs, strict=False):
            if access.is_scalar or access.strides[-1] == 0:
                mapped[argument] = self.row.read(access)
        for access in nest.accesses:
            if not access.is_scalar and access.strides[-1]:
                self.starts[key(access)] = offset(access, self.row.position)
        _repeat(nest.body, mapped)
        return mapped

    def _reductions(self) -> list[tuple[LinearNest, int]]:
        return [
            (nest, number)
            for nest in self.nests
            if nest.loops[-1].is_reduction
            for number in range(len(nest.outputs))
        ]

    def _combiners(self) -> list[ir.Operation]:
        found = [combiner(nest, number) for nest, number in self._reductions()]
        return [op for op in found if op is not None]

    def _identities(self, lanes: int) -> list[ir.Value]:
        return [identity(op, lanes) for op in self._combiners()]

    def _combined(self, first: Sequence[ir.Value], second: Sequence[ir.Value]) -> list[ir.Value]:
        return [
            combine(op, *pair) for op, *pair in zip(self._combiners(), first, second, strict=True)
        ]

    def _finish(self, total: Sequence[ir.Value]) -> None:
        for (nest, number), op, value in zip(
            self._reductions(), self._combiners(), total, strict=True
        ):
            access = nest.outputs[number]
            self.row.write(access, combine(op, self.row.read(access), only_lane(value)))


def _grouped(values: Sequence[ir.Value], count: int, groups: int) -> list[list[ir.Value]]:
    found = list(values)
    return [found[number * count : (number + 1) * count] for number in range(groups)]
