# SPDX-License-Identifier: MIT OR Apache-2.0
"""Defines what is known of tuned kernels: trials, and the schedules that were found best."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

from xyntra.dialects.attributes.schedule import Schedule
from xyntra.errors import CompileError

__all__ = [
    "Status",
    "Trial",
    "read_schedules",
    "write_schedules",
]

_MOST_TEXT = 1 << 16
Status = Literal["timed", "refused", "crashed", "hung", "memory", "wrong"]
"""What became of a trial. Only those that were timed are candidates for the best."""
Places = tuple[Schedule | None, ...]


def write_schedules(places: Sequence[Schedule | None]) -> str:
    """Return the schedules of a kernel as JSON; equal ones are equal texts."""
    entries = [None if each is None else each.to_json() for each in places]
    return json.dumps(entries, sort_keys=True, separators=(",", ":"))


def read_schedules(text: str) -> Places:
    """Rebuild what `write_schedules` described.

    Raises:
        ValueError: `text` is something else.
    """
    if not isinstance(text, str) or len(text) > _MOST_TEXT:
        raise ValueError("the schedules of a kernel are a short text")
    try:
        entries = json.loads(text)
        if not isinstance(entries, list):
            raise ValueError("the schedules of a kernel are a list")
        return tuple(None if each is None else Schedule.from_json(each) for each in entries)
    except (CompileError, RecursionError) as error:
        raise ValueError(str(error)) from None


@dataclass(frozen=True)
class Trial:
    """One combination of schedules that was tried on a kernel.

    Attributes:
        kernel: the key of the kernel.
        device: what it was measured on.
        versions: of what made the code.
        schedules: as `write_schedules` has them.
        status: what became of it.
        nanoseconds: median of a launch; 0 where it was not timed.
        baseline: of the schedules that are chosen without tuning, measured in turns with these.
        detail: of one that failed, why.
        made: when, in seconds since 1970.
    """

    kernel: str
    device: str
    versions: str
    schedules: str
    status: Status
    nanoseconds: float = 0.0
    baseline: float = 0.0
    detail: str = ""
    made: float = 0.0

    @property
    def ratio(self) -> float:
        """Its time as a share of the baseline's; infinity where it has none."""
        timed = self.status == "timed" and self.baseline > 0
        return self.nanoseconds / self.baseline if timed else math.inf

    def to_json(self) -> dict[str, Any]:
        """Return what `from_json` reads."""
        return asdict(self)

    @classmethod
    def from_json(cls, entries: Mapping[str, Any]) -> Trial:
        """Rebuild what `to_json` described.

        Raises:
            ValueError: `entries` are something else.
        """
        try:
            trial = cls(**entries)
        except TypeError as error:
            raise ValueError(str(error)) from None
        texts = trial.kernel, trial.device, trial.versions, trial.schedules, trial.detail
        numbers = trial.nanoseconds, trial.baseline, trial.made
        if not all(isinstance(each, str) and len(each) <= _MOST_TEXT for each in texts):
            raise ValueError("a text of a trial is none, or too long")
        if not all(type(each) in (int, float) and 0 <= each < math.inf for each in numbers):
            raise ValueError("a number of a trial is none, or negative")
        if trial.status not in get_args(Status):
            raise ValueError(f"a trial cannot be {trial.status!r}")
        read_schedules(trial.schedules)
        return trial
