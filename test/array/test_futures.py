# SPDX-License-Identifier: MIT OR Apache-2.0
"""Tests that arrays are computed while the program goes on, and by several threads."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import CancelledError
from typing import Any

import numpy as np
import pytest

import xyntra.array as xa
from xyntra.array import futures
from xyntra.errors import UnsupportedError


def test_submitted_arrays_are_waited_for() -> None:
    x = xa.asarray(np.arange(6, dtype=np.float32))
    y, z = x * 2.0, xa.sum(x)
    future = xa.submit(y, z)
    assert future.result(60)[0] is y
    assert y._node.value.tolist() == [0, 2, 4, 6, 8, 10]
    assert float(z) == 15

    async def awaited() -> Any:
        return await xa.submit(x * 3.0)

    assert asyncio.run(awaited()).tolist() == [0, 3, 6, 9, 12, 15]
    several = [xa.submit(x + float(number)) for number in range(3)]
    assert xa.wait_any(several, 60) in range(3)
    found = xa.wait_all(several, 60)
    assert [each.tolist()[0] for each in found] == [0, 1, 2]
    with pytest.raises(TimeoutError):
        xa.wait_any([], 0.0)


def test_what_has_not_begun_can_be_cancelled_and_waiting_ends() -> None:
    x = xa.asarray(np.ones(4, np.float32))
    xa.submit(x + 1.0).result(60)  # the queue is there
    going_on = threading.Event()
    futures._QUEUE[0].submit(lambda: going_on.wait(60))
    cancelled, kept = x * 5.0, x * 6.0
    first, second = xa.submit(cancelled), xa.submit(kept)
    with pytest.raises(TimeoutError):
        second.result(0.01)
    with pytest.raises(TimeoutError):
        xa.wait_all([second], 0.01)
    with pytest.raises(TimeoutError, match="none of 1 futures"):
        xa.wait_any([second], 0.01)
    assert first.cancel()
    going_on.set()
    assert second.result(60) is kept
    assert not second.cancel()
    with pytest.raises(CancelledError):
        first.result(60)
    assert cancelled.tolist() == [5.0] * 4  # by whoever asks for it


def test_threads_share_a_graph() -> None:
    x = xa.asarray(np.ones(50, np.float32))
    shared = xa.exp(x) + x
    wrong: list[Any] = []

    def work(number: int) -> None:
        for _ in range(20):
            found = float((shared * float(number)).sum())
            if abs(found - 50 * number * (np.e + 1)) > 1e-2:
                wrong.append(found)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert wrong == []


def test_a_device_that_is_not_there_is_refused() -> None:
    with xa.device("abacus"), pytest.raises(UnsupportedError):
        xa.ones(2).numpy()
    assert xa.ones(2).device == "cpu"
    with pytest.raises(UnsupportedError):
        xa.ones(2, device="abacus")
    x = xa.ones(2)
    assert x.to_device("cpu") is x
    assert "cpu" in xa.__array_namespace_info__().devices()
    with pytest.raises(UnsupportedError, match="no stream"):
        x.to_device("cpu", stream=1)
