# SPDX-License-Identifier: MIT OR Apache-2.0
"""`split-stage-loops`: splits loops of a launch whose counter is divided, as enlargements have.

A copy that reads at `d floordiv 2` is computed by a thread for each element. With a loop for every
digit of `d` its accesses are linear: threads take vectors, or exchange tiles in shared memory where
the input lies across.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.kernel_function import kernel_function
from xyntra.passes.lower.buffers.split_quotients import (
    digits_of,
    divides_contiguous,
    split_loops,
)
from xyntra.passes.lower.gpu.stages.stage import Stage, stages_of
from xyntra.passes.registry import register_pass

__all__ = ["SplitStageLoops"]


@register_pass
@dataclass(frozen=True)
class SplitStageLoops:
    """Give stages of a single elementwise nest a loop for every digit of a divided counter.

    Nests that share a launch keep their loops, by which they are computed together. So does one
    whose contiguous elements are read at quotients: a thread has several of them as it is.
    """

    name: ClassVar[str] = "split-stage-loops"

    def run(self, module: ir.Operation) -> None:
        """Rewrite the kernel of `module`."""
        for stage in stages_of(kernel_function(module)):
            _split(stage)


def _split(stage: Stage) -> None:
    if len(stage.operations) != 1:
        return
    (op,) = stage.operations
    if op.name != "linalg.generic" or "reduction" in str(op.attributes["iterator_types"]):
        return
    digits = digits_of(op)
    if digits is not None and not divides_contiguous(op, digits):
        split_loops(op, digits, stage.op)
