# SPDX-License-Identifier: MIT OR Apache-2.0
"""The order of calls that use one arena from several streams."""

from __future__ import annotations

import ctypes

from xyntra.targets.cuda.driver.direct import Direct
from xyntra.targets.cuda.driver.memory import Event

_NO_STREAM = 2**64 - 1


class StreamOrder:
    """Lets every call begin behind the one before it, whatever stream that is on.

    Attributes:
        own: the stream of calls from the host, which lives as long as this object is used.
        word: the stream of the last call, if it is there as long as the process; else 2**64 - 1.
            Native code reads and writes it.
        fence: handle of the event by which one stream waits for another.
    """

    def __init__(self, direct: Direct, own: int) -> None:
        self._direct = direct
        self.own = own
        self.word = ctypes.c_uint64(own)
        self._passing = own  # the stream of the last call, where it may be gone by the next
        self._fence = Event()
        self.fence = self._fence.handle

    def enter(self, stream: int, *, lasts: bool) -> None:
        """Begin a call on a stream.

        Args:
            stream: its handle.
            lasts: the stream is there as long as the process; else every call marks its end, as
                the stream may be gone when the next call asks.
        """
        last = self.word.value
        if last not in (stream, _NO_STREAM):
            self._direct.record(self.fence, last)
        if last != stream:  # a stream that passes may have had the handle of this one
            self._direct.wait(stream, self.fence)
        is_lasting = lasts or stream == self.own
        self.word.value = stream if is_lasting else _NO_STREAM
        self._passing = stream

    def leave(self) -> None:
        """End the call that began last."""
        if self.word.value == _NO_STREAM:
            self._direct.record(self.fence, self._passing)
