# SPDX-License-Identifier: MIT OR Apache-2.0
"""Memory of a GPU, and memory of the host that a GPU copies from and to by itself."""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from xyntra.targets.cuda.driver.driver import checked, driver

Array = np.ndarray[Any, Any]
_PORTABLE = 1  # CU_MEMHOSTALLOC_PORTABLE: for every context of the process


def release_with(owner: object, release: Callable[[Any], Any], handle: Any) -> None:
    """Let the driver take back what was made in the current context when `owner` is collected.

    That may happen in a thread that has no context, or another one.
    """
    cuda = driver()
    context = checked(cuda.cuCtxGetCurrent(), "asking for the context")

    def free() -> None:
        cuda.cuCtxPushCurrent(context)
        release(handle)
        cuda.cuCtxPopCurrent()

    # The driver may be gone before Python's last objects are.
    weakref.finalize(owner, free).atexit = False


class Address(int):
    """An address on a GPU that is one of ours; native code takes no other numbers."""


class DeviceMemory:
    """Bytes on the current GPU, which go back when the object is collected.

    Args:
        nbytes: how many; at least one is allocated.
    """

    def __init__(self, nbytes: int) -> None:
        cuda = driver()
        self.nbytes = max(nbytes, 1)
        pointer = checked(cuda.cuMemAlloc(self.nbytes), f"allocating {self.nbytes:,} bytes")
        self.address = Address(int(pointer))
        release_with(self, cuda.cuMemFree, pointer)


class PinnedMemory:
    """Page-locked bytes of the host, which go back when the object is collected.

    Args:
        nbytes: how many; at least one is allocated.
    """

    def __init__(self, nbytes: int) -> None:
        cuda = driver()
        self.nbytes = max(nbytes, 1)
        result = cuda.cuMemHostAlloc(self.nbytes, _PORTABLE)
        pointer = checked(result, f"allocating {self.nbytes:,} bytes of pinned memory")
        self.address = int(pointer)
        release_with(self, cuda.cuMemFreeHost, pointer)

    def array(
        self, shape: tuple[int, ...], dtype: np.dtype[Any], start: int = 0, owner: object = None
    ) -> Array:
        """Return an array over the bytes from `start` on, which keeps `owner`, or the memory."""
        nbytes = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
        if not nbytes:
            return np.empty(shape, dtype)
        block = (ctypes.c_uint8 * nbytes).from_address(self.address + start)
        block.owner = owner or self  # type: ignore[attr-defined]
        found: Array = np.frombuffer(memoryview(block), dtype).reshape(shape)
        return found


class Event:
    """A point in the work of a stream; times are not taken."""

    def __init__(self) -> None:
        cuda = driver()
        flags = cuda.CUevent_flags.CU_EVENT_DISABLE_TIMING
        event = checked(cuda.cuEventCreate(flags.value), "creating an event")
        self.handle = int(event)
        release_with(self, cuda.cuEventDestroy, event)


def new_stream() -> int:
    """Return a stream of the current GPU that waits for no other one."""
    cuda = driver()
    flags = cuda.CUstream_flags.CU_STREAM_NON_BLOCKING
    return int(checked(cuda.cuStreamCreate(flags.value), "creating a stream"))
