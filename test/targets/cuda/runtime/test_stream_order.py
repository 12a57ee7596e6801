# SPDX-License-Identifier: MIT OR Apache-2.0
"""The order of calls on several streams, as the driver is told it. No GPU is needed."""

from __future__ import annotations

import itertools
import random

import pytest

from xyntra.targets.cuda.driver import stream_order
from xyntra.targets.cuda.driver.stream_order import StreamOrder

OWN = 7


class Streams:
    """Streams that know, of every call, which calls have ended before it begins."""

    def __init__(self):
        self.done = {}
        self.fence = frozenset()

    def record(self, _event, stream):
        self.fence = self.done.get(stream, frozenset())

    def wait(self, stream, _event):
        self.done[stream] = self.done.get(stream, frozenset()) | self.fence

    def run(self, stream, call):
        before = self.done.get(stream, frozenset())
        self.done[stream] = before | {call}
        return before


class Fence:
    """Stands for an event."""

    handle = 0


@pytest.fixture
def streams(monkeypatch):
    monkeypatch.setattr(stream_order, "Event", Fence)
    return Streams()


def run(streams, calls):
    order = StreamOrder(streams, OWN)
    for number, (stream, lasts) in enumerate(calls):
        order.enter(stream, lasts=lasts)
        before = streams.run(stream, number)
        if not lasts:
            order.leave()
        assert before >= set(range(number)), (calls, number)


KINDS = [(OWN, True), (0, True), (0, False), (9, True), (9, False)]


@pytest.mark.parametrize("length", [2, 3, 4])
def test_every_call_begins_behind_all_calls_before_it(streams, length):
    for calls in itertools.product(KINDS, repeat=length):
        streams.done = {}
        run(streams, calls)


def test_long_sequences_of_calls_keep_their_order(streams):
    rng = random.Random(5)
    run(streams, [rng.choice(KINDS) for _ in range(500)])
