# SPDX-License-Identifier: MIT OR Apache-2.0
"""`fold-transposes`: reads transposed and broadcast tensors through indexing maps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.functions import function_blocks
from xyntra.passes.registry import register_pass
from xyntra.passes.targets.table import DEFAULT, TARGETS, TargetName
from xyntra.passes.views.folding import Folding


@register_pass
@dataclass(frozen=True)
class FoldTransposes:
    """Fold transposes and broadcasts into the operations that read them, or that precede them.

    An operation with indexing maps reads the original tensor in another order. Where a reader
    cannot (a named row op, a reshape that joins dimensions which the transpose parted, a result of
    the function), the contraction, reduction or elementwise operations in front write the wanted
    order. Transposes move through reshapes and slices, compose, and cancel. What repeats or
    reverses elements (a nearest-neighbour resize, a flip) folds into elementwise readers alone.
    """

    name: ClassVar[str] = "fold-transposes"
    target: TargetName = DEFAULT
    """On CPUs more of what has its channels innermost is copied rather than written elsewhere."""

    def run(self, module: ir.Operation) -> None:
        """Rewrite every function of `module`."""
        for block in function_blocks(module):
            Folding(block, TARGETS[self.target]).run()
