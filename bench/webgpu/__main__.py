# SPDX-License-Identifier: MIT OR Apache-2.0
"""Runs benchmark models on a GPU behind WebGPU and compares them with onnxruntime on the CPU.

Prints a line for each: errors, how many numbers are beyond 1e-3 relative and 1e-4 absolute, and the
times of compiling, of the first call, which makes pipelines, and of the fastest of some calls.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnxruntime

import xyntra
from bench.models import DEFAULT_FOLDER, REGISTRY, ensure
from xyntra.errors import XyntraError

_RELATIVE, _ABSOLUTE = 1e-3, 1e-4


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns 1 if a model fails or differs."""
    parser = argparse.ArgumentParser(prog="python -m bench.webgpu", description=__doc__)
    parser.add_argument("names", nargs="+", metavar="NAME", choices=list(REGISTRY))
    parser.add_argument("--target", default="webgpu", help="webgpu or webgpu:N")
    parser.add_argument("--models", type=Path, default=DEFAULT_FOLDER, help="default: models/")
    parser.add_argument("--calls", type=int, default=10, help="default: 10")
    options = parser.parse_args(arguments)
    good = [_run(name, options.target, options.models, options.calls) for name in options.names]
    return 0 if all(good) else 1


def _run(name: str, target: str, folder: Path, calls: int) -> bool:
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


if __name__ == "__main__":
    sys.exit(main())
