# SPDX-License-Identifier: MIT OR Apache-2.0
"""Measures what tuning is worth: `python -m bench.tuning MODEL… --budget 60s [--target cuda]`.

Each model is compiled without tuning, tuned from an empty database (or one that is kept), and
compiled again, which takes the schedules from there; then both executables are called in turns. On
a GPU inputs and outputs are numpy arrays, so that calls include copies: `kernels` is the time of a
call's launches alone.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import xyntra
from bench.harness.machine import describe, slug
from bench.harness.measure import ROOT, write_json
from bench.named_models import model_file
from xyntra.executable import Executable
from xyntra.plan.plan import numpy_dtype
from xyntra.targets.program import TimedProgram

__all__ = ["main"]

Row = dict[str, Any]
_DEFAULT = ("bert-base", "resnet50")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns 0 if no model became slower, or wrong."""
    parser = argparse.ArgumentParser(prog="python -m bench.tuning", description=__doc__)
    parser.add_argument(
        "models", nargs="*", default=_DEFAULT, help="as bench.named_models has them"
    )
    parser.add_argument(
        "--database", type=Path, help="keep what is found (default: a new one each)"
    )
    parser.add_argument("--budget", default="60s")
    parser.add_argument("--target", default="cpu")
    parser.add_argument("--precision", default="f32")
    parser.add_argument("--threads", type=int, default=1, help="on the CPU (default 1)")
    parser.add_argument("--rounds", type=int, default=40, help="of turns (default 40)")
    parser.add_argument("--json", type=Path, help="default: bench/results/tuning-….json")
    options = parser.parse_args(arguments)
    rows = []
    machine = describe()
    path = options.json or ROOT / "bench" / "results" / f"tuning-{slug(machine)}.json"
    for name in options.models:
        with tempfile.TemporaryDirectory() as folder:
            database = options.database or Path(folder) / "tuned.sqlite3"
            os.environ["XYNTRA_TUNING_DATABASE"] = str(database)
            rows.append(_row(name, options))
        _print(rows[-1])
        write_json(path, {"machine": machine, "rows": rows})
    return int(any(row["wrong"] or row["ratio"] > 1.02 for row in rows))


def _row(name: str, options: argparse.Namespace) -> Row:
    with model_file(name) as (model, shapes):
        return _measured(name, model, shapes, options)


def _measured(name: str, model: Path, shapes: Any, options: argparse.Namespace) -> Row:
    how: Row = {
        "target": options.target,
        "precision": options.precision,
        "threads": options.threads,
    }
    told = {**how, "inputs": shapes}
    usual = xyntra.compile(model, config={"tuned": False}, **told)
    start = time.monotonic()
    xyntra.compile(model, tune=options.budget, **told)
    searched = time.monotonic() - start
    start = time.monotonic()
    tuned = xyntra.compile(model, **told)
    again = time.monotonic() - start
    generator = np.random.default_rng(5)
    feeds = {port.name: _made_up(port, generator) for port in usual.inputs}
    expected, found = usual.run(feeds), tuned.run(feeds)
    times: dict[str, list[float]] = {"usual": [], "tuned": []}
    kernels: dict[str, list[float]] = {"usual": [], "tuned": []}
    for _ in range(options.rounds):
        for label, each in (("usual", usual), ("tuned", tuned)):
            start = time.perf_counter()
            each.run(feeds)
            times[label].append(time.perf_counter() - start)
            kernels[label].append(_kernel_seconds(each, feeds))
    ratios = [own / other for own, other in zip(times["tuned"], times["usual"], strict=True)]
    alone = [own / other for own, other in zip(kernels["tuned"], kernels["usual"], strict=True)]
    return {
        "model": name,
        **{label: statistics.median(each) for label, each in times.items()},
        "least": {label: min(each) for label, each in times.items()},
        "ratio": statistics.median(ratios),
        "kernels": statistics.median(alone),
        "tuned_kernels": sum(each.tuned is not None for each in tuned.plan.kernels.values()),
        "search_seconds": searched,
        "second_compile_seconds": again,
        "wrong": not all(_close(found[port], expected[port]) for port in expected),
        **{k: str(v) for k, v in how.items()},
    }


def _kernel_seconds(executable: Executable, feeds: Row) -> float:
    """Return what the kernels of a call take, on a GPU as one graph."""
    program = executable._program
    if isinstance(program, TimedProgram):
        return program.time_together([feeds[port.name] for port in executable.inputs]) * 1e-9
    return sum(executable.time_kernels(feeds)) * 1e-9


def _made_up(port: Any, generator: np.random.Generator) -> np.ndarray[Any, Any]:
    if "float" in port.dtype:
        return generator.standard_normal(port.shape).astype(numpy_dtype(port.dtype))
    return generator.integers(0, 2, port.shape).astype(numpy_dtype(port.dtype))


def _close(found: np.ndarray[Any, Any], expected: np.ndarray[Any, Any]) -> bool:
    left, right = found.astype(np.float64), expected.astype(np.float64)
    loose = 1e-3 if found.dtype == np.float32 else 3e-2
    return bool(np.allclose(left, right, rtol=loose, atol=loose * np.abs(right).max(initial=0)))


def _print(row: Row) -> None:
    usual, tuned = 1e3 * row["usual"], 1e3 * row["tuned"]
    print(
        f"{row['model']}: {usual:.2f} -> {tuned:.2f} ms, median ratio {row['ratio']:.3f}, kernels "
        f"{row['kernels']:.3f}, least {1e3 * row['least']['usual']:.2f} -> "
        f"{1e3 * row['least']['tuned']:.2f} ms, {row['tuned_kernels']} kernels tuned in "
        f"{row['search_seconds']:.0f} s, compiled again in {row['second_compile_seconds']:.2f} s"
        f"{', WRONG' if row['wrong'] else ''}"
    )


if __name__ == "__main__":
    sys.exit(main())
