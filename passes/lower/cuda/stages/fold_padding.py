# SPDX-License-Identifier: MIT OR Apache-2.0
"""`fold-padding`: convolutions and pooling read images that would be padded for them alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from xyntra.dialects.mlir import ir
from xyntra.passes.lower.cuda.contraction.fma_plan import FmaPlan
from xyntra.passes.lower.cuda.contraction.mma_plan import MmaPlan
from xyntra.passes.lower.cuda.contraction.select import plan_on_cores, plan_on_warps
from xyntra.passes.lower.gpu.contraction.group import ANCHOR, ContractionGroup
from xyntra.passes.lower.gpu.contraction.implicit_padding import Padding, padding_of
from xyntra.passes.lower.gpu.contraction.unpadded import reading
from xyntra.passes.lower.gpu.conv.choice import is_windowed
from xyntra.passes.lower.gpu.conv.pooling import pooling_of
from xyntra.passes.lower.gpu.conv.sliding import sliding_windows
from xyntra.passes.lower.gpu.device import DEFAULT, Device, device_of
from xyntra.passes.lower.gpu.stages.stage import Stage, stages_of, tidy
from xyntra.passes.lower.nests.kernel_function import kernel_function
from xyntra.passes.lower.nests.memrefs import written_by
from xyntra.passes.registry import register_pass


@register_pass
@dataclass(frozen=True)
class FoldPadding:
    """Move what pads an image for one contraction into its stage, which then need not do it.

    The contraction reads the image itself, and takes the value of the padding for what lies
    outside.
    """

    name: ClassVar[str] = "fold-padding"
    device: str = DEFAULT
    """What the code is for, by its name in the table of devices."""

    def run(self, module: ir.Operation) -> None:
        """Rewrite the kernel of `module`."""
        device = device_of(self.device)
        function = kernel_function(module)
        stages = stages_of(function)
        work = [op for stage in stages for op in stage.operations]
        for stage in stages:
            padding = _foldable(stage, work, device)
            if padding is None:
                continue
            makers = [
                each for each in stages if any(op in padding.operations for op in each.operations)
            ]
            if all(op in padding.operations for each in makers for op in each.operations):
                for op in padding.operations:
                    op.move_before(stage.operations[0])
        tidy(function)


def _foldable(stage: Stage, work: Sequence[ir.Operation], device: Device) -> Padding | None:
    """Return what pads a factor of the stage's contraction, if that can read around it."""
    group = stage.contraction
    if group is None or group.windows:
        return None
    contraction = next(op for op in stage.operations if ANCHOR in op.attributes)
    written = [value for op in stage.operations for value in written_by(op)]
    pooling = pooling_of(group)
    if pooling is not None:
        padding = padding_of(work, contraction, pooling.image, written)
        around = None if padding is None else reading(group, pooling.image, padding)
        return padding if around is not None and pooling_of(around) is not None else None
    windows = sliding_windows(group)
    if windows is not None:
        padding = padding_of(work, contraction, windows.image, written)
        around = None if padding is None else reading(group, windows.image, padding)
        if around is not None and is_windowed(around):
            return padding
    plan = _plan(group, device)
    if plan is None:
        return None
    for factor in (group.roles.left, group.roles.right):
        padding = padding_of(work, contraction, factor, written)
        if padding is None or not padding.is_zero:
            continue
        found = reading(group, factor, padding)
        other = None if found is None else _plan(found, device)
        if other is None:
            continue
        # An image in another order is better brought into this one, once, by the copy.
        before, after = plan.factor(factor), other.factor(factor)
        if after.neighbours >= before.neighbours and after.runs_deep == before.runs_deep:
            return padding
    return None


def _plan(group: ContractionGroup, device: Device) -> MmaPlan | FmaPlan | None:
    """Return how a contraction is computed, if by something that can read around padding."""
    return plan_on_warps(group, device) or plan_on_cores(group, device)
