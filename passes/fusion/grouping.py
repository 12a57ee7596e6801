# SPDX-License-Identifier: MIT OR Apache-2.0
"""Groups pointwise operations in one sweep so that the groups form an acyclic graph.

Every group has a level above the levels of all groups that it reads from. An operation joins the
groups of its producers only if the level of the union stays below that of every reader of the
union: then each edge between groups leads from a lower to a higher level, and no cycle exists.
"""

from __future__ import annotations

from dataclasses import dataclass

from xyntra.passes.fusion.block_graph import BlockGraph, Item

_NO_READER = 1 << 60


@dataclass
class _Group:
    level: int
    size: int
    domain: tuple[int, ...] | None
    lowest_reader: int = _NO_READER


class Grouping:
    """Groups of a block's operations; `find` names the group of an operation."""

    def __init__(self, graph: BlockGraph, max_ops: int) -> None:
        self.graph = graph
        self.max_ops = max_ops
        self.parent = list(range(len(graph.items)))
        self.groups: dict[int, _Group] = {}
        for index, item in enumerate(graph.items):
            self._place(index, item)

    def find(self, index: int) -> int:
        """The representative of the group that holds operation `index`."""
        while self.parent[index] != index:
            self.parent[index] = self.parent[self.parent[index]]
            index = self.parent[index]
        return index

    def level(self, index: int) -> int:
        """The level of the group that holds operation `index`."""
        return self.groups[self.find(index)].level

    def _place(self, index: int, item: Item) -> None:
        producers = self._producers(item)
        joined, floor = self._joinable(item, producers)
        level = max([floor, *(self.groups[root].level for root in joined)])
        merged = [self.groups.pop(root) for root in joined]
        for root in joined:
            self.parent[root] = index
        self.groups[index] = _Group(
            level,
            1 + sum(group.size for group in merged),
            item.domain,
            min((group.lowest_reader for group in merged), default=_NO_READER),
        )
        for root in producers:
            if root not in joined:
                group = self.groups[root]
                group.lowest_reader = min(group.lowest_reader, level)

    def _producers(self, item: Item) -> dict[int, bool]:
        """Groups that `item` reads from, and whether every read is pointwise."""
        producers: dict[int, bool] = {}
        for read in item.reads:
            if not self.graph.items[read.producer].source:
                root = self.find(read.producer)
                producers[root] = producers.get(root, True) and read.pointwise
        return producers

    def _joinable(self, item: Item, producers: dict[int, bool]) -> tuple[set[int], int]:
        """The producer groups that `item` may join, and the least level it then can have."""
        joined = {
            root
            for root, pointwise in producers.items()
            if pointwise and item.domain is not None and self.groups[root].domain == item.domain
        }
        if 1 + sum(self.groups[root].size for root in joined) > self.max_ops:
            joined = set()
        while True:
            floor = max(
                (self.groups[root].level + 1 for root in producers if root not in joined), default=0
            )
            level = max([floor, *(self.groups[root].level for root in joined)])
            blocked = {root for root in joined if level >= self.groups[root].lowest_reader}
            if not blocked:
                return joined, floor
            joined -= blocked
