# SPDX-License-Identifier: MIT OR Apache-2.0
"""Cuts a block's operations into groups, one for each kernel.

Every group has a level above the levels of all groups that it reads from. An operation joins the
groups of its producers only if the level of the union stays below that of every reader of the
union: then each edge between groups leads from a lower to a higher level, and no cycle exists.
"""

from __future__ import annotations

from collections.abc import Sequence

from xyntra.passes.fusion.partition.group import Group
from xyntra.passes.fusion.partition.groups import Rules
from xyntra.passes.fusion.partition.reasons import Reason

__all__ = ["Partition"]

_MANY = 16
_NONE = 1 << 60


class Partition:
    """Groups of the operations placed so far; a fork shares what it does not change."""

    def __init__(self, rules: Rules, base: Partition | None = None) -> None:
        self.rules = rules
        self.base: Partition = base or self
        self.nanoseconds: float = base.nanoseconds if base else 0.0
        self.parent: dict[int, int] = {}
        self.groups: dict[int, tuple[Group, int]] = {}
        self.readers: dict[int, tuple[int, tuple[int, ...]]] = {}

    def fork(self) -> Partition:
        """A copy of the same base with the same changes."""
        copy = Partition(self.rules, self.base)
        copy.parent, copy.groups = dict(self.parent), dict(self.groups)
        copy.readers, copy.nanoseconds = dict(self.readers), self.nanoseconds
        return copy

    def commit(self) -> None:
        """Make the changes part of the base."""
        self.base.parent.update(self.parent)
        self.base.groups.update(self.groups)
        self.base.readers.update(self.readers)
        self.base.nanoseconds = self.nanoseconds

    def find(self, index: int) -> int:
        """The operation that stands for the group of operation `index`."""
        parents, below = self.parent, self.base.parent
        root = index
        while True:
            parent = parents.get(root)
            if parent is None:
                parent = below[root]
            if parent == root:
                break
            root = parent
        if root != index:
            parents[index] = root
        return root

    def group(self, root: int) -> Group:
        """The group that `root` stands for."""
        return self._placed(root)[0]

    def level(self, root: int) -> int:
        """The level of the group that `root` stands for."""
        return self._placed(root)[1]

    def _placed(self, root: int) -> tuple[Group, int]:
        return self.groups.get(root) or self.base.groups[root]

    def union(self, index: int, join: Sequence[int], producers: Sequence[int]) -> Group | Reason:
        """The group of operation `index` and the groups `join`, or why they may not be one.

        `producers` are the groups that it reads from.
        """
        level = self._level_above(producers, join)
        for root in join:
            if self._lowest_reader(root, join) <= level:
                return "cycle"
        return self.rules.merge([*map(self.group, join), self.rules.chains.groups[index]])

    def _level_above(self, producers: Sequence[int], join: Sequence[int]) -> int:
        """The level of a group that holds `join` and reads from `producers`."""
        level = 0
        for root in join:
            _, own = self._placed(root)
            if own > level:
                level = own
        for root in producers:
            if root not in join:
                _, below = self._placed(root)
                if below >= level:
                    level = below + 1
        return level

    def place(
        self, index: int, join: Sequence[int], union: Group, producers: Sequence[int]
    ) -> None:
        """Let operation `index`, which reads from `producers`, and `join` be the group `union`."""
        self.replace(join, index, union, self._level_above(producers, join))
        for root in producers:
            if root not in join:
                self._add_reader(root, index)

    def replace(self, roots: Sequence[int], index: int, union: Group, level: int) -> None:
        """Let operation `index` stand for `union`, which takes the place of the groups `roots`."""
        self.nanoseconds += union.nanoseconds - sum([self.group(r).nanoseconds for r in roots])
        floor = _NONE
        inside: list[int] = []
        for root in roots:
            lowest, readers = self._readers(root)
            floor = min(floor, lowest)
            inside += readers
            self.parent[root] = index
        self.parent[index] = index
        self.groups[index] = (union, level)
        kept = tuple([reader for reader in inside if self.find(reader) != index])
        self.readers[index] = (floor, kept)

    def _add_reader(self, root: int, index: int) -> None:
        floor, readers = self._readers(root)
        if len(readers) == _MANY:
            # Levels only rise: the lowest one of today stays below them all.
            floor = min(floor, *(self.level(self.find(reader)) for reader in readers))
            readers = ()
        self.readers[root] = (floor, (*readers, index))

    def _readers(self, root: int) -> tuple[int, tuple[int, ...]]:
        """A level that some readers do not fall below, and the other readers."""
        found = self.readers.get(root) or self.base.readers.get(root)
        return found or (_NONE, ())

    def _lowest_reader(self, root: int, join: Sequence[int]) -> int:
        lowest, readers = self._readers(root)
        for reader in readers:
            each = self.find(reader)
            if each not in join:
                lowest = min(lowest, self._placed(each)[1])
        return lowest

    def union_of_groups(self, producer: int, reader: int) -> tuple[Group, int] | Reason:
        """The groups `producer` and `reader`, which reads from it, as one with its level.

        Or why they are not one.
        """
        pair = (producer, reader)
        first, second = self.group(producer), self.group(reader)
        refused = self.rules.refuse_together((first, second))
        if refused is not None:
            return refused
        level = self._level_above(self.producers_of_group(reader), pair)
        if any(self._lowest_reader(root, pair) <= level for root in pair):
            return "cycle"
        union = self.rules.merge([first, second])
        if not isinstance(union, Group):
            return union
        faster = union.nanoseconds < first.nanoseconds + second.nanoseconds
        return (union, level) if faster else "not-faster"

    def producers_of_group(self, root: int) -> list[int]:
        """The groups that the group `root` reads from."""
        producer = self.rules.graph.producer
        owners = [producer[outside.origin] for outside in self.group(root).reads.values()]
        return list(dict.fromkeys([self.find(owner) for owner in owners if owner is not None]))

    def producers(self, index: int) -> list[int]:
        """The groups that the chain which ends with operation `index` reads from."""
        found: list[int] = []
        first = self.rules.chains.groups[index].members[0]
        for read in self.rules.graph.nodes[first].reads:
            if read.producer is not None:
                root = self.find(read.producer)
                if root not in found:
                    found.append(root)
        return found

    def roots(self) -> list[int]:
        """Operations that stand for groups, in the order of the groups' last operations."""
        parents = {**self.base.parent, **self.parent}
        roots = [index for index, parent in parents.items() if index == parent]
        return sorted(roots, key=lambda root: self.group(root).members[-1])
