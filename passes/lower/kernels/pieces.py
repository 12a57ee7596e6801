# SPDX-License-Identifier: MIT OR Apache-2.0
"""Buffers that several nests write piece by piece, and what a reader of one is cut into.

All pieces of a buffer are boxes in one mixed-radix system: the digits of an element's number, whose
places are the strides of all pieces. A nest that reads the buffer is cut along its loops until each
part reads one box, whose element it then knows as an affine function of its loops.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations, pairwise

from xyntra.passes.analysis.sizes.size import always_at_most
from xyntra.passes.lower.loops.linear_nest import (
    BufferOperand,
    LinearNest,
    part,
    split,
    without_units,
)

_MOST_PARTS = 32  # of one reader


@dataclass(frozen=True)
class Digits:
    """A mixed-radix system.

    Attributes:
        places: what a one is worth in each digit, descending, each a multiple of the next, and 1.
    """

    places: tuple[int, ...]

    @classmethod
    def of(cls, accesses: Sequence[tuple[LinearNest, BufferOperand]]) -> Digits | None:
        """Return a system in which every loop moves one digit; None where there is none."""
        steps = {1}
        for nest, access in accesses:
            pairs = zip(access.strides, nest.loops, strict=True)
            steps |= {step for step, loop in pairs if not always_at_most(loop.extent, 1)}
        places = sorted(steps, reverse=True)
        if places[-1] < 1:
            return None
        is_chain = all(high % low == 0 for high, low in pairwise(places))
        return cls(tuple(places)) if is_chain else None

    def of_number(self, number: int) -> tuple[int, ...]:
        """Return the digits of a number that is not negative; the first one has no limit."""
        found = []
        for place in self.places:
            found.append(number // place)
            number %= place
        return tuple(found)

    def limit(self, digit: int) -> int | None:
        """Return how many values a digit has; None for the first one."""
        return None if digit == 0 else self.places[digit - 1] // self.places[digit]


@dataclass(frozen=True)
class Box:
    """Elements whose digits lie between limits: from `low`, and before `high`.

    Attributes:
        low: the digits of the first element.
        high: those past the last one.
        loops: for every digit, the loop that moves it; None for a digit that none does.
    """

    low: tuple[int, ...]
    high: tuple[int, ...]
    loops: tuple[int | None, ...]

    @classmethod
    def of(cls, nest: LinearNest, access: BufferOperand, digits: Digits) -> Box | None:
        """Return the elements of an access; None where they are no box, or one is met twice."""
        low = digits.of_number(access.start)
        high = [each + 1 for each in low]
        loops: list[int | None] = [None] * len(low)
        for number, (loop, step) in enumerate(zip(nest.loops, access.strides, strict=True)):
            if loop.extent == 1:
                continue
            if step not in digits.places or loops[digits.places.index(step)] is not None:
                return None
            digit = digits.places.index(step)
            high[digit] += loop.extent - 1
            loops[digit] = number
        limits = map(digits.limit, range(len(low)))
        if any(limit is not None and end > limit for end, limit in zip(high, limits, strict=True)):
            return None
        return cls(low, tuple(high), tuple(loops))

    def holds(self, element: Sequence[int]) -> bool:
        """Tell whether an element, given by its digits, is one of the box."""
        return all(
            low <= digit < high
            for low, digit, high in zip(self.low, element, self.high, strict=True)
        )

    def meets(self, other: Box) -> bool:
        """Tell whether two boxes have an element in common."""
        limits = zip(self.low, self.high, other.low, other.high, strict=True)
        return all(low < end and start < high for low, high, start, end in limits)


@dataclass(frozen=True)
class Part:
    """A part of a nest, one of whose accesses touches one box alone.

    Attributes:
        nest: the part.
        box: number of the box.
        first: how far the first element is from the first one of the box, digit by digit.
        steps: for every digit, how far each loop of the part moves it.
    """

    nest: LinearNest
    box: int
    first: tuple[int, ...]
    steps: tuple[tuple[int, ...], ...]

    def strides(self, box: Box, access: BufferOperand) -> tuple[int, tuple[int, ...]]:
        """Return where another access of the nest that writes `box` stands in this part.

        Returns:
            How far its first element is from that of the access, and how far each loop of the part
            moves on.
        """
        start, strides = 0, [0] * len(self.nest.loops)
        for digit, loop in enumerate(box.loops):
            if loop is None:
                continue
            start += access.strides[loop] * self.first[digit]
            for number, step in enumerate(self.steps[digit]):
                strides[number] += access.strides[loop] * step
        return start, tuple(strides)


def parts_of(
    nest: LinearNest, operand: int, digits: Digits, boxes: Sequence[Box]
) -> list[Part] | None:
    """Return `nest` in parts that each touch one of `boxes` through an operand.

    Args:
        nest: it computes every element on its own.
        operand: number of one of its accesses.
        digits: the system of the boxes.
        boxes: in the order in which they are written; later ones are written over earlier ones.

    Returns:
        The parts, None where there are too many, or elements that are in no box.
    """
    waiting: list[LinearNest] = [without_units(nest)]
    found: list[Part] = []
    while waiting:
        if len(waiting) + len(found) > _MOST_PARTS:
            return None
        current = waiting.pop()
        step = _next(current, operand, digits, boxes)
        if step is None:
            return None
        if isinstance(step, Part):
            found.append(step)
        else:
            waiting.extend(reversed(step))
    return found


@dataclass(frozen=True)
class _Walk:
    """The digits of its element that an access of a nest moves."""

    nest: LinearNest
    first: tuple[int, ...]
    steps: tuple[tuple[int, ...], ...]  # for every loop, digits of its stride

    @classmethod
    def of(cls, nest: LinearNest, access: BufferOperand, digits: Digits) -> _Walk | None:
        if min([access.start, *access.strides]) < 0:
            return None
        steps = tuple(map(digits.of_number, access.strides))
        return cls(nest, digits.of_number(access.start), steps)

    def last(self, digit: int) -> int:
        """Return the largest value of a digit, if it had no limit."""
        loops = zip(self.nest.loops, self.steps, strict=True)
        return self.first[digit] + sum(step[digit] * (loop.extent - 1) for loop, step in loops)

    def movers(self, digit: int) -> list[int]:
        """Return the loops that move a digit, the one with the longest steps first."""
        loops = [number for number, step in enumerate(self.steps) if step[digit]]
        return sorted(loops, key=lambda number: -self.steps[number][digit])

    def cut(self, digit: int, limit: int) -> list[LinearNest]:
        """Return the nest in two, the first of which is below a limit, or closer to being so."""
        first, *others = [n for n in self.movers(digit) if self.nest.loops[n].extent > 1]
        extents = {number: self.nest.loops[number].extent - 1 for number in others}
        rest = sum(self.steps[number][digit] * extent for number, extent in extents.items())
        extent = self.nest.loops[first].extent
        below = (limit - 1 - self.first[digit] - rest) // self.steps[first][digit] + 1
        place = min(max(below, 1), extent - 1)
        pieces = ((0, place), (place, extent - place))
        return [without_units(part(self.nest, first, *each)) for each in pieces]

    def with_radix(self, digit: int, limit: int) -> list[LinearNest] | None:
        """Return the nest with a loop in two, so that none carries out of a digit."""
        movers = self.movers(digit)
        if len(movers) != 1 or self.first[digit] or limit % self.steps[movers[0]][digit]:
            return None
        inner = limit // self.steps[movers[0]][digit]
        extent = self.nest.loops[movers[0]].extent
        return None if extent % inner or inner == 1 else [split(self.nest, movers[0], inner)]


def _next(
    nest: LinearNest, operand: int, digits: Digits, boxes: Sequence[Box]
) -> Part | list[LinearNest] | None:
    """Return a nest as a part, if it is one, or cut once; None where it cannot be."""
    walk = _Walk.of(nest, nest.accesses[operand], digits)
    if walk is None:
        return None
    for digit in reversed(range(len(digits.places))):
        limit = digits.limit(digit)
        if limit is not None and walk.last(digit) >= limit:
            return walk.with_radix(digit, limit)
    number = max((n for n, box in enumerate(boxes) if box.holds(walk.first)), default=None)
    if number is None:
        return None
    box = boxes[number]
    for digit, high in enumerate(box.high):
        if walk.last(digit) >= high:
            return walk.cut(digit, high)
    last = tuple(walk.last(digit) + 1 for digit in range(len(digits.places)))
    reached = Box(walk.first, last, box.loops)
    for later in boxes[number + 1 :]:
        if later.meets(reached):
            limits = enumerate(zip(walk.first, later.low, strict=True))
            return walk.cut(*next((digit, low) for digit, (here, low) in limits if here < low))
    first = tuple(here - low for here, low in zip(walk.first, box.low, strict=True))
    columns = tuple(zip(*walk.steps, strict=True)) or ((),) * len(first)
    return Part(nest, number, first, columns)


def are_apart(accesses: Sequence[tuple[LinearNest, BufferOperand]]) -> bool:
    """Tell whether surely no two of some accesses to one buffer touch the same element."""
    digits = Digits.of(accesses)
    boxes = [] if digits is None else [Box.of(*each, digits) for each in accesses]
    known = [box for box in boxes if box is not None]
    if digits is None or len(known) < len(boxes):
        return False
    return not any(first.meets(second) for first, second in combinations(known, 2))


def moved(access: BufferOperand, start: int, strides: tuple[int, ...]) -> BufferOperand:
    """Return an access that starts so many elements later, with other strides."""
    return replace(access, offset=access.offset + start, strides=strides)
