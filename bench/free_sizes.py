# SPDX-License-Identifier: MIT OR Apache-2.0
"""Measures a model with free dimensions beside one compiled for each size.

`python -m bench.free_sizes MODEL.onnx seq=1:512 batch=1:8 --at seq=128,batch=1 --at seq=37,batch=2`
prints the time of a call, of the first call with new sizes, and of compiling, in milliseconds.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

import xyntra
from xyntra.executable import Executable
from xyntra.tools.commands.model import parse_dim

__all__ = ["main"]

_ROUNDS = 3
_CALLS = 5


def main() -> None:
    """Print a line for each combination of sizes."""
    parser = argparse.ArgumentParser(prog="python -m bench.free_sizes", description=__doc__)
    parser.add_argument("model")
    parser.add_argument("dims", nargs="+", type=parse_dim, help="NAME=1:512, or NAME=1")
    parser.add_argument("--at", action="append", required=True, help="NAME=128,NAME=1")
    options = parser.parse_args()
    dims = dict(options.dims)
    settings = {"cache": False}
    start = time.perf_counter()
    free = xyntra.compile(options.model, target="cpu", dims=dims, config=settings)
    print(f"compiled for all sizes in {time.perf_counter() - start:.1f} s")
    for text in options.at:
        sizes = {**_fixed(dims), **dict(map(_size, text.split(",")))}
        start = time.perf_counter()
        static = xyntra.compile(options.model, target="cpu", dims=sizes, config=settings)
        compiling = time.perf_counter() - start
        inputs = _inputs(static)
        first = _milliseconds(free, inputs, 1)
        times = [
            (_milliseconds(free, inputs, _CALLS), _milliseconds(static, inputs, _CALLS))
            for _ in range(_ROUNDS)
        ]
        ours, theirs = (min(each) for each in zip(*times, strict=True))
        print(
            f"{text}: {ours:.3f} ms, first {first:.3f}; static {theirs:.3f} ms, compiled in "
            f"{compiling:.1f} s; ratio {ours / theirs:.2f}",
            flush=True,
        )


def _fixed(dims: Mapping[str, int | range]) -> dict[str, int]:
    return {name: size for name, size in dims.items() if not isinstance(size, range)}


def _size(text: str) -> tuple[str, int]:
    name, _, size = text.partition("=")
    return name, int(size)


def _inputs(exe: Executable) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    drawn: dict[str, Callable[[tuple[int, ...]], Any]] = {
        "float32": lambda shape: rng.standard_normal(shape).astype(np.float32),
        "int64": lambda shape: rng.integers(0, 2, shape),
    }
    return {port.name: drawn[port.dtype](port.shape) for port in exe.inputs}


def _milliseconds(exe: Executable, inputs: Mapping[str, Any], calls: int) -> float:
    best = float("inf")
    for _ in range(calls):
        start = time.perf_counter()
        exe.run(inputs)
        best = min(best, time.perf_counter() - start)
    return best * 1e3


if __name__ == "__main__":
    main()
