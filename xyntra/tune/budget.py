# SPDX-License-Identifier: MIT OR Apache-2.0
"""Reads how long a search may take."""

from __future__ import annotations

import math
import re

from xyntra.errors import InputError

__all__ = ["budget_seconds"]

_BUDGET = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*(s|min|m|h)?")
_UNITS = {"s": 1, "": 1, "m": 60, "min": 60, "h": 3600}


def budget_seconds(budget: float | str) -> float:
    """Return seconds: 60, "60", "60s", "5min" and "1h" are understood; 0 tries nothing.

    Raises:
        InputError: `tuning-budget`, it is something else.
    """
    if isinstance(budget, str):
        found = _BUDGET.fullmatch(budget.strip())
        if found:
            return float(found[1]) * _UNITS[found[2] or ""]
    elif not isinstance(budget, bool) and 0 <= budget < math.inf:
        return float(budget)
    raise InputError(
        "tuning-budget",
        f"{budget!r} is no time for tuning",
        hint='seconds, or a text such as "60s", "5min" or "1h"',
    )
