# SPDX-License-Identifier: MIT OR Apache-2.0
"""Describes the search space of a kernel: its places, and the legal schedules of each."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

from xyntra.dialects.attributes.schedule import Schedule
from xyntra.passes.lower.kernels.schedule_place import SchedulePlace
from xyntra.tune.records import Places

__all__ = ["KernelSpace", "spaces_from_json", "spaces_to_json"]


@dataclass(frozen=True)
class KernelSpace:
    """A kernel of a model, and all that it could be told.

    Attributes:
        name: of its function.
        key: under which a database knows it.
        kind: of kernel: contraction, row …
        text: its function, before it is given schedules.
        nodes: what it computes, in the words of the model.
        calls: how often a call of the model launches it.
        nanoseconds: of a launch, as the cost model predicts.
        places: its nests, or stages, in order.
        close: what could as well be one kernel with it, for a little more time as predicted.
        failure: why these are not known, where they are not.
    """

    name: str
    key: str
    kind: str
    text: str
    nodes: tuple[str, ...]
    calls: int
    nanoseconds: float
    places: tuple[SchedulePlace, ...]
    failure: str = ""
    close: tuple[str, ...] = ()

    @property
    def count(self) -> int:
        """The number of combinations of legal schedules."""
        return prod(len(each.legal) for each in self.places if each.legal)

    @property
    def default(self) -> Places:
        """What is chosen without tuning."""
        return tuple(each.chosen for each in self.places)

    def for_one_thread(self) -> KernelSpace:
        """Return the space without schedules that differ in what several threads do."""
        return replace(self, places=tuple(each.for_one_thread() for each in self.places))

    @property
    def free(self) -> list[int]:
        """The numbers of the places where there is something to choose."""
        return [n for n, each in enumerate(self.places) if len(each.legal) > 1]

    def emitters(self) -> Iterator[tuple[int, str, int]]:
        """Yield place, emitter and number of its schedules, where there is something to choose."""
        for number in self.free:
            counts: dict[str, int] = {}
            for each in self.places[number].legal:
                counts[each.emitter] = counts.get(each.emitter, 0) + 1
            yield from ((number, name, count) for name, count in counts.items())


def spaces_to_json(spaces: Sequence[KernelSpace]) -> bytes:
    """Return what `spaces_from_json` reads."""
    return json.dumps([_to_json(each) for each in spaces]).encode()


def spaces_from_json(data: bytes) -> list[KernelSpace]:
    """Rebuild what `spaces_to_json` described."""
    return [_from_json(each) for each in json.loads(data)]


def _to_json(space: KernelSpace) -> dict[str, Any]:
    places = [
        [None if each.chosen is None else each.chosen.to_json(), [s.to_json() for s in each.legal]]
        for each in space.places
    ]
    return {**vars(space), "places": places}


def _from_json(entries: dict[str, Any]) -> KernelSpace:
    places = tuple(
        SchedulePlace(
            None if chosen is None else Schedule.from_json(chosen),
            tuple(map(Schedule.from_json, legal)),
        )
        for chosen, legal in entries["places"]
    )
    texts = {name: tuple(entries[name]) for name in ("nodes", "close")}
    return KernelSpace(**{**entries, "places": places, **texts})
