# SPDX-License-Identifier: MIT OR Apache-2.0
"""`generalize-operations`: makes linalg.generic of what ordinary MLIR says in other ways."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.functions import function_blocks
from xyntra.passes.analysis.walking import nested_operations
from xyntra.passes.diagnostics import remark_at
from xyntra.passes.generalize.elementwise import is_elementwise, rewrite_elementwise
from xyntra.passes.generalize.interface import hold_arguments, hold_results
from xyntra.passes.generalize.library import LIBRARY_RULES
from xyntra.passes.generalize.refusals import Refusal, refused, why_not
from xyntra.passes.generalize.rewriter import Rewriter
from xyntra.passes.generalize.structured import StructuredOperation, rewrite_structured
from xyntra.passes.generalize.tensors import TENSOR_RULES
from xyntra.passes.registry import register_pass

__all__ = ["GeneralizeOperations"]


@register_pass
@dataclass(frozen=True)
class GeneralizeOperations:
    """Rewrite arith and math on tensors, linalg's named operations and tensor operations.

    They become linalg.generic, slices, paddings, reshapes and operations of the dialect xyntra,
    which is what recognition, views and fusion read. Scalars that a function computes are held in
    tensors of rank 0, and those that it takes or returns where nothing calls it. What is in a
    kernel or a region already stays, and so does what cannot be rewritten, with a remark.
    """

    name: ClassVar[str] = "generalize-operations"

    strict: bool = False
    """Whether what cannot be rewritten is an error."""

    def run(self, module: ir.Operation) -> None:
        """Rewrite every function of `module`.

        Raises:
            UnsupportedError: there is an operation that no kernel can hold, and `strict` is set.
        """
        called = _called(module)
        for block in function_blocks(module):
            rewriter = Rewriter()
            found = [view.operation for view in block.operations]
            is_called = ir.StringAttr(block.owner.attributes["sym_name"]).value in called
            if not is_called:
                hold_arguments(rewriter, block)
            for op in found[:-1]:
                refusal = _rewrite(rewriter, op)
                if refusal is None:
                    continue
                if self.strict:
                    raise refused(refusal)
                remark_at(refusal.op, f"{refusal.message}; it is left as it is")
            if not is_called:
                hold_results(rewriter, block)
            rewriter.finish()


def _called(module: ir.Operation) -> set[str]:
    """The names of functions that are called, and keep their types for those who call."""
    calls = [op for op in nested_operations(module) if op.name == "func.call"]
    return {ir.FlatSymbolRefAttr(call.attributes["callee"]).value for call in calls}


def _rewrite(rewriter: Rewriter, op: ir.Operation) -> Refusal | None:
    """Rewrite `op`, or say why it stays although it should not."""
    refusal = why_not(op)
    if refusal is not None:
        return refusal
    structured = StructuredOperation.of(op)
    if structured is not None:
        rewrite_structured(rewriter, structured)
    elif is_elementwise(op):
        rewrite_elementwise(rewriter, op)
    elif op.name in TENSOR_RULES:
        TENSOR_RULES[op.name](rewriter, op)
    elif op.name in LIBRARY_RULES:
        LIBRARY_RULES[op.name](rewriter, op)
    return None
