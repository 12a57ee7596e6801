# SPDX-License-Identifier: MIT OR Apache-2.0
"""`move-reshapes`: moves expansions behind the operations that read them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.functions import function_blocks
from xyntra.passes.registry import register_pass
from xyntra.passes.views.reshaping import Reshaping


@register_pass
@dataclass(frozen=True)
class MoveReshapes:
    """Let operations on an expanded tensor work on the tensor itself, and expand their result.

    A tensor.expand_shape between two operations keeps them from sharing loops. Elementwise
    operations, contractions and reductions join the loops that it parts, and row ops the
    dimensions in front of their rows, where every other operand allows it and no more reshapes
    come in than go. What is left are reshapes where dimensions are really needed apart.
    """

    name: ClassVar[str] = "move-reshapes"

    def run(self, module: ir.Operation) -> None:
        """Rewrite every function of `module`."""
        for block in function_blocks(module):
            Reshaping(block).run()
