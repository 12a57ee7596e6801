# SPDX-License-Identifier: MIT OR Apache-2.0
"""Says which name was probably meant by one that does not exist."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["did_you_mean"]


def did_you_mean(name: object, known: Iterable[str]) -> str | None:
    """Return the question "did you mean …?" for an unknown name; None where nothing is near."""
    import difflib

    names = {each.casefold(): each for each in known}
    near = difflib.get_close_matches(str(name).casefold(), names, n=1)
    return f"did you mean {names[near[0]]!r}?" if near else None
