# SPDX-License-Identifier: MIT OR Apache-2.0
"""Compile a model with an empty cache and from the cache, each time in a fresh process."""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Sequence
from compileall import compile_dir
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from bench.measure import MeasureError, fresh, run_module
from bench.models import ModelSpec

__all__ = ["Compilations", "compile_job", "measure_compilations", "model_file"]

Run = dict[str, Any]


@dataclass(frozen=True)
class Compilations:
    """What `bench.compile_once` reported, run by run."""

    cold: Sequence[Run]
    cached: Sequence[Run]

    def seconds(self, runs: Sequence[Run], key: str = "compile_seconds") -> list[float]:
        """Return one time of every run."""
        return [float(run[key]) for run in runs]

    def median(self, runs: Sequence[Run], key: str = "compile_seconds") -> float:
        """Return the median of one time over runs."""
        return statistics.median(self.seconds(runs, key))

    def memory(self, runs: Sequence[Run]) -> dict[str, Any]:
        """Return the memory of the run with the highest peak; see `bench.memory`."""
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
    """Return the job of `bench.compile_once`, for the CPU."""
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
            runs.append(fresh("bench.compile_once", compile_job(spec, path, Path(other)), timeout))
    job = compile_job(spec, path, folder)
    runs.append(fresh("bench.compile_once", job, timeout))
    before = _files(folder)
    again = [fresh("bench.compile_once", job, timeout) for _ in range(cached)]
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
