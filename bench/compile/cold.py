# SPDX-License-Identifier: MIT OR Apache-2.0
"""Compile models with an empty cache and from the cache, each time in a fresh process.

`python -m bench.compile.cold MODEL.onnx …` compiles models cold, some times each, and writes
wall time, processor time of all processes and the numbers of kernels to bench/results as JSON.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from collections.abc import Sequence
from compileall import compile_dir
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from bench.harness.machine import describe, slug
from bench.harness.measure import ROOT, MeasureError, fresh, run_module, write_json
from bench.models import ModelSpec

__all__ = ["Compilations", "compile_job", "main", "measure_compilations", "model_file"]

Run = dict[str, Any]


@dataclass(frozen=True)
class Compilations:
    """What `bench.compile.once` reported, run by run."""

    cold: Sequence[Run]
    cached: Sequence[Run]

    def seconds(self, runs: Sequence[Run], key: str = "compile_seconds") -> list[float]:
        """Return one time of every run."""
        return [float(run[key]) for run in runs]

    def median(self, runs: Sequence[Run], key: str = "compile_seconds") -> float:
        """Return the median of one time over runs."""
        return statistics.median(self.seconds(runs, key))

    def memory(self, runs: Sequence[Run]) -> dict[str, Any]:
        """Return the memory of the run with the highest peak; see `bench.harness.memory`."""
        found: dict[str, Any] = max(runs, key=lambda run: int(run["memory"]["peak_bytes"]))
        return dict(found["memory"])


def model_file(spec: ModelSpec, folder: Path, timeout: float) -> Path:
    """Return a model's file, made in another process if it is not there.

    An export in this process would raise what the operating system reports as the peak memory of
    every process started from it.

    Raises:
        MeasureError: the model could not be had.
    """
    path = folder / spec.filename
    if not path.exists():
        run_module("bench.models", spec.name, "--out", str(folder), timeout=timeout)
    return path


def compile_job(spec: ModelSpec, path: Path, cache: Path) -> dict[str, Any]:
    """Return the job of `bench.compile.once`, for the CPU."""
    config = {"cache_dir": str(cache), "threads": 1, "target": "cpu"}
    return {"model": spec.name, "path": str(path), "shapes": spec.shapes, "config": config}


def measure_compilations(
    spec: ModelSpec, path: Path, folder: Path, *, cold: int, cached: int, timeout: float
) -> Compilations:
    """Compile `cold` times with an empty cache, then `cached` times with what the last one left.

    Args:
        spec, path: the model.
        folder: an empty folder for the last cache, which stays.
        cold, cached: numbers of runs; at least 1 of cold ones.
        timeout: seconds for one process.

    Raises:
        MeasureError: a process failed, or a compilation that should have come from the cache
            added to it.
    """
    _compile_sources()
    runs = []
    for _ in range(cold - 1):
        with tempfile.TemporaryDirectory(prefix="xyntra-cache-") as other:
            runs.append(fresh("bench.compile.once", compile_job(spec, path, Path(other)), timeout))
    job = compile_job(spec, path, folder)
    runs.append(fresh("bench.compile.once", job, timeout))
    before = _files(folder)
    again = [fresh("bench.compile.once", job, timeout) for _ in range(cached)]
    if not before or _files(folder) != before:
        raise MeasureError("a second compilation did not come from the cache")
    return Compilations(runs, again)


@cache
def _compile_sources() -> None:
    """Make the bytecode of xyntra that an installation has and a checkout may lack."""
    for package in ("xyntra", "xyntra.dialects", "xyntra.passes"):
        for folder in import_module(package).__path__:
            compile_dir(folder, quiet=2)


def _files(folder: Path) -> set[Path]:
    return {path for path in folder.rglob("*") if path.is_file()}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns 0."""
    options = _parser().parse_args(arguments)
    machine = describe()
    _compile_sources()
    runs: dict[str, list[Run]] = {path.stem: [] for path in options.models}
    for _ in range(options.cold):
        for path in options.models:
            runs[path.stem].append(_cold(path, options))
    rows = {name: _row(found) for name, found in runs.items()}
    for name, row in rows.items():
        print(
            f"{name:32}{row['seconds']:7.2f} s {row['cpu_seconds']:7.2f} s of processor"
            f" {row['kernels']:5} kernels, {row['distinct_kernels']} distinct"
        )
    path = options.json or ROOT / "bench" / "results" / f"compilations-{slug(machine)}.json"
    write_json(path, {"machine": machine, "cold": options.cold, "models": rows})
    print(f"wrote {path}")
    return 0


def _parser() -> argparse.ArgumentParser:
    summary = (__doc__ or "").partition("\n")[0]
    parser = argparse.ArgumentParser(prog="python -m bench.compile.cold", description=summary)
    parser.add_argument("models", nargs="+", type=Path, metavar="MODEL", help="an ONNX file")
    parser.add_argument("--cold", type=int, default=3, help="compilations of each (default 3)")
    parser.add_argument("--jobs", type=int, help="processes for kernels; default: one a processor")
    parser.add_argument("--timeout", type=float, default=1200.0, help="seconds for a process")
    parser.add_argument("--json", type=Path, help="default: bench/results/compilations-….json")
    return parser


def _cold(path: Path, options: argparse.Namespace) -> Run:
    config: dict[str, Any] = {"cache": False, "threads": 1, "target": "cpu"}
    if options.jobs is not None:
        config["jobs"] = options.jobs
    job = {"path": str(path), "shapes": {}, "config": config}
    return fresh("bench.compile.once", job, options.timeout)


def _row(runs: Sequence[Run]) -> dict[str, Any]:
    """Return the least times, since other programs only add to them, and all of them."""
    wall = [float(run["compile_seconds"]) for run in runs]
    spent = [float(run["cpu_seconds"]) for run in runs]
    counts = {key: runs[0][key] for key in ("operations", "kernels", "distinct_kernels")}
    least = {"seconds": min(wall), "cpu_seconds": min(spent), **counts}
    return {**least, "all_seconds": wall, "all_cpu_seconds": spent}


if __name__ == "__main__":
    sys.exit(main())
