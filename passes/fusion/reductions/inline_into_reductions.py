# SPDX-License-Identifier: MIT OR Apache-2.0
"""`inline-into-reductions`: computes elementwise operations in the reductions that read them."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.functions import function_blocks
from xyntra.passes.analysis.reductions import BY_ROWS
from xyntra.passes.analysis.views import TENSOR_VIEWS
from xyntra.passes.fusion.graph.factors import multiplies_factors
from xyntra.passes.fusion.reductions.equal_reductions import reduction_key
from xyntra.passes.fusion.reductions.inlined_producer import compute_in_place, with_producer
from xyntra.passes.fusion.reductions.reduced_reads import ReducedReads
from xyntra.passes.registry import register_pass

__all__ = ["InlineIntoReductions"]


@register_pass
@dataclass(frozen=True)
class InlineIntoReductions:
    """Move elementwise operations into reductions that share no rows with them, and into scans.

    Such are reductions over leading dimensions, over all elements, and over very long rows. An
    operation with several readers is computed by each of them where it is cheap, and where no more
    has to be read for that. Reductions that become equal by that are computed once.
    """

    name: ClassVar[str] = "inline-into-reductions"

    def run(self, module: ir.Operation) -> None:
        """Rewrite every function of `module`."""
        for block in function_blocks(module):
            _inline(block)


def _inline(block: ir.Block) -> None:
    reads, built = ReducedReads(block), list[ir.Operation]()
    for view in list(block.operations):
        op = view.operation
        position = reads.position(op)
        while position is not None:
            producer = op.operands[position].owner.operation
            reads.replaced.add(op)
            op = with_producer(op, position, producer)
            if multiplies_factors(op):
                op.attributes[BY_ROWS] = ir.UnitAttr.get(op.context)
            built.append(op)
            reads.retire(producer)
            position = reads.position(op)
        extracts = reads.extracts(op)
        while extracts:
            for extract in extracts:
                reads.replaced.add(extract)
                compute_in_place(extract)
                reads.retire(extract.operands[0].owner.operation)
            extracts = reads.extracts(op)
    if built:
        _merge_equal(block, built, reads.replaced)
    # Nothing is created any more: erased operations may still have wrappers.
    for op in reads.replaced:
        if op.name == "tensor.extract":
            op.erase()
    for view in reversed(list(block.operations)):
        if view.operation in reads.replaced:
            view.operation.erase()


def _merge_equal(
    block: ir.Block, built: Sequence[ir.Operation], replaced: set[ir.Operation]
) -> None:
    """Let readers of what a new reduction gives, too, have it from the first one that does."""
    known: dict[Hashable, ir.Operation] = {}
    new = set(built)
    for view in block.operations:
        op = view.operation
        key = None
        if op.name == "linalg.generic" and op not in replaced:
            key = reduction_key(op)
        first = op if key is None else known.setdefault(key, op)
        is_new = first in new or op in new
        if first != op and is_new and not _may_be_returned(op.results[0]):
            op.results[0].replace_all_uses_with(first.results[0])
            replaced.add(op)


def _may_be_returned(value: ir.Value) -> bool:
    """Tell whether a result, or a view of it, needs memory of its own."""
    readers = {use.owner.operation.name for use in value.uses}
    return not readers.isdisjoint({"func.return", *TENSOR_VIEWS})
