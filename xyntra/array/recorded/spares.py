# SPDX-License-Identifier: MIT OR Apache-2.0
"""Keeps the memory of arrays that calls were given for good, for the results of the next calls.

A state that each call replaces takes turns between two places. On a GPU these are addresses of
which there are graphs; on the host, pages that are mapped already.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from weakref import WeakSet

__all__ = ["Spares", "drop_spares"]


class Spares:
    """Values that nothing reads any more, by what they are for."""

    __slots__ = ("__weakref__", "_values")

    def __init__(self) -> None:
        self._values: dict[int, Any] = {}
        _ALL.add(self)

    def take(self, keys: Iterable[int | None]) -> list[Any]:
        """Return the value for each key, which is kept no more; None where there is none."""
        return [None if key is None else self._values.pop(key, None) for key in keys]

    def keep(self, key: int, value: Any) -> None:
        """Keep a value, in the place of another one for its key."""
        self._values[key] = value

    def drop(self) -> bool:
        """Let go of all values; tell whether there were any."""
        had_some = bool(self._values)
        self._values.clear()
        return had_some


_ALL: WeakSet[Spares] = WeakSet()


def drop_spares() -> bool:
    """Let go of everything that is kept, for want of room; tell whether there was anything."""
    dropped = [each.drop() for each in list(_ALL)]
    return any(dropped)
