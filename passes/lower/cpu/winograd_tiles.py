# SPDX-License-Identifier: MIT OR Apache-2.0
"""`winograd-tiles`: convolutions of 3 x 3 taps multiply less than half as often."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xyntra.dialects.dtypes import ITEM_BYTES
from xyntra.dialects.mlir import ir
from xyntra.passes.lower.cpu.convolution_tiles import is_candidate
from xyntra.passes.lower.cpu.filled_reductions import Group, rewrite_filled_reductions
from xyntra.passes.lower.cpu.padded_image import image_of
from xyntra.passes.lower.cpu.tile_plan import Registers
from xyntra.passes.lower.cpu.winograd_plan import WinogradPlan, plan_winograd
from xyntra.passes.lower.nests.epilogue import Joined, joined
from xyntra.passes.lower.nests.fills import initial_of
from xyntra.passes.lower.nests.following_elementwise import following_elementwise
from xyntra.passes.lower.nests.linear_nest import collapsed
from xyntra.passes.registry import register_pass


@register_pass
@dataclass(frozen=True)
class WinogradTiles:
    """Rewrite convolutions on memrefs with steps of 1 and constant weights by Winograd's algorithm.

    Applies to a linalg.generic over 3 x 3 taps and channels that sums products of an image with
    constant weights, channels innermost in the image and in the output, which is filled with one
    value right before. Left alone is what the direct kernel is estimated to do about as fast: few
    channels, few positions. Padding that is copied around the image is read as if it were there;
    what comes next and computes on the output element by element is done before it is stored.
    """

    name: ClassVar[str] = "winograd-tiles"
    vector_bits: int = 256
    vector_registers: int = 16

    def run(self, module: ir.Operation) -> None:
        """Rewrite what is of this form below `module`."""
        rewrite_filled_reductions(module, _has_taps, self._rewrite)

    def _rewrite(self, generic: ir.Operation, fill: ir.Operation) -> Group:
        following = following_elementwise(generic)
        group = [fill, generic, *([following] if following is not None else [])]
        with generic.context, generic.location, ir.InsertionPoint(group[-1]):
            together = joined(fill, generic, following)
            plan = None if together is None else self._plan(together, initial_of(fill))
            if together is None or plan is None:
                return ()
            from xyntra.passes.lower.cpu.winograd_emitter import WinogradEmitter

            image, copied = image_of(plan, generic)
            _, epilogue = together.parts(collapsed(together.nest))
            WinogradEmitter(plan, image, initial_of(fill), epilogue).emit()
        return group if copied is None else [copied.fill, copied.copy, *group]

    def _plan(self, together: Joined, initial: ir.Value) -> WinogradPlan | None:
        nest, epilogue = together.parts(collapsed(together.nest))
        companions = nest.outputs if epilogue is None else epilogue.accesses
        item_bytes = ITEM_BYTES[str(initial.type)]
        registers = Registers(self.vector_registers, self.vector_bits // (8 * item_bytes))
        return plan_winograd(nest, companions, registers, item_bytes, exact=together.is_in_place)


def _has_taps(generic: ir.Operation) -> bool:
    reductions = str(generic.attributes["iterator_types"]).count("reduction")
    return reductions == 3 and is_candidate(generic)
