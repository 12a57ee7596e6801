# SPDX-License-Identifier: MIT OR Apache-2.0
"""The order of calls that use one arena from several streams."""

from __future__ import annotations

from xyntra.targets.cuda.direct import Direct
from xyntra.targets.cuda.memory import Event


class StreamOrder:
    """Lets every call begin behind the one before it, whatever stream that is on.

    Attributes:
        own: the stream of calls from the host, which lives as long as this object is used.
    """

    def __init__(self, direct: Direct, own: int) -> None:
        self._direct = direct
        self.own = own
        self._last = own
        self._fence = Event()

    def enter(self, stream: int) -> None:
        """Begin a call on a stream."""
        if stream == self._last:
            return
        if self._last == self.own:
            self._direct.record(self._fence.handle, self.own)
        self._direct.wait(stream, self._fence.handle)
        self._last = stream

    def leave(self, stream: int) -> None:
        """End a call. Streams of others may be gone when the next call asks."""
        if stream != self.own:
            self._direct.record(self._fence.handle, stream)
