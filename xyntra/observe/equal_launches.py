# SPDX-License-Identifier: MIT OR Apache-2.0
"""Puts equal launches together, so that a model of twelve equal layers reads like one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xyntra.observe.launches import Crossing, Launch
from xyntra.observe.text import common_pattern


@dataclass(frozen=True)
class EqualLaunches:
    """Launches of one kernel with one cost, in order; never empty."""

    launches: tuple[Launch, ...]

    @property
    def first(self) -> Launch:
        """The launch that stands for all."""
        return self.launches[0]

    @property
    def nodes(self) -> tuple[str, ...]:
        """Names of the nodes in a launch, * standing for numbers that differ from another's.

        The first launch's own names where the others' are of another form.
        """
        names = [launch.kernel.fused for launch in self.launches]
        if len({len(nodes) for nodes in names}) != 1:
            return self.first.kernel.fused
        patterns = [common_pattern(column) for column in zip(*names, strict=True)]
        found = tuple(pattern for pattern in patterns if pattern is not None)
        return found if len(found) == len(patterns) else self.first.kernel.fused

    @property
    def predicted(self) -> float | None:
        """Predicted nanoseconds of all of them together."""
        each = self.first.kernel.predicted
        return None if each is None else each * len(self.launches)

    @property
    def measured(self) -> int | None:
        """Measured nanoseconds of all of them together."""
        times = [launch.measured for launch in self.launches if launch.measured is not None]
        return sum(times) if len(times) == len(self.launches) else None


def group_launches(launches: Sequence[Launch], each: bool = False) -> list[EqualLaunches]:
    """Launches by kernel and cost, in the order of their first; one by one with `each`."""
    groups: dict[object, list[Launch]] = {}
    for position, launch in enumerate(launches):
        kernel = launch.kernel
        cost = (kernel.bytes, kernel.flops, kernel.predicted, kernel.bound)
        groups.setdefault(position if each else (kernel.name, *cost), []).append(launch)
    return [EqualLaunches(tuple(group)) for group in groups.values()]


def group_crossings(
    launches: Sequence[Launch], crossings: Sequence[Crossing], each: bool = False
) -> list[list[Crossing]]:
    """Boundaries between equal kernels with one reason and size, costliest first."""
    groups: dict[object, list[Crossing]] = {}
    for position, crossing in enumerate(crossings):
        source = None if crossing.producer is None else launches[crossing.producer].kernel.name
        target = launches[crossing.consumer].kernel.name
        key = (source, target, crossing.boundary.reason, crossing.boundary.bytes)
        groups.setdefault(position if each else key, []).append(crossing)
    return sorted(groups.values(), key=lambda group: -total_cost(group))


def total_cost(crossings: Sequence[Crossing]) -> float:
    """Predicted nanoseconds of all of them together."""
    return sum(crossing.boundary.nanoseconds for crossing in crossings)
