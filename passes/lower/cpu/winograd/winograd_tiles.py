# SPDX-License-Identifier: MIT OR Apache-2.0
"""`winograd-tiles`: convolutions of 3 x 3 taps multiply less than half as often."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from xyntra.dialects.dtypes import ITEM_BYTES
from xyntra.dialects.mlir import ir
from xyntra.passes.lower.cpu.conv.convolution_tiles import is_candidate
from xyntra.passes.lower.cpu.machine import LoweringOptions
from xyntra.passes.lower.cpu.matmul.tile_plan import TilePlan
from xyntra.passes.lower.cpu.rows.filled_reductions import Filled, Reduction, filled
from xyntra.passes.lower.cpu.schedule.emitter import (
    EmitterSweep,
    NestEmitter,
    TileChoices,
    check_tile,
    emit_scheduled,
    require,
)
from xyntra.passes.lower.cpu.schedule.told import bad_schedule
from xyntra.passes.lower.cpu.winograd.padded_image import PaddedCopy, image_of, padded_copy
from xyntra.passes.lower.cpu.winograd.plan import (
    WinogradLoops,
    WinogradPlan,
    find_filter,
    plan_winograd,
    winograd_plans,
)
from xyntra.passes.registry import register_pass


@dataclass(frozen=True)
class WinogradChoices(TileChoices):
    """The choices of the Winograd emitter.

    Attributes:
        block: how many tiles of 2 x 2 outputs are transformed before they are multiplied.
        padding: whether a padded copy of the image is left out, and the image itself read.
    """

    block: int = 0
    padding: bool = False


class _WinogradTiles(NestEmitter):
    name = "winograd-tiles"
    choices = WinogradChoices

    def choose(self, place: Filled, machine: LoweringOptions) -> WinogradChoices | None:
        reduction = place.reduction(epilogue=place.following is not None)
        registers = machine.registers(place.initial.type)
        found = _filter(reduction, registers.lanes)
        if reduction is None or found is None:
            return None
        item_bytes = ITEM_BYTES[str(place.initial.type)]
        plan = plan_winograd(found, registers, item_bytes, exact=reduction.exact)
        return None if plan is None else _told(place, plan)

    def check(self, place: Filled, choices: WinogradChoices) -> None:
        reduction = place.checked(epilogue=choices.epilogue)
        found = _filter(reduction, choices.vector)
        if found is None:
            reason = f"{self.name} makes no code of this with vectors of {choices.vector} elements"
            raise bad_schedule(place.op, reason)
        check_tile(place, choices, found.tiles, found.columns)
        block, vector = choices.block, choices.vector
        require(0 < block <= found.tiles, place, "block", block, f"allowed are 1 to {found.tiles}")
        divides = not reduction.exact or found.columns % vector == 0
        require(divides, place, "vector", vector, f"allowed are divisors of {found.columns}")
        is_there = not choices.padding or _copied(place, found) is not None
        require(is_there, place, "padding", choices.padding, "there is none that can be left out")

    def group(self, place: Filled, choices: WinogradChoices) -> list[ir.Operation]:
        group = place.group(epilogue=choices.epilogue)
        found = _filter(place.reduction(epilogue=choices.epilogue), choices.vector)
        copied = _copied(place, found) if choices.padding and found is not None else None
        return group if copied is None else [copied.fill, copied.copy, *group]

    def emit(self, place: Filled, choices: WinogradChoices) -> None:
        reduction = place.reduction(epilogue=choices.epilogue, flat=True)
        found = _filter(reduction, choices.vector)
        if reduction is None or found is None:
            raise ValueError("the schedule has not been checked")
        from xyntra.passes.lower.cpu.winograd.emitter import WinogradEmitter

        rows, columns = choices.tile
        shape = (rows, columns // choices.vector, choices.vector)
        tile = TilePlan(None, (found.column,), *shape, frozenset(), 0.0)
        plan = WinogradPlan(**vars(found), tile=tile, block=choices.block)
        image = image_of(plan, _copied(place, found) if choices.padding else None)
        WinogradEmitter(plan, image, place.initial, reduction.code).emit()

    def space(self, place: Filled, machine: LoweringOptions) -> Iterator[WinogradChoices]:
        registers = machine.registers(place.initial.type)
        found = _filter(place.reduction(epilogue=place.following is not None), registers.lanes)
        if found is not None:
            for plan in winograd_plans(found, registers):
                yield _told(place, plan)


def _told(place: Filled, plan: WinogradPlan) -> WinogradChoices:
    tile, has_epilogue = plan.tile, place.following is not None
    has_padding = _copied(place, plan) is not None
    shape = (tile.rows, tile.columns)
    return WinogradChoices(shape, tile.lanes, has_epilogue, plan.block, has_padding)


def _filter(reduction: Reduction | None, lanes: int) -> WinogradLoops | None:
    if reduction is None:
        return None
    nest, code = reduction.nest, reduction.code
    return find_filter(nest, nest.outputs if code is None else code.accesses, lanes)


def _copied(place: Filled, found: WinogradLoops) -> PaddedCopy | None:
    return padded_copy(found, place.op, place.taken)


def _has_taps(generic: ir.Operation) -> bool:
    reductions = str(generic.attributes["iterator_types"]).count("reduction")
    return reductions == 3 and is_candidate(generic)


STAGE = EmitterSweep("winograd-tiles", filled(_has_taps), (_WinogradTiles(),))


@register_pass
@dataclass(frozen=True)
class WinogradTiles:
    """Rewrite convolutions on memrefs with steps of 1 and constant weights by Winograd's algorithm.

    Applies to a linalg.generic over 3 x 3 taps and channels that sums products of an image with
    constant weights, channels innermost in the image and in the output, which is filled with one
    value right before. `schedule-nests` leaves to the direct kernel what that is estimated to do
    about as fast: few channels, few positions. Padding that is copied around the image is read as
    if it were there; what comes next and computes on the output element by element is done before
    it is stored.
    """

    name: ClassVar[str] = "winograd-tiles"

    def run(self, module: ir.Operation) -> None:
        """Rewrite what is scheduled so below `module`."""
        emit_scheduled(module, STAGE)
