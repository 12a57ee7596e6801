# SPDX-License-Identifier: MIT OR Apache-2.0
"""Compares benchmark models on a GPU behind WebGPU with onnxruntime on the CPU.

Prints a line for each: errors, how many numbers are beyond 1e-3 relative and 1e-4 absolute, and the
times of compiling, of the first call, which makes pipelines, and of the fastest of some calls.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime

import xyntra
from bench.harness.machine import describe
from bench.harness.measure import write_json
from bench.models import REGISTRY, ensure
from bench.webgpu.measures import beyond
from xyntra.errors import XyntraError
from xyntra.targets.webgpu.adapter import open_device

__all__ = ["compare"]

Record = dict[str, Any]


def compare(
    names: Sequence[str], target: str, folder: Path, calls: int, output: Path | None = None
) -> int:
    """Print a line for each model; returns 1 if one is refused, or its results disagree.

    Args:
        names: of benchmark models.
        target: "webgpu" or "webgpu:1".
        folder: where their files are, or are put.
        calls: after the first.
        output: where the record is written after each model, beside what it holds of others.
    """
    known = json.loads(output.read_text()) if output is not None and output.is_file() else {}
    record: Record = {"models": known.get("models", {})}
    good = True
    for name in names:
        try:
            found = _compared(name, target, folder, calls)
        except XyntraError as error:
            print(f"{name}: {error}", file=sys.stderr)
            good = False
            continue
        print(f"{name}: {_words(found)}", flush=True)
        good = good and found["beyond"] == 0
        record["models"][name] = found
        if output is not None:
            write_json(output, record)
    return 0 if good else 1


def _compared(name: str, target: str, folder: Path, calls: int) -> Record:
    rng = np.random.default_rng(0)
    feeds = {each.name: each.sample(rng) for each in REGISTRY[name].inputs}
    path = ensure(name, folder)
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    wanted = [np.asarray(each, np.float64) for each in session.run(None, feeds)]
    del session
    start = time.perf_counter()
    executable = xyntra.compile(
        path, target=target, inputs={key: array.shape for key, array in feeds.items()}
    )
    times = [time.perf_counter() - start]
    for _ in range(calls + 1):
        start = time.perf_counter()
        results = list(executable.run(feeds).values())
        times.append(time.perf_counter() - start)
    pairs = list(zip(results, wanted, strict=True))
    errors = [np.abs(np.asarray(mine, np.float64) - theirs) for mine, theirs in pairs]
    machine = describe()
    return {
        "adapter": open_device(int(target.partition(":")[2] or 0)).name,
        "date": machine["date"],
        "load_average": machine["load_average"],
        "versions": machine["versions"],
        "kernels": len(executable.kernels),
        "numbers": sum(each.size for each in wanted),
        "largest": max(float(np.max(each, initial=0.0)) for each in errors),
        "beyond": beyond(results, wanted),
        "compile_s": times[0],
        "first_s": times[1],
        "call_s": min(times[2:], default=times[1]),
    }


def _words(found: Record) -> str:
    return (
        f"{found['kernels']} kernels, largest error {found['largest']:.2g},"
        f" {found['beyond']} beyond, compiled in {found['compile_s']:.1f} s,"
        f" first call {found['first_s']:.2f} s, call {found['call_s']:.4f} s"
    )
