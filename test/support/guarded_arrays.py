# SPDX-License-Identifier: MIT OR Apache-2.0
"""Arrays that end where a page begins which cannot be accessed, after one that cannot either."""

from __future__ import annotations

import ctypes
import mmap
from typing import Any

import numpy as np

__all__ = ["guarded", "guarded_empty"]

Array = np.ndarray[Any, Any]
_PAGE = mmap.PAGESIZE
_held: list[mmap.mmap] = []
POISON = 0xA5


def guarded_empty(shape: tuple[int, ...], dtype: Any) -> Array:
    """An array full of `POISON` at the end of pages of its own."""
    nbytes = int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
    pages = -(-nbytes // _PAGE) * _PAGE
    memory = mmap.mmap(-1, pages + 2 * _PAGE)
    _held.append(memory)
    start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    ctypes.memset(start + _PAGE, POISON, pages)
    libc = ctypes.CDLL(None, use_errno=True)
    for page in (start, start + _PAGE + pages):
        if libc.mprotect(ctypes.c_void_p(page), ctypes.c_size_t(_PAGE), 0):
            raise OSError(ctypes.get_errno(), "mprotect")
    at = _PAGE + pages - nbytes
    return np.frombuffer(memory, np.uint8, nbytes, at).view(dtype).reshape(shape)


def guarded(array: Array) -> Array:
    """A copy of `array` that lies so."""
    copy = guarded_empty(array.shape, array.dtype)
    copy[...] = array
    return copy
