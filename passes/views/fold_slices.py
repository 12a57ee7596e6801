# SPDX-License-Identifier: MIT OR Apache-2.0
"""`fold-slices`: computes no more than what slices take."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.functions import function_blocks
from xyntra.passes.registry import register_pass
from xyntra.passes.views.narrowing import Narrowing


@register_pass
@dataclass(frozen=True)
class FoldSlices:
    """Move a tensor.extract_slice in front of what computes the tensor that it alone reads.

    Elementwise operations, contractions, reductions, row ops and attention then run over the part
    that is read: the last layer of a classifier, for one token. A slice of a slice, of a reshape,
    or of one part of a concatenation reads that directly.
    """

    name: ClassVar[str] = "fold-slices"

    def run(self, module: ir.Operation) -> None:
        """Rewrite every function of `module`."""
        for block in function_blocks(module):
            Narrowing(block).run()
