# SPDX-License-Identifier: MIT OR Apache-2.0
"""Tests that arrays move to the host where their device is full, and come back when they are read.

The device stands in for a GPU: its arrays are numpy's in a wrapper, and its pool has a limit.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import xyntra.array as xa
from xyntra.array.arrays import node_of, wrap
from xyntra.array.recorded import evaluate, placement, residence
from xyntra.array.recorded.graph import leaf
from xyntra.array.recorded.programs import GraphProgram
from xyntra.array.recorded.residence import HostCopy, SpillWarning, note, with_room
from xyntra.errors import DeviceError
from xyntra.targets import table

DEVICE = "cuda:0"


class _Pool:
    def __init__(self) -> None:
        self.held, self.limit, self.spilled, self.released = 0, 4096, 0, 0

    def release(self) -> None:
        self.released += 1


class _Resident:
    """An array on the device."""

    def __init__(self, pool: _Pool, array: Any) -> None:
        if pool.held + array.nbytes > pool.limit:
            raise DeviceError("gpu-memory", f"no room for {array.nbytes} bytes")
        pool.held += array.nbytes
        self._pool, self._array = pool, np.array(array)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return self._array if dtype is None else self._array.astype(dtype)

    def __dlpack_device__(self) -> tuple[int, int]:
        return 2, 0

    def __dlpack__(self, stream: Any = None) -> Any:
        return "capsule of the device"

    def __del__(self) -> None:
        if hasattr(self, "_pool"):
            self._pool.held -= self._array.nbytes


@pytest.fixture
def pool(monkeypatch: pytest.MonkeyPatch) -> Iterator[_Pool]:
    pool = _Pool()
    backend = SimpleNamespace(
        keeps_arrays=True,
        writes_inputs=True,
        locate=lambda _: ("sm_90a", 0),
        device_name=lambda _: DEVICE,
        pool=lambda _: pool,
        place=lambda array, _: _Resident(pool, np.asarray(array)),
    )
    monkeypatch.setattr(table, "backend_named", lambda _: backend)
    cached = (
        placement._placer, placement.keeps_arrays, placement.lends, residence.full_name,
    )  # fmt: skip
    for each in cached:
        each.cache_clear()
    yield pool
    for each in cached:
        each.cache_clear()


def _array(number: float) -> Any:
    """1024 bytes on the host."""
    return xa.asarray(np.full(256, number, np.float32))


def _moved(*arrays: Any) -> list[bool]:
    return [type(node_of(each).value) is HostCopy for each in arrays]


def test_arrays_that_were_read_longest_ago_make_room(pool: _Pool) -> None:
    arrays = [_array(n) for n in range(4)]
    placement.placed([node_of(each) for each in arrays], DEVICE)
    assert pool.held == 4096
    placement.placed([node_of(arrays[0])], DEVICE)  # which is the last one now
    with pytest.warns(SpillWarning, match="have no room on cuda:0"):
        fifth = xa.asarray(np.ones(256, np.float32)).to_device(DEVICE)
    assert _moved(*arrays, fifth) == [False, True, False, False, False]
    assert pool.spilled == 1024
    assert pool.released == 1
    assert arrays[1].device == DEVICE  # where what is made of it is computed
    np.testing.assert_array_equal(arrays[1].numpy(), np.full(256, 1, np.float32))
    assert _moved(arrays[1]) == [True]


def test_they_come_back_when_a_graph_or_another_library_reads_them(pool: _Pool) -> None:
    arrays = [_array(n) for n in range(5)]
    placement.placed([node_of(each) for each in arrays[:4]], DEVICE)
    with pytest.warns(SpillWarning):
        placement.placed([node_of(arrays[4])], DEVICE)
    assert _moved(*arrays) == [True, False, False, False, False]
    with pytest.warns(SpillWarning):
        values = placement.placed([node_of(arrays[0]), node_of(arrays[1])], DEVICE)
    assert _moved(*arrays) == [False, False, True, False, False]  # arrays[1] is read as well
    assert [int(np.asarray(each)[0]) for each in values] == [0, 1]
    with pytest.warns(SpillWarning):
        assert arrays[2].__dlpack__() == "capsule of the device"
    assert arrays[2].__dlpack_device__() == (2, 0)


def test_what_runs_has_its_inputs_and_makes_room_for_results(pool: _Pool) -> None:
    kept = [_array(n) for n in range(4)]
    value = placement.placed([node_of(each) for each in kept], DEVICE)[0]
    runs: list[int] = []

    def run(x: Any) -> Any:
        runs.append(pool.held)
        return _Resident(pool, np.asarray(x) + 1)

    plan = SimpleNamespace(aliases=(), outputs=(None,))
    executable: Any = SimpleNamespace(plain_call=lambda: None, plan=plan)
    program = GraphProgram(executable, [0], 1, True, DEVICE)
    program.executable = run  # type: ignore[assignment]
    with pytest.warns(SpillWarning):
        found = program([value])
    assert runs == [4096, 3072]
    assert float(np.asarray(found[0])[0]) == 1.0
    result = wrap(leaf(found[0], node_of(kept[0]).meta))
    evaluate.note([node_of(result)])
    assert _moved(*kept, result) == [False, True, False, False, False]


def test_where_nothing_is_left_the_error_is_the_devices(pool: _Pool) -> None:
    first = _array(1)
    values = placement.placed([node_of(first)], DEVICE)
    with pytest.raises(DeviceError, match="no room for 8192"):
        with_room(lambda: _Resident(pool, np.zeros(2048, np.float32)), values, DEVICE)
    assert _moved(first) == [False]


def test_arrays_that_are_gone_are_forgotten(pool: _Pool) -> None:
    before = len(residence._RESIDENT)
    for number in range(50):
        note([node_of(_array(number))])
    assert len(residence._RESIDENT) == before


def test_what_the_host_has_no_room_for_is_an_error_with_sizes() -> None:
    with pytest.raises(DeviceError, match=r"18,014,398,509,481,984 bytes have no room in memory"):
        xa.ones((1 << 26, 1 << 26)).numpy()
