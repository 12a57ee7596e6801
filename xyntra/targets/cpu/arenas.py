# SPDX-License-Identifier: MIT OR Apache-2.0
"""Keeps the memory of calls: as many arenas as there are calls at once, each the largest so far.

Programs that differ in sizes share them, so that what they hold follows the largest call, and not
how many combinations of sizes there have been.
"""

from __future__ import annotations

from typing import Generic, TypeVar
from weakref import WeakKeyDictionary

from xyntra.targets.cpu.memory import address_of, allocate

__all__ = ["Arenas", "CallArena", "Owner"]

Tables = TypeVar("Tables")


class Owner:
    """Stands for a program, which has tables of its own that point into arenas."""


class CallArena(Generic[Tables]):
    """The memory of one call at a time, and the tables of programs that point into it.

    Args:
        nbytes: its size.
    """

    def __init__(self, nbytes: int) -> None:
        self.nbytes = nbytes
        self._memory = allocate(nbytes)
        self.address = address_of(self._memory)
        self._last: tuple[Owner, Tables] | None = None
        self._others: WeakKeyDictionary[Owner, Tables] = WeakKeyDictionary()

    def tables(self, owner: Owner) -> Tables | None:
        """Return what was kept for a program last."""
        last = self._last
        if last is not None and last[0] is owner:
            return last[1]
        found = self._others.get(owner)
        if found is not None:
            self._last = owner, found
        return found

    def keep(self, owner: Owner, tables: Tables) -> None:
        """Keep the tables of a program, for as long as it lives."""
        self._others[owner] = tables
        self._last = owner, tables


class Arenas(Generic[Tables]):
    """Arenas that no call uses.

    Each operation on the list is atomic: no lock is taken, which another thread might hold while
    this process forks.
    """

    def __init__(self) -> None:
        self._idle: list[CallArena[Tables]] = []

    def take(self, nbytes: int) -> CallArena[Tables]:
        """Return an arena of `nbytes` or more; a smaller one is let go of."""
        try:
            found = self._idle.pop()
        except IndexError:
            return CallArena(nbytes)
        if found.nbytes >= nbytes:
            return found
        del found  # before there is another one
        return CallArena(nbytes)

    def give(self, arena: CallArena[Tables]) -> None:
        """Take an arena back from a call that has ended."""
        self._idle.append(arena)
