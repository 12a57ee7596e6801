# SPDX-License-Identifier: MIT OR Apache-2.0
"""`channel-reductions`: reductions over positions compute on vectors of channels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from torch_mlir.dialects import scf

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.lower.cpu.conv.convolution_tiles import is_candidate
from xyntra.passes.lower.cpu.machine import LoweringOptions
from xyntra.passes.lower.cpu.matmul.tile_epilogue import TileEpilogue
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
from xyntra.passes.lower.loops.linear_nest import LinearNest
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
            vectors = min(_MOST_VECTORS, extent // lanes)
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
    return max(1, machine.registers(nest.inputs[0].element_type).lanes)


def _columns(place: Filled, *, epilogue: bool) -> tuple[LinearNest, int] | None:
    """Return the loops, and the one over channels, in which everything is in sequence."""
    found = place.reduction(epilogue=epilogue)
    if found is None or found.exact or found.nest.inputs[0].is_scalar:
        return None
    nest = found.nest
    x, out = nest.inputs[0], nest.outputs[0]
    columns = [
        number
        for number, loop in enumerate(nest.loops)
        if not loop.is_reduction and x.strides[number] == out.strides[number] == 1
    ]
    if len(columns) != 1:
        return None
    companions = nest.outputs if found.code is None else found.code.accesses
    if any(each.strides[columns[0]] not in (0, 1) for each in companions):
        return None
    return nest, columns[0]


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
            for vector, value in enumerate(self._reduced(nest.reductions, position, column, sums)):
                put(value, 0, vector)

        nested_loops([*outer, tiles], {}, tile, parallel=True)

    def _reduced(
        self, loops: Sequence[int], position: Position, column: ir.Value, sums: Sequence[ir.Value]
    ) -> list[ir.Value]:
        if not loops:
            return self._step(position, column, sums)
        built = carrying_loop(self.nest.loops[loops[0]].extent, sums)
        with ir.InsertionPoint(built.body):
            inside = position | {loops[0]: built.induction_variable}
            scf.YieldOp(self._reduced(loops[1:], inside, column, list(built.inner_iter_args)))
        return list(built.results)

    def _step(
        self, position: Position, column: ir.Value, sums: Sequence[ir.Value]
    ) -> list[ir.Value]:
        lanes, x = self.epilogue.plan.lanes, self.nest.inputs[0]
        start = plus(offset(x, position), column)
        kind = ir.VectorType.get([lanes], x.element_type)
        results = []
        for vector, running in enumerate(sums):
            place = plus(start, index(vector * lanes))
            value = emit("vector.load", [x.value, place], kind)
            results.append(emit_on_vectors(self.nest.body, [value, running], lanes))
        return results


def _has_one_input(generic: ir.Operation) -> bool:
    return is_candidate(generic) and bool(generic.attributes["operandSegmentSizes"][0] == 1)


STAGE = EmitterSweep("channel-reductions", filled(_has_one_input), (_ChannelReductions(),))


@register_pass
@dataclass(frozen=True)
class ChannelReductions:
    """Rewrite reductions on memrefs whose parallel dimension is innermost: a global pooling.

    Applies to a linalg.generic of one input, in which contiguous elements belong to neighbouring
    elements of the output, which is filled with one value right before. Accumulators stay in vector
    registers; what comes next element by element is done before they are stored.
    """

    name: ClassVar[str] = "channel-reductions"

    def run(self, module: ir.Operation) -> None:
        """Rewrite what is scheduled so below `module`."""
        emit_scheduled(module, STAGE)
