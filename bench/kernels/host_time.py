# SPDX-License-Identifier: MIT OR Apache-2.0
"""Measures what the host spends: `python -m bench.kernels.host_time [--target cuda]`.

On recorded graphs of several lengths from the cache, on a call of a function that is recorded as a
whole, and on a call of a kernel. Arrays are of 64 elements, so that little else is measured.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import xyntra
import xyntra.array as xa
from bench.harness.machine import describe
from bench.harness.measure import write_json
from bench.kernels.cases import gelu
from xyntra.array.arrays import node_of
from xyntra.targets.current import CurrentDevice

__all__ = ["main"]

_SECONDS, _ROUNDS = 2e-3, 300
"""Of a round, which is short enough that others seldom interrupt it, and their number."""


def microseconds(work: Callable[[], Any], wait: Callable[[], None]) -> float:
    """Return the least of the rounds' mean microseconds of a call."""
    work()
    start = time.perf_counter()
    work()
    calls = max(1, int(_SECONDS / (time.perf_counter() - start)))
    times = []
    for _ in range(_ROUNDS):
        wait()
        start = time.perf_counter()
        for _ in range(calls):
            work()
        times.append((time.perf_counter() - start) / calls * 1e6)
    return min(times)


def chain(x: Any, y: Any, count: int) -> Any:
    """Record so many operations on two arrays."""
    for _ in range(count // 2):
        x = x * y + y
    return x


def main(arguments: Sequence[str] | None = None) -> int:
    """Print, and write, what each takes."""
    parser = argparse.ArgumentParser(prog="python -m bench.kernels.host_time", description=__doc__)
    parser.add_argument("--target", default="cpu", help="where arrays are computed (cpu)")
    parser.add_argument("--json", type=Path, help="where the numbers are written")
    options = parser.parse_args(arguments)
    CurrentDevice.target = options.target
    x, y = (xa.asarray(np.random.default_rng(i).random(64, np.float32)) for i in (0, 1))
    found: dict[str, float] = {}
    wait: Callable[[], None] = lambda: None  # noqa: E731
    given: list[Any] = [np.asarray(x), np.asarray(y)]
    if options.target.startswith("cuda"):
        import torch

        wait, given = torch.cuda.synchronize, [torch.from_numpy(each).cuda() for each in given]
    for count in (2, 20, 100, 200):
        found[f"recorded graph of {count}"] = microseconds(
            lambda count=count: xa.compute(chain(x, y, count)), wait
        )
    long, short = found["recorded graph of 200"], found["recorded graph of 2"]
    found["an operation more"] = (long - short) / 198
    step = xa.jit(lambda a, b: chain(a, b, 20))
    found["recorded function"] = microseconds(lambda: node_of(step(x, y)).value, wait)
    kernel = xyntra.kernel(gelu)
    found["kernel call"] = microseconds(lambda: kernel(*given), wait)
    for name, value in found.items():
        print(f"{name}: {value:.2f} us")
    if options.json is not None:
        write_json(options.json, {"machine": describe(), "target": options.target, "us": found})
    return 0


if __name__ == "__main__":
    sys.exit(main())
