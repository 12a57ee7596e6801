# SPDX-License-Identifier: MIT OR Apache-2.0
"""`channel-reductions`: reductions over positions compute on vectors of channels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from torch_mlir.dialects import scf

from xyntra.dialects.dtypes import ITEM_BYTES
from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.lower.cpu.convolution_tiles import is_candidate
from xyntra.passes.lower.cpu.filled_reductions import (
    Group,
    emit_with_following,
    rewrite_filled_reductions,
)
from xyntra.passes.lower.cpu.tile_epilogue import TileEpilogue
from xyntra.passes.lower.cpu.tile_plan import TilePlan
from xyntra.passes.lower.nests.epilogue import Joined
from xyntra.passes.lower.nests.fills import initial_of
from xyntra.passes.lower.nests.linear_nest import LinearNest, collapsed
from xyntra.passes.lower.nests.loop_builder import (
    Position,
    carrying_loop,
    index,
    nested_loops,
    offset,
    plus,
    tile_start,
)
from xyntra.passes.lower.nests.vector_body import broadcast, emit_on_vectors
from xyntra.passes.registry import register_pass

_MOST_VECTORS = 8
_COLUMNS = -1  # key of a `Position` beside the numbers of the nest's loops


@register_pass
@dataclass(frozen=True)
class ChannelReductions:
    """Rewrite reductions on memrefs whose parallel dimension is innermost: a global pooling.

    Applies to a linalg.generic of one input, in which neighbouring elements belong to neighbouring
    elements of the output, which is filled with one value right before. Accumulators stay in vector
    registers; what comes next element by element is done before they are stored.
    """

    name: ClassVar[str] = "channel-reductions"
    vector_bits: int = 256

    def run(self, module: ir.Operation) -> None:
        """Rewrite what is of this form below `module`."""
        rewrite_filled_reductions(module, _has_one_input, self._rewrite)

    def _rewrite(self, generic: ir.Operation, fill: ir.Operation) -> Group:
        initial = initial_of(fill)
        return emit_with_following(generic, fill, lambda group: self._emit(group, initial))

    def _emit(self, together: Joined, initial: ir.Value) -> bool:
        if together.is_in_place:
            return False
        nest, code = together.parts(collapsed(together.nest))
        companions = nest.outputs if code is None else code.accesses
        plan = self._plan(nest)
        if plan is None:
            return False
        if any(each.strides[plan.column_loops[0]] not in (0, 1) for each in companions):
            return False
        epilogue = TileEpilogue.of(plan, nest.outputs[0], code)
        _Emitter(nest, initial, epilogue).emit()
        return True

    def _plan(self, nest: LinearNest) -> TilePlan | None:
        x, out = nest.inputs[0], nest.outputs[0]
        columns = [
            number
            for number, loop in enumerate(nest.loops)
            if not loop.is_reduction and x.strides[number] == out.strides[number] == 1
        ]
        if x.is_scalar or len(columns) != 1:
            return None
        extent = nest.loops[columns[0]].extent
        lanes = self.vector_bits // (8 * ITEM_BYTES[str(x.element_type)])
        vectors = min(_MOST_VECTORS, extent // lanes)
        if not vectors:
            return None
        # As few as compute the columns in as many tiles.
        tiles = -(-extent // (vectors * lanes))
        vectors = min(vectors, -(-extent // (tiles * lanes)))
        return TilePlan(None, (columns[0],), 1, vectors, lanes, frozenset(), 0.0)


def _has_one_input(generic: ir.Operation) -> bool:
    return is_candidate(generic) and bool(generic.attributes["operandSegmentSizes"][0] == 1)


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
