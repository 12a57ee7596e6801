# SPDX-License-Identifier: MIT OR Apache-2.0
"""Shows a search for schedules while it goes on, and what it has found in the end."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from xyntra.observe.text import aligned, duration, plural, printable
from xyntra.tune.model_search import failed, gained

if TYPE_CHECKING:
    from xyntra.compiler.tuning.session import TuningResult
    from xyntra.tune.model_search import KernelReport
    from xyntra.tune.search import Limits

    Show = Callable[[Sequence[KernelReport], Limits], None]

__all__ = ["live_table", "result_lines"]

_HEAD = ("kernel", "of a call", "trials", "best", "faster", "state")
_MARKS = {"waiting": "", "searching": "…", "done": "done"}


@contextmanager
def live_table(shown: bool) -> Iterator[Show]:
    """Yield what draws a table on standard error; nothing is drawn unless `shown`.

    Without rich, a line is written for each kernel that is done.
    """
    if not shown:
        yield lambda *_: None
        return
    try:
        from rich.console import Console
        from rich.live import Live
    except ImportError:
        yield _lines()
        return
    console = Console(file=sys.stderr)
    with Live(console=console, refresh_per_second=4, transient=True) as live:
        yield lambda reports, limits: live.update(_table(reports, limits))


def _lines() -> Show:
    told: set[str] = set()

    def show(reports: Sequence[KernelReport], limits: Limits) -> None:
        for each in reports:
            if each.state == "done" and each.space.name not in told:
                told.add(each.space.name)
                print("  ".join(_row(each)), f"  {limits.left:.0f} s left", file=sys.stderr)

    return show


def _table(reports: Sequence[KernelReport], limits: Limits) -> Any:
    from rich.table import Table

    tried = sum(each.trials for each in reports)
    gain = gained(reports)
    faster = f"the model {_faster(gain)} faster" if gain < 1 else "nothing faster yet"
    title = f"trial {tried}, {faster}, {max(0, limits.left):.0f} s left"
    table = Table(title=title, title_justify="left")
    for number, name in enumerate(_HEAD):
        table.add_column(name, justify="right" if 0 < number < len(_HEAD) - 1 else "left")
    for each in reports:
        table.add_row(*_row(each))
    return table


def _row(report: KernelReport) -> list[str]:
    """Return the cells of a kernel."""
    best = report.best
    told = "" if best is None else duration(best.nanoseconds)
    state = report.note.partition("\n")[0] or _MARKS[report.state]
    name, share = printable(report.space.name), f"{report.share:.1%}"
    return [name, share, str(report.trials), told, _faster(report.ratio), printable(state)]


def _faster(ratio: float) -> str:
    return f"{1 / ratio - 1:.1%}" if ratio < 1 else "-"


def result_lines(result: TuningResult) -> list[str]:
    """Return what a search has found as lines."""
    tried = sum(each.trials for each in result.reports)
    head = f"{plural(tried, 'trial')} in {result.seconds:.0f} s"
    if result.interrupted:
        head += ", interrupted: what was found is kept"
    elif not tried:
        head += ": there was no time, or nothing to choose"
    found = sum(each.best is not None for each in result.reports)
    gain = _faster(gained(result.reports))
    lines = [f"{head}; {plural(found, 'kernel')} faster, the model about {gain} by their times"]
    if result.reports:
        lines += ["", *aligned([_HEAD, *map(_row, result.reports)], (1, 2, 3, 4))]
    failures = [
        f"{name}: {plural(count, 'trial')} {status}"
        for name, status, count in failed(result.reports)
    ]
    lines += ["", *failures] if failures else []
    return [*lines, *(f"note: {printable(each)}" for each in result.notes)]
