# SPDX-License-Identifier: MIT OR Apache-2.0
"""Time several programs side by side, each in its own process, and compare what they compute.

They run by turns, so that a change of clock or load meets all of them. Who is not running is
stopped, so that a pool of threads that still spins takes nothing from the next. A turn during which
other programs kept the machine busy is repeated a few times.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bench.harness.accuracy import Difference, compare, worst
from bench.harness.child_process import Child, ChildError
from bench.harness.disturbance import Observer
from bench.harness.measure import error_in
from bench.harness.runners import Bind, Outputs, Time, make_runner

__all__ = ["Entrant", "Outcome", "Pace", "contest"]

_LEAST_CALLS = 2
_ATTEMPTS = 4
_DISTURBED = 0.15
"""Processors that others may take during a turn; above that, it is tried again."""
_PATIENCE = 0.25


@dataclass(frozen=True)
class Entrant:
    """A program that takes part.

    Attributes:
        name: of the entrant in the result.
        job: for `bench.harness.runners.make_runner`.
    """

    name: str
    job: Mapping[str, Any]


@dataclass(frozen=True)
class Pace:
    """How long a contest takes.

    Attributes:
        seconds: rounds go on for this long.
        rounds: but there are at least so many; in each, everyone has one turn.
        turn: seconds of one turn, which has two calls or more.
        timeout: seconds that an entrant may take to load, or for one message.
    """

    seconds: float
    rounds: int
    turn: float
    timeout: float


@dataclass
class Outcome:
    """What came of a contest.

    Attributes:
        seconds: of every timed call, by entrant.
        outputs: for each of the inputs, by entrant.
        errors: the message of each entrant that failed.
        rounds: how many there were.
        others: processors that other programs kept busy, on average over the turns that count.
    """

    seconds: dict[str, list[float]] = field(default_factory=dict)
    outputs: dict[str, list[list[np.ndarray]]] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)
    rounds: int = 0
    others: float = 0.0

    def median(self, name: str) -> float:
        """Median seconds of a call."""
        return statistics.median(self.seconds[name])

    def difference(self, name: str, reference: str) -> Difference:
        """How far the outputs of `name` are from those of `reference`.

        Raises:
            ValueError: shapes, dtypes or numbers of outputs differ.
        """
        pairs = zip(self.outputs[name], self.outputs[reference], strict=True)
        return worst([compare(_numbered(own), _numbered(other)) for own, other in pairs])


def _numbered(arrays: Sequence[np.ndarray]) -> dict[str, np.ndarray]:
    return {str(index): array for index, array in enumerate(arrays)}


def contest(
    entrants: Sequence[Entrant], inputs: Sequence[Mapping[str, np.ndarray]], pace: Pace
) -> Outcome:
    """Load every entrant, let it compute the outputs for all `inputs`, time it with the first.

    An entrant that fails is named in the outcome's errors and takes no further part.
    """
    outcome = Outcome()
    running: dict[str, Child] = {}
    try:
        for entrant in entrants:
            _enter(entrant, inputs, pace, running, outcome)
        _rounds(running, pace, outcome)
    finally:
        for child in running.values():
            child.end()
    return outcome


def _enter(
    entrant: Entrant,
    inputs: Sequence[Mapping[str, np.ndarray]],
    pace: Pace,
    running: dict[str, Child],
    outcome: Outcome,
) -> None:
    with _failing(entrant.name, running, outcome):
        child = Child(make_runner, entrant.job, seconds=pace.timeout)
        running[entrant.name] = child
        found = [child.ask(Outputs(arrays), pace.timeout) for arrays in inputs]
        child.ask(Bind(inputs[0]), pace.timeout)
        child.stop()
        outcome.outputs[entrant.name] = found
        outcome.seconds[entrant.name] = []


def _rounds(running: dict[str, Child], pace: Pace, outcome: Outcome) -> None:
    end = time.perf_counter() + pace.seconds
    others: list[float] = []
    while running and (outcome.rounds < pace.rounds or time.perf_counter() < end):
        names = list(running)
        first = outcome.rounds % len(names)
        for name in names[first:] + names[:first]:
            with _failing(name, running, outcome):
                times, share = _undisturbed_turn(running[name], pace)
                outcome.seconds[name] += times
                others.append(share)
        outcome.rounds += 1
    outcome.others = statistics.fmean(others) if others else 0.0


def _undisturbed_turn(child: Child, pace: Pace) -> tuple[list[float], float]:
    """The times of a turn, and the processors that others took: the quietest of a few."""
    found = []
    for _ in range(_ATTEMPTS):
        found.append(_turn(child, pace))
        if found[-1][1] <= _DISTURBED:
            break
        time.sleep(_PATIENCE)
    return min(found, key=lambda turn: turn[1])


def _turn(child: Child, pace: Pace) -> tuple[list[float], float]:
    observer = Observer(child.pid)
    child.go()
    times: list[float] = child.ask(Time(pace.turn, _LEAST_CALLS), pace.timeout)
    child.stop()
    return times, observer.processors()


@contextmanager
def _failing(name: str, running: dict[str, Child], outcome: Outcome) -> Iterator[None]:
    try:
        yield
    except ChildError as error:
        raised = error.kind == "exception"
        outcome.errors[name] = error_in(error.detail.strip()) if raised else str(error)
        child = running.pop(name, None)
        if child is not None:
            child.end()
