# SPDX-License-Identifier: MIT OR Apache-2.0
"""Tries one thing in a child process, and says how it went."""

from __future__ import annotations

import multiprocessing
import signal
import traceback
from collections import Counter
from collections.abc import Callable
from typing import Any

from xyntra.errors import XyntraError

__all__ = ["BAD", "report", "tried"]

BAD = ("crash", "exception", "hang", "outside", "leak", "unforeseen")
"""Outcomes that are defects. An outcome is one of these, or "ran", or "refused", with details."""


def tried(trial: Callable[[], str], seconds: float = 120.0) -> str:
    """Return what `trial` returns, run in a child that may crash."""
    context = multiprocessing.get_context("fork")
    answers, theirs = context.Pipe(duplex=False)
    # A daemonic process compiles kernels by itself, with what this one has loaded.
    child = context.Process(target=_run, args=(trial, theirs), daemon=True)
    child.start()
    theirs.close()
    try:
        found = str(answers.recv()) if answers.poll(seconds) else "hang"
    except EOFError:
        found = ""
    if found == "hang":
        child.kill()
    child.join()
    status = child.exitcode or 0
    return found if found and not status else f"crash: {_ending(status)} {found}"


def _ending(status: int) -> str:
    return signal.Signals(-status).name if status < 0 else f"exit status {status}"


def _run(trial: Callable[[], str], answers: Any) -> None:
    try:
        found = trial()
    except XyntraError as error:
        unforeseen = error.code in ("import-failed", "internal-error", "pass-crashed")
        found = f"{'unforeseen' if unforeseen else 'refused'}: {error.code}"
        if unforeseen:
            found = f"{found} {error.place} {error.cause}"
    except Exception:
        found = f"exception: {traceback.format_exc()}"
    answers.send(found)


def report(outcomes: list[tuple[int, str, str]]) -> int:
    """Print how often each outcome was, and every defect; returns the exit status.

    Args:
        outcomes: number of the trial, what was tried, and how it went.
    """
    counts = Counter(outcome.split(" ")[0].rstrip(":") for _, _, outcome in outcomes)
    print(", ".join(f"{count} {name}" for name, count in counts.most_common()))
    details = Counter(outcome for _, _, outcome in outcomes if outcome.startswith("refused"))
    for name, count in details.most_common():
        print(f"  {count:5} {name}")
    bad = [each for each in outcomes if each[2].startswith(BAD)]
    for number, what, outcome in bad:
        print(f"\n#{number} {what}: {outcome}")
    return 1 if bad else 0
