# SPDX-License-Identifier: MIT OR Apache-2.0
"""Merges groups that the search in order left apart."""

from __future__ import annotations

from collections.abc import Callable, Hashable

from xyntra.passes.fusion.partition.group import Group
from xyntra.passes.fusion.partition.partitions import Partition

__all__ = ["merge_remaining", "merge_siblings"]

_SHORT = 8  # launches: what takes longer gains too little by saving one
Key = Callable[[Partition, int], Hashable]


def merge_remaining(partition: Partition) -> None:
    """Merge a group into one that reads from it, wherever that is legal now and saves time."""
    for index in partition.roots():
        for producer in partition.producers_of_group(partition.find(index)):
            reader = partition.find(index)
            if partition.find(producer) != producer or producer == reader:
                continue  # the two have become one meanwhile
            union = partition.union_of_groups(producer, reader)
            if not isinstance(union, str):
                partition.replace((producer, reader), reader, *union)


def merge_siblings(partition: Partition) -> None:
    """Merge groups of one level, which cannot depend on each other.

    Pointwise kernels over equally many elements save a launch, and reads of what they share; so do
    those of which no operation reduces, up to a few launches' time. Of kernels that take less time
    than their launch, several go into one. What is computed once, when the model is loaded, stays
    apart: equal kernels there are compiled once.
    """
    _merge_alike(partition, _same_space)
    _merge_alike(partition, _same_size)
    _merge_alike(partition, _small)


def _same_space(partition: Partition, root: int) -> Hashable:
    group = partition.group(root)
    if not _may_merge(group) or not group.is_pointwise:
        return None
    return partition.level(root), group.elements


def _same_size(partition: Partition, root: int) -> Hashable:
    """Blocks of a GPU compute independent operations side by side, whatever their loops are."""
    group, machine = partition.group(root), partition.rules.machine
    if not machine.runs_side_by_side or not _may_merge(group):
        return None
    if group.reduces or group.moves_only or group.nanoseconds >= _SHORT * machine.launch_ns:
        return None
    return partition.level(root), group.elements


def _small(partition: Partition, root: int) -> Hashable:
    group = partition.group(root)
    if not _may_merge(group):
        return None
    is_small = group.nanoseconds < 2 * partition.rules.machine.launch_ns
    return partition.level(root) if is_small else None


def _may_merge(group: Group) -> bool:
    return not group.opaque and not group.static and group.anchor is None


def _merge_alike(partition: Partition, key_of: Key) -> None:
    waiting: dict[Hashable, int] = {}
    for root in partition.roots():
        key = key_of(partition, root)
        if key is None:
            continue
        other = waiting.get(key)
        waiting[key] = root
        if other is not None:
            union = partition.rules.batch([partition.group(other), partition.group(root)])
            if isinstance(union, Group):
                partition.replace((other, root), root, union, partition.level(root))
