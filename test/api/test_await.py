# SPDX-License-Identifier: MIT OR Apache-2.0
"""Tests that results of `submit` can be awaited in asyncio."""

from __future__ import annotations

import asyncio
import multiprocessing
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from onnx_models import make_model

import xyntra
from xyntra.errors import InputError
from xyntra.executable import Executable
from xyntra.targets.submitted_calls import CallQueue

X = np.arange(6, dtype=np.float32).reshape(2, 3)


@pytest.fixture(scope="module")
def negated(settings: dict[str, object]) -> Executable:
    return xyntra.compile(
        make_model([("Neg", ["x"], ["y"])], {"x": [2, 3]}, ["y"]), config=settings
    )


@pytest.fixture
def blocked() -> Iterator[tuple[CallQueue, threading.Event]]:
    """A queue whose thread waits for an event before it takes up the next call."""
    queue, gate = CallQueue(), threading.Event()
    queue.submit(lambda: gate.wait(60))
    yield queue, gate
    gate.set()


def test_a_call_is_awaited(negated: Executable) -> None:
    async def main() -> Any:
        return await negated.submit(X)

    np.testing.assert_array_equal(asyncio.run(main()), -X)


def test_calls_are_gathered(negated: Executable) -> None:
    async def main() -> list[Any]:
        return await asyncio.gather(*(negated.submit(X + number) for number in range(20)))

    for number, found in enumerate(asyncio.run(main())):
        np.testing.assert_array_equal(found, -(X + number))


def test_a_finished_call_is_awaited_again(negated: Executable) -> None:
    future = negated.submit(X)
    future.result(60)

    async def main() -> Any:
        return await future, await future

    for found in asyncio.run(main()):
        np.testing.assert_array_equal(found, -X)


def test_errors_are_raised_where_it_is_awaited(negated: Executable) -> None:
    async def main() -> None:
        future = negated.submit(X[:1])
        with pytest.raises(InputError) as caught:
            await future
        assert caught.value.code == "input-shape"

    asyncio.run(main())


def test_the_loop_goes_on_meanwhile(blocked: tuple[CallQueue, threading.Event]) -> None:
    queue, gate = blocked

    async def main() -> str:
        # The call ends only when another task of the same loop lets it.
        asyncio.get_running_loop().call_soon(gate.set)
        return await queue.submit(lambda: "done")

    assert asyncio.run(asyncio.wait_for(main(), 60)) == "done"


def test_a_cancelled_task_withdraws_its_call(blocked: tuple[CallQueue, threading.Event]) -> None:
    queue, gate = blocked
    ran: list[int] = []

    async def main() -> None:
        first, second = queue.submit(lambda: ran.append(1)), queue.submit(lambda: ran.append(2))

        async def wait() -> None:
            await first

        task = asyncio.create_task(wait())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        gate.set()
        await second
        assert first.cancelled()

    asyncio.run(main())
    assert ran == [2]


def test_a_time_out_leaves_the_others(blocked: tuple[CallQueue, threading.Event]) -> None:
    queue, gate = blocked

    async def main() -> str:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(queue.submit(lambda: "first"), 0.01)
        gate.set()
        return await queue.submit(lambda: "second")

    assert asyncio.run(main()) == "second"


def test_a_call_that_waits_is_cancelled(blocked: tuple[CallQueue, threading.Event]) -> None:
    queue, gate = blocked
    call = queue.submit(lambda: None)
    assert call.cancel()
    gate.set()
    assert queue.submit(lambda: 5).result(60) == 5
    assert call.cancelled()


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_process_submits(negated: Executable) -> None:
    negated.submit(X).result(60)
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=lambda: sender.send(negated.submit(X).result(20)))
    child.start()
    assert receiver.poll(30)
    np.testing.assert_array_equal(receiver.recv(), -X)
    child.join(20)
    assert child.exitcode == 0
