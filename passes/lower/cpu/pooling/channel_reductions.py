# SPDX-License-Identifier: MIT OR Apache-2.0
"""`channel-reductions`: reductions over positions compute on vectors of channels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import ClassVar

from torch_mlir.dialects import scf

from xyntra.dialects.mlir import ir
from xyntra.passes.lower.cpu.conv.convolution_tiles import is_candidate
from xyntra.passes.lower.cpu.machine import LoweringOptions
from xyntra.passes.lower.cpu.matmul.tile_epilogue import TileEpilogue, load_lanes
from xyntra.passes.lower.cpu.matmul.tile_plan import TilePlan
from xyntra.passes.lower.cpu.rows.filled_reductions import Filled, filled
from xyntra.passes.lower.cpu.schedule.emitter import (
    EmitterSweep,
    NestEmitter,
    TileChoices,
    check_tile,
    emit_scheduled,
)
from xyntra.passes.lower.cpu.schedule.told import bad_schedule
from xyntra.passes.lower.loops import integers
from xyntra.passes.lower.loops.linear_nest import BufferOperand, LinearNest
from xyntra.passes.lower.loops.loop_builder import (
    Position,
    carrying_loop,
    index,
    nested_loops,
    offset,
    plus,
    tile_start,
)
from xyntra.passes.lower.loops.vector_body import broadcast, emit_on_vectors
from xyntra.passes.registry import register_pass

_MOST_VECTORS = 8
_SPARE = 3  # registers for what is loaded, and for what is computed of it
_LONG = 16  # steps, after which elements that lie apart may be written one by one
_COLUMNS = -1  # key of a `Position` beside the numbers of the nest's loops


class _ChannelReductions(NestEmitter):
    name = "channel-reductions"
    choices = TileChoices

    def choose(self, place: Filled, machine: LoweringOptions) -> TileChoices | None:
        for epilogue in (True, False):
            found = _columns(place, epilogue=epilogue)
            if found is None:
                continue
            nest, column = found
            extent, lanes = nest.loops[column].extent, _lanes(nest, machine)
            vectors = min(_most_vectors(nest, machine), extent // lanes)
            if vectors:
                # As few as compute the columns in as many tiles.
                tiles = -(-extent // (vectors * lanes))
                vectors = min(vectors, -(-extent // (tiles * lanes)))
                return TileChoices((1, vectors * lanes), lanes, epilogue)
        return None

    def check(self, place: Filled, choices: TileChoices) -> None:
        place.checked(epilogue=choices.epilogue)
        found = _columns(place, epilogue=choices.epilogue)
        if found is None:
            raise bad_schedule(place.op, f"{self.name} makes no code of this")
        nest, column = found
        check_tile(place, choices, 1, nest.loops[column].extent)

    def group(self, place: Filled, choices: TileChoices) -> list[ir.Operation]:
        return place.group(epilogue=choices.epilogue)

    def emit(self, place: Filled, choices: TileChoices) -> None:
        reduction = place.reduction(epilogue=choices.epilogue, flat=True)
        found = _columns(place, epilogue=choices.epilogue)
        if reduction is None or found is None:
            raise ValueError("the schedule has not been checked")
        nest = reduction.nest
        vectors, lanes = choices.tile[1] // choices.vector, choices.vector
        plan = TilePlan(None, (found[1],), 1, vectors, lanes, frozenset(), 0.0)
        epilogue = TileEpilogue.of(plan, nest.outputs[0], reduction.code)
        _Emitter(nest, place.initial, epilogue).emit()

    def space(self, place: Filled, machine: LoweringOptions) -> Iterator[TileChoices]:
        for epilogue in (True, False):
            found = _columns(place, epilogue=epilogue)
            if found is not None:
                lanes = _lanes(found[0], machine)
                for vectors in range(1, _MOST_VECTORS + 1):
                    yield TileChoices((1, vectors * lanes), lanes, epilogue)


def _lanes(nest: LinearNest, machine: LoweringOptions) -> int:
    return max(1, machine.registers(nest.outputs[0].element_type).lanes)


def _most_vectors(nest: LinearNest, machine: LoweringOptions) -> int:
    """Return how many vectors of channels stay in registers, with what is loaded once for them."""
    held = 1 + sum(not _is_reduced(nest, each) for each in nest.inputs)
    registers = machine.registers(nest.outputs[0].element_type)
    return max(1, min(_MOST_VECTORS, (registers.count - _SPARE) // held))


def _is_reduced(nest: LinearNest, access: BufferOperand) -> bool:
    """Tell whether an input moves with the loops of the reduction."""
    return any(access.strides[number] for number in nest.reductions)


def _columns(place: Filled, *, epilogue: bool) -> tuple[LinearNest, int] | None:
    """Return the loops, and the one over channels, in which everything is in sequence."""
    found = place.reduction(epilogue=epilogue)
    if found is None or found.exact:
        return None
    nest = found.nest
    reduced = [each for each in nest.inputs if _is_reduced(nest, each)]
    # Where several elements of the output read one of an operand, tiles of these read less.
    if not reduced or not all(all(each.strides) for each in reduced):
        return None
    columns = [
        number
        for number, loop in enumerate(nest.loops)
        if not loop.is_reduction and all(each.strides[number] == 1 for each in reduced)
    ]
    if len(columns) != 1:
        return None
    column = columns[0]
    rest = [each for each in nest.inputs if each not in reduced and not each.is_scalar]
    beside = [*rest, *(nest.outputs if found.code is None else found.code.accesses)]
    are_vectors = all(each.strides[column] in (0, 1) for each in beside)
    steps = prod(nest.loops[number].extent for number in nest.reductions)
    return (nest, column) if are_vectors or steps >= _LONG else None


@dataclass(frozen=True)
class _Emitter:
    nest: LinearNest
    initial: ir.Value
    epilogue: TileEpilogue

    def emit(self) -> None:
        """Emit all loops."""
        plan, nest = self.epilogue.plan, self.nest
        extent = nest.loops[plan.column_loops[0]].extent
        outer = [
            (number, each.extent)
            for number, each in enumerate(nest.loops)
            if not each.is_reduction and number not in plan.column_loops
        ]
        tiles = (_COLUMNS, -(-extent // plan.columns))

        def tile(position: Position) -> None:
            column = tile_start(position.pop(_COLUMNS), plan.columns, extent)
            sums = [broadcast(self.initial, plan.lanes)] * plan.vectors
            put = self.epilogue.at(position, column)
            given = [
                None if _is_reduced(nest, each) else self._vectors(each, position, column)
                for each in nest.inputs
            ]
            reduced = self._reduced(nest.reductions, position, column, given, sums)
            for vector, value in enumerate(reduced):
                put(value, 0, vector)

        nested_loops([*outer, tiles], {}, tile, parallel=True)

    def _reduced(
        self,
        loops: Sequence[int],
        position: Position,
        column: ir.Value,
        given: Sequence[list[ir.Value] | None],
        sums: Sequence[ir.Value],
    ) -> list[ir.Value]:
        """Emit loops over `loops`; `given` are the vectors of the inputs that stay the same."""
        if not loops:
            return self._step(position, column, given, sums)
        built = carrying_loop(self.nest.loops[loops[0]].extent, sums)
        with ir.InsertionPoint(built.body):
            inside = position | {loops[0]: built.induction_variable}
            carried = list(built.inner_iter_args)
            scf.YieldOp(self._reduced(loops[1:], inside, column, given, carried))
        return list(built.results)

    def _step(
        self,
        position: Position,
        column: ir.Value,
        given: Sequence[list[ir.Value] | None],
        sums: Sequence[ir.Value],
    ) -> list[ir.Value]:
        values = [
            self._vectors(access, position, column) if known is None else known
            for access, known in zip(self.nest.inputs, given, strict=True)
        ]
        return [
            emit_on_vectors(self.nest.body, [*arguments, running], self.epilogue.plan.lanes)
            for *arguments, running in zip(*values, sums, strict=True)
        ]

    def _vectors(
        self, access: BufferOperand, position: Position, column: ir.Value
    ) -> list[ir.Value]:
        """Load the vectors of a tile."""
        plan = self.epilogue.plan
        if access.is_scalar:
            return [broadcast(access.value, plan.lanes)] * plan.vectors
        step = access.strides[plan.column_loops[0]]
        start = plus(offset(access, position), integers.muli(column, index(step)))
        distances = [each * plan.lanes * step for each in range(plan.vectors)]
        return [
            load_lanes(access, plus(start, index(each)), plan.lanes, step) for each in distances
        ]


STAGE = EmitterSweep("channel-reductions", filled(is_candidate), (_ChannelReductions(),))


@register_pass
@dataclass(frozen=True)
class ChannelReductions:
    """Rewrite reductions on memrefs whose parallel dimension is innermost: a global pooling.

    Applies to a linalg.generic in which contiguous elements belong to adjacent elements of the
    output, which is filled with one value right before. Accumulators stay in vector registers, and
    inputs that are the same at every position, as the means of channels; what comes next element by
    element is done before sums are stored.
    """

    name: ClassVar[str] = "channel-reductions"

    def run(self, module: ir.Operation) -> None:
        """Rewrite what is scheduled so below `module`."""
        emit_scheduled(module, STAGE)
