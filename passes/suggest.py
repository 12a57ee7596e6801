# SPDX-License-Identifier: MIT OR Apache-2.0
"""Finds what a mistyped name probably meant."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["did_you_mean", "nearest"]


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the name in `known` that is spelled most like `name` or starts with it, if any."""
    names = sorted(known)
    from difflib import get_close_matches

    close = get_close_matches(name, names, 1)
    starting = [candidate for candidate in names if name and candidate.startswith(name)]
    return next(iter(close + starting), None)


def did_you_mean(name: str, known: Iterable[str], otherwise: str | None = None) -> str | None:
    """Return the hint for a mistyped `name`, or `otherwise` where nothing resembles it."""
    near = nearest(name, known)
    return f"did you mean '{near}'?" if near else otherwise
