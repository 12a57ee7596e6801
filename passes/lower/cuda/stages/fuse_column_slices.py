# SPDX-License-Identifier: MIT OR Apache-2.0
"""`fuse-column-slices`: what takes up some columns of a contraction each joins its stage.

The product of activations with the weights of queries, keys and values side by side is such a one.
So is one operation that takes two columns at a time: a gate and what it multiplies (SwiGLU, GEGLU).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from xyntra.dialects.dtypes import ITEM_BYTES
from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.kernel_function import kernel_function
from xyntra.passes.lower.cuda.matmul.mma.plan import MmaPlan
from xyntra.passes.lower.cuda.matmul.select import (
    plan_on_tensor_cores,
    plan_on_warpgroups,
    takes_slices,
    time_on_warps,
)
from xyntra.passes.lower.gpu.contraction.group import ContractionGroup, Slice
from xyntra.passes.lower.gpu.contraction.slices import pairing_of, slice_of
from xyntra.passes.lower.gpu.device import DEFAULT, GpuDevice, device_of
from xyntra.passes.lower.gpu.stages.launch_groups import is_nest
from xyntra.passes.lower.gpu.stages.stage import Stage, merge_stages, stages_of, tidy
from xyntra.passes.lower.loops.linear_nest import linear_nest
from xyntra.passes.lower.loops.memrefs import is_private, root, span, touched_by, written_by
from xyntra.passes.lower.loops.vector_body import is_vectorizable
from xyntra.passes.registry import register_pass

_WIDTH = 64  # columns: slices start at multiples of it
_LAUNCH = 2.0  # microseconds of what would follow in a launch of its own, at least
_RATE = 3e6  # bytes in a microsecond, that it would read of what the contraction wrote


@register_pass
@dataclass(frozen=True)
class FuseColumnSlices:
    """Join contractions with several operations behind them that each take up some columns.

    Or with one that reads two columns of each row at a time, a fixed distance apart.
    """

    name: ClassVar[str] = "fuse-column-slices"
    device: str = DEFAULT
    """What the code is for, by its name in the table of devices."""

    def run(self, module: ir.Operation) -> None:
        """Rewrite the kernel of `module`."""
        device = device_of(self.device)
        function = kernel_function(module)
        stages = stages_of(function)
        joined = []
        for number, stage in enumerate(stages):
            group = stage.contraction
            if group is None or group.slices or group.pairing:
                continue
            followers = _followers([each for each in stages[number:] if each not in joined])
            if not followers:
                continue
            if _fit(group, followers, device) or _is_paired(group, followers, device):
                joined += [stage, *followers[:-1]]
                merge_stages([stage, *followers])
        tidy(function)


def _followers(stages: Sequence[Stage]) -> list[Stage]:
    """Return the stages that read what the first one computes; none for others.

    Loops between them that have nothing to do with it may stay where they are.
    """
    contraction = stages[0].operations[-1]
    memory = root(contraction.operands[-1])
    members, found = list(stages[0].operations), []
    for stage in stages[1:]:
        if _is_elementwise(stage) and memory in map(root, _inputs(stage.operations[0])):
            members += stage.operations
            found.append(stage)
        elif not all(map(is_nest, stage.operations)) or _depend(stage.operations, members):
            return []
        if is_private(memory, members):
            return found
    return []


def _depend(one: Sequence[ir.Operation], other: Sequence[ir.Operation]) -> bool:
    """Tell whether some operations write what others read or write, or the other way around."""
    touched, others = ({root(v) for op in each for v in touched_by(op)} for each in (one, other))
    written, produced = ({root(v) for op in each for v in written_by(op)} for each in (one, other))
    return bool(written & others or touched & produced)


def _is_elementwise(stage: Stage) -> bool:
    if len(stage.operations) != 1 or not is_nest(stage.operations[0]):
        return False
    op = stage.operations[0]
    return "reduction" not in str(op.attributes["iterator_types"]) and is_vectorizable(
        op.regions[0].blocks[0]
    )


def _inputs(op: ir.Operation) -> list[ir.Value]:
    values = list(op.operands)[: op.attributes["operandSegmentSizes"][0]]
    return [value for value in values if isinstance(value.type, ir.MemRefType)]


def _fit(group: ContractionGroup, followers: Sequence[Stage], device: GpuDevice) -> bool:
    """Tell whether a contraction can be followed by `followers`, each for columns of its own."""
    if group.epilogue is not None or not takes_slices(group, device):
        return False
    slices = [slice_of(group, linear_nest(each.operations[0])) for each in followers]
    known = tuple(each for each in slices if each is not None)
    if len(known) < len(slices) or not _are_side_by_side(group, known):
        return False
    return takes_slices(replace(group, slices=known), device)


def _is_paired(group: ContractionGroup, followers: Sequence[Stage], device: GpuDevice) -> bool:
    """Tell whether a contraction can be followed by what takes two of its columns at a time."""
    if len(followers) != 1:
        return False
    pairing = pairing_of(group, linear_nest(followers[0].operations[0]))
    if pairing is None or group.windows:
        return False
    paired = plan_on_warpgroups(replace(group, epilogue=None, pairing=pairing), device)
    apart = plan_on_tensor_cores(group, device)
    if paired is None or apart is None:
        return False
    time = time_on_warps(apart) if isinstance(apart, MmaPlan) else apart.microseconds
    between = group.nest.outputs[0]
    moved = span(between.value) * ITEM_BYTES[str(between.element_type)]
    return paired.microseconds <= time + _LAUNCH + moved / _RATE


def _are_side_by_side(group: ContractionGroup, slices: Sequence[Slice]) -> bool:
    place = 0
    for each in sorted(slices, key=lambda each: each.start):
        if each.start != place or place % _WIDTH:
            return False
        place += each.columns
    return place == group.nest.loops[group.roles.columns[-1]].extent
