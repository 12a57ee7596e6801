# SPDX-License-Identifier: MIT OR Apache-2.0
"""Checks that groups of operations can run one after the other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

__all__ = ["find_cycle", "regions_are_acyclic"]


def regions_are_acyclic(partition: Sequence[Sequence[int]], reads: Sequence[Iterable[int]]) -> bool:
    """Tell whether no group needs, by way of others, a result that depends on its own results.

    Args:
        partition: groups of operations, by index; an operation in no group is one by itself.
        reads: for every operation, the indices of the operations whose results it uses.

    Raises:
        ValueError: an operation is in two groups, or is unknown.
    """
    return find_cycle(partition, reads) is None


def find_cycle(
    partition: Sequence[Sequence[int]], reads: Sequence[Iterable[int]]
) -> list[int] | None:
    """One operation of every group on a cycle, each group read by the next, or None.

    Takes time linear in operations and reads; arguments as for `regions_are_acyclic`. Only groups
    can be on a cycle through others, but an operation that reads itself is one, too.
    """
    group = _groups(partition, len(reads))
    readers: dict[int, set[int]] = {}
    waiting: dict[int, int] = dict.fromkeys(group, 0)
    for index, producers in enumerate(reads):
        for producer in producers:
            if producer == index:
                return [index]
            reader, source = group[index], group[producer]
            if reader != source and reader not in readers.setdefault(source, set()):
                readers[source].add(reader)
                waiting[reader] += 1
    blocked = _blocked(readers, waiting)
    return _walk_back(readers, blocked) if blocked else None


def _groups(partition: Sequence[Sequence[int]], count: int) -> list[int]:
    """For every operation, the first operation of its group."""
    group = list(range(count))
    seen: set[int] = set()
    for members in partition:
        for index in members:
            if not 0 <= index < count:
                raise ValueError(f"operation {index} is not one of {count}")
            if index in seen:
                raise ValueError(f"operation {index} is in two groups")
            seen.add(index)
            group[index] = members[0]
    return group


def _blocked(readers: dict[int, set[int]], waiting: dict[int, int]) -> set[int]:
    """Groups that never become ready (Kahn, "Topological sorting of large networks", 1962)."""
    ready = [root for root, count in waiting.items() if not count]
    blocked = set(waiting)
    while ready:
        root = ready.pop()
        blocked.discard(root)
        for reader in readers.get(root, ()):
            waiting[reader] -= 1
            if not waiting[reader]:
                ready.append(reader)
    return blocked


def _walk_back(readers: dict[int, set[int]], blocked: set[int]) -> list[int]:
    """A cycle among groups of which each waits for another one of them."""
    producer = {
        reader: source
        for source in sorted(blocked)
        for reader in readers.get(source, ())
        if reader in blocked
    }
    place = min(blocked)
    path: list[int] = []
    while place not in path:
        path.append(place)
        place = producer[place]
    return path[path.index(place) :][::-1]
