# SPDX-License-Identifier: MIT OR Apache-2.0
"""The order of calls that use one arena from several streams."""

from __future__ import annotations

import ctypes

from xyntra.targets.cuda.direct import Direct
from xyntra.targets.cuda.memory import Event

_NO_STREAM = 2**64 - 1


class StreamOrder:
    """Lets every call begin behind the one before it, whatever stream that is on.

    Attributes:
        own: the stream of calls from the host, which lives as long as this object is used.
        word: the stream of the last call, where the next one on it has nothing to wait for; native
            code reads it.
    """

    def __init__(self, direct: Direct, own: int) -> None:
        self._direct = direct
        self.own = own
        self._last = own
        self._lasts = True
        self._fence = Event()
        self.word = ctypes.c_uint64(own)

    def enter(self, stream: int, *, lasts: bool) -> None:
        """Begin a call on a stream.

        Args:
            stream: its handle.
            lasts: the stream is there as long as the process; else every call marks its end, as
                the stream may be gone when the next call asks.
        """
        is_same = stream == self._last
        if self._lasts and not is_same:
            self._direct.record(self._fence.handle, self._last)
        if not self._lasts or not is_same:  # the handle may be that of another stream now
            self._direct.wait(stream, self._fence.handle)
        self._last = stream
        self._lasts = lasts or stream == self.own
        self.word.value = stream if self._lasts else _NO_STREAM

    def leave(self) -> None:
        """End the call that began last."""
        if not self._lasts:
            self._direct.record(self._fence.handle, self._last)
