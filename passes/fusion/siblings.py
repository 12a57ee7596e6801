# SPDX-License-Identifier: MIT OR Apache-2.0
"""Merges groups that the search in order left apart."""

from __future__ import annotations

from xyntra.passes.fusion.groups import Group
from xyntra.passes.fusion.partition import Partition

__all__ = ["merge_remaining", "merge_siblings"]


def merge_remaining(partition: Partition) -> None:
    """Merge a group into one that reads from it, wherever that is legal now and saves time."""
    for index in partition.roots():
        for producer in partition.producers_of_group(index):
            reader = partition.find(index)
            union = partition.union_of_groups(producer, reader)
            if not isinstance(union, str):
                partition.replace((producer, reader), reader, *union)


def merge_siblings(partition: Partition) -> None:
    """Merge groups of one level, which cannot depend on each other.

    Pointwise kernels over equally many elements save a launch, and reads of what they share.
    """
    waiting: dict[tuple[int, int, bool], int] = {}
    for root in partition.roots():
        group = partition.group(root)
        if group.opaque or group.anchor is not None or not group.is_pointwise:
            continue
        level = partition.level(root)
        key = (level, group.elements, group.static)
        other = waiting.get(key)
        if other is None:
            waiting[key] = root
            continue
        union = partition.rules.merge([partition.group(other), group])
        if isinstance(union, Group) and union.is_pointwise:
            partition.replace((other, root), root, union, level)
        waiting[key] = root
