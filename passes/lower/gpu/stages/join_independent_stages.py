# SPDX-License-Identifier: MIT OR Apache-2.0
"""`join-independent-stages`: elementwise stages that have nothing to do with each other are one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.kernel_function import kernel_function
from xyntra.passes.lower.gpu.device import DEFAULT, GpuDevice, device_of
from xyntra.passes.lower.gpu.elementwise.side_by_side import side_by_side_length
from xyntra.passes.lower.gpu.stages.launch_groups import is_nest
from xyntra.passes.lower.gpu.stages.stage import Stage, merge_stages, stages_of, tidy
from xyntra.passes.lower.loops.linear_nest import LinearNest, linear_nest
from xyntra.passes.lower.loops.memrefs import root, touched_by, written_by
from xyntra.passes.registry import register_pass


@register_pass
@dataclass(frozen=True)
class JoinIndependentStages:
    """Join neighbouring stages of elementwise operations that may run in any order.

    Such are the halves of queries and keys that are rotated behind a product or before attention.
    `form-stages` leaves what follows a contraction apart, since it may become part of its launch;
    this comes after the passes that decide so.
    """

    name: ClassVar[str] = "join-independent-stages"
    device: str = DEFAULT
    """What the code is for, by its name in the table of devices."""

    def run(self, module: ir.Operation) -> None:
        """Rewrite the kernel of `module`."""
        function, device = kernel_function(module), device_of(self.device)
        members: list[Stage] = []
        nests: list[LinearNest] = []
        for stage in _in_levels(stages_of(function)):
            own = _elementwise(stage)
            if own and _are_independent([*nests, *own], device):
                members.append(stage)
                nests += own
                continue
            _join(members)
            starts = bool(own) and _are_independent(own, device)
            members, nests = ([stage], own) if starts else ([], [])
        _join(members)
        tidy(function)


def _in_levels(stages: list[Stage]) -> list[Stage]:
    """Put stages that nothing keeps apart beside each other, where all stages are loops.

    Each comes behind those alone whose memory it has to do with: the reductions of several pools,
    say, before all that reads their results.
    """
    if len(stages) < 3 or not all(stage.is_loops for stage in stages):
        return stages
    touched = [
        {root(each) for op in stage.operations for each in touched_by(op)} for stage in stages
    ]
    written = [
        {root(each) for op in stage.operations for each in written_by(op)} for stage in stages
    ]
    levels: list[int] = []
    for number in range(len(stages)):
        before = [
            levels[other]
            for other in range(number)
            if written[other] & touched[number] or touched[other] & written[number]
        ]
        levels.append(1 + max(before, default=-1))
    order = sorted(range(len(stages)), key=levels.__getitem__)
    if order == list(range(len(stages))):
        return stages
    last = stages[-1].op
    for number in order:
        if stages[number].op != last:
            stages[number].op.move_before(last)
    if order[-1] != len(stages) - 1:
        last.move_before(stages[order[order.index(len(stages) - 1) + 1]].op)
    return [stages[number] for number in order]


def _join(members: list[Stage]) -> None:
    if len(members) > 1:
        merge_stages(members)


def _elementwise(stage: Stage) -> list[LinearNest]:
    """Return the nests of a stage without reductions; none for other stages."""
    if not stage.is_loops or not all(map(is_nest, stage.operations)):
        return []
    return [linear_nest(op) for op in stage.operations]


def _are_independent(nests: list[LinearNest], device: GpuDevice) -> bool:
    return side_by_side_length(nests, device) == len(nests)
