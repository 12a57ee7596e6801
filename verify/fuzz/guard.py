# SPDX-License-Identifier: MIT OR Apache-2.0
"""Memory that shows what is read or written outside of it.

A guarded array ends where a page begins that cannot be accessed: one element too far is a SIGSEGV.
Before it lies a page of poison, which must be the same afterwards, and behind that another page
that cannot be accessed. Fresh arrays are full of poison, which must not be seen in a result.
"""

from __future__ import annotations

import ctypes
import mmap
from typing import Any

import numpy as np

__all__ = ["POISON", "Arrays"]

POISON = 0xA5
_PAGE = mmap.PAGESIZE
Array = np.ndarray[Any, Any]


class Arrays:
    """Guarded arrays, which live as long as this.

    Args:
        poison: the byte that fresh memory is full of.
    """

    def __init__(self, poison: int = POISON) -> None:
        self._poison = poison
        self._margins: list[Array] = []
        self._held: list[mmap.mmap] = []

    def empty(self, shape: tuple[int, ...], dtype: Any) -> Array:
        """An array full of poison, at the end of its pages but for what its alignment takes."""
        nbytes = int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
        pages = -(-nbytes // _PAGE) * _PAGE + _PAGE
        memory = mmap.mmap(-1, pages + 2 * _PAGE)
        self._held.append(memory)
        start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        ctypes.memset(start + _PAGE, self._poison, pages)
        for page in (start, start + _PAGE + pages):
            _close(page)
        at = _PAGE + pages - nbytes
        self._margins.append(np.frombuffer(memory, np.uint8, at - _PAGE, _PAGE))
        return np.frombuffer(memory, np.uint8, nbytes, at).view(dtype).reshape(shape)

    def copy(self, array: Array) -> Array:
        """A guarded copy of `array`."""
        found = self.empty(array.shape, array.dtype)
        found[...] = array
        return found

    def intact(self) -> bool:
        """Whether nothing was written before an array."""
        return all((margin == self._poison).all() for margin in self._margins)


def _close(page: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mprotect(ctypes.c_void_p(page), ctypes.c_size_t(_PAGE), 0):
        raise OSError(ctypes.get_errno(), "mprotect")
