# SPDX-License-Identifier: MIT OR Apache-2.0
"""`register-tiles`: contractions keep a tile of their output in vector registers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xyntra.dialects.dtypes import ITEM_BYTES
from xyntra.dialects.mlir import ir
from xyntra.passes.lower.cpu.epilogue import with_epilogue
from xyntra.passes.lower.cpu.following_elementwise import following_elementwise
from xyntra.passes.lower.cpu.kernel_function import operations_named, terminator
from xyntra.passes.lower.cpu.linear_nest import collapsed, is_linear, linear_nest
from xyntra.passes.lower.cpu.panels import with_blocks
from xyntra.passes.lower.cpu.tile_emitter import TileEmitter
from xyntra.passes.lower.cpu.tile_plan import Registers, plan_tiles
from xyntra.passes.lower.cpu.vector_body import is_vectorizable
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
        waiting = operations_named(module, "linalg.generic")
        while waiting:
            generic = waiting.pop(0)
            if _is_candidate(generic):
                self._rewrite(generic, waiting)

    def _rewrite(self, generic: ir.Operation, waiting: list[ir.Operation]) -> None:
        fill = _fill_before(generic)
        if fill is None:
            return
        initial = terminator(fill.regions[0].blocks[0]).operands[0]
        if initial == fill.regions[0].blocks[0].arguments[0]:
            initial = fill.operands[0]
        following = following_elementwise(generic)
        if following is not None and self._emit_both(fill, generic, following, initial):
            waiting.remove(following)
            following.erase()
        elif not self._emit(generic, initial):
            return
        generic.erase()
        fill.erase()

    def _emit_both(
        self,
        fill: ir.Operation,
        generic: ir.Operation,
        following: ir.Operation,
        initial: ir.Value,
    ) -> bool:
        with generic.context:
            joined = with_epilogue(fill, generic, following)
        if joined is None:
            return False
        nest, epilogue = joined
        with generic.context, generic.location, ir.InsertionPoint(following):
            registers, item_bytes = self._registers(initial.type)
            exact = epilogue.is_in_place
            plan = plan_tiles(nest, registers, item_bytes, epilogue.accesses, exact=exact)
            if plan is None:
                return False
            alone = collapsed(linear_nest(generic))
            free = plan_tiles(alone, registers, item_bytes)
            if free is None or plan.cost > _MAX_SLOWDOWN * free.cost:
                return False
            TileEmitter(nest, with_blocks(plan, nest, item_bytes), initial, epilogue).emit()
        return True

    def _emit(self, generic: ir.Operation, initial: ir.Value) -> bool:
        with generic.context, generic.location, ir.InsertionPoint(generic):
            nest = collapsed(linear_nest(generic))
            registers, item_bytes = self._registers(initial.type)
            plan = plan_tiles(nest, registers, item_bytes)
            if plan is None:
                return False
            TileEmitter(nest, with_blocks(plan, nest, item_bytes), initial).emit()
        return True

    def _registers(self, element: ir.Type) -> tuple[Registers, int]:
        item_bytes = ITEM_BYTES[str(element)]
        return Registers(self.vector_registers, self.vector_bits // (8 * item_bytes)), item_bytes


def _is_candidate(generic: ir.Operation) -> bool:
    if "reduction" not in str(generic.attributes["iterator_types"]):
        return False
    if generic.attributes["operandSegmentSizes"][1] != 1 or not is_linear(generic):
        return False
    element = str(ir.MemRefType(generic.operands[-1].type).element_type)
    body = generic.regions[0].blocks[0]
    return element in ITEM_BYTES and element != "i1" and is_vectorizable(body)


def _fill_before(generic: ir.Operation) -> ir.Operation | None:
    """Return the fill of `generic`'s output that directly precedes it, as far as memory goes."""
    output = generic.operands[-1]
    found = None
    for view in generic.parent.regions[0].blocks[0].operations:
        op = view.operation
        if op == generic:
            return found
        if _is_fill(op) and op.operands[-1] == output:
            found = op
        elif found is not None and _may_touch_memory(op):
            found = None
    return None


def _is_fill(op: ir.Operation) -> bool:
    if op.name != "linalg.generic" or len(op.operands) > 2:
        return False
    inputs = list(op.operands)[:-1]
    if any(isinstance(value.type, ir.MemRefType) for value in inputs):
        return False
    body = op.regions[0].blocks[0]
    if len(list(body.operations)) != 1:
        return False
    yielded = terminator(body).operands[0]
    return yielded != body.arguments[len(inputs)] and "reduction" not in str(
        op.attributes["iterator_types"]
    )


def _may_touch_memory(op: ir.Operation) -> bool:
    return op.name not in ("arith.constant", "memref.alloc") and not op.name.startswith(
        ("memref.subview", "memref.expand", "memref.collapse", "memref.reinterpret")
    )
