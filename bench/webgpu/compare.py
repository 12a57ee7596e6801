# SPDX-License-Identifier: MIT OR Apache-2.0
"""Compares benchmark models on a GPU behind WebGPU with onnxruntime on the CPU.

Prints a line for each: errors, how many numbers are beyond 1e-3 relative and 1e-4 absolute, and the
times of compiling, of the first call, which makes pipelines, and of the fastest of some calls.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np
import onnxruntime

import xyntra
from bench.models import REGISTRY, ensure
from xyntra.errors import XyntraError

__all__ = ["compare"]

_RELATIVE, _ABSOLUTE = 1e-3, 1e-4


def compare(name: str, target: str, folder: Path, calls: int) -> bool:
    """Print the line of a model; return whether its results agree."""
    rng = np.random.default_rng(0)
    feeds = {each.name: each.sample(rng) for each in REGISTRY[name].inputs}
    try:
        path = ensure(name, folder)
        session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
        wanted = [np.asarray(each, np.float64) for each in session.run(None, feeds)]
        start = time.perf_counter()
        executable = xyntra.compile(
            path, target=target, inputs={key: array.shape for key, array in feeds.items()}
        )
        times = [time.perf_counter() - start]
        for _ in range(calls + 1):
            start = time.perf_counter()
            results = list(executable.run(feeds).values())
            times.append(time.perf_counter() - start)
    except XyntraError as error:
        print(f"{name}: {error}", file=sys.stderr)
        return False
    pairs = list(zip(results, wanted, strict=True))
    errors = [np.abs(np.asarray(mine, np.float64) - theirs) for mine, theirs in pairs]
    limits = [_ABSOLUTE + _RELATIVE * np.abs(theirs) for theirs in wanted]
    beyond = sum(int(np.sum(~(e <= limit))) for e, limit in zip(errors, limits, strict=True))
    largest = max(float(np.max(each, initial=0.0)) for each in errors)
    print(
        f"{name}: {len(executable.kernels)} kernels, largest error {largest:.2g}, {beyond} beyond,"
        f" compiled in {times[0]:.1f} s, first call {times[1]:.2f} s, call {min(times[2:]):.4f} s",
        flush=True,
    )
    return beyond == 0
