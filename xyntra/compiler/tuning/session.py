# SPDX-License-Identifier: MIT OR Apache-2.0
"""Tunes a model in the process of the user, with workers that list, compile and measure."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from statistics import median
from typing import TYPE_CHECKING, Any

from xyntra.compiler.artifacts import find_artifact, run_request, weights_of
from xyntra.compiler.code_target import CodeTarget
from xyntra.compiler.driver import (
    check_supported,
    compile_source,
    make_request,
    target_of_source,
)
from xyntra.compiler.inputs.sizes import Sizes
from xyntra.compiler.inputs.source import ModelSource
from xyntra.compiler.tuned_schedules import TuningWarning, packaged_for
from xyntra.compiler.tuning.candidates import read_outcomes, write_candidates
from xyntra.compiler.worker.request import CANDIDATES, SPACES, Request
from xyntra.config import Config
from xyntra.errors import UnsupportedError, WorkerError
from xyntra.plan.plan import Plan
from xyntra.targets.host import allowed_processors
from xyntra.targets.program import Program
from xyntra.tune.budget import budget_seconds
from xyntra.tune.learned import LearnedModel
from xyntra.tune.measuring.captured import capture
from xyntra.tune.measuring.process import Measurer
from xyntra.tune.measuring.subject import Subject, subject_of
from xyntra.tune.model_search import KernelReport, ModelSearch, worth_searching
from xyntra.tune.recorder import Recorder
from xyntra.tune.records import Trial, read_schedules, write_schedules
from xyntra.tune.sampler import Sampler, load_optuna
from xyntra.tune.search import Limits, Outcome, Proposals
from xyntra.tune.space import KernelSpace, spaces_from_json
from xyntra.tune.tuned import Tuned, versions

if TYPE_CHECKING:
    import numpy as np

    from xyntra.executable import Executable
    from xyntra.plan.artifact import Artifact

__all__ = ["Tuning", "TuningResult", "compile_tuned", "model_spaces", "tune_model"]

_MEASURER = "from xyntra.compiler.tuning.measuring import main; main()"
_TIMED_CALLS = 5
_CANDIDATE_SECONDS = 30.0
"""For compiling one candidate; the usual code takes a second at most."""
_AGAIN = 4
"""Combinations of an earlier search that are measured again before others are tried."""
_LEARNED = 6
"""Combinations that trials of other kernels say most of, which are tried next."""


@dataclass(frozen=True)
class Tuning:
    """How to search.

    Attributes:
        budget: seconds.
        trials: at most how many; None for any number.
        kernels: a pattern of the names of kernels.
        seed: of what is drawn.
    """

    budget: float = 60.0
    trials: int | None = None
    kernels: str = "*"
    seed: int = 0


@dataclass
class TuningResult:
    """What a search has found.

    Attributes:
        reports: of each kernel that was worth a search.
        notes: what the user has to be told.
        seconds: that it took.
        interrupted: whether the user has ended it.
        best: schedules and times by the key of the kernel, as requests have them.
    """

    reports: list[KernelReport]
    notes: list[str] = field(default_factory=list)
    seconds: float = 0.0
    interrupted: bool = False
    best: dict[str, Tuned] = field(default_factory=dict)


def model_spaces(source: ModelSource, sizes: Sizes, config: Config) -> list[KernelSpace]:
    """Return what every kernel of a model could be told.

    Args:
        source: the model.
        sizes: of its free dimensions.
        config: how it is compiled.

    Raises:
        XyntraError: the model is wrong, or cannot be compiled down to kernels.
    """
    target = target_of_source(source, config)
    return _spaces(untuned_request(source, sizes, config, target), config)


def _spaces(request: Request, config: Config) -> list[KernelSpace]:
    found = spaces_from_json(run_request(request, config))
    threads = config.threads or allowed_processors()
    return found if threads > 1 else [each.for_one_thread() for each in found]


def untuned_request(
    source: ModelSource, sizes: Sizes, config: Config, target: CodeTarget, level: str = SPACES
) -> Request:
    """Return the request for a model whose kernels get no schedules from a database.

    Raises:
        UnsupportedError: `tuning-unsupported`, it has free dimensions, or is code already.
    """
    check_supported(config, target)
    if sizes.ranges:
        name = next(iter(sizes.ranges))
        raise UnsupportedError(
            "tuning-unsupported",
            f"a schedule is measured at one size of each dimension, and '{name}' is free",
            hint=f"--dim {name}=128, or dims={{{name!r}: 128}}",
        )
    if source.target:
        raise UnsupportedError(
            "tuning-unsupported",
            "this text holds kernels as code, with their schedules",
            hint="tune the model that it came from",
        )
    return make_request(source, sizes, replace(config, tuned=False), level, target)


def tune_model(
    source: ModelSource,
    sizes: Sizes,
    config: Config,
    tuning: Tuning,
    show: Callable[[Sequence[KernelReport], Limits], None] = lambda *_: None,
) -> TuningResult:
    """Search for the fastest schedules of a model's kernels, and keep them in the database.

    Args:
        source: the model.
        sizes: of its free dimensions.
        config: how it is compiled.
        tuning: how to search.
        show: called whenever something has changed.

    Raises:
        MissingExtraError: optuna is not installed.
        XyntraError: the model is wrong, or cannot be compiled or run.
    """
    start = time.monotonic()
    limits = Limits(start + tuning.budget, tuning.trials)
    load_optuna()
    recorder = Recorder(config.tuning_database)
    result = TuningResult([])
    measurer = Measurer(_MEASURER, config.memory_limit)
    try:
        session = _Session(source, sizes, config, tuning, recorder)
        result.reports = session.reports()
        show(result.reports, limits)
        search = session.search(measurer, lambda _: show(result.reports, limits))
        search.run(result.reports, limits)
        result.notes += [search.note] * bool(search.note)
    except KeyboardInterrupt:
        result.interrupted = True
    finally:
        measurer.close()
        recorder.close()
    result.notes = list(dict.fromkeys([*result.notes, *recorder.notes]))
    result.seconds = time.monotonic() - start
    result.best = {key: Tuned(e.schedules, e.nanoseconds) for key, e in recorder.best.items()}
    return result


def compile_tuned(
    source: ModelSource,
    sizes: Sizes,
    config: Config,
    budget: float | str,
    samples: Sequence[Any] = (),
) -> Executable:
    """Tune a model, then compile it; what was found is used even where it could not be kept.

    Args:
        source: the model.
        sizes: of its free dimensions.
        config: how it is compiled.
        budget: for the search, as `budget_seconds` reads it.
        samples: inputs of calls, by which a lower precision is chosen.

    Raises:
        InputError: the budget is none.
        XyntraError: as `tune_model`.
    """
    result = tune_model(source, sizes, config, Tuning(budget_seconds(budget)))
    for note in result.notes:
        warnings.warn(TuningWarning(note), stacklevel=3)
    if result.interrupted:
        raise KeyboardInterrupt  # what was found is kept
    return compile_source(source, sizes, config, samples, result.best)


class _Session:
    """One model on one device."""

    def __init__(
        self,
        source: ModelSource,
        sizes: Sizes,
        config: Config,
        tuning: Tuning,
        recorder: Recorder,
    ) -> None:
        self._config, self._tuning, self._recorder = config, tuning, recorder
        self._target = target_of_source(source, config)
        self._request = untuned_request(source, sizes, config, self._target, "artifact")
        device = self._target.backend.tuning_key(self._target.ordinal, config.threads)
        self._device = device, versions()
        self._artifact: Artifact = find_artifact(self._request, config, self._target)
        self._weights = weights_of(self._artifact, source, config.parameters_root)
        self._known = recorder.known_best(*self._device)
        self._packaged = packaged_for(config, self._target)
        self._learned = LearnedModel(recorder.known("", *self._device), recorder.texts())
        self._arrays: dict[int, np.ndarray[Any, Any]] = {}
        self._times: dict[str, float] = {}

    def reports(self) -> list[KernelReport]:
        """Run the model, and return a report of each kernel that is worth a search."""
        spaces = _spaces(replace(self._request, level=SPACES), self._config)
        captured = capture(self._program, self._artifact.plan, _TIMED_CALLS)
        self._arrays = captured.arrays
        times = self._times
        for step, nanoseconds in zip(self._artifact.plan.steps, captured.times, strict=True):
            times[step.kernel] = times.get(step.kernel, 0.0) + median(nanoseconds)
        wanted = [each for each in spaces if fnmatchcase(each.name, self._tuning.kernels)]
        return worth_searching(wanted, times)

    def search(self, measurer: Measurer, show: Callable[[KernelReport], None]) -> ModelSearch:
        """Return what searches all kernels."""
        return ModelSearch(
            subject_of=self._subject,
            proposals_of=self._proposals,
            compile_candidates=self._compile,
            measurer=measurer,
            device=self._device,
            keep=self._recorder.keep,
            keep_best=self._keep_best,
            show=show,
        )

    def _program(self, plan: Plan) -> Program:
        artifact = replace(self._artifact, plan=plan)
        return self._target.program(artifact, self._weights, self._config.threads)

    def _subject(self, space: KernelSpace) -> Subject:
        self._recorder.describe(space.key, space.text)
        where = self._target.architecture, self._target.ordinal, self._config.threads
        swept = self._target.backend.swept_bytes(sum(a.nbytes for a in self._weights.values()))
        launches = self._target.backend.timed_launches(self._times[space.name] / space.calls)
        known = self._weights, self._arrays
        return subject_of(self._artifact, space.name, *known, where, swept, launches)

    def _proposals(self, space: KernelSpace) -> Proposals:
        """Return what proposes schedules, knowing what earlier searches have found."""
        trials = self._recorder.known(space.key, *self._device)
        timed = sorted((each for each in trials if each.status == "timed"), key=_ratio_of)
        best = self._known.get(space.key)
        again = {each.schedules: None for each in ([best] if best else []) + timed[:_AGAIN]}
        if space.key in self._packaged:
            again[self._packaged[space.key].schedules] = None
        first = [read_schedules(text) for text in again]
        first += self._learned.first(space, _LEARNED)
        sampler = Sampler(space, self._tuning.seed, first)
        for trial in trials:
            if trial.schedules not in again:
                sampler.tell(
                    read_schedules(trial.schedules),
                    trial.ratio if trial.status == "timed" else None,
                )
        return sampler

    def _compile(self, space: KernelSpace, texts: Sequence[str]) -> Sequence[Outcome]:
        config = self._config
        request = replace(
            self._request,
            kind="mlir",
            model=write_candidates(space.name, space.text, texts),
            level=CANDIDATES,
            timeout=min(_CANDIDATE_SECONDS, config.compile_timeout),
        )
        try:
            return read_outcomes(run_request(request, config))
        except WorkerError as error:
            return [error] * len(texts)

    def _keep_best(self, space: KernelSpace, best: Trial | None) -> None:
        kept = best or self._refuted(space)
        if kept is not None:
            self._recorder.keep_best(kept)
        elif space.key in self._known:
            self._recorder.drop_best(space.key, *self._device)

    def _refuted(self, space: KernelSpace) -> Trial | None:
        """Return a record of the usual schedules where those of the package are no better here."""
        packaged = self._packaged.get(space.key)
        trials = self._recorder.known(space.key, *self._device) if packaged else []
        for each in trials:
            if packaged and each.schedules == packaged.schedules:
                usual = write_schedules(space.default)
                return replace(
                    each, schedules=usual, status="timed", nanoseconds=each.baseline, detail=""
                )
        return None


def _ratio_of(trial: Trial) -> float:
    return trial.ratio
