# SPDX-License-Identifier: MIT OR Apache-2.0
"""Searches for the fastest schedules of all kernels of a model, those that take longest first."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from xyntra.tune.measuring.process import Failed, Gone, Measurer
from xyntra.tune.measuring.subject import Subject
from xyntra.tune.records import Trial
from xyntra.tune.search import Compile, KernelSearch, Limits, Proposals
from xyntra.tune.space import KernelSpace

__all__ = ["KernelReport", "ModelSearch", "failed", "gained", "worth_searching"]

_LEAST_SHARE = 0.002
"""Kernels that take less of a call than this are left alone."""
_LEAST_SECONDS = 4.0
"""A search of a kernel gets so much time at least: with less, too few candidates are compared."""


@dataclass
class KernelReport:
    """What is known of the search of one kernel.

    Attributes:
        space: the kernel's.
        share: of the time of a call that its launches take.
        trials: combinations that were tried.
        ratio: the best time as a share of the usual one, as it was measured last.
        best: what was found; None where nothing is faster than what is usual.
        failures: trials that failed, by status.
        note: why it was not searched; "" where it was.
        state: "waiting", "searching" or "done".
    """

    space: KernelSpace
    share: float
    trials: int = 0
    ratio: float = 1.0
    best: Trial | None = None
    failures: dict[str, int] = field(default_factory=dict)
    note: str = ""
    state: str = "waiting"


def worth_searching(
    spaces: Sequence[KernelSpace], times: Mapping[str, float]
) -> list[KernelReport]:
    """Return a report for each kernel that is worth a search, longest first.

    Args:
        spaces: of all kernels.
        times: nanoseconds of all launches of a kernel in a call, by its name.
    """
    total = sum(times.values()) or 1.0
    found = [
        KernelReport(each, times.get(each.name, 0.0) / total)
        for each in spaces
        if each.free and each.calls
    ]
    worth = [each for each in found if each.share >= _LEAST_SHARE]
    return sorted(worth, key=lambda each: -each.share)


@dataclass
class ModelSearch:
    """The search for one model.

    Attributes:
        subject_of: makes what is measured of a kernel.
        proposals_of: says what to try on a kernel.
        compile_candidates: makes code.
        measurer: runs kernels.
        device: what they are measured on, and versions, for records.
        keep: called with trials as soon as there are any.
        keep_best: called with the best of a kernel, or with what is no longer its best.
        show: called whenever a report has changed.
        note: why the search has ended early; "" where it has not.
    """

    subject_of: Callable[[KernelSpace], Subject]
    proposals_of: Callable[[KernelSpace], Proposals]
    compile_candidates: Compile
    measurer: Measurer
    device: tuple[str, str]
    keep: Callable[[Sequence[Trial]], None]
    keep_best: Callable[[KernelSpace, Trial | None], None]
    show: Callable[[KernelReport], None]
    note: str = ""

    def run(self, reports: Sequence[KernelReport], limits: Limits) -> None:
        """Search kernel after kernel; time that one leaves is for those after it.

        An interrupt ends the search with what was found, which is still confirmed; a device that
        is gone with what was confirmed before.
        """
        waiting = list(reports)
        while waiting and not limits.ended:
            report = waiting.pop(0)
            rest = report.share + sum(each.share for each in waiting)
            slot = max(_LEAST_SECONDS, limits.left * report.share / rest)
            own = Limits(limits.deadline - max(0.0, limits.left - slot), limits.trials)
            before = own.trials or 0
            try:
                self._search(report, own)
            except Gone as failure:
                self.note = f"the search has ended: {failure}"
                return
            finally:
                if limits.trials is not None:
                    limits.trials -= before - (own.trials or 0)

    def _search(self, report: KernelReport, limits: Limits) -> None:
        report.state = "searching"
        self.show(report)
        search: KernelSearch | None = None
        try:
            self.measurer.open(self.subject_of(report.space))
            search = self._kernel_search(report.space)
            for _ in search.batches(limits):
                self._update(report, search)
            self._finish(report, search)
        except Failed as failure:
            report.note = f"it cannot be measured alone: {failure}"
            if search is not None:
                self.measurer.revive()
        except KeyboardInterrupt:
            if search is not None:
                self._finish(report, search)
            raise
        finally:
            report.state = "done"
            self.show(report)

    def _kernel_search(self, space: KernelSpace) -> KernelSearch:
        return KernelSearch(
            space,
            self.proposals_of(space),
            self.compile_candidates,
            self.measurer,
            self.device,
            self.keep,
        )

    def _update(self, report: KernelReport, search: KernelSearch) -> None:
        report.trials, report.ratio = search.trials, search.ratio
        report.failures = dict(search.failures)
        self.show(report)

    def _finish(self, report: KernelReport, search: KernelSearch) -> None:
        best = search.confirm()
        self._update(report, search)
        report.best = best
        report.ratio = 1.0 if best is None else best.ratio
        self.keep_best(report.space, best)


def gained(reports: Sequence[KernelReport]) -> float:
    """Return the time of a call as a share of what it was, by what was found."""
    return 1.0 - sum(each.share * (1.0 - each.ratio) for each in reports)


def failed(reports: Sequence[KernelReport]) -> Iterator[tuple[str, str, int]]:
    """Yield kernel, status and count of trials that failed."""
    for report in reports:
        for status, count in sorted(report.failures.items()):
            yield report.space.name, status, count
