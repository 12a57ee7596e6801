# SPDX-License-Identifier: MIT OR Apache-2.0
"""`form-contraction-stages`: contractions and their epilogues become stages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xyntra.dialects.mlir import ir
from xyntra.dialects.ops.stage import make_stage
from xyntra.passes.analysis.kernel_function import kernel_function
from xyntra.passes.lower.gpu.contraction.group import ANCHOR
from xyntra.passes.lower.gpu.stages.stage import Work, tidy
from xyntra.passes.lower.kernels.fills import is_arithmetic_reduction
from xyntra.passes.registry import register_pass


@register_pass
@dataclass(frozen=True)
class FormContractionStages:
    """Put every contraction that is large enough for tiles into a stage.

    The fill that gives the result its first value comes along, and the elementwise operation that
    takes the result up, if there is one: the epilogue. The contraction is marked as the anchor.
    """

    name: ClassVar[str] = "form-contraction-stages"

    def run(self, module: ir.Operation) -> None:
        """Rewrite the kernel of `module`."""
        function = kernel_function(module)
        for group in Work.of(function).contractions:
            anchor = next(op for op in group.operations if is_arithmetic_reduction(op))
            anchor.attributes[ANCHOR] = ir.UnitAttr.get(module.context)
            make_stage(group.operations)
        tidy(function)
