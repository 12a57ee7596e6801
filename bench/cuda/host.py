# SPDX-License-Identifier: MIT OR Apache-2.0
"""Measures the host's cost of calls on a GPU, and how fast arrays reach the GPU."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

import xyntra
from bench.cuda.operations import HOST_MODEL, TINY_MODEL
from bench.cuda.timing import host_microseconds
from xyntra.targets.cpu.memory import address_of
from xyntra.targets.cuda.driver.gpu import gpu
from xyntra.targets.cuda.driver.memory import PinnedMemory
from xyntra.targets.cuda.graphs.launches import load_kernels

__all__ = ["host_costs"]

_CALLS = 12
_COPIED = 1 << 28  # bytes
_LOOK_UPS = 10_000


def host_costs(artifacts: Path, rounds: int) -> dict[str, float]:
    """Return microseconds of calls and gigabytes a second of copies, by name."""
    start = time.perf_counter()
    executable = xyntra.load(artifacts / HOST_MODEL)
    x = np.ones(executable.inputs[0].shape, np.float32)
    executable(x)
    first = time.perf_counter() - start
    on_gpu = torch.from_numpy(x).cuda()
    out = torch.empty_like(on_gpu)
    for _ in range(3):  # until its graph is there
        executable(on_gpu, out=[out])
    return {
        "seconds to the first result": first,
        "us of a call with numpy arrays, GPU included": _waiting(lambda: executable(x), rounds),
        "us of a call on the GPU": host_microseconds(
            lambda: executable(on_gpu, out=[out]), _CALLS, rounds
        ),
        "us of submit": host_microseconds(lambda: executable.submit(x), 4, rounds),
        **_launches(executable, [on_gpu.data_ptr(), out.data_ptr()], rounds),
        **_round_trips(artifacts, rounds),
        **_copies(),
    }


def _launches(executable: Any, addresses: list[int], rounds: int) -> dict[str, float]:
    stream = torch.cuda.Stream()
    launches = executable.launches(addresses)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        launches[0](stream.cuda_stream)
    with torch.cuda.stream(stream):
        return {
            "us of one launch": host_microseconds(
                lambda: launches[0](stream.cuda_stream), _CALLS, rounds
            ),
            "us of one launch as a graph of PyTorch's": host_microseconds(
                graph.replay, _CALLS, rounds
            ),
        }


def _round_trips(artifacts: Path, rounds: int) -> dict[str, float]:
    if not (artifacts / TINY_MODEL).exists():
        return {}
    tiny = xyntra.load(artifacts / TINY_MODEL)
    x = np.ones(tiny.inputs[0].shape, np.float32)
    tiny(x)
    stream = torch.cuda.Stream()
    given, out = torch.ones(4, device="cuda"), torch.empty(4, device="cuda")
    launch = tiny.launches([given.data_ptr(), out.data_ptr()])[0]

    def launch_and_wait() -> None:
        launch(stream.cuda_stream)
        stream.synchronize()

    return {
        "us of a tiny kernel from numpy to numpy": _waiting(lambda: tiny(x), rounds),
        "us of a tiny kernel, launched and waited for": _waiting(launch_and_wait, rounds),
        "us of a look-up of a kernel": _look_up(tiny),
    }


def _look_up(executable: Any) -> float:
    used = gpu(0)
    with used.entered():
        kernels = load_kernels(executable.artifact.objects, used)
    name = executable.kernels[0].name
    start = time.perf_counter()
    for _ in range(_LOOK_UPS):
        kernels[name].functions[0]
    return (time.perf_counter() - start) / _LOOK_UPS * 1e6


def _waiting(work: Callable[[], Any], rounds: int) -> float:
    times = []
    for _ in range(20 * rounds):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1e6


def _copies() -> dict[str, float]:
    used = gpu(0)
    stream = torch.cuda.current_stream().cuda_stream
    array = np.ones(_COPIED, np.uint8)
    memory = torch.empty(_COPIED, dtype=torch.uint8, device="cuda")
    address = memory.data_ptr()

    def rate(copy: Callable[[], None]) -> float:
        copy()
        torch.cuda.synchronize()
        start = time.perf_counter()
        copy()
        torch.cuda.synchronize()
        return _COPIED / (time.perf_counter() - start) / 1e9

    transfers, direct = used.transfers, used.direct
    with used.entered():
        pinned = PinnedMemory(_COPIED).array((_COPIED,), array.dtype)
        place = address_of(pinned)
        return {
            "GB/s to the GPU": rate(lambda: transfers.upload(array, address, stream)),
            "GB/s from the GPU": rate(lambda: transfers.download(address, array, stream)),
            "GB/s to the GPU, page-locked": rate(
                lambda: direct.to_device(address, place, _COPIED, stream)
            ),
            "GB/s from the GPU, page-locked": rate(
                lambda: direct.to_host(place, address, _COPIED, stream)
            ),
        }
