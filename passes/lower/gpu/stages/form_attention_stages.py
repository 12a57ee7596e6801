# SPDX-License-Identifier: MIT OR Apache-2.0
"""`form-attention-stages`: attention and the arithmetic that makes its masks become stages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xyntra.dialects.mlir import ir
from xyntra.dialects.ops.stage import make_stage
from xyntra.passes.analysis.kernel_function import kernel_function
from xyntra.passes.lower.gpu.stages.stage import Work, tidy
from xyntra.passes.registry import register_pass


@register_pass
@dataclass(frozen=True)
class FormAttentionStages:
    """Put every attention into a stage, with what computes its masks and nothing else reads."""

    name: ClassVar[str] = "form-attention-stages"

    def run(self, module: ir.Operation) -> None:
        """Rewrite the kernel of `module`."""
        function = kernel_function(module)
        for group in Work.of(function).attentions:
            make_stage(group.operations)
        tidy(function)
