# SPDX-License-Identifier: MIT OR Apache-2.0
"""`register-tiles`: contractions keep a tile of their output in vector registers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xyntra.dialects.dtypes import ITEM_BYTES
from xyntra.dialects.mlir import ir
from xyntra.passes.lower.cpu.filled_reductions import Group, rewrite_filled_reductions
from xyntra.passes.lower.cpu.preceding_nests import preceding_nests
from xyntra.passes.lower.cpu.streamed_product import StreamedProduct
from xyntra.passes.lower.cpu.tile_emitter import TileEmitter
from xyntra.passes.lower.cpu.tile_plan import Registers, plan_tiles
from xyntra.passes.lower.nests.epilogue import Joined, joined
from xyntra.passes.lower.nests.fills import initial_of, is_arithmetic_reduction
from xyntra.passes.lower.nests.following_elementwise import following_elementwise
from xyntra.passes.lower.nests.linear_nest import (
    LinearNest,
    collapsed,
    linear_nest,
)
from xyntra.passes.lower.nests.loop_builder import Position, nested_loops
from xyntra.passes.lower.nests.prepared_operands import is_constant
from xyntra.passes.lower.nests.row_group import aligned, shared_loops, with_row_buffers
from xyntra.passes.lower.nests.scalar_nest import emit_nest, is_scalar_code
from xyntra.passes.registry import register_pass

_MAX_SLOWDOWN = 1.1  # of a contraction whose tiles suit what follows, against the best tiles


@register_pass
@dataclass(frozen=True)
class RegisterTiles:
    """Rewrite matrix products and convolutions on memrefs as register tiles.

    Applies to a linalg.generic with reductions, linear accesses and a purely arithmetic body, whose
    output is filled with one value right before; the fill disappears. What comes next and computes
    on the output element by element is done to a tile before it is stored. What does not fit, or
    would not gain, is left to plain loops.
    """

    name: ClassVar[str] = "register-tiles"
    vector_bits: int = 256
    vector_registers: int = 16

    def run(self, module: ir.Operation) -> None:
        """Rewrite what is worth it below `module`."""
        rewrite_filled_reductions(module, is_arithmetic_reduction, self._rewrite)

    def _rewrite(self, generic: ir.Operation, fill: ir.Operation) -> Group:
        initial = initial_of(fill)
        if self._stream(generic, initial):
            return fill, generic
        following = following_elementwise(generic)
        producers = preceding_nests(fill, generic, following)
        for after in [following, None] if following is not None else [None]:
            with generic.context:
                together = joined(fill, generic, after)
            for before in [producers, []] if producers else [[]]:
                group = [*before, fill, generic, *([after] if after is not None else [])]
                if together is not None and self._emit(group, len(before), together, initial):
                    return group
        return ()

    def _emit(
        self, group: list[ir.Operation], before: int, together: Joined, initial: ir.Value
    ) -> bool:
        """Emit the operations of `group`, of which the first `before` make what the tiles read."""
        generic = group[before + 1]
        with generic.context, generic.location, ir.InsertionPoint(group[-1]):
            nests = [*(linear_nest(op) for op in group[:before]), together.nest]
            count = 0
            if before:
                nests = aligned(nests)
                count = shared_loops(nests)
            registers, item_bytes = self._registers(initial.type)
            alone = collapsed(linear_nest(generic))
            free = plan_tiles(alone, registers, item_bytes, constant=_constants(alone))
            nest, epilogue = together.parts(collapsed(nests[-1], fixed=count))
            companions = () if epilogue is None else epilogue.accesses
            plan = plan_tiles(
                nest,
                registers,
                item_bytes,
                companions,
                exact=together.is_in_place,
                fixed=count,
                constant=_constants(nest),
            )
            if plan is None or free is None or plan.cost > _MAX_SLOWDOWN * free.cost:
                return False
            if before and not count:
                return False
            if before:
                nests = with_row_buffers(nests, count, group)
                nest, epilogue = together.parts(collapsed(nests[-1], fixed=count))
            emitter = TileEmitter(nest, plan, initial, epilogue)
            rows = [collapsed(each, fixed=count) for each in nests[:-1]]
            loops = [(number, loop.extent) for number, loop in enumerate(nest.loops[:count])]

            def emit_row(position: Position) -> None:
                for each in rows:
                    emit_nest(each, position)
                emitter.emit(position)

            nested_loops(loops, {}, emit_row, parallel=True)
        return True

    def _stream(self, generic: ir.Operation, initial: ir.Value) -> bool:
        """Emit `generic` as a product that is bound by reading a matrix, where it is one."""
        with generic.context, generic.location, ir.InsertionPoint(generic):
            nest = collapsed(linear_nest(generic))
            if _constants(nest) or not is_scalar_code(nest.body):
                return False
            registers, item_bytes = self._registers(initial.type)
            found = StreamedProduct.of(nest, registers.lanes, item_bytes)
            if found is not None:
                found.emit(initial)
        return found is not None

    def _registers(self, element: ir.Type) -> tuple[Registers, int]:
        item_bytes = ITEM_BYTES[str(element)]
        return Registers(self.vector_registers, self.vector_bits // (8 * item_bytes)), item_bytes


def _constants(nest: LinearNest) -> frozenset[int]:
    return frozenset(i for i, access in enumerate(nest.inputs) if is_constant(access))
