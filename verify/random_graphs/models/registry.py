# SPDX-License-Identifier: MIT OR Apache-2.0
"""The makers: functions that append one operator, or a few, with random forms."""

from __future__ import annotations

from collections.abc import Callable

from verify.random_graphs.models.builder import Builder

__all__ = ["MAKERS", "Maker", "maker"]

Maker = Callable[[Builder], object]
MAKERS: dict[str, tuple[Maker, float]] = {}


def maker(name: str, weight: float = 1.0) -> Callable[[Maker], Maker]:
    """Register the decorated function; `weight` is relative to the others'."""

    def register(function: Maker) -> Maker:
        MAKERS[name] = (function, weight)
        return function

    return register
