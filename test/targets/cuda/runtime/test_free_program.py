# SPDX-License-Identifier: MIT OR Apache-2.0
"""Calls of models with free dimensions, on a driver that takes everything and does nothing."""

from __future__ import annotations

import ctypes
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import numpy as np
import pytest
from onnx_models import make_model

import xyntra
from xyntra.errors import InputError
from xyntra.executable import Executable
from xyntra.targets.cuda import loaded_model, program
from xyntra.targets.cuda.calls import host_calls
from xyntra.targets.cuda.calls.pending import Pending
from xyntra.targets.cuda.driver import driver as driver_module
from xyntra.targets.cuda.driver import memory, stream_order
from xyntra.targets.cuda.driver.launch_config import LaunchConfig
from xyntra.targets.cuda.free_program import FreeCudaProgram
from xyntra.targets.cuda.graphs import device_buffers, launches

RANGES = {"batch": range(1, 9), "seq": range(1, 65)}


class Driver:
    """Takes every call: handles and addresses are numbers, each larger than those before."""

    def __init__(self) -> None:
        self.last = 1 << 32
        self.allocated: dict[int, int] = {}
        self.loads = 0
        self.launched: list[tuple[int, list[int]]] = []

    def cuMemAlloc(self, nbytes: int) -> tuple[int, int]:  # noqa: N802
        self.last += 1 << 32
        self.allocated[self.last] = nbytes
        return 0, self.last

    def cuModuleLoadData(self, _text: Any) -> tuple[int, int]:  # noqa: N802
        self.loads += 1
        return 0, self.loads

    def __getattr__(self, name: str) -> Any:
        if not name[2].isupper() or name.startswith("CU"):
            return MagicMock()
        return lambda *_: (0, 1)

    def launch_kernel(self, config: Any, _function: int, arguments: int, _extra: None) -> int:
        """Note the blocks of a launch, and the words that it is given."""
        grid = LaunchConfig.from_address(config).grid[0]
        places = (ctypes.c_void_p * 16).from_address(arguments)
        self.launched.append((grid, [place for place in places if place]))
        return 0


@pytest.fixture
def cuda(monkeypatch: pytest.MonkeyPatch) -> Driver:
    found = Driver()
    for module in (driver_module, memory, stream_order, launches, device_buffers, loaded_model):
        if hasattr(module, "driver"):
            monkeypatch.setattr(module, "driver", lambda: found)
    monkeypatch.setattr(memory, "release_with", lambda *_: None)
    monkeypatch.setattr(launches, "machine_codes", lambda *_: {})
    direct = MagicMock()
    direct.launch_kernel = found.launch_kernel
    gpu = MagicMock(direct=direct, ordinal=0, is_lost=False)
    gpu.device = SimpleNamespace(architecture="sm_90a")
    monkeypatch.setattr(program, "gpu", lambda _: gpu)
    monkeypatch.setattr(program, "_check_architecture", lambda *_: None)
    monkeypatch.setattr(loaded_model, "loaded_code", lambda _: None)
    return found


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The plans of the calls that were started, each launched one by one."""
    found: list[Any] = []

    def start(self: Any, inputs: Any, out: Any) -> list[Any]:
        found.append(self._plan)
        ports = (*self._plan.inputs, *self._plan.results)
        places = [self._buffers.address(port.buffer) for port in ports]
        self._replays.one_by_one(places)(0)
        return [np.zeros(port.shape, np.float32) for port in self._plan.results]

    monkeypatch.setattr(host_calls.HostCalls, "start", start)
    monkeypatch.setattr(host_calls.HostCalls, "takes", lambda *_: False)
    return found


@pytest.fixture(scope="module")
def model() -> Executable:
    weight = np.ones((8, 8), np.float32)
    nodes = [("MatMul", ["x", "w"], ["y"]), ("Softmax", ["y"], ["z"]), ("Add", ["z", "x"], ["s"])]
    built = make_model(nodes, {"x": ["batch", "seq", 8]}, ["s"], {"w": weight})
    settings = {"cache": False, "isolate": False, "jobs": 1}
    return xyntra.compile(built, target="cuda:sm_90a", dims=RANGES, config=settings)


def _call(free: FreeCudaProgram, batch: int, seq: int) -> Any:
    return free.call([np.zeros((batch, seq, 8), np.float32)])


def test_sizes_share_code_weights_and_an_arena(
    model: Executable, cuda: Driver, started: list[Any]
) -> None:
    free = FreeCudaProgram(model.artifact, model._weights, 0)
    (result,) = _call(free, 1, 4)
    assert result.shape == (1, 4, 8)
    loads, first = cuda.loads, list(cuda.launched)
    (result,) = _call(free, 8, 64)
    assert result.shape == (8, 64, 8)
    assert cuda.loads == loads  # nothing is loaded in a call
    second = cuda.launched[len(first) :]
    assert len(first) == len(second)
    assert sum(grid for grid, _ in first) < sum(grid for grid, _ in second)
    weights = [n for n in cuda.allocated.values() if n >= 256]
    _call(free, 8, 63)  # needs less than what there is
    assert len([n for n in cuda.allocated.values() if n >= 256]) <= len(weights) + 1
    assert [plan.inputs[0].shape for plan in started] == [(1, 4, 8), (8, 64, 8), (8, 63, 8)]


def test_the_sizes_used_last_are_kept(model: Executable, cuda: Driver, started: list[Any]) -> None:
    free = FreeCudaProgram(model.artifact, model._weights, 0)
    for seq in (*range(1, 40), 1, 39):
        _call(free, 1, seq)
        _call(free, 2, 8)
    assert len(free._kept) == 32
    assert len({id(plan) for plan in started if plan.inputs[0].shape == (2, 8, 8)}) == 1


def test_sizes_are_checked_before_anything_is_launched(
    model: Executable, cuda: Driver, started: list[Any]
) -> None:
    free = FreeCudaProgram(model.artifact, model._weights, 0)
    with pytest.raises(InputError, match="seq = 65 is not in its range"):
        _call(free, 1, 65)
    assert not started
    assert not isinstance(_call(free, 1, 64), Pending)
