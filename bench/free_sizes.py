# SPDX-License-Identifier: MIT OR Apache-2.0
"""Measures a model with free dimensions beside one compiled for each size.

`python -m bench.free_sizes MODEL.onnx seq=1:512 batch=1:8 --at seq=128,batch=1 --at seq=37,batch=2`
prints the time of a call, of the first two calls with new sizes, and of compiling, in milliseconds.
A MODEL without suffix is one of `bench.free_models`, whose ranges need not be given. With
`--target cuda`, calls are on PyTorch's tensors on the GPU.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import onnx

import xyntra
from bench.free_models import DIMS, MODELS
from xyntra.executable import Executable
from xyntra.tools.commands.model import parse_dim

__all__ = ["main"]

_ROUNDS = 5
_CALLS = 5
_GPU_CALLS = 40
_TOGETHER = 4
"""Static compilations at once."""

Sizes = Mapping[str, int]


def main() -> None:
    """Print a line for each combination of sizes."""
    parser = argparse.ArgumentParser(prog="python -m bench.free_sizes", description=__doc__)
    parser.add_argument("model")
    parser.add_argument("dims", nargs="*", type=parse_dim, help="NAME=1:512, or NAME=1")
    parser.add_argument("--at", action="append", required=True, help="NAME=128,NAME=1")
    parser.add_argument("--target", default="cpu")
    parser.add_argument("--precision", default="f32")
    parser.add_argument("--json", type=Path, help="write what was measured")
    options = parser.parse_args()
    model: Any = MODELS[options.model]() if options.model in MODELS else options.model
    dims = {**DIMS.get(options.model, {}), **dict(options.dims)}
    fixed = {name: size for name, size in dims.items() if not isinstance(size, range)}
    settings = {"cache": False, "precision": options.precision}
    start = time.perf_counter()
    free = xyntra.compile(model, target=options.target, dims=dims, config=settings)
    compiling = time.perf_counter() - start
    print(f"compiled for all sizes in {compiling:.1f} s", flush=True)
    places = [{**fixed, **dict(map(_size, text.split(",")))} for text in options.at]
    statics = _static(model, options.target, places, settings)
    rows: list[dict[str, Any]] = []
    held = {"model": options.model, "precision": options.precision, "compile_s": compiling}
    held |= {"kernels": _variants(free), "rows": rows}
    for sizes, (static, seconds) in zip(places, statics, strict=True):
        measured = _measured(free, static, options.target != "cpu")
        rows.append({"sizes": sizes, **measured, "static_compile_s": seconds})
        print(_line(rows[-1]), flush=True)
        if options.json is not None:
            options.json.write_text(json.dumps(held, indent=1))


def _static(
    model: onnx.ModelProto | str, target: str, places: Sequence[Sizes], settings: dict[str, Any]
) -> list[tuple[Executable, float]]:
    """Compile the model for each combination of sizes."""

    def compiled(sizes: Sizes) -> tuple[Executable, float]:
        start = time.perf_counter()
        exe = xyntra.compile(model, target=target, dims=dict(sizes), config=settings)
        return exe, time.perf_counter() - start

    with ThreadPoolExecutor(1 if target == "cpu" else _TOGETHER) as threads:
        return list(threads.map(compiled, places))


def _measured(free: Executable, static: Executable, is_gpu: bool) -> dict[str, float]:
    """Return milliseconds of calls, and how far the results lie apart."""
    inputs = _inputs(static)
    clock = _HostClock()
    if is_gpu:
        import torch

        inputs = {name: torch.from_numpy(array).cuda() for name, array in inputs.items()}
        clock = _GpuClock(torch)
    first, second = (clock.once(lambda: free.run(inputs)) for _ in range(2))
    clock.once(lambda: static.run(inputs))
    times = [
        (clock.call(lambda: free.run(inputs)), clock.call(lambda: static.run(inputs)))
        for _ in range(_ROUNDS)
    ]
    ours, theirs = (min(each) for each in zip(*times, strict=True))
    apart = scale = 0.0
    found, wanted = free.run(inputs), static.run(inputs)
    for name, array in wanted.items():
        one, other = np.asarray(found[name], np.float64), np.asarray(array, np.float64)
        apart = max(apart, float(np.abs(one - other).max(initial=0)))
        scale = max(scale, float(np.abs(other).max(initial=0)))
    return {
        "free_ms": ours,
        "static_ms": theirs,
        "first_ms": first,
        "second_ms": second,
        "apart": apart / max(scale, 1e-30),
    }


class _HostClock:
    """Measures calls that have ended when they return."""

    def once(self, run: Callable[[], object]) -> float:
        """Return the milliseconds of one call."""
        start = time.perf_counter()
        run()
        return (time.perf_counter() - start) * 1e3

    def call(self, run: Callable[[], object]) -> float:
        """Return those of the fastest of some calls."""
        return min(self.once(run) for _ in range(_CALLS))


class _GpuClock(_HostClock):
    """Measures calls on tensors of the GPU: one by itself until it has ended, many in a row."""

    def __init__(self, torch: Any) -> None:
        self._torch = torch

    def once(self, run: Callable[[], object]) -> float:
        self._torch.cuda.synchronize()
        start = time.perf_counter()
        run()
        self._torch.cuda.synchronize()
        return (time.perf_counter() - start) * 1e3

    def call(self, run: Callable[[], object]) -> float:
        """Return the milliseconds of a call among many, by the clock of the GPU."""
        run()
        begin, end = (self._torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        for _ in range(_GPU_CALLS):
            run()
        end.record()
        self._torch.cuda.synchronize()
        return float(begin.elapsed_time(end)) / _GPU_CALLS


def _line(row: Mapping[str, Any]) -> str:
    sizes = ", ".join(f"{name}={size}" for name, size in row["sizes"].items())
    return (
        f"{sizes}: {row['free_ms']:.3f} ms, first {row['first_ms']:.2f}, second "
        f"{row['second_ms']:.2f}; static {row['static_ms']:.3f} ms, compiled in "
        f"{row['static_compile_s']:.1f} s; ratio {row['free_ms'] / row['static_ms']:.2f}, "
        f"apart {row['apart']:.1e}"
    )


def _variants(exe: Executable) -> dict[str, list[str]]:
    """Return the schedules of each kernel's variants."""
    free = exe.plan.free
    if free is None:
        return {}
    return {
        each.name: ["; ".join(exe.plan.kernels[name].schedules) for name in each.variants]
        for each in free.kernels
    }


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


if __name__ == "__main__":
    main()
