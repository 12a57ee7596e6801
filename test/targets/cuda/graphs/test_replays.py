# SPDX-License-Identifier: MIT OR Apache-2.0
"""Counts what is bound anew, and which graphs are made, for addresses that come and go."""

from __future__ import annotations

import ctypes
from types import SimpleNamespace
from typing import Any

import pytest

from xyntra.errors import DeviceError
from xyntra.targets.cuda.driver import prepared_launch
from xyntra.targets.cuda.graphs import launches
from xyntra.targets.cuda.graphs import replays as module
from xyntra.targets.cuda.graphs.replays import Replays


class Launch:
    """Stands for a launch: it puts down what it would be given."""

    def __init__(self, pointers: list[int], recorder: Recorder) -> None:
        self.pointers, self.recorder = list(pointers), recorder

    def move(self, argument: int, address: int) -> None:
        if address in self.recorder.refused:
            raise DeviceError("gpu-failed", "the address is refused")
        self.pointers[argument] = address
        self.recorder.moved += 1

    def __call__(self, _: int) -> None:
        self.recorder.launched.append(tuple(self.pointers))


class Recorder:
    """Stands for what is loaded onto a GPU: notes what is bound, launched, and made a graph."""

    def __init__(self) -> None:
        self.bound: list[tuple[int, ...]] = []
        self.launched: list[tuple[int, ...]] = []
        self.graphs: list[Any] = []
        self.functions = ["function"]
        self.moved = 0
        self.refused: set[int] = set()

    def arguments(self, step: Any, ports: dict[int, int]) -> tuple[list[int], int]:
        return [ports.get(buffer, -buffer) for buffer in step.buffers], 0

    def bind(self, pointers: list[int], scratch: int) -> list[Any]:
        self.bound.append(tuple(pointers))
        return [Launch(pointers, self)]

    def graph(self, launches: list[Any], *_: Any) -> Any:
        copied = [tuple(each.pointers) for each in launches]  # as graphs of the driver do

        def replay(stream: int) -> None:
            self.launched += copied

        self.graphs.append(copied)
        replay.handle = len(self.graphs)  # type: ignore[attr-defined]
        return replay


@pytest.fixture
def recorder(monkeypatch: pytest.MonkeyPatch) -> Recorder:
    found = Recorder()
    monkeypatch.setattr(module, "LaunchGraph", found.graph)
    return found


def replays_of(recorder: Any) -> Replays:
    """Inputs 1 and 2, output 3; a step in between reads and writes the plan's own memory."""
    steps = [
        SimpleNamespace(once=False, kernel="k", buffers=b) for b in ([1, 4], [4, 5], [5, 2, 3])
    ]
    ports = [SimpleNamespace(buffer=buffer) for buffer in (1, 2, 3)]
    plan: Any = SimpleNamespace(
        aliases=(),
        inputs=ports[:2],
        results=ports[2:],
        steps=steps,
        argument_buffers=lambda step: step.buffers,
        buffers=[SimpleNamespace(offset=0)] * 6,
        home=lambda buffer: buffer,
    )
    return Replays(plan, {"k": recorder}, recorder, 0, recorder)


def wanted(addresses: tuple[int, ...]) -> list[tuple[int, ...]]:
    a, b, c = addresses
    return [(a, -4), (-4, -5), (-5, b, c)]


def test_launches_are_bound_once_and_moved(recorder: Recorder) -> None:
    replays = replays_of(recorder)
    for addresses in ((16, 32, 48), (16, 32, 64), (16, 32, 80)):
        replays.at(addresses)(0)
    assert recorder.launched == [each for c in (48, 64, 80) for each in wanted((16, 32, c))]
    assert len(recorder.bound) == 3
    assert recorder.moved == 2


def test_launches_that_are_handed_out_stay_where_they_are(recorder: Recorder) -> None:
    replays = replays_of(recorder)
    own = replays.launches((16, 32, 48))
    replays.one_by_one((160, 320, 480))(0)
    assert [tuple(each.pointers) for each in own] == wanted((16, 32, 48))  # type: ignore[attr-defined]


def test_what_was_moved_half_way_is_bound_anew(recorder: Recorder) -> None:
    replays = replays_of(recorder)
    replays.one_by_one((16, 32, 48))(0)
    recorder.refused = {320}
    with pytest.raises(DeviceError):
        replays.one_by_one((160, 320, 480))(0)
    recorder.launched.clear()
    replays.one_by_one((16, 32, 48))(0)
    assert recorder.launched == wanted((16, 32, 48))


def test_tensor_maps_move_with_their_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    encoded = []

    def encode(image: Any, address: int, place: int, kernel: str) -> None:
        encoded.append(address)
        ctypes.memmove(place, address.to_bytes(launches.MAP_BYTES, "little"), launches.MAP_BYTES)

    monkeypatch.setattr(launches, "encode_map", encode)
    monkeypatch.setattr(prepared_launch, "configured", lambda _: (ctypes.c_uint64 * 1)())
    maps = [SimpleNamespace(argument=1), SimpleNamespace(argument=0)]
    image: Any = SimpleNamespace(maps=maps, sizes=[7], programmatic=False)
    direct: Any = SimpleNamespace(launch_kernel=lambda *_: 0)
    launch = launches.BoundLaunch("k", 1, image, [16, 32], direct)

    def given() -> list[int]:
        return [ctypes.c_uint64.from_address(place).value for place in launch.arguments]

    assert given() == [16, 32, 32, 16, 7]
    launch.move(1, 48)
    assert given() == [16, 48, 48, 16, 7]
    launch.move(1, 64)
    launch.move(1, 48)
    assert given() == [16, 48, 48, 16, 7]
    assert encoded == [32, 16, 48, 64]


def test_addresses_that_come_back_get_a_graph(recorder: Recorder) -> None:
    replays = replays_of(recorder)
    for _ in range(5):
        recorder.launched.clear()
        replays.at((16, 32, 48))(0)
        assert recorder.launched == wanted((16, 32, 48))
    assert len(recorder.graphs) == 1


def test_graphs_that_are_hardly_used_are_not_made_for_ever(recorder: Recorder) -> None:
    replays = replays_of(recorder)
    many = [(16, 32, 48 + 16 * number) for number in range(12)]  # more than are kept
    for _ in range(10):
        for addresses in many:
            recorder.launched.clear()
            replays.at(addresses)(0)
            assert recorder.launched == wanted(addresses)
    assert 12 <= len(recorder.graphs) <= 20
