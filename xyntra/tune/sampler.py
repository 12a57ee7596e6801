# SPDX-License-Identifier: MIT OR Apache-2.0
"""Proposes combinations of schedules: first those that look best, then by Bayesian search.

The search is optuna's tree-structured Parzen estimator over the emitter of each place and what that
can be told. What it suggests need not be legal: the nearest legal combination that was not tried
takes its place, and is what the estimator learns from.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Any

from xyntra.dialects.attributes.schedule import Schedule
from xyntra.errors import MissingExtraError
from xyntra.tune.records import Places, write_schedules
from xyntra.tune.space import KernelSpace

__all__ = ["Sampler", "load_optuna"]

_LAST_RESORT = frozenset({"scalar-loops"})
"""Emitters of any nest, hardly ever faster than one that fits: tried when all else has been."""
_FIRST = 5, 1
"""Schedules to begin with, of the emitter that is chosen without tuning and of each other one."""
_FAILED = 4.0
"""What the estimator is told of a candidate that failed, as a share of the usual time."""
_TURNS = 40
_NOTHING = "none"


def load_optuna() -> Any:
    """Return the module `optuna`.

    Raises:
        MissingExtraError: it is not installed.
    """
    try:
        import optuna
    except ImportError as error:
        raise MissingExtraError.for_extra("tune", "optuna", purpose="tuning") from error
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    return optuna


class Sampler:
    """Proposes combinations of schedules for one kernel, each once.

    Args:
        space: of the kernel.
        seed: of what is drawn.
        first: combinations to propose before all others.
    """

    def __init__(self, space: KernelSpace, seed: int, first: Sequence[Places] = ()) -> None:
        import warnings

        optuna = load_optuna()
        self.space = space
        self._random = random.Random(seed)  # noqa: S311  (of a search)
        self._known = {write_schedules(space.default)}
        self._first = iter([*first, *_first_of(space)])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that the estimator is experimental
            sampler = optuna.samplers.TPESampler(
                seed=seed, n_startup_trials=2, multivariate=True, group=True
            )
        self._study = optuna.create_study(sampler=sampler)
        self._optuna = optuna
        self._fields = _fields(space)
        self.tell(space.default, 1.0)

    def propose(self) -> Places | None:
        """Return a combination that was not proposed, or told, before; None where there is none."""
        if len(self._known) >= self.space.count:
            return None
        for places in self._first:
            if self._take(places):
                return places
        for _ in range(_TURNS):
            near = self._nearest(self._suggested())
            if near is not None and self._take(near):
                return near
        return next(filter(self._take, self._any()), None)

    def tell(self, places: Places, ratio: float | None) -> None:
        """Say how a combination did: its time as a share of the usual one; None for a failure."""
        self._known.add(write_schedules(places))
        params, distributions = {}, {}
        for name, text in _params(self.space, places):
            if text in self._fields.get(name, ()):
                params[name] = text
                choices = self._fields[name]
                distributions[name] = self._optuna.distributions.CategoricalDistribution(choices)
        value = _FAILED if ratio is None else min(ratio, _FAILED)
        self._study.add_trial(
            self._optuna.trial.create_trial(params=params, distributions=distributions, value=value)
        )

    def _take(self, places: Places) -> bool:
        key = write_schedules(places)
        is_new = key not in self._known
        self._known.add(key)
        return is_new

    def _suggested(self) -> dict[str, str]:
        """Return what the estimator would try: texts by the names of `_params`."""
        trial = self._study.ask()
        found: dict[str, str] = {}

        def choose(name: str) -> str:
            found[name] = str(trial.suggest_categorical(name, self._fields[name]))
            return found[name]

        for number in self.space.free:
            emitter = choose(f"{number}.emitter")
            for name in self._fields:
                if name.startswith(f"{number}.{emitter}."):
                    choose(name)
        self._study.tell(trial, state=self._optuna.trial.TrialState.FAIL)
        return found

    def _nearest(self, wanted: dict[str, str]) -> Places | None:
        """Return the legal combination that agrees with most of what is wanted."""
        chosen = list(self.space.default)
        for number in self.space.free:
            legal = _promising(self.space, number)
            emitter = wanted[f"{number}.emitter"]
            same = [each for each in legal if each.emitter == emitter] or list(legal)
            if len(self.space.free) == 1:
                same = [each for each in same if self._is_new(number, each)]
                if not same:
                    return None
            self._random.shuffle(same)  # of several that agree as much
            chosen[number] = min(same, key=lambda each: _apart(number, each, wanted))
        return tuple(chosen)

    def _is_new(self, number: int, schedule: Schedule) -> bool:
        places = [*self.space.default]
        places[number] = schedule
        return write_schedules(places) not in self._known

    def _any(self) -> Iterator[Places]:
        """Yield combinations that differ from what is usual in one place, then in any."""
        single = [(number, each) for number in self.space.free for each in _legal(self, number)]
        self._random.shuffle(single)
        for number, each in single:
            places = [*self.space.default]
            places[number] = each
            yield tuple(places)
        for _ in range(_TURNS):
            chosen = [*self.space.default]
            for number in self.space.free:
                chosen[number] = self._random.choice(self.space.places[number].legal)
            yield tuple(chosen)


def _legal(sampler: Sampler, number: int) -> tuple[Schedule, ...]:
    return sampler.space.places[number].legal


def _first_of(space: KernelSpace) -> Iterator[Places]:
    """Yield combinations of which the cost model, or an emitter, thinks well.

    Emitters list what suits them best first. All take turns, and so do the places.
    """
    columns = []
    for number in space.free:
        place = space.places[number]
        chosen = "" if place.chosen is None else place.chosen.emitter
        by_emitter: dict[str, list[Schedule]] = {}
        for each in _promising(space, number):
            if each != place.chosen:
                by_emitter.setdefault(each.emitter, []).append(each)
        for emitter, same in by_emitter.items():
            columns.append([(number, each) for each in same[: _FIRST[emitter != chosen]]])
    for row in zip_longest(*columns):
        for number, schedule in filter(None, row):
            places = [*space.default]
            places[number] = schedule
            yield tuple(places)


def _promising(space: KernelSpace, number: int) -> tuple[Schedule, ...]:
    """Return the legal schedules of a place but for those of last resort, if there are others."""
    place = space.places[number]
    found = tuple(each for each in place.legal if each.emitter not in _LAST_RESORT)
    is_usual = place.chosen is not None and place.chosen.emitter in _LAST_RESORT
    return place.legal if is_usual or not found else found


def _fields(space: KernelSpace) -> dict[str, tuple[str, ...]]:
    """Return all values of each parameter, in order."""
    found: dict[str, dict[str, None]] = {}
    for number in space.free:
        for each in _promising(space, number):
            for name, value in _of_place(number, each):
                found.setdefault(name, {})[value] = None
    # A field that some schedules of an emitter leave out has its default there.
    for number in space.free:
        for each in _promising(space, number):
            own = {name for name, _ in _of_place(number, each)}
            prefix = f"{number}.{each.emitter}."
            for name in found:
                if name.startswith(prefix) and name not in own:
                    found[name][_NOTHING] = None
    return {name: tuple(values) for name, values in found.items()}


def _params(space: KernelSpace, places: Places) -> Iterator[tuple[str, str]]:
    for number in space.free:
        schedule = places[number]
        if schedule is not None:
            yield from _of_place(number, schedule)


def _of_place(number: int, schedule: Schedule) -> Iterator[tuple[str, str]]:
    yield f"{number}.emitter", schedule.emitter
    for name, value in schedule.choices.items():
        parts = value if isinstance(value, tuple) else (value,)
        for position, part in enumerate(parts):
            yield f"{number}.{schedule.emitter}.{name}.{position}", str(part)


def _apart(number: int, schedule: Schedule, wanted: dict[str, str]) -> int:
    """Return in how many parameters a schedule is not what is wanted."""
    own = dict(_of_place(number, schedule))
    prefix = f"{number}.{schedule.emitter}."
    names = {name for name in wanted if name.startswith(prefix)} | set(own)
    return sum(own.get(name, _NOTHING) != wanted.get(name, _NOTHING) for name in names)
