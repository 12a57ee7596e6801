# SPDX-License-Identifier: MIT OR Apache-2.0
"""`convolution-tiles`: convolutions with channels innermost keep tiles in vector registers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from xyntra.dialects.dtypes import ITEM_BYTES
from xyntra.dialects.mlir import ir
from xyntra.passes.lower.cpu.convolution_plan import plan_convolution, reordered
from xyntra.passes.lower.cpu.filled_reductions import (
    Group,
    emit_with_following,
    rewrite_filled_reductions,
)
from xyntra.passes.lower.cpu.tile_plan import Registers
from xyntra.passes.lower.nests.epilogue import Epilogue, Joined
from xyntra.passes.lower.nests.fills import initial_of
from xyntra.passes.lower.nests.linear_nest import LinearNest, collapsed, is_linear
from xyntra.passes.lower.nests.vector_body import is_vectorizable
from xyntra.passes.registry import register_pass

_MATRIX_LOOPS = 3


@register_pass
@dataclass(frozen=True)
class ConvolutionTiles:
    """Rewrite convolutions on memrefs whose output channels are innermost as register tiles.

    Applies to a linalg.generic that sums products of an input with constant weights, whose output
    is filled with one value right before; a product of two matrices is left to `register-tiles`.
    Output positions are the rows of a tile, channels its columns; the weights are brought into that
    order when the model is loaded. What comes next and computes on the output element by element is
    done to a tile before it is stored.
    """

    name: ClassVar[str] = "convolution-tiles"
    vector_bits: int = 256
    vector_registers: int = 16

    def run(self, module: ir.Operation) -> None:
        """Rewrite what is of this form below `module`."""
        rewrite_filled_reductions(module, is_candidate, self._rewrite)

    def _rewrite(self, generic: ir.Operation, fill: ir.Operation) -> Group:
        initial = initial_of(fill)
        return emit_with_following(generic, fill, lambda group: self._emit(group, initial))

    def _emit(self, together: Joined, initial: ir.Value) -> bool:
        nest, epilogue = together.parts(collapsed(together.nest))
        if _is_plain_product(nest):
            return False
        companions = nest.outputs if epilogue is None else epilogue.accesses
        item_bytes = ITEM_BYTES[str(initial.type)]
        registers = Registers(self.vector_registers, self.vector_bits // (8 * item_bytes))
        plan = plan_convolution(nest, companions, registers, exact=together.is_in_place)
        if plan is None:
            return False
        from xyntra.passes.lower.cpu.convolution_emitter import ConvolutionEmitter

        code = None if epilogue is None else _reordered(epilogue, plan.order)
        ConvolutionEmitter(plan, initial, code).emit()
        return True


def _reordered(code: Epilogue, order: Sequence[int]) -> Epilogue:
    """Return `code` for loops in another order."""
    return replace(
        code,
        inputs=tuple(None if each is None else reordered(each, order) for each in code.inputs),
        outputs=tuple(reordered(each, order) for each in code.outputs),
        result=None if code.result is None else reordered(code.result, order),
    )


def _is_plain_product(nest: LinearNest) -> bool:
    """Tell whether `nest` multiplies two matrices, for which `register-tiles` has its blocks."""
    return len(nest.loops) <= _MATRIX_LOOPS and len(nest.reductions) == 1


def is_candidate(generic: ir.Operation) -> bool:
    """Tell whether `generic` reduces floats of one type into one output, by arithmetic alone."""
    if str(generic.attributes["iterator_types"]).count("reduction") < 1:
        return False
    if generic.attributes["operandSegmentSizes"][1] != 1 or not is_linear(generic):
        return False
    body = generic.regions[0].blocks[0]
    kinds = {str(argument.type) for argument in body.arguments}
    return len(kinds) == 1 and kinds <= {"f32", "f64"} and is_vectorizable(body)
