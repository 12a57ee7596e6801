# SPDX-License-Identifier: MIT OR Apache-2.0
"""What calls of a model on a GPU cost the processor, and how fast arrays reach the GPU."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

import xyntra
from bench.cuda_operations import HOST_MODEL
from bench.cuda_timing import host_microseconds
from xyntra.targets.cuda.gpu import gpu

__all__ = ["host_costs"]

_CALLS = 12
_COPIED = 1 << 28  # bytes


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
    launches = executable.launches([on_gpu.data_ptr(), out.data_ptr()])
    stream = torch.cuda.current_stream().cuda_stream
    return {
        "seconds to the first result": first,
        "us of a call with numpy arrays, GPU included": _waiting(lambda: executable(x), rounds),
        "us of a call on the GPU": host_microseconds(
            lambda: executable(on_gpu, out=[out]), _CALLS, rounds
        ),
        "us of submit": host_microseconds(lambda: executable.submit(x), 4, rounds),
        "us of one launch": host_microseconds(lambda: launches[0](stream), _CALLS, rounds),
        **_copies(),
    }


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

    def rate(copy: Callable[[], None]) -> float:
        copy()
        torch.cuda.synchronize()
        start = time.perf_counter()
        copy()
        torch.cuda.synchronize()
        return _COPIED / (time.perf_counter() - start) / 1e9

    with used.entered():
        return {
            "GB/s to the GPU": rate(
                lambda: used.transfers.upload(array, memory.data_ptr(), stream)
            ),
            "GB/s from the GPU": rate(
                lambda: used.transfers.download(memory.data_ptr(), array, stream)
            ),
        }
