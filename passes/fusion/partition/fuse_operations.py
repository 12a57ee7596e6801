# SPDX-License-Identifier: MIT OR Apache-2.0
"""`fuse-operations`: decides which operations share a kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xyntra.dialects import Kind
from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.functions import function_blocks
from xyntra.passes.fusion.graph.classify import classify
from xyntra.passes.fusion.graph.fusion_graph import FusionGraph
from xyntra.passes.fusion.graph.nodes import KernelRole
from xyntra.passes.fusion.partition.boundaries import boundaries_of, cost_of, mark_unfused
from xyntra.passes.fusion.partition.cloned_producers import recompute_cheap
from xyntra.passes.fusion.partition.group import Group, kind_of
from xyntra.passes.fusion.partition.groups import Rules
from xyntra.passes.fusion.partition.partitions import Partition
from xyntra.passes.fusion.partition.search import best_partition
from xyntra.passes.fusion.partition.siblings import merge_remaining, merge_siblings
from xyntra.passes.fusion.partition.unfusible import remark_dynamic
from xyntra.passes.fusion.regions.materialize import Region, build_regions
from xyntra.passes.registry import register_pass
from xyntra.passes.targets.table import DEFAULT, TARGETS, TargetName


@register_pass
@dataclass(frozen=True)
class FuseOperations:
    """Put the operations that share a kernel into one xyntra.fused region.

    The partition is the one of the least predicted time among those that were tried. Each region
    is told what it costs, and for every tensor that it reads from another region, why the two are
    apart. What has a dynamic shape stays, with a remark.
    """

    name: ClassVar[str] = "fuse-operations"

    target: TargetName = DEFAULT
    """Whose launch cost, bandwidth and peak rates decide."""

    max_ops: int = 256
    """Largest number of operations in one region."""

    def run(self, module: ir.Operation) -> None:
        """Rewrite every function of `module`."""
        for block in function_blocks(module):
            graph = FusionGraph.of(block)
            remark_dynamic(graph)
            recompute_cheap(graph)
            rules = Rules(graph, TARGETS[self.target].machine, self.max_ops)
            mark_unfused(module, rules)
            partition = best_partition(rules)
            merge_remaining(partition)
            merge_siblings(partition)
            build_regions(graph, _regions(partition))


def _regions(partition: Partition) -> list[Region]:
    regions = []
    for root in partition.roots():
        group = partition.group(root)
        if group.opaque:
            continue
        nodes = partition.rules.graph.nodes
        attributes = {
            "xyntra.cost": cost_of(group, partition.rules, nodes[root].op.context),
            "xyntra.boundaries": boundaries_of(root, partition),
        }
        regions.append(Region(group.members, _kind(group, partition), attributes))
    return regions


def _kind(group: Group, partition: Partition) -> Kind:
    nodes = partition.rules.graph.nodes
    windows = [nodes[index].op for index in group.members if nodes[index].role is KernelRole.WINDOW]
    return kind_of(group, any(classify(op) == "conv" for op in windows))
