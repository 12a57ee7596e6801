# SPDX-License-Identifier: MIT OR Apache-2.0
"""Groups the positions of a convolution by which taps meet the image, so that no padding is read.

Along each dimension, the taps inside of the image are the same for runs of neighbouring positions.
A group is one run of every dimension. With a dilation near the size of the image, as in atrous
spatial pyramid pooling, most taps of most positions are outside.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby, product
from math import prod

from xyntra.passes.lower.cpu.conv.window_plan import Slide

_MAX_GROUPS = 100


@dataclass(frozen=True)
class Run:
    """Neighbouring positions along one dimension.

    Attributes:
        places: the positions.
        taps: those that meet elements at all of them.
    """

    places: range
    taps: range


@dataclass(frozen=True)
class PositionGroups:
    """All positions of a convolution, each in one group.

    Attributes:
        runs: for each loop over positions, outermost first, its runs.
        taps: for each of these loops that over the taps; None where all positions meet all taps.
        whole: how many taps there are, of those loops over taps that belong to one over positions.
    """

    runs: tuple[tuple[Run, ...], ...]
    taps: tuple[int | None, ...]
    whole: int

    def tiles(self, height: int) -> int:
        """Return how many tiles of `height` positions there are; none is in two groups."""
        return sum(-(-size // height) for size, _ in self._sizes())

    def steps(self, height: int) -> int:
        """Return how many taps all such tiles have together."""
        return sum(-(-size // height) * taps for size, taps in self._sizes())

    def _sizes(self) -> list[tuple[int, int]]:
        """The positions and taps of every group."""
        return [
            (prod(len(run.places) for run in group), prod(len(run.taps) for run in group))
            for group in product(*self.runs)
        ]


def position_groups(
    rows: Sequence[tuple[int, int]], slides: Sequence[Slide]
) -> PositionGroups | None:
    """Return the groups of positions; None where all meet the same taps, or there are too many.

    Args:
        rows: number and extent of each loop over positions, outermost first.
        slides: how windows slide over the image.
    """
    numbers = [number for number, _ in rows]
    by_place = {slide.place: slide for slide in slides}
    if any(not slide.is_inside and slide.place not in numbers for slide in slides):
        return None
    runs = []
    for number, extent in rows:
        slide = by_place.get(number)
        runs.append((Run(range(extent), range(1)),) if slide is None else _runs(slide))
    if all(slide.is_inside for slide in slides) or prod(map(len, runs)) > _MAX_GROUPS:
        return None
    taps = (
        by_place[number].tap if number in by_place and not by_place[number].is_inside else None
        for number in numbers
    )
    whole = prod(slide.taps for slide in slides if slide.place in numbers)
    return PositionGroups(tuple(runs), tuple(taps), whole)


def _runs(slide: Slide) -> tuple[Run, ...]:
    found = []
    for taps, places in groupby(range(slide.places), slide.taps_at):
        run = list(places)
        met = range(taps[0], taps[-1] + 1) if taps else range(0)
        found.append(Run(range(run[0], run[-1] + 1), met))
    return tuple(found)
