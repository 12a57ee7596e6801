# SPDX-License-Identifier: MIT OR Apache-2.0
"""Copies between pageable memory of the host and a GPU, through page-locked chunks.

While the GPU copies one chunk, the processor fills or empties the next. Large arrays are shared by
several threads, since one thread copies slower than the bus does.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any

import numpy as np

from xyntra.targets.cpu.memory import address_of
from xyntra.targets.cuda.driver.direct import Direct
from xyntra.targets.cuda.driver.memory import Event, PinnedMemory

Array = np.ndarray[Any, Any]
_Part = Callable[["_Lane", Array, int, int], None]
_CHUNK = 1 << 20  # bytes
_RING = 4  # chunks of a lane
_LANES = 4
_SHARED = 8 << 20  # bytes from which on several threads pay


class Transfers:
    """Copies of any size. Calls from several threads are safe, and run one after the other.

    Args:
        direct: the driver's functions.
        context: of the GPU; current in the threads that call.
    """

    def __init__(self, direct: Direct, context: int) -> None:
        self._direct = direct
        self._context = context
        self._lock = threading.Lock()
        self._lanes: list[_Lane] = []
        self._threads = ThreadPoolExecutor(_LANES - 1, "xyntra-copy")  # started when first used

    def upload(self, array: Array, address: int, stream: int) -> None:
        """Copy a contiguous array to the GPU in the order of `stream`.

        The array may change as soon as this returns.
        """
        self._share(_Lane.upload, array, address, stream)

    def download(self, address: int, array: Array, stream: int) -> None:
        """Copy into a contiguous array; what `stream` does before has finished on return."""
        self._share(_Lane.download, array, address, stream)

    def _share(self, copy: _Part, array: Array, address: int, stream: int) -> None:
        if not array.nbytes:
            return
        count = min(_LANES, os.cpu_count() or 1) if array.nbytes >= _SHARED else 1
        with self._lock:
            while len(self._lanes) < count:
                self._lanes.append(_Lane(self._direct))
            first, *rest = _parts(_as_bytes(array), count)
            waiting = [
                self._threads.submit(self._run, copy, lane, part, address + start, stream)
                for lane, (start, part) in zip(self._lanes[1:], rest, strict=False)
            ]
            try:
                copy(self._lanes[0], first[1], address, stream)
            finally:
                wait(waiting)
            for each in waiting:
                each.result()

    def _run(self, copy: _Part, lane: _Lane, part: Array, address: int, stream: int) -> None:
        entered = self._direct.enter(self._context)
        try:
            copy(lane, part, address, stream)
        finally:
            if entered:
                self._direct.leave()


class _Lane:
    """A ring of page-locked chunks that one thread uses."""

    def __init__(self, direct: Direct) -> None:
        self._direct = direct
        self._memory = PinnedMemory(_CHUNK * _RING)
        bytes_ = np.dtype(np.uint8)
        self._chunks = [self._memory.array((_CHUNK,), bytes_, _CHUNK * i) for i in range(_RING)]
        self._events = [Event() for _ in range(_RING)]
        self._busy = [False] * _RING

    def upload(self, source: Array, address: int, stream: int) -> None:
        """Copy to the GPU; `source` has been read on return."""
        for number, (start, part) in enumerate(_chunks(source)):
            place = number % _RING
            self._wait(place)
            chunk = self._chunks[place]
            np.copyto(chunk[: part.size], part)
            self._direct.to_device(address + start, address_of(chunk), part.size, stream)
            self._direct.record(self._events[place].handle, stream)
            self._busy[place] = True

    def download(self, target: Array, address: int, stream: int) -> None:
        """Copy from the GPU; `target` is filled on return."""
        waiting: list[tuple[int, Array]] = []
        for number, (start, part) in enumerate(_chunks(target)):
            place = number % _RING
            if len(waiting) == _RING:
                self._take(*waiting.pop(0))
            self._wait(place)
            self._direct.to_host(
                address_of(self._chunks[place]), address + start, part.size, stream
            )
            self._direct.record(self._events[place].handle, stream)
            self._busy[place] = True
            waiting.append((place, part))
        for place, part in waiting:
            self._take(place, part)

    def _take(self, place: int, part: Array) -> None:
        self._wait(place)
        np.copyto(part, self._chunks[place][: part.size])

    def _wait(self, place: int) -> None:
        if self._busy[place]:
            self._direct.synchronize(self._events[place].handle, "copying")
            self._busy[place] = False


def _as_bytes(array: Array) -> Array:
    return array.reshape(-1).view(np.uint8)


def _parts(data: Array, count: int) -> list[tuple[int, Array]]:
    """Cut bytes into at most `count` parts of whole chunks; each with where it starts."""
    chunks = -(-data.size // _CHUNK)
    size = -(-chunks // count) * _CHUNK
    return [(start, data[start : start + size]) for start in range(0, data.size, size)]


def _chunks(data: Array) -> Iterator[tuple[int, Array]]:
    for start in range(0, data.size, _CHUNK):
        yield start, data[start : start + _CHUNK]
