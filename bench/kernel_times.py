# SPDX-License-Identifier: MIT OR Apache-2.0
"""Measures every kernel of models beside its predicted time: `python -m bench.kernel_times FILE…`.

Files are ONNX models, saved ones, or names of `bench.models` and, on a GPU, of `bench.cuda.models`
(whose networks have drawn weights). The table at the end shows how near predicted times come, and
fitted ones; `--read FILE` shows that of a file that was written, here or elsewhere.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import xyntra
from bench.documents.kernel_times import render
from bench.harness.machine import describe, slug
from bench.harness.measure import ROOT, write_json
from bench.named_models import model_file
from xyntra.errors import UnsupportedError
from xyntra.targets.table import backend_named, backend_of
from xyntra.tools.commands.inputs import random_inputs

if TYPE_CHECKING:
    from xyntra.executable import Executable

__all__ = ["compiled_network", "main"]

_CALLS = 7


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns 0."""
    parser = argparse.ArgumentParser(prog="python -m bench.kernel_times", description=__doc__)
    parser.add_argument("models", nargs="*", metavar="FILE")
    parser.add_argument("--read", type=Path, help="measure nothing, use a file that was written")
    parser.add_argument("--target", default="cpu")
    parser.add_argument("--threads", type=int, default=1, help="on the CPU (1)")
    parser.add_argument("--precision", default="f32")
    parser.add_argument("--seconds", type=float, default=1e9, help="begin none after these")
    parser.add_argument("--json", type=Path, help="default: bench/results/kernel_times-….json")
    options = parser.parse_args(arguments)
    if options.read is not None:
        print(render(json.loads(options.read.read_text("utf-8"))))
        return 0
    machine = describe()
    path = options.json or ROOT / "bench/results" / f"kernel_times-{_where(options)}.json"
    found: dict[str, Any] = {"machine": machine, "models": {}}
    end = time.monotonic() + options.seconds
    for name in options.models:
        if time.monotonic() > end:
            break
        start = time.monotonic()
        executable = _executable(name, options)
        backend = backend_of(executable.artifact.target)
        found["device"] = backend.tuning_key(0, options.threads)
        rows = found["models"][Path(name).name] = _rows(executable)
        write_json(path, found)
        taken, guessed = (sum(row[key] for row in rows) for key in ("nanoseconds", "predicted"))
        near = statistics.mean(0.8 <= row["predicted"] / row["nanoseconds"] <= 1.25 for row in rows)
        print(
            f"{name}: {len(rows)} kernels, {taken / 1e3:.0f} us, predicted {guessed / 1e3:.0f}, "
            f"{near:.0%} within 25 %, {time.monotonic() - start:.1f} s",
            flush=True,
        )
    print(render(found))
    return 0


def _where(options: argparse.Namespace) -> str:
    """Return the name of the device in names of files."""
    backend = backend_named(options.target)
    if not backend.target.is_simt:
        return slug(describe())
    return "-".join(next(iter(backend.devices().values())).name.lower().split())


def _executable(name: str, options: argparse.Namespace) -> Executable:
    how = {"target": options.target, "threads": options.threads, "precision": options.precision}
    if name.endswith(".xyn"):
        return xyntra.load(name, target=options.target, threads=options.threads)
    with model_file(name) as (path, shapes):
        return xyntra.compile(path, inputs=shapes, **how)


def compiled_network(name: str, target: str) -> Executable:
    """Compile one of `bench.cuda.models`, with drawn weights."""
    with model_file(name) as (path, _):
        return xyntra.compile(path, target=target)


def _rows(executable: Executable) -> list[dict[str, Any]]:
    feeds = random_inputs(executable.inputs, seed=0)
    executable.time_kernels(feeds)
    calls = [executable.time_kernels(feeds) for _ in range(_CALLS)]
    times = zip(*calls, strict=True)
    occupied = _occupied(executable)
    return [
        {
            "kernel": kernel.name,
            "kind": kernel.kind,
            "bytes": kernel.bytes,
            "flops": kernel.flops,
            "predicted": kernel.predicted,
            "bound": kernel.bound,
            "schedules": list(kernel.schedules),
            "nanoseconds": max(statistics.median(taken), 1),
            "least": max(min(taken), 1),
            "launches": occupied.get(number, []),
        }
        for number, (kernel, taken) in enumerate(zip(executable.kernels, times, strict=True))
    ]


def _occupied(executable: Executable) -> dict[int, list[dict[str, Any]]]:
    """Return blocks and waves of the launches of each kernel, on a GPU that has multiprocessors."""
    found: dict[int, list[dict[str, Any]]] = {}
    try:
        launches = executable.launch_resources()
    except UnsupportedError:
        return found
    for each in launches:
        told = {"grid": each.grid, "resident": each.resident, "waves": each.waves}
        found.setdefault(each.kernel, []).append(told)
    return found


if __name__ == "__main__":
    sys.exit(main())
