# SPDX-License-Identifier: MIT OR Apache-2.0
"""Calls that run on a thread of their own, one after the other, and can be awaited."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Generator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

__all__ = ["CallQueue", "SubmittedCall"]


class SubmittedCall(Future[Any]):
    """The results of a call that may not have run yet; `await` does not block the event loop.

    Cancelling it, or a task that awaits it, takes it out of the queue unless it is running.
    """

    def __await__(self) -> Generator[Any, None, Any]:
        return asyncio.wrap_future(self).__await__()

    def run(self, call: Callable[[], Any]) -> None:
        """Run `call`, whose result this is to have, unless it was cancelled."""
        if not self.set_running_or_notify_cancel():
            return
        try:
            self.set_result(call())
        except BaseException as error:  # whoever asks for the result is to see it
            self.set_exception(error)


class CallQueue:
    """Runs calls in order; its thread starts with the first one."""

    def __init__(self) -> None:
        self._process = 0
        self._thread: ThreadPoolExecutor | None = None

    def submit(self, call: Callable[[], Any]) -> SubmittedCall:
        """Put `call` at the end of the queue."""
        # A process that was forked has this object, and no thread.
        if self._thread is None or self._process != os.getpid():
            self._process = os.getpid()
            self._thread = ThreadPoolExecutor(1, "xyntra-submit")
        submitted = SubmittedCall()
        self._thread.submit(submitted.run, call)
        return submitted
