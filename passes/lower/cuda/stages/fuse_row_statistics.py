# SPDX-License-Identifier: MIT OR Apache-2.0
"""`fuse-row-statistics`: what belongs to the rows of a contraction's result joins its stage.

That is what gives its epilogues values of each row (`row_values`), and what adds up parts of the
rows that it writes (`row_partials`). Both are small; as launches of their own they would take as
long as a small product.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.kernel_function import kernel_function
from xyntra.passes.lower.cuda.matmul.select import takes_rows
from xyntra.passes.lower.gpu.contraction.group import ContractionGroup
from xyntra.passes.lower.gpu.contraction.row_shapes import find_partials, find_values
from xyntra.passes.lower.gpu.contraction.row_values import accesses_of
from xyntra.passes.lower.gpu.device import DEFAULT, GpuDevice, device_of
from xyntra.passes.lower.gpu.stages.stage import Stage, merge_stages, stages_of, tidy
from xyntra.passes.lower.loops.linear_nest import linear_nest
from xyntra.passes.lower.loops.memrefs import is_private, is_touched_by, root, written_by
from xyntra.passes.registry import register_pass


@register_pass
@dataclass(frozen=True)
class FuseRowStatistics:
    """Join contractions with loops that compute, or add up parts of, values of their rows."""

    name: ClassVar[str] = "fuse-row-statistics"
    device: str = DEFAULT
    """What the code is for, by its name in the table of devices."""

    def run(self, module: ir.Operation) -> None:
        """Rewrite the kernel of `module`."""
        function, device = kernel_function(module), device_of(self.device)
        for stage in [each for each in stages_of(function) if not each.is_loops]:
            group = stage.contraction
            if group is not None and group.partials is None:
                whole = _with_partials(stage, group, stages_of(function), device)
                _take_values(whole, stages_of(function), device)
        tidy(function)


def _with_partials(
    stage: Stage, group: ContractionGroup, stages: Sequence[Stage], device: GpuDevice
) -> Stage:
    """Return the stage of a contraction joined with the sums behind it."""
    if group.slices or group.pairing:
        return stage
    behind = _directly_behind(stages, stage)
    for count in range(len(behind), 0, -1):
        operations = [op for each in behind[:count] for op in each.operations]
        partials = find_partials(group, operations)
        if partials is None or _read(group) & set(map(root, map(_last, operations))):
            continue
        if takes_rows(replace(group, partials=partials), device):
            return merge_stages([stage, *behind[:count]])
    return stage


def _take_values(stage: Stage, stages: Sequence[Stage], device: GpuDevice) -> None:
    """Join the stage of a contraction with what gives its epilogues values of rows."""
    group = stage.contraction
    if group is None:
        return
    read = _read_behind(group)
    taken: list[Stage] = []
    number = [each.op for each in stages].index(stage.op)
    for other in reversed(stages[:number]):
        if not other.is_loops:
            continue
        nests = [linear_nest(op) for op in other.operations]
        if not {root(each.value) for nest in nests for each in nest.outputs} & read:
            continue
        read |= {root(each.value) for each in accesses_of(nests)}
        taken.insert(0, other)
    operations = [op for each in taken for op in each.operations]
    if not operations or not _may_move(stages, operations, stage.operations):
        return
    values = find_values(group, operations)
    if values is not None and takes_rows(replace(group, values=values), device):
        merge_stages([*taken, stage])


def _directly_behind(stages: Sequence[Stage], stage: Stage) -> list[Stage]:
    """Return the stages of loops between `stage` and the next other one."""
    found = []
    number = [each.op for each in stages].index(stage.op)
    for each in stages[number + 1 :]:
        if not each.is_loops:
            break
        found.append(each)
    return found


def _last(op: ir.Operation) -> ir.Value:
    return list(op.operands)[-1]


def _read(group: ContractionGroup) -> set[ir.Value]:
    """Return the memory that a contraction and what follows it read."""
    inputs = [each for each in group.nest.inputs if not each.is_scalar]
    return _read_behind(group) | {root(each.value) for each in inputs}


def _read_behind(group: ContractionGroup) -> set[ir.Value]:
    """Return the memory that what follows a contraction reads."""
    inputs = [each for epilogue in group.followers for each in epilogue.inputs]
    return {root(each.value) for each in inputs if each is not None and not each.is_scalar}


def _may_move(
    stages: Sequence[Stage], operations: Sequence[ir.Operation], group: Sequence[ir.Operation]
) -> bool:
    """Tell whether `operations` give the same where `group` is, which alone reads their results."""
    nests = [linear_nest(op) for op in operations]
    own = {root(each.value) for nest in nests for each in nest.outputs}
    members = [*operations, *group]
    if not all(is_private(each, members) or _is_result(each, members) for each in own):
        return False
    others = [op for stage in stages for op in stage.operations if op not in operations]
    written = {root(value) for op in others for value in written_by(op)}
    inputs = {root(each.value) for nest in nests for each in nest.inputs if not each.is_scalar}
    return not (inputs - own) & written


def _is_result(memory: ir.Value, users: Sequence[ir.Operation]) -> bool:
    """Tell whether `memory` is given to the kernel and touched by `users` only."""
    return isinstance(memory.owner, ir.Block) and is_touched_by(memory, users)
