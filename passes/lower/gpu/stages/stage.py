# SPDX-License-Identifier: MIT OR Apache-2.0
"""Reads and builds `xyntra.stage` operations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xyntra.dialects.mlir import ir
from xyntra.dialects.ops.stage import STAGE
from xyntra.passes.analysis.kernel_function import entry_block
from xyntra.passes.analysis.views import MEMREF_VIEWS
from xyntra.passes.lower.gpu.attention.group import AttentionGroup, attention_group, is_attention
from xyntra.passes.lower.gpu.contraction.group import ANCHOR, ContractionGroup, contraction_group
from xyntra.passes.lower.gpu.contraction.in_stage import contraction_in
from xyntra.passes.lower.gpu.stages.launch_groups import is_nest

_PASSIVE = MEMREF_VIEWS | {
    "func.return",
    "memref.alloc",
    "memref.get_global",
    "memref.load",
    "xyntra.yield",
}


@dataclass(frozen=True)
class Stage:
    """Operations of a kernel that one launch computes.

    Attributes:
        op: the `xyntra.stage`.
        operations: what computes in it, in order.
    """

    op: ir.Operation
    operations: tuple[ir.Operation, ...]

    @property
    def attention(self) -> AttentionGroup | None:
        """The attention that the stage computes; None for others."""
        found = _attentions(self.operations)
        return found[0] if found else None

    @property
    def contraction(self) -> ContractionGroup | None:
        """The contraction that tiles compute, with what belongs to it; None for others.

        Views of its operands are made in the stage.
        """
        return contraction_in(self.operations)

    @property
    def is_loops(self) -> bool:
        """Tell whether there are nests alone, and none of them is a contraction for tiles."""
        return all(
            is_nest(op) and not is_attention(op) and ANCHOR not in op.attributes
            for op in self.operations
        )


@dataclass(frozen=True)
class Work:
    """The operations of a kernel, before they are cut into stages.

    Attributes:
        operations: all of it, in order.
        attentions: those of them that are attention, with their masks.
        contractions: those that are contractions for tiles, with what belongs to them.
    """

    operations: tuple[ir.Operation, ...]
    attentions: tuple[AttentionGroup, ...]
    contractions: tuple[ContractionGroup, ...]

    @classmethod
    def of(cls, function: ir.Operation) -> Work:
        """Return the work of `function`, but for what is in stages."""
        work = [op for op in working(entry_block(function)) if op.name != STAGE]
        attentions = _attentions(work)
        taken = [op for each in attentions for op in each.operations]
        contractions = _contractions([op for op in work if op not in taken])
        return cls(tuple(work), tuple(attentions), tuple(contractions))

    @property
    def rest(self) -> list[ir.Operation]:
        """Return what is neither attention nor part of a contraction for tiles."""
        taken = [op for group in self.attentions for op in group.operations]
        taken += [op for group in self.contractions for op in group.operations]
        return [op for op in self.operations if op not in taken]


def stages_of(function: ir.Operation) -> list[Stage]:
    """Return the stages of a kernel that hold something, in order."""
    found = [op for op in working(entry_block(function)) if op.name == STAGE]
    return [stage for stage in map(stage_of, found) if stage.operations]


def stage_of(op: ir.Operation) -> Stage:
    """Return what is known of a `xyntra.stage`."""
    return Stage(op, tuple(working(op.regions[0].blocks[0])))


def merge_stages(stages: Sequence[Stage]) -> Stage:
    """Move the operations of several stages into the last one, and return that.

    The others are left to `tidy`.
    """
    last = stages[-1]
    first = last.operations[0]
    for stage in stages[:-1]:
        for op in stage.operations:
            op.move_before(first)
    return stage_of(last.op)


def tidy(function: ir.Operation) -> None:
    """Erase stages that hold nothing, and views that were made to look at operations.

    It is the last thing that a pass does: nothing may know of what is erased when code is made.
    """
    for op in working(entry_block(function)):
        if op.name != STAGE:
            continue
        if working(op.regions[0].blocks[0]):
            _erase_unused_views(op.regions[0].blocks[0])
        else:
            op.erase()
    _erase_unused_views(entry_block(function))


def _erase_unused_views(block: ir.Block) -> None:
    for view in reversed(list(block.operations)):
        op = view.operation
        if op.name in MEMREF_VIEWS and not list(op.results[0].uses):
            op.erase()


def working(block: ir.Block) -> list[ir.Operation]:
    """Return what computes in a block; views, allocations and scalars do not."""
    operations = [view.operation for view in block.operations]
    return [op for op in operations if not _is_passive(op)]


def _is_passive(op: ir.Operation) -> bool:
    return op.name in _PASSIVE or op.name.startswith("arith.")


def _attentions(work: Sequence[ir.Operation]) -> list[AttentionGroup]:
    places = [place for place, op in enumerate(work) if is_attention(op)]
    found = [attention_group(work, place) for place in places]
    return [group for group in found if group is not None]


def _contractions(work: Sequence[ir.Operation]) -> list[ContractionGroup]:
    groups: list[ContractionGroup] = []
    free = list(work)
    for position in range(len(work)):
        found = contraction_group(work, position, free)
        if found is not None:
            groups.append(found)
            free = [op for op in free if op not in found.operations]
    return groups
