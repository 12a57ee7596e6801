# SPDX-License-Identifier: MIT OR Apache-2.0
"""`fuse-elementwise`: puts chains and trees of elementwise operations into regions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.functions import function_blocks
from xyntra.passes.diagnostics import remark_at
from xyntra.passes.fusion.graph.fusion_graph import FusionGraph
from xyntra.passes.fusion.graph.nodes import PASSIVE, KernelRole
from xyntra.passes.fusion.partition.boundaries import boundaries_of, cost_of
from xyntra.passes.fusion.partition.group import Group
from xyntra.passes.fusion.partition.groups import Rules
from xyntra.passes.fusion.partition.partitions import Partition
from xyntra.passes.fusion.partition.reasons import Reason
from xyntra.passes.fusion.partition.search import best_partition
from xyntra.passes.fusion.partition.siblings import merge_remaining, merge_siblings
from xyntra.passes.fusion.partition.unfusible import (
    remark_branches,
    remark_dynamic,
    remark_nested,
    side_effect,
)
from xyntra.passes.fusion.regions.materialize import Region, build_regions
from xyntra.passes.generalize.elementwise import generalize_elementwise
from xyntra.passes.registry import register_pass
from xyntra.passes.targets.table import DEFAULT, TARGETS, TargetName

__all__ = ["FuseElementwise"]


@register_pass
@dataclass(frozen=True)
class FuseElementwise:
    """Put chains and trees of elementwise operations into xyntra.fused regions of that kind.

    Elementwise are arith and math on tensors and every operation of linalg that reduces nothing;
    they are rewritten as linalg.generic first. All else stays outside. Operations share a region
    where element i of each needs element i of the others alone, and where that is predicted to be
    faster, as `fuse-operations` sees both. What has a dynamic shape stays, with a remark, and so
    do functions with side effects or branches, and what is inside of a loop.
    """

    name: ClassVar[str] = "fuse-elementwise"

    target: TargetName = DEFAULT
    """Whose launch cost, bandwidth and peak rates decide."""

    max_ops: int = 256
    """Largest number of operations in one region."""

    min_ops: int = 1
    """Smallest number of operations that become a region."""

    def run(self, module: ir.Operation) -> None:
        """Rewrite every function of `module`."""
        remark_branches(module)
        for block in function_blocks(module):
            effect = side_effect(block)
            if effect is not None:
                remark_at(effect, f"'{effect.name}' has side effects: its function is not fused")
                continue
            generalize_elementwise(block)
            graph = FusionGraph.of(block)
            remark_dynamic(graph)
            remark_nested(graph)
            _set_others_apart(graph)
            partition = best_partition(
                _PointwiseRules(graph, TARGETS[self.target].machine, self.max_ops)
            )
            merge_remaining(partition)
            merge_siblings(partition)
            build_regions(graph, list(self._regions(partition)))

    def _regions(self, partition: Partition) -> Iterator[Region]:
        rules = partition.rules
        for root in partition.roots():
            group = partition.group(root)
            if group.opaque or group.moves_only or len(group.members) < self.min_ops:
                continue
            attributes = {
                "xyntra.cost": cost_of(group, rules, rules.graph.nodes[root].op.context),
                "xyntra.boundaries": boundaries_of(root, partition),
            }
            yield Region(group.members, "elementwise", attributes)


class _PointwiseRules(Rules):
    """Rules by which groups stay elementwise."""

    def _refused(self, group: Group) -> Reason | None:
        refused = super()._refused(group)
        return refused or (None if group.is_pointwise else "misaligned")


def _set_others_apart(graph: FusionGraph) -> None:
    for node in graph.nodes:
        if node.role not in PASSIVE and node.role is not KernelRole.LOOP:
            node.role = KernelRole.OPAQUE
