# SPDX-License-Identifier: MIT OR Apache-2.0
"""Describes a place of a kernel that has a schedule: what was chosen, and what could have been."""

from __future__ import annotations

from dataclasses import dataclass

from xyntra.dialects.attributes.schedule import Schedule

__all__ = ["MOST_LISTED", "SHARING", "SchedulePlace"]

SHARING = frozenset({"shared", "grain"})
"""What schedules say of the threads of a call: nothing that one thread could do otherwise."""

MOST_LISTED = 4096
"""Legal schedules of one place that are looked at: more than a search can measure."""


@dataclass(frozen=True)
class SchedulePlace:
    """A nest, or a stage, of a kernel.

    Attributes:
        chosen: its schedule; None where it is computed with another one, or in plain loops.
        legal: what it could be told instead, in the order in which emitters suggest it, what was
            chosen among them. Empty where nothing was chosen.
    """

    chosen: Schedule | None
    legal: tuple[Schedule, ...] = ()

    def for_one_thread(self) -> SchedulePlace:
        """Return the place without schedules that differ in what several threads do."""
        chosen = self.chosen
        same = tuple(e for e in self.legal if e == chosen or SHARING.isdisjoint(e.choices))
        return SchedulePlace(chosen, same)
