# SPDX-License-Identifier: MIT OR Apache-2.0
"""Compile a small real model, show its kernels, and compare it with onnxruntime.

    python examples/demo.py

The model is Magika (3 MB): it reads the bytes of a file and says what kind of file it is.
"""

from __future__ import annotations

import sys
import tempfile
import textwrap
import time
from pathlib import Path

import numpy as np
import onnxruntime

import xyntra

# The module that knows where the model comes from is not installed: take it from this clone.
sys.path.append(str(Path(__file__).resolve().parents[1]))

from bench.models import REGISTRY, ensure

MODEL = REGISTRY["magika"]
CLOSE = 1e-4


def main() -> int:
    path = ensure(MODEL.name)
    print(f"{path.name}: {MODEL.title}, from {MODEL.source}\n")

    # An empty cache, so that the time is that of a first compilation.
    with tempfile.TemporaryDirectory() as cache:
        start = time.perf_counter()
        exe = xyntra.compile(path, inputs=MODEL.shapes, config={"cache_dir": cache})
        compile_seconds = time.perf_counter() - start

    print_kernels(exe)
    difference = largest_difference(exe, onnxruntime.InferenceSession(path))
    print(f"compiled in  {compile_seconds:.2f} s")
    print(f"runs in      {1000 * median_seconds(exe):.2f} ms")
    print(f"differs by   {difference:.1e} at most from onnxruntime, on 5 random files")
    return 0 if difference <= CLOSE else 1


def print_kernels(exe: xyntra.Executable) -> None:
    """Print a line for each kernel: its name, its kind and the nodes of the model inside it."""
    kernels = exe.kernels
    width = max(len(kernel.name) for kernel in kernels)
    print(f"{'kernel':{width}}  {'kind':12}fused")
    for kernel in kernels:
        nodes = " ".join(name.rsplit("/", 1)[-1] for name in kernel.fused)
        print(f"{kernel.name:{width}}  {kernel.kind:12}{textwrap.shorten(nodes, 80)}")
    print(f"\n{exe.plan.operations} operations became {len(kernels)} kernels\n")


def largest_difference(exe: xyntra.Executable, session: onnxruntime.InferenceSession) -> float:
    """Run both on random inputs and return the largest distance of any output's element."""
    distances = []
    for seed in range(5):
        inputs = MODEL.random_inputs(seed)
        ours = exe.run(inputs)
        theirs = session.run(list(ours), inputs)
        distances += [np.abs(a - b).max() for a, b in zip(ours.values(), theirs, strict=True)]
    return float(np.max(distances))


def median_seconds(exe: xyntra.Executable, runs: int = 50) -> float:
    """Return the median time of a run."""
    inputs = MODEL.random_inputs(seed=0)
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        exe.run(inputs)
        times.append(time.perf_counter() - start)
    return float(np.median(times))


if __name__ == "__main__":
    sys.exit(main())
