# SPDX-License-Identifier: MIT OR Apache-2.0
"""Searches for the fastest schedules of one kernel: proposes, compiles, measures, confirms."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Protocol

from xyntra.errors import CompileError
from xyntra.targets.host import allowed_processors
from xyntra.targets.kernel import CompiledKernel
from xyntra.tune.measuring.process import USUAL, Failed, Measurer
from xyntra.tune.records import Places, Status, Trial, write_schedules
from xyntra.tune.space import KernelSpace

__all__ = ["Compile", "KernelSearch", "Limits", "Outcome", "Proposals"]

Outcome = CompiledKernel | CompileError
Compile = Callable[[KernelSpace, Sequence[str]], Sequence[Outcome]]
"""Compiles a kernel with each of some combinations of schedules."""
_ROUNDS = 8
"""Times that each candidate of a batch is run, in turns with the others and the usual code."""
_PATIENT_ROUNDS = 2
_HOPELESS = (1.35, 1.12)
"""Shares of the best time from which on a candidate is given up: after two rounds, after four."""
_CONFIRMING = 8, 24
"""Rounds in which the best and the usual code take turns in the end, at least and at most."""
_CONFIRMING_SECONDS = 2.0
"""What they may take together."""
_GAIN = 0.98
"""The largest share of the usual time that is called a gain."""
_WON = 0.7
"""The least share of rounds that the best has to win."""
_LEADERS = 3
"""Candidates that are measured again in the end."""
_DULL_BATCHES = 3
"""Batches without a better candidate after which a kernel is left."""
_SIZES = 2, 12
"""Candidates of a batch, at least and at most."""
_OUT_OF_MEMORY = ("worker-memory", "out-of-memory")


class Proposals(Protocol):
    """What says which combination of schedules to try next."""

    def propose(self) -> Places | None:
        """Return one that was not tried; None where there is none."""

    def tell(self, places: Places, ratio: float | None) -> None:
        """Say how one did: its time as a share of the usual one; None for a failure."""


@dataclass
class Limits:
    """When a search ends.

    Attributes:
        deadline: on the clock of `time.monotonic`.
        trials: how many there may be; None for any number.
    """

    deadline: float
    trials: int | None = None

    @property
    def left(self) -> float:
        """Seconds left."""
        return self.deadline - time.monotonic()

    @property
    def ended(self) -> bool:
        """Whether there is no time, or no trial, left."""
        return self.left <= 0 or (self.trials is not None and self.trials <= 0)


@dataclass
class _Candidate:
    name: str
    places: Places
    code: CompiledKernel
    times: list[float] = field(default_factory=list)
    usual: list[float] = field(default_factory=list)

    @property
    def ratio(self) -> float:
        """Median of its times as shares of the usual code's, each of the same round."""
        return median(own / other for own, other in zip(self.times, self.usual, strict=True))


class KernelSearch:
    """The search for one kernel, which the measurer has been given.

    Args:
        space: of the kernel.
        proposals: what to try.
        compile_candidates: makes code.
        measurer: has the kernel open.
        device: what it is measured on, and versions, for records.
        keep: called with trials as soon as there are any.
    """

    def __init__(
        self,
        space: KernelSpace,
        proposals: Proposals,
        compile_candidates: Compile,
        measurer: Measurer,
        device: tuple[str, str],
        keep: Callable[[Sequence[Trial]], None],
    ) -> None:
        self.space = space
        self.best: Trial | None = None
        self.failures: dict[str, int] = {}
        self.trials = 0
        self._proposals = proposals
        self._compile = compile_candidates
        self._measurer = measurer
        self._device = device
        self._keep = keep
        self._leaders: list[_Candidate] = []
        self._loaded: set[str] = set()
        # That a candidate has taken so far, compiled and measured: the first are compiled at once.
        self._seconds = 1.0 / min(_SIZES[1], allowed_processors())

    def batches(self, limits: Limits) -> Iterator[float]:
        """Try candidates batch after batch; yields the best share of the usual time after each."""
        dull = 0
        while not limits.ended and dull < _DULL_BATCHES:
            start, before = time.monotonic(), self.ratio
            size = self._batch_size(limits)
            proposed = list(self._proposed(size))
            if not proposed:
                return
            if limits.trials is not None:
                limits.trials -= len(proposed)
            self._try(proposed)
            self._seconds = (time.monotonic() - start) / len(proposed)
            dull = 0 if self.ratio < before * 0.99 else dull + 1
            yield self.ratio

    @property
    def ratio(self) -> float:
        """The best median so far as a share of the usual time, not confirmed; 1 for none."""
        return min([1.0, *(each.ratio for each in self._leaders)])

    def confirm(self) -> Trial | None:
        """Measure the best candidates again beside the usual code; returns the best if it gains.

        What was best of many measurements may have been lucky, so these do not count any more.
        """
        hopeful = [each for each in self._leaders if each.ratio <= _GAIN]
        for each in hopeful:
            each.times, each.usual = [], []
        few, many = _CONFIRMING
        start = time.monotonic()
        self._race(hopeful, few)
        seconds = max(1e-3, time.monotonic() - start) / few
        hopeful = [each for each in hopeful if len(each.times) == few]
        self._race(hopeful, min(many - few, int(_CONFIRMING_SECONDS / seconds)))
        self._unload()
        sure = [each for each in hopeful if each.times and _is_sure(each)]
        if not sure:
            return None
        self.best = self._timed(min(sure, key=lambda each: each.ratio))
        return self.best

    def _proposed(self, count: int) -> Iterator[Places]:
        for _ in range(count):
            places = self._proposals.propose()
            if places is None:
                return
            yield places

    def _batch_size(self, limits: Limits) -> int:
        """Return as many candidates as there is time for, and a share of it left to confirm."""
        few, many = _SIZES
        few = max(few, min(many, allowed_processors() // 2))
        size = int(min(many, max(few, 0.7 * limits.left / self._seconds)))
        return size if limits.trials is None else min(size, limits.trials)

    def _try(self, proposed: Sequence[Places]) -> None:
        texts = [write_schedules(each) for each in proposed]
        outcomes = self._compile(self.space, texts)
        running = []
        for number, (places, outcome) in enumerate(zip(proposed, outcomes, strict=True)):
            if isinstance(outcome, CompileError):
                self._record(places, _status_of(outcome), detail=outcome.message)
                continue
            candidate = _Candidate(f"{self.trials + number}", places, outcome)
            if self._load(candidate):
                running.append(candidate)
        self.trials += len(proposed)
        self._race(running, _ROUNDS)
        for candidate in running:
            if candidate.times:
                self._record_timed(candidate)
        self._unload()

    def _load(self, candidate: _Candidate) -> bool:
        """Load code and look at its numbers; tells whether it may be measured."""
        try:
            wrong = self._measurer.add(candidate.name, candidate.code.to_bytes())
        except Failed as failure:
            self._fail(candidate, failure)
            return False
        if wrong:
            self._measurer.drop(candidate.name)
            self._record(candidate.places, "wrong", detail=wrong)
            return False
        self._loaded.add(candidate.name)
        return True

    def _race(self, running: list[_Candidate], rounds: int) -> None:
        """Run candidates in turns with the usual code; those that fall behind, or fail, leave.

        Raises:
            Failed: the usual code cannot be run any more, or takes too long.
        """
        alive = list(running)
        for number in range(1, rounds + 1):
            if not alive:
                return
            try:
                self._round(alive)
            except Failed as failure:
                # The one that was run is the one with fewer times than usual ones.
                culprit = next((c for c in alive if len(c.times) < len(c.usual)), None)
                if culprit is None:
                    raise
                self._fail(culprit, failure)
                culprit.times.clear()
                alive.remove(culprit)
                for each in alive:
                    del each.usual[len(each.times) :]
                continue
            if number in (_PATIENT_ROUNDS, 2 * _PATIENT_ROUNDS):
                limit = _HOPELESS[number // _PATIENT_ROUNDS - 1]
                best = min([self.ratio, *(each.ratio for each in alive)])
                alive = [each for each in alive if each.ratio <= limit * best]

    def _round(self, candidates: Iterable[_Candidate]) -> None:
        """Run the usual code and then each candidate, once."""
        usual = self._measurer.time(USUAL)
        for candidate in candidates:
            candidate.usual.append(usual)
            if candidate.name not in self._loaded:
                self._measurer.add(candidate.name, candidate.code.to_bytes())
                self._loaded.add(candidate.name)
            candidate.times.append(self._measurer.time(candidate.name))

    def _fail(self, candidate: _Candidate, failure: Failed) -> None:
        """Record that a candidate has ended its process.

        Raises:
            Gone: it need not have been the candidate.
        """
        self._loaded.clear()  # with the process
        self._measurer.revive()
        status: Status = "hung" if failure.status == "hung" else "crashed"
        self._record(candidate.places, status, detail=str(failure))

    def _record_timed(self, candidate: _Candidate) -> None:
        self._keep([self._timed(candidate)])
        self._proposals.tell(candidate.places, candidate.ratio)
        self._leaders = sorted([*self._leaders, candidate], key=lambda each: each.ratio)[:_LEADERS]

    def _timed(self, candidate: _Candidate) -> Trial:
        """Return the record of a candidate; its times have the ratio that rounds gave."""
        usual = median(candidate.usual)
        return self._trial(candidate.places, "timed", usual * candidate.ratio, usual)

    def _record(self, places: Places, status: Status, *, detail: str) -> None:
        self.failures[status] = self.failures.get(status, 0) + 1
        self._keep([self._trial(places, status, 0.0, 0.0, detail[:2000])])
        self._proposals.tell(places, None)

    def _trial(
        self, places: Places, status: Status, own: float, usual: float, detail: str = ""
    ) -> Trial:
        where = self.space.key, *self._device
        text = write_schedules(places)
        return Trial(*where, text, status, own, usual, detail, time.time())

    def _unload(self) -> None:
        """Unload all candidates: each has copies of the weights."""
        for name in self._loaded:
            self._measurer.drop(name)
        self._loaded.clear()


def _is_sure(candidate: _Candidate) -> bool:
    pairs = list(zip(candidate.times, candidate.usual, strict=True))
    won = sum(own < usual for own, usual in pairs)
    return candidate.ratio <= _GAIN and won >= _WON * len(pairs)


def _status_of(error: CompileError) -> Status:
    known: Mapping[str, Status] = {
        "kernel-timeout": "hung",
        "worker-timeout": "hung",
        "kernel-crash": "crashed",
        "worker-crashed": "crashed",
        **dict.fromkeys(_OUT_OF_MEMORY, "memory"),
    }
    return known.get(error.code, "refused")
