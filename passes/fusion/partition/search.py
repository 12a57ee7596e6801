# SPDX-License-Identifier: MIT OR Apache-2.0
"""Searches for the partition of the least predicted time.

Operations are placed in order, each with its producers' groups or without. The greedy partition
lets every operation join as much as it may. The beam keeps the best few partitions of a window of
operations and tries other choices wherever there are any; the better of the two wins, so the result
is never slower, as the cost model sees it, than the greedy one.
"""

from __future__ import annotations

from collections.abc import Sequence

from xyntra.passes.fusion.partition.group import Group
from xyntra.passes.fusion.partition.groups import Rules
from xyntra.passes.fusion.partition.partitions import Partition

__all__ = ["best_partition", "greedy_partition"]

_BEAM = 3
_WINDOW = 24
_BEAM_LIMIT = 4000

Choice = tuple[tuple[int, ...], Group]


def best_partition(rules: Rules) -> Partition:
    """The partition of the least predicted time that was found."""
    greedy = greedy_partition(rules)
    if len(rules.graph.nodes) > _BEAM_LIMIT:
        return greedy
    found = _beam_partition(rules)
    return found if found.nanoseconds < greedy.nanoseconds else greedy


def greedy_partition(rules: Rules) -> Partition:
    """Every operation joins as many of its producers as it may, the largest savings first."""
    partition = Partition(rules)
    for index in rules.chains.groups:
        producers = partition.producers(index)
        join, union = _most(partition, index, producers)
        partition.place(index, join, union, producers)
    return partition


def _most(partition: Partition, index: int, producers: Sequence[int]) -> Choice:
    single = partition.rules.chains.groups[index]
    if single.opaque or not producers:
        return (), single
    if len(producers) > 1:
        together = partition.union(index, producers, producers)
        if isinstance(together, Group):
            return tuple(producers), together
    found: Choice = ((), single)
    for choice in _ranked(partition, index, single, producers):
        join = (*found[0], *choice[0])
        union = choice[1] if not found[0] else partition.union(index, join, producers)
        if isinstance(union, Group):
            found = (join, union)
    return found


def _ranked(
    partition: Partition, index: int, single: Group, producers: Sequence[int]
) -> list[Choice]:
    """The producers that the operation may join, each by itself, by what joining it saves."""
    choices: list[tuple[float, Choice]] = []
    for root in producers:
        union = partition.union(index, (root,), producers)
        if isinstance(union, Group):
            apart = partition.group(root).nanoseconds + single.nanoseconds
            if union.nanoseconds < apart:
                choices.append((union.nanoseconds - apart, ((root,), union)))
    if len(choices) > 1:
        choices.sort(key=lambda item: item[0])
    return [choice for _, choice in choices]


def _beam_partition(rules: Rules) -> Partition:
    base = Partition(rules)
    states = [Partition(rules, base)]
    ends = iter(_window_ends(rules))
    end = next(ends, None)
    for index, group in rules.chains.groups.items():
        if end is not None and group.members[0] >= end:
            end = next(ends, None)
            states[0].commit()
            states = [Partition(rules, base)]
        states = _advance(states, index)
    states[0].commit()
    return base


def _window_ends(rules: Rules) -> list[int]:
    """The operations at which windows end."""
    placed = sorted([i for group in rules.chains.groups.values() for i in group.members])
    return placed[_WINDOW - 1 :: _WINDOW]


def _advance(states: list[Partition], index: int) -> list[Partition]:
    """The best few partitions after every choice for operation `index`, the best one first."""
    options = [(state, choice) for state in states for choice in _choices(state, index)]
    ranked = sorted(options, key=lambda option: _time_after(*option))[:_BEAM]
    if len(options) == 1:
        (state, (join, union)) = options[0]
        state.place(index, join, union, state.producers(index))
        return states
    advanced = []
    for state, (join, union) in ranked:
        following = state.fork()
        following.place(index, join, union, following.producers(index))
        advanced.append(following)
    return advanced


def _choices(partition: Partition, index: int) -> list[Choice]:
    """All it may join; where that leaves a producer out, each producer by itself, and none."""
    producers = partition.producers(index)
    most = _most(partition, index, producers)
    if len(most[0]) == len(producers) or most[1].opaque:
        return [most]
    single = partition.rules.chains.groups[index]
    others = [c for c in _ranked(partition, index, single, producers) if c[0] != most[0]]
    return [most, *others, *([((), single)] if most[0] else [])]


def _time_after(partition: Partition, choice: Choice) -> float:
    join, union = choice
    replaced = sum(partition.group(root).nanoseconds for root in join)
    return partition.nanoseconds + union.nanoseconds - replaced
