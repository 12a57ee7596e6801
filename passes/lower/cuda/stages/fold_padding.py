# SPDX-License-Identifier: MIT OR Apache-2.0
"""`fold-padding`: convolutions and pooling read images that would be padded for them alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.kernel_function import kernel_function
from xyntra.passes.lower.cuda.matmul.fma.plan import FmaPlan
from xyntra.passes.lower.cuda.matmul.mma.plan import MmaPlan
from xyntra.passes.lower.cuda.matmul.select import plan_on_cores, plan_on_warps
from xyntra.passes.lower.gpu.contraction.group import ANCHOR, ContractionGroup
from xyntra.passes.lower.gpu.contraction.implicit_padding import Padding, padding_of
from xyntra.passes.lower.gpu.contraction.unpadded import reading
from xyntra.passes.lower.gpu.conv.choice import is_windowed
from xyntra.passes.lower.gpu.conv.pooling import pooling_of
from xyntra.passes.lower.gpu.conv.sliding import sliding_windows
from xyntra.passes.lower.gpu.device import DEFAULT, GpuDevice, device_of
from xyntra.passes.lower.gpu.emitters.contractions import told_windows
from xyntra.passes.lower.gpu.matmul.staging import contiguous_lanes, runs_deep
from xyntra.passes.lower.gpu.stages.generalize_copies import copying
from xyntra.passes.lower.gpu.stages.stage import Stage, stages_of, tidy
from xyntra.passes.lower.loops.memrefs import allocate, written_by
from xyntra.passes.lower.tensor.row_major import row_major_steps
from xyntra.passes.registry import register_pass


@register_pass
@dataclass(frozen=True)
class FoldPadding:
    """Move what pads an image for one contraction into its stage, which then need not do it.

    The contraction reads the image itself, and takes the value of the padding for what lies
    outside. An image that is computed, or copied from another order, is written without padding.
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
            turned = _foldable(stage, work, device, in_order=True) if padding is None else None
            found = padding or turned
            if found is None:
                continue
            makers = [
                each for each in stages if any(op in found.operations for op in each.operations)
            ]
            if all(op in found.operations for each in makers for op in each.operations):
                first = stage.operations[0]
                for op in found.operations if turned is None else _brought_in_order(turned, stage):
                    op.move_before(first)
        tidy(function)


def _brought_in_order(padding: Padding, stage: Stage) -> tuple[ir.Operation, ir.Operation]:
    """Let an image be written in order without its padding; return what pads it from there."""
    fill, copy = padding.operations
    last = len(copy.operands) - 1
    middle = copy.operands[last]
    maker = copy.parent
    with copy.location, ir.InsertionPoint(maker):
        image = allocate(padding.sizes, ir.MemRefType(middle.type).element_type)
    with copy.location, ir.InsertionPoint(stage.operations[0]):
        pads = copying(image, middle)
    copy.operands[last] = image
    return fill, pads


def _foldable(
    stage: Stage, work: Sequence[ir.Operation], device: GpuDevice, *, in_order: bool = False
) -> Padding | None:
    """Return what pads a factor of the stage's contraction, if that can read around it.

    Args:
        stage: the stage.
        work: all that the kernel computes, in order.
        device: that the code is for.
        in_order: the image has first been computed, or brought in the order of what is padded.
    """
    group = stage.contraction
    if group is None or group.windows:
        return None
    contraction = next(op for op in stage.operations if ANCHOR in op.attributes)
    written = [value for op in stage.operations for value in written_by(op)]
    pooling = None if in_order else pooling_of(group)
    if pooling is not None:
        padding = padding_of(work, contraction, pooling.image, written)
        around = None if padding is None else reading(group, pooling.image, padding)
        return padding if around is not None and pooling_of(around) is not None else None
    windows = None if in_order else sliding_windows(group)
    if windows is not None:
        padding = padding_of(work, contraction, windows.image, written)
        around = None if padding is None else reading(group, windows.image, padding)
        if around is not None and is_windowed(around):
            return padding
    plan = _plan(group, device)
    if plan is None:
        return None
    made = in_order and pooling_of(group) is None and sliding_windows(group) is None
    for factor in (group.roles.left, group.roles.right):
        padding = padding_of(work, contraction, factor, written, made=made)
        if padding is None or not padding.is_zero:
            continue
        found = reading(group, factor, _in_order(padding) if in_order else padding)
        other = None if found is None else _plan(found, device)
        if other is None:
            continue
        # An image in another order is better brought into this one, once, by the copy.
        before, after = plan.factor(factor), other.factor(factor)
        if after.contiguous >= before.contiguous and after.runs_deep == before.runs_deep:
            return padding
    return None


def _in_order(padding: Padding) -> Padding:
    """Return `padding` of an image that lies in the order of what is padded."""
    image = replace(padding.image, offset=0, strides=tuple(row_major_steps(padding.sizes)))
    return replace(padding, image=image)


@dataclass(frozen=True)
class _ThreadsFactor:
    """How threads read a factor of a contraction: so many elements at once, and along steps."""

    contiguous: int
    runs_deep: bool


@dataclass(frozen=True)
class _ThreadsPlan:
    """A contraction in tiles of any type, which every GPU computes."""

    group: ContractionGroup

    def factor(self, number: int) -> _ThreadsFactor:
        """Return how a factor is read."""
        nest, roles = self.group.nest, self.group.roles
        access = nest.inputs[number]
        loops = roles.rows if number == roles.left else roles.columns
        deep = runs_deep(access, loops, roles.reductions)
        fast = (roles.reductions if deep or not loops else loops)[-1]
        windows = self.group.windows if number == self.group.image else ()
        return _ThreadsFactor(contiguous_lanes(nest, access, fast, windows), deep)


def _plan(group: ContractionGroup, device: GpuDevice) -> MmaPlan | FmaPlan | _ThreadsPlan | None:
    """Return how a contraction is computed, if by something that can read around padding."""
    plan = plan_on_warps(group, device) or plan_on_cores(group, device)
    if plan is not None or told_windows(group, device) is not None:
        return plan
    is_simt = bool(group.roles.columns) and not (group.slices or group.pairing)
    return _ThreadsPlan(group) if is_simt else None
