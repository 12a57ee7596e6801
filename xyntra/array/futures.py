# SPDX-License-Identifier: MIT OR Apache-2.0
"""Computes arrays while the program goes on, and waits for them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from xyntra.array.arrays import Array, node_of
from xyntra.array.recorded.evaluate import prepared, settle

if TYPE_CHECKING:
    from xyntra.targets.program import Future
    from xyntra.targets.submitted_calls import CallQueue

__all__ = ["submit", "wait_all", "wait_any"]

_QUEUE: list[CallQueue] = []
_PAUSE = 5e-4
"""Seconds between two looks at several futures."""


def submit(*arrays: Array) -> Future:
    """Begin to compute arrays, by one executable, and return at once.

    What is returned has `result(timeout)`, `done()` and `cancel()`, and can be awaited; its result
    are the arrays, which have their values then. Graphs that are submitted run in order.

    Raises:
        XyntraError: the graph cannot be compiled.
    """
    from xyntra.targets.mapped_future import MappedFuture
    from xyntra.targets.submitted_calls import CallQueue  # with asyncio, which loads long

    if not _QUEUE:
        _QUEUE.append(CallQueue())
    call = prepared([node_of(each) for each in arrays])
    if call is None:
        return MappedFuture(_QUEUE[0].submit(tuple), lambda _: arrays)
    known = call

    def settled(values: Sequence[Any]) -> Sequence[Any]:
        settle(known.outputs, values)
        return arrays

    return MappedFuture(_QUEUE[0].submit(lambda: tuple(known.program(known.values))), settled)


def wait_all(futures: Sequence[Future], timeout: float | None = None) -> list[Any]:
    """Return the results of all futures, in order.

    Raises:
        TimeoutError: one has not finished after so many seconds.
    """
    end = None if timeout is None else time.monotonic() + timeout
    return [
        each.result(None if end is None else max(end - time.monotonic(), 0.0)) for each in futures
    ]


def wait_any(futures: Sequence[Future], timeout: float | None = None) -> int:
    """Return the place of a future that has finished.

    Raises:
        TimeoutError: none has finished after so many seconds.
    """
    end = None if timeout is None else time.monotonic() + timeout
    while True:
        for place, each in enumerate(futures):
            if each.done():
                return place
        if end is not None and time.monotonic() >= end:
            raise TimeoutError(f"none of {len(futures)} futures finished in {timeout} s")
        time.sleep(_PAUSE)
