# SPDX-License-Identifier: MIT OR Apache-2.0
"""Joins loops of an operation into one where its indexing maps allow it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import prod

from xyntra.dialects.tensors.reassociation import corresponding_groups
from xyntra.passes.views.structured import Item, Map

Shape = tuple[int, ...]
Run = tuple[int, ...]
"""Loops that one dimension of a tensor stands for, outermost first."""


@dataclass(frozen=True)
class JoinedLoops:
    """A map after loops were joined, and the shape that its tensor must have."""

    map_: Map
    shape: Shape


@lru_cache(maxsize=4096)
def joined_positions(wide: Shape, narrow: Shape) -> list[list[int]]:
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


@dataclass(frozen=True)
class LoopNest:
    """The loops of an operation: its simple maps, the shapes that they read, what is reduced."""

    maps: tuple[Map, ...]
    shapes: tuple[Shape, ...]
    reductions: tuple[bool, ...]

    @cached_property
    def extents(self) -> tuple[int, ...]:
        """The number of steps of every loop."""
        extents = [1] * len(self.reductions)
        for map_, shape in zip(self.maps, self.shapes, strict=True):
            for item, size in zip(map_, shape, strict=True):
                if isinstance(item, int):
                    extents[item] = size
        return tuple(extents)

    def core(self, run: Run) -> Run:
        """The loops of a run that count: those of more than one step."""
        return tuple(loop for loop in run if self.extents[loop] > 1) or run[:1]


@lru_cache(maxsize=4096)
def can_join(nest: LoopNest, run: Run) -> bool:
    """Tell whether every map of a nest allows to make one loop of `run`."""
    if len({nest.reductions[loop] for loop in run}) > 1:
        return False
    core = nest.core(run)
    if not all(_is_together(*read, run, core) for read in zip(nest.maps, nest.shapes, strict=True)):
        return False
    written = [position for position, item in enumerate(nest.maps[-1]) if item in run]
    return not written or written == list(range(written[0], written[0] + len(run)))


def _is_together(map_: Map, shape: Shape, run: Run, core: Run) -> bool:
    """Tell whether a map has the loops of the core side by side and in order, or none of them."""
    inside = [position for position, item in enumerate(map_) if item in core]
    if not inside:
        return True
    between = range(inside[0], inside[-1] + 1)
    return tuple(map_[position] for position in inside) == core and all(
        map_[position] in run or (map_[position] is None and shape[position] == 1)
        for position in between
    )


@dataclass(frozen=True)
class JoinedNest:
    """A nest after loops were joined.

    Attributes:
        kept: the loops that give the new ones their kind, in order.
        operands: what becomes of each map.
    """

    kept: tuple[int, ...]
    operands: tuple[JoinedLoops, ...]


@lru_cache(maxsize=4096)
def joined_nest(nest: LoopNest, runs: tuple[Run, ...]) -> JoinedNest:
    """Make one loop of each of `runs`, which have no loop in common and can be joined."""
    of_loop = {loop: run for run in runs for loop in run}
    kept = [loop for loop in range(len(nest.reductions)) if loop == min(of_loop.get(loop, (loop,)))]
    names = {
        loop: kept.index(min(of_loop.get(loop, (loop,)))) for loop in range(len(nest.reductions))
    }
    operands = []
    for map_, shape in zip(nest.maps, nest.shapes, strict=True):
        items: list[Item] = []
        sizes: list[int] = []
        position = 0
        while position < len(map_):
            end, loop = _span(nest, map_, position, of_loop)
            items.append(None if loop is None else names[loop])
            sizes.append(prod(shape[position:end]))
            position = end
        operands.append(JoinedLoops(tuple(items), tuple(sizes)))
    return JoinedNest(tuple(kept), tuple(operands))


def _span(nest: LoopNest, map_: Map, start: int, of_loop: dict[int, Run]) -> tuple[int, int | None]:
    """Where the new dimension that starts at a position ends, and a loop that it is, if any."""
    loop = map_[start]
    if not isinstance(loop, int) or loop not in of_loop:
        return start + 1, loop if isinstance(loop, int) else None
    run = of_loop[loop]
    core = nest.core(run)
    end = start + 1
    while end < len(map_) and (
        map_[end] in run or (map_[end] is None and any(item in core for item in map_[end:]))
    ):
        end += 1
    return end, loop if any(item in core for item in map_[start:end]) else None
