# SPDX-License-Identifier: MIT OR Apache-2.0
"""Finds tensors of which gathers read few elements, such as the probability of one word of many."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.owners import member_of
from xyntra.passes.analysis.reductions import Reductions
from xyntra.passes.analysis.views import RESHAPES

__all__ = ["gathers_of", "kept_dimensions", "reads_few"]

_FEW = 8
"""Times fewer elements than a tensor has: to compute these again costs less than to store all."""


def gathers_of(value: ir.Value, block: ir.Block) -> tuple[list[ir.Operation], bool]:
    """Return what reads single elements of a tensor in parallel operations of a block.

    Reshapes that add or drop dimensions of size 1 are looked through. The second result tells
    whether nothing else reads the tensor.
    """
    found, only = list[ir.Operation](), True
    for use in value.uses:
        op = use.owner.operation
        if op.name in RESHAPES and op.block == block and kept_dimensions(value, op.results[0]):
            more, alone = gathers_of(op.results[0], block)
            found += more
            only = only and alone
        elif op.name == "tensor.extract" and not use.operand_number and _gather(op, block):
            found.append(op)
        else:
            only = False
    return found, only and bool(found)


def kept_dimensions(value: ir.Value, view: ir.Value) -> list[int | None]:
    """Return which dimension of a view each one of a tensor is, None for those of size 1.

    Nothing where the view has other dimensions than those.
    """
    whole, seen = (ir.RankedTensorType(each.type).shape for each in (value, view))
    kept = [number for number, size in enumerate(seen) if size != 1]
    if [size for size in whole if size != 1] != [seen[number] for number in kept]:
        return []
    numbers = iter(kept)
    return [None if size == 1 else next(numbers) for size in whole]


def reads_few(extracts: Sequence[ir.Operation]) -> bool:
    """Tell whether reads of one tensor, which `gathers_of` has found, take few of its elements."""
    kind = ir.RankedTensorType(extracts[0].operands[0].type)
    if not kind.has_static_shape:
        return False
    holders = [each.parent.operation for each in extracts]
    kinds = [ir.RankedTensorType(each.results[0].type) for each in holders]
    if not all(each.has_static_shape for each in kinds):
        return False
    read: int = sum(prod(each.shape) for each in kinds)
    return _FEW * read <= int(prod(kind.shape))


def _gather(extract: ir.Operation, block: ir.Block) -> bool:
    """Tell whether an element is read once for every element of a parallel operation's result."""
    if extract.block == block:
        return False
    holder = member_of(block, extract)
    if holder.name != "linalg.generic" or extract.parent.operation != holder:
        return False
    return len(holder.results) == 1 and not Reductions().has(holder)
