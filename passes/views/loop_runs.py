# SPDX-License-Identifier: MIT OR Apache-2.0
"""Which loops of an operation can be joined into one, and what its maps become."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xyntra.dialects.reassociation import corresponding_groups
from xyntra.passes.views.structured import Item, Map

Shape = tuple[int, ...]
Run = tuple[int, ...]
"""Loops that one dimension of a tensor stands for, outermost first."""


@dataclass(frozen=True)
class Joined:
    """A map after loops were joined, and the shape that its tensor must have."""

    map_: Map
    shape: Shape


def joined_positions(wide: Sequence[int], narrow: Sequence[int]) -> list[list[int]]:
    """Neighbouring dimensions of `wide` that are one dimension of `narrow`, its reshape."""
    if not wide or not narrow:
        return []
    groups = corresponding_groups(wide, narrow)
    return [old for old, new in groups if len(new) == 1 and len(old) > 1]


def runs_of(map_: Map, positions: Sequence[Sequence[int]]) -> list[Run]:
    """The loops at groups of positions of a simple map, where they are several."""
    indexed = [[map_[position] for position in group] for group in positions]
    found = [tuple(item for item in items if isinstance(item, int)) for items in indexed]
    return [run for run in found if len(run) > 1]


class LoopRuns:
    """Disjoint runs of loops that every map of an operation allows to join."""

    def __init__(
        self, maps: Sequence[Map], shapes: Sequence[Shape], reductions: Sequence[bool]
    ) -> None:
        self._maps = tuple(maps)
        self._shapes = tuple(shapes)
        self._reductions = reductions
        self._extents = _extents(maps, shapes, len(reductions))
        self.runs: list[Run] = []

    def add(self, run: Run) -> bool:
        """Join the loops of `run` if that can be; True also if they are joined already."""
        if run in self.runs:
            return True
        if any(set(run) & set(other) for other in self.runs):
            return False
        if len({self._reductions[loop] for loop in run}) > 1:
            return False
        core = self._core(run)
        for map_, shape in zip(self._maps, self._shapes, strict=True):
            if not _is_together(map_, shape, run, core):
                return False
        written = [position for position, item in enumerate(self._maps[-1]) if item in run]
        if written and written != list(range(written[0], written[0] + len(run))):
            return False
        self.runs.append(run)
        return True

    def _core(self, run: Run) -> Run:
        """The loops of a run that count: those of more than one step."""
        return tuple(loop for loop in run if self._extents[loop] > 1) or run[:1]

    def names(self) -> list[int]:
        """The new loop that each loop becomes."""
        names: list[int] = []
        heads: dict[Run, int] = {}
        count = 0
        for loop in range(len(self._reductions)):
            run = next((run for run in self.runs if loop in run), None)
            if run is not None and run in heads:
                names.append(heads[run])
                continue
            if run is not None:
                heads[run] = count
            names.append(count)
            count += 1
        return names

    def kept(self) -> list[int]:
        """The loops that give the new ones their kind, in order."""
        names = self.names()
        return [names.index(name) for name in range(max(names, default=-1) + 1)]

    def joined(self, number: int) -> Joined:
        """What becomes of one map."""
        map_, shape = list(self._maps[number]), list(self._shapes[number])
        names = self.names()
        items: list[Item] = []
        sizes: list[int] = []
        position = 0
        while position < len(map_):
            end, item = self._span(map_, position, names)
            items.append(item)
            sizes.append(prod(shape[position:end]))
            position = end
        return Joined(tuple(items), tuple(sizes))

    def _span(self, map_: list[Item], start: int, names: list[int]) -> tuple[int, Item]:
        """Where the dimension that starts at a position ends, and what then indexes it."""
        loop = map_[start]
        run = next((run for run in self.runs if loop in run), None)
        if not isinstance(loop, int) or run is None:
            return start + 1, names[loop] if isinstance(loop, int) else loop
        core = self._core(run)
        end = start + 1
        while end < len(map_) and (
            map_[end] in run or (map_[end] is None and _returns(map_, end, core))
        ):
            end += 1
        if not any(item in core for item in map_[start:end]):
            return end, None
        return end, names[loop]


def _is_together(map_: Map, shape: Shape, run: Run, core: Run) -> bool:
    """Whether a map has the loops of the core side by side and in order, or none of them."""
    inside = [position for position, item in enumerate(map_) if item in core]
    if not inside:
        return True
    between = range(inside[0], inside[-1] + 1)
    return tuple(map_[position] for position in inside) == core and all(
        map_[position] in run or (map_[position] is None and shape[position] == 1)
        for position in between
    )


def _returns(map_: list[Item], start: int, core: Run) -> bool:
    """Whether loops of the core follow a constant."""
    return any(item in core for item in map_[start:])


def _extents(maps: Sequence[Map], shapes: Sequence[Shape], loops: int) -> list[int]:
    extents = [1] * loops
    for map_, shape in zip(maps, shapes, strict=True):
        for item, size in zip(map_, shape, strict=True):
            if isinstance(item, int):
                extents[item] = size
    return extents
