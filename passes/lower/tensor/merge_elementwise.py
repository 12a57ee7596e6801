# SPDX-License-Identifier: MIT OR Apache-2.0
"""`merge-elementwise`: makes one loop nest of elementwise operations that follow each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from xyntra.dialects import KernelFacts
from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.views import RESHAPES
from xyntra.passes.lower.tensor.merged_nest import MergedNest
from xyntra.passes.lower.tensor.pointwise_groups import (
    PointwiseGroup,
    PointwiseNode,
    analyse,
    bits,
    find_groups,
)
from xyntra.passes.registry import register_pass


@register_pass
@dataclass(frozen=True)
class MergeElementwise:
    """Merge elementwise operations of a kernel into as few linalg.generic as possible.

    Operations become one where they read each other's results element by element, also through
    reshapes that change no order; intermediate values then stay in registers. Those that only read
    the same tensor are merged as well.
    """

    name: ClassVar[str] = "merge-elementwise"

    def run(self, module: ir.Operation) -> None:
        """Rewrite every kernel function of `module`."""
        for view in module.regions[0].blocks[0].operations:
            op = view.operation
            if op.name == "func.func" and KernelFacts.of(op) is not None:
                _merge_block(op.regions[0].blocks[0])


def _merge_block(block: ir.Block) -> None:
    nodes = analyse(block)
    groups = find_groups(nodes)
    if not groups:
        return
    ending = nodes[-1].op
    with ir.InsertionPoint(ending):
        for entry in _in_order(nodes, groups):
            if isinstance(entry, int):
                nodes[entry].op.move_before(ending)
                continue
            members = [nodes[number].op for number in entry.members]
            merged = MergedNest(members, entry.domain)
            for old, new in merged.replacements():
                old.replace_all_uses_with(new)
    merged_nodes = {number for group in groups for number in group.members}
    for number, node in reversed(list(enumerate(nodes))):
        is_left = number not in merged_nodes and node.op.name not in RESHAPES
        if not is_left and not any(len(list(result.uses)) for result in node.op.results):
            node.op.erase()


def _in_order(
    nodes: list[PointwiseNode], groups: Sequence[PointwiseGroup]
) -> list[int | PointwiseGroup]:
    """Return all but the terminator so that everything follows what it needs."""
    group_of = {number: group for group in groups for number in group.members}
    order: list[int | PointwiseGroup] = []
    placed = 0

    def place(number: int) -> None:
        nonlocal placed
        if placed >> number & 1:
            return
        entry = group_of.get(number, number)
        members = entry.members if isinstance(entry, PointwiseGroup) else (number,)
        mask = sum(1 << member for member in members)
        placed |= mask
        for member in members:
            for needed in bits(nodes[member].operands & ~mask):
                if nodes[needed].op.name not in RESHAPES or not nodes[needed].needs & mask:
                    place(needed)
        order.append(entry)

    for number in range(len(nodes) - 1):
        place(number)
    return order
