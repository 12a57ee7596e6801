# SPDX-License-Identifier: MIT OR Apache-2.0
"""Memory of a GPU, and copies to and from it."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

from xyntra.targets.cpu.memory import address_of
from xyntra.targets.cuda.driver import checked, driver

Array = np.ndarray[Any, Any]


class DeviceMemory:
    """Bytes on the current GPU, which go back when the object is collected.

    Args:
        nbytes: how many; at least one is allocated.
    """

    def __init__(self, nbytes: int) -> None:
        cuda = driver()
        self.nbytes = max(nbytes, 1)
        pointer = checked(cuda.cuMemAlloc(self.nbytes), f"allocating {self.nbytes:,} bytes")
        self.address = int(pointer)
        self._release = weakref.finalize(self, cuda.cuMemFree, pointer)
        # The driver may be gone before Python's last objects are.
        self._release.atexit = False


def upload(array: Array, address: int, stream: Any) -> None:
    """Copy a contiguous array to the GPU; the array may change once the stream was waited for."""
    if array.nbytes:
        result = driver().cuMemcpyHtoDAsync(address, address_of(array), array.nbytes, stream)
        checked(result, "copying to the GPU")


def download(address: int, array: Array, stream: Any) -> None:
    """Copy from the GPU into a contiguous array, which is filled once the stream is waited for."""
    if array.nbytes:
        result = driver().cuMemcpyDtoHAsync(address_of(array), address, array.nbytes, stream)
        checked(result, "copying from the GPU")
