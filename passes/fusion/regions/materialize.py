# SPDX-License-Identifier: MIT OR Apache-2.0
"""Moves groups of operations into `xyntra.fused` regions."""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from xyntra.dialects import FusedOp, Kind
from xyntra.dialects.mlir import ir
from xyntra.errors import CompileError
from xyntra.passes.analysis.locations import fused_location
from xyntra.passes.fusion.graph.fusion_graph import FusionGraph
from xyntra.passes.fusion.graph.nodes import PASSIVE, FusionNode, KernelRole

__all__ = ["Region", "build_regions"]


@dataclass(frozen=True)
class Region:
    """Operations, by index in the graph, that go into one `xyntra.fused`, and its attributes."""

    members: tuple[int, ...]
    kind: Kind
    attributes: Mapping[str, ir.Attribute] = field(default_factory=dict)


def build_regions(graph: FusionGraph, regions: Sequence[Region]) -> None:
    """Rebuild the block of `graph` with `regions`; operations of none stay as they are.

    The graph of regions must be acyclic. Views and constants that a region reads through are cloned
    into it; what nothing uses any more is erased.
    """
    units: list[Region | int] = list(regions)
    inside = {index for region in regions for index in region.members}
    units += [
        index
        for index, node in enumerate(graph.nodes[:-1])
        if index not in inside and node.role not in PASSIVE
    ]
    terminator = graph.nodes[-1].op
    placed: set[int] = set()
    for unit in _in_order(graph, units):
        if isinstance(unit, Region):
            _Builder(graph, unit, terminator).build()
        else:
            _move_views(graph, unit, placed)
            graph.nodes[unit].op.move_before(terminator)
    _move_views(graph, len(graph.nodes) - 1, placed)
    for node in reversed(graph.nodes):
        if node.role in PASSIVE and not any(len(list(value.uses)) for value in node.op.results):
            node.op.erase()


def _move_views(graph: FusionGraph, reader: int, placed: set[int]) -> None:
    """Bring the views that an operation outside of regions reads through behind their producers."""
    for read in graph.nodes[reader].reads:
        for index in read.views:
            if index not in placed:
                placed.add(index)
                graph.nodes[index].op.move_before(graph.nodes[-1].op)


def _in_order(graph: FusionGraph, units: Sequence[Region | int]) -> list[Region | int]:
    """Sort topologically; among units that are ready, the one that came first goes first."""
    members = [unit.members if isinstance(unit, Region) else (unit,) for unit in units]
    unit_of = {index: number for number, indices in enumerate(members) for index in indices}
    waiting = [0] * len(units)
    readers: list[set[int]] = [set() for _ in units]
    for number, indices in enumerate(members):
        read = {
            unit_of[read.producer]
            for index in indices
            for read in graph.nodes[index].reads
            if read.producer is not None
        }
        read.discard(number)
        waiting[number] = len(read)
        for producer in read:
            readers[producer].add(number)
    ready = [(indices[-1], number) for number, indices in enumerate(members) if not waiting[number]]
    heapq.heapify(ready)
    order = []
    while ready:
        _, number = heapq.heappop(ready)
        order.append(units[number])
        for reader in readers[number]:
            waiting[reader] -= 1
            if not waiting[reader]:
                heapq.heappush(ready, (members[reader][-1], reader))
    if len(order) != len(units):
        raise CompileError("cyclic-regions", "regions would have to wait for each other")
    return order


class _Builder:
    """Builds one region."""

    def __init__(self, graph: FusionGraph, region: Region, terminator: ir.Operation) -> None:
        self.graph = graph
        self.region = region
        self.terminator = terminator
        self.views: dict[ir.Value, ir.Value] = {}
        self.inner: dict[ir.Value, ir.Value] = {}

    def build(self) -> None:
        """Move the members into a new region before the terminator."""
        nodes = [self.graph.nodes[index] for index in self.region.members]
        results = self._results(nodes)
        location = fused_location([node.op.location for node in nodes])
        with location:
            fused = FusedOp.build(
                [result.type for result in results.values()],
                self.region.kind,
                ip=ir.InsertionPoint(self.terminator),
            )
        for name, attribute in self.region.attributes.items():
            fused.operation.attributes[name] = attribute
        self._give(results, fused.results, nodes)
        block = fused.block
        end = ir.InsertionPoint(block)
        for node in nodes:
            self._clone_for(node, end)
            block.append(node.op)
        with location:
            fused.finish(list(results.values()))

    def _results(self, nodes: Sequence[FusionNode]) -> dict[int, ir.Value]:
        """Results of members that operations outside read, by number."""
        left = {
            number: self.graph.readers[number]
            for node in nodes
            for number in node.results
            if self.graph.readers[number]
        }
        for node in nodes:
            reads = node.reads
            distinct = {read.tensor: read.origin for read in reads} if len(reads) > 1 else None
            for origin in distinct.values() if distinct else [read.origin for read in reads]:
                if origin in left:
                    left[origin] -= 1
        return {
            number: node.op.results[position]
            for node in nodes
            for position, number in enumerate(node.results)
            if left.get(number)
        }

    def _give(
        self,
        results: Mapping[int, ir.Value],
        given: Sequence[ir.Value],
        nodes: Sequence[FusionNode],
    ) -> None:
        """Let operations outside read what the region gives, and members what they read before."""
        readers: dict[int, list[ir.Operation]] = {}
        for node in nodes:
            for read in node.reads:
                if read.origin in results and not read.views:
                    readers.setdefault(read.origin, []).append(read.holder)
        for (number, result), replacement in zip(results.items(), given, strict=True):
            self.inner[replacement] = result
            if number in readers:
                result.replace_all_uses_except(replacement, readers[number])
            else:
                result.replace_all_uses_with(replacement)

    def _clone_for(self, node: FusionNode, ip: ir.InsertionPoint) -> None:
        """Give `node` constants, destinations and views of its own at `ip`."""
        op, passive = node.op, self.graph.passive
        for read in node.reads:
            # Of a body, constants and fills are read too; of an operation they are `sources`.
            if read.views or read.holder is not op:
                value = read.holder.operands[read.position]
                if read.views or value in passive:
                    read.holder.operands[read.position] = self._cloned(value, ip)
        for position, index in node.sources:
            op.operands[position] = self._copied(index, ip)

    def _cloned(self, value: ir.Value, ip: ir.InsertionPoint) -> ir.Value:
        """Return what stands for `value` in the region.

        Every use of a destination has one of its own: a shared one would have to be copied.
        """
        index = self.graph.passive.get(value)
        if index is None:
            return self.inner.get(value, value)
        known = self.views.get(value)
        if known is not None:
            return known
        result = self._copied(index, ip)
        if self.graph.nodes[index].role is KernelRole.VIEW:
            self.views[value] = result
        return result

    def _copied(self, index: int, ip: ir.InsertionPoint) -> ir.Value:
        """A clone of the passive operation `index`, of which all operands are in the region."""
        source = self.graph.nodes[index].op
        operands = [self._cloned(operand, ip) for operand in source.operands]
        clone = source.clone(ip=ip)
        for position, operand in enumerate(operands):
            clone.operands[position] = operand
        result: ir.Value = clone.results[0]
        return result
