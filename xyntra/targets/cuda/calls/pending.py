# SPDX-License-Identifier: MIT OR Apache-2.0
"""Calls that the GPU has not finished yet."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from typing import Any

from xyntra.errors import DeviceError
from xyntra.targets.cuda.driver.gpu import Gpu
from xyntra.targets.cuda.driver.memory import Event

_WHAT = "running the model"
_POLL = 20e-6  # seconds between two looks at an event, where a time-out was given


class Pending:
    """The results of a call to come.

    Args:
        gpu: where it runs.
        event: recorded behind the call.
        take: returns the results, once the event has passed.
        place: the kernels, for errors.
    """

    def __init__(
        self, gpu: Gpu, event: Event, take: Callable[[], Sequence[Any]], place: str | None
    ) -> None:
        self._gpu = gpu
        self._event = event
        self._take: Callable[[], Sequence[Any]] | None = take
        self._place = place
        self._lock = threading.Lock()
        self._results: Sequence[Any] = ()
        self._error: DeviceError | None = None

    def __await__(self) -> Generator[Any, None, Any]:
        return self._awaited().__await__()

    async def _awaited(self) -> Any:
        """As `result`; a thread of the event loop's waits meanwhile."""
        import asyncio

        if not self.done():
            await asyncio.get_running_loop().run_in_executor(None, self._settle)
        return self.result()

    def cancel(self) -> bool:
        """Return False: what has been launched on a GPU cannot be withdrawn."""
        return False

    @property
    def is_taken(self) -> bool:
        """Tell whether the results have been fetched, or the call has failed."""
        return self._take is None

    def done(self) -> bool:
        """Tell whether `result` would return, or raise, at once."""
        if self.is_taken:
            return True
        with self._gpu.entered():
            return self._gpu.direct.is_done(self._event.handle, _WHAT, self._place)

    def result(self, timeout: float | None = None) -> Any:
        """Wait for the call and return what calling the model returns.

        Args:
            timeout: seconds to wait at most; for as long as it takes where not given.

        Raises:
            TimeoutError: the call has not finished; `result` may be called again.
            DeviceError: the GPU failed.
        """
        if timeout is not None:
            self._poll(timeout)
        results = self.wait()
        return results[0] if len(results) == 1 else tuple(results)

    def wait(self) -> Sequence[Any]:
        """Wait for the call and return all results."""
        with self._lock:
            if self._take is not None:
                self._finish(self._take)
            if self._error is not None:
                raise self._error
            return self._results

    def _settle(self) -> None:
        """Wait for the call; `result` raises what went wrong, whether or not anybody awaits it."""
        with suppress(DeviceError):
            self.wait()

    def _finish(self, take: Callable[[], Sequence[Any]]) -> None:
        self._take = None
        try:
            with self._gpu.entered():
                self._gpu.direct.synchronize(self._event.handle, _WHAT, self._place)
            self._results = take()
        except DeviceError as error:
            self._error = error

    def _poll(self, timeout: float) -> None:
        end = time.monotonic() + timeout
        while not self.done():
            if time.monotonic() >= end:
                raise TimeoutError(f"the call has not finished within {timeout} s")
            time.sleep(_POLL)
