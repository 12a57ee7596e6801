# SPDX-License-Identifier: MIT OR Apache-2.0
"""`inline-into-gathers`: what reads few elements of a computed tensor computes them by itself."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import ClassVar

from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.functions import function_blocks
from xyntra.passes.analysis.gathered_reads import gathers_of, kept_dimensions, reads_few
from xyntra.passes.analysis.owners import owner_of
from xyntra.passes.analysis.views import origin_of
from xyntra.passes.fusion.graph.factors import inputs_of
from xyntra.passes.fusion.reductions.inlined_producer import compute_in_place
from xyntra.passes.fusion.reductions.reduced_reads import ReducedReads
from xyntra.passes.lower.tensor.decompose_named_ops import DecomposeNamedOps
from xyntra.passes.recognize.dead_operations import erase_unused
from xyntra.passes.registry import register_pass
from xyntra.passes.views.computed_reads import read_through

__all__ = ["InlineIntoGathers"]


@register_pass
@dataclass(frozen=True)
class InlineIntoGathers:
    """Compute elementwise operations where gathers read few elements of what they give.

    The logarithm of one word's probability takes that word's score and two numbers of its row; the
    probabilities of all others are neither stored nor computed. Softmaxes and norms that only
    gathers read become arithmetic for that.
    """

    name: ClassVar[str] = "inline-into-gathers"

    def run(self, module: ir.Operation) -> None:
        """Rewrite every function of `module`."""
        DecomposeNamedOps(gathered=True).run(module)
        retired: list[ir.Operation] = []
        for block in function_blocks(module):
            retired += _inline(block)
        erase_unused(retired)


def _inline(block: ir.Block) -> list[ir.Operation]:
    """Let gathers of a block compute what they read; returns what need not be read any more."""
    reads = ReducedReads(block)
    retired: list[ir.Operation] = []
    for view in reversed(list(block.operations)):  # readers come first
        op = view.operation
        if op.name != "linalg.generic" or len(op.results) != 1:
            continue
        extracts, only = gathers_of(op.results[0], block)
        extracts = [each for each in extracts if each not in retired]
        if not extracts or not reads_few(extracts) or reads.elementwise(op.results[0]) is None:
            continue
        if not reads.reads_plainly(op) or not (only or _reads_what_is_stored(op, reads)):
            continue
        for extract in extracts:
            compute_in_place(_read_directly(extract, op.results[0], retired))
        retired += [*extracts, op]
    return retired


def _read_directly(
    extract: ir.Operation, value: ir.Value, retired: list[ir.Operation]
) -> ir.Operation:
    """Return what reads a tensor itself in the place of a view of it."""
    if extract.operands[0] == value:
        return extract
    made = read_through(extract, value, kept_dimensions(value, extract.operands[0]))
    retired.append(made)
    return made


def _reads_what_is_stored(op: ir.Operation, reads: ReducedReads) -> bool:
    """Tell whether an operation reads arguments, small tensors, and what is computed from these."""
    elements = _elements(op.results[0])
    for value in inputs_of(op):
        source = origin_of(value)
        owner = owner_of(source)
        if owner is None or owner.name == "arith.constant" or _elements(value) * 8 <= elements:
            continue
        before = reads.elementwise(source)
        if before is None or not _reads_what_is_stored(before, reads):
            return False
    return True


def _elements(value: ir.Value) -> int:
    return prod(ir.RankedTensorType(value.type).shape)
