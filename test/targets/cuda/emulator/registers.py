# SPDX-License-Identifier: MIT OR Apache-2.0
"""The registers of all threads, as bits: an instruction's type says what they are."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from emulator.errors import require
from emulator.types import NUMPY, Array, unsigned

__all__ = ["Lanes", "Registers", "number"]

Lanes = slice | Array
"""The threads of an instruction: all, or their numbers."""


class Registers:
    """One array for each register, with an element for each thread.

    Attributes:
        busy: where wgmma is still working on a register, by name.

    Args:
        kinds: the PTX type of each, by name.
        count: threads.
    """

    def __init__(self, kinds: Mapping[str, str], count: int) -> None:
        self._values = {name: np.zeros(count, _storage(kind)) for name, kind in kinds.items()}
        self._count = count
        self.busy: dict[str, Array] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def predicate(self, name: str, threads: Array) -> Array:
        """Return a predicate."""
        found: Array = self._values[name][threads]
        return found

    def is_wide(self, name: str) -> bool:
        """Whether a register has 64 bits."""
        return self._values[name].dtype.itemsize == 8

    def read(self, name: str, kind: str, at: Lanes) -> Array:
        """Return a register as numbers of a type: its low bits, where that is narrower."""
        self._require_idle(name, at)
        value, wanted = self._values[name][at], NUMPY[kind]
        if value.dtype == wanted or value.dtype == np.bool_:
            return value
        if value.dtype.itemsize == wanted.itemsize:
            return value.view(wanted)
        require(value.dtype.itemsize > wanted.itemsize, f"{name} is narrower than {kind}")
        return value.astype(unsigned(wanted.itemsize)).view(wanted)

    def write(self, name: str, value: Array, at: Lanes) -> None:
        """Write a register; narrower integers are extended by their own sign."""
        self._require_idle(name, at)
        register = self._values[name]
        register[at] = value if register.dtype == value.dtype else _bits(value, register.dtype)

    def start_work(self, name: str, at: Lanes) -> None:
        """Let nobody touch a register until `end_work`."""
        self.busy.setdefault(name, np.zeros(self._count, bool))[at] = True

    def end_work(self, name: str, at: Lanes) -> None:
        """Let a register be used again."""
        self.busy[name][at] = False
        if not self.busy[name].any():
            del self.busy[name]

    def _require_idle(self, name: str, at: Lanes) -> None:
        if name in self.busy:
            idle = not self.busy[name][at].any()
            require(idle, f"{name} is used while wgmma is still working on it")


def number(text: str, kind: str) -> Array:
    """A literal: 12, -3, 0x1FU, or 0f3F800000 and 0d…, which are the bits of floats."""
    dtype = NUMPY[kind]
    if text[:2] in ("0f", "0F", "0d", "0D"):
        bits = np.array(int(text[2:], 16), np.uint32 if text[1] in "fF" else np.uint64)
        return bits.view(dtype)
    value = int(text.rstrip("U"), 0)
    if kind == "pred":
        return np.array(bool(value))
    return np.array(value % (1 << 8 * dtype.itemsize), unsigned(dtype.itemsize)).view(dtype)


def _storage(kind: str) -> np.dtype[np.generic]:
    return np.dtype(bool) if kind == "pred" else unsigned(NUMPY[kind].itemsize)


def _bits(value: Array, storage: np.dtype[np.generic]) -> Array:
    if value.dtype.itemsize == storage.itemsize:
        return value.view(storage)
    require(value.dtype.itemsize < storage.itemsize, f"{value.dtype} does not fit a register")
    require(value.dtype.kind in "iu", "only integers are extended")
    if value.dtype.kind == "i":
        return value.astype(f"i{storage.itemsize}").view(storage)
    return value.astype(storage)
