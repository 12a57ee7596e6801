# SPDX-License-Identifier: MIT OR Apache-2.0
"""`form-stages`: what is in no stage yet becomes stages, of rows that operations share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from xyntra.dialects.mlir import ir
from xyntra.dialects.ops.stage import STAGE, make_stage
from xyntra.errors import CompileError
from xyntra.passes.analysis.kernel_function import (
    entry_block,
    function_name,
    kernel_function,
)
from xyntra.passes.lower.gpu.device import DEFAULT, device_of
from xyntra.passes.lower.gpu.stages.launch_groups import launch_groups
from xyntra.passes.lower.gpu.stages.long_reductions import reduces
from xyntra.passes.lower.gpu.stages.stage import Stage, stages_of, tidy, working
from xyntra.passes.lower.loops.memrefs import root, touched_by, written_by
from xyntra.passes.registry import register_pass


@register_pass
@dataclass(frozen=True)
class FormStages:
    """Put everything that computes into stages: neighbours that exchange rows into one.

    Views, allocations and scalars stay where they are.
    """

    name: ClassVar[str] = "form-stages"
    device: str = DEFAULT
    """What the code is for, by its name in the table of devices."""
    single: bool = False
    """Whether every operation becomes a stage of its own."""

    def run(self, module: ir.Operation) -> None:
        """Rewrite the kernel of `module`.

        Raises:
            CompileError: it reads, between two stages, an element that a stage writes.
        """
        function = kernel_function(module)
        device = device_of(self.device)
        work = working(entry_block(function))
        _check_loads(function, work)
        if self.single:
            groups = [[op] for op in work if op.name != STAGE]
        else:
            starts = [op for stage in stages_of(function) for op in _side_by_side(stage, work)]
            runs = list(_runs(work, starts))
            # What takes up a contraction's result may still join its launch.
            free = not any(op.name == STAGE for op in work)
            groups = [
                group
                for run in runs
                for group in list(launch_groups(run, device, side_by_side=free))
            ]
        for group in groups:
            make_stage(group)
        tidy(function)


def _side_by_side(stage: Stage, work: Sequence[ir.Operation]) -> list[ir.Operation]:
    """Return the first of several operations that take up a contraction's result one by one.

    They may become part of its launch, unless they share one with what comes before them.
    """
    if stage.contraction is None or stage.contraction.epilogue is not None:
        return []
    memory = root(stage.operations[-1].operands[-1])
    readers = [op for op in work if op != stage.op and memory in map(root, touched_by(op))]
    simple = all(op.name == "linalg.generic" and not reduces(op) for op in readers)
    return readers[:1] if simple and len(readers) > 1 else []


def _runs(
    work: Sequence[ir.Operation], starts: Sequence[ir.Operation]
) -> Iterator[list[ir.Operation]]:
    """Yield what lies between stages; runs begin with those of `starts`."""
    run: list[ir.Operation] = []
    for op in work:
        if op.name == STAGE or op in starts:
            yield run
            run = []
        if op.name != STAGE:
            run.append(op)
    yield run


def _check_loads(function: ir.Operation, work: Sequence[ir.Operation]) -> None:
    operations = [view.operation for view in entry_block(function).operations]
    loads = [op for op in operations if op.name == "memref.load"]
    if not loads:
        return
    written = {root(value) for op in work for value in written_by(op)}
    if any(root(op.operands[0]) in written for op in loads):
        message = "a kernel reads one element between two of its loops, which a GPU cannot"
        raise CompileError("kernel-order", message, place=f"kernel '{function_name(function)}'")
