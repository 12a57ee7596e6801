# SPDX-License-Identifier: MIT OR Apache-2.0
"""Lets convolutions and pooling read images that would be padded for them alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from xyntra.dialects.mlir import ir
from xyntra.passes.lower.cuda.contraction.fma_plan import FmaPlan
from xyntra.passes.lower.cuda.contraction.group import ContractionGroup
from xyntra.passes.lower.cuda.contraction.implicit_padding import (
    Padding,
    padding_of,
    unpadded,
)
from xyntra.passes.lower.cuda.contraction.mma_plan import MmaPlan
from xyntra.passes.lower.cuda.contraction.pooling import pooling_of
from xyntra.passes.lower.cuda.contraction.roles import Roles
from xyntra.passes.lower.cuda.contraction.select import plan_on_cores, plan_on_warps
from xyntra.passes.lower.cuda.stages import Stage
from xyntra.passes.lower.gpu.device import Device
from xyntra.passes.lower.nests.epilogue import Epilogue
from xyntra.passes.lower.nests.fills import is_arithmetic_reduction
from xyntra.passes.lower.nests.linear_nest import Access
from xyntra.passes.lower.nests.memrefs import written_by


def without_padding(stages: Sequence[Stage], device: Device) -> list[Stage]:
    """Return `stages` with those marked needless that only pad an image for one contraction.

    Args:
        stages: of a kernel, in order.
        device: that the code is for.
    """
    found = list(stages)
    work = [op for stage in stages for op in stage.operations]
    for number, stage in enumerate(stages):
        made = _unpadded(stage, work, device)
        if made is None:
            continue
        padding, reading = made
        makers = [
            place
            for place, each in enumerate(found)
            if any(op in padding.operations for op in each.operations)
        ]
        if all(op in padding.operations for place in makers for op in found[place].operations):
            found[number] = replace(stage, contraction=reading)
            for place in makers:
                found[place] = replace(found[place], is_needless=True)
    return found


def _unpadded(
    stage: Stage, work: Sequence[ir.Operation], device: Device
) -> tuple[Padding, ContractionGroup] | None:
    """Return what one factor was padded from, and the contraction that reads that instead."""
    group = stage.contraction
    if group is None:
        return None
    contraction = next(op for op in stage.operations if is_arithmetic_reduction(op))
    written = [value for op in stage.operations for value in written_by(op)]
    pooling = pooling_of(group)
    if pooling is not None:
        padding = padding_of(work, contraction, pooling.image, written)
        reading = None if padding is None else _reading(group, pooling.image, padding)
        can = reading is not None and pooling_of(reading) is not None
        return (padding, reading) if padding is not None and reading is not None and can else None
    plan = _plan(group, device)
    if plan is None:
        return None
    for factor in (group.roles.left, group.roles.right):
        padding = padding_of(work, contraction, factor, written)
        if padding is None or not padding.is_zero:
            continue
        reading = _reading(group, factor, padding)
        around = None if reading is None else _plan(reading, device)
        if reading is None or around is None:
            continue
        # An image in another order is better brought into this one, once, by the copy.
        before, after = plan.factor(factor), around.factor(factor)
        if after.neighbours >= before.neighbours and after.runs_deep == before.runs_deep:
            return padding, reading
    return None


def _plan(group: ContractionGroup, device: Device) -> MmaPlan | FmaPlan | None:
    """Return how a contraction is computed, if by something that can read around padding."""
    return plan_on_warps(group, device) or plan_on_cores(group, device)


def _reading(group: ContractionGroup, factor: int, padding: Padding) -> ContractionGroup | None:
    """Return `group` with the image as one of its factors; None where that cannot be read."""
    found = unpadded(group.nest, factor, padding)
    roles = None if found is None else Roles.of(found.nest)
    if found is None or roles is None:
        return None
    epilogue = group.epilogue
    for loop, inner in found.splits:
        epilogue = _split(epilogue, loop, inner)
    return replace(
        group,
        nest=found.nest,
        roles=roles,
        epilogue=epilogue,
        image=factor,
        windows=found.windows,
        outside=padding.value,
    )


def _split(epilogue: Epilogue | None, loop: int, inner: int) -> Epilogue | None:
    """Return `epilogue` for a nest with `loop` as two, the second of `inner` iterations."""
    if epilogue is None:
        return None

    def cut(access: Access) -> Access:
        own = access.strides[loop]
        strides = (*access.strides[:loop], own * inner, own, *access.strides[loop + 1 :])
        return replace(access, strides=strides)

    return replace(
        epilogue,
        inputs=tuple(None if each is None else cut(each) for each in epilogue.inputs),
        outputs=tuple(map(cut, epilogue.outputs)),
        result=None if epilogue.result is None else cut(epilogue.result),
    )
