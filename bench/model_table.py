# SPDX-License-Identifier: MIT OR Apache-2.0
"""Compile and run the ten models: `python -m bench.model_table [NAME…]`.

For each model: compile time with an empty cache and with a full one, each in a fresh process;
peak memory of the cold compilation; kernels; errors and run time against onnxruntime, one thread
each. A model that fails is a row with its error. The result is JSON in bench/results, and the
table of docs/models.md is written from it.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from bench.machine import describe, slug
from bench.measure import ROOT, MeasureError, fresh, write_json
from bench.models import DEFAULT_FOLDER, REGISTRY, ModelSpec, ensure
from bench.table_text import update_document
from xyntra.errors import XyntraError

RESULTS = ROOT / "bench" / "results"
COUNTS = ("operations", "kernels", "kernels_at_load", "distinct_kernels")
DOCUMENT = ROOT / "docs" / "models.md"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns 0 if every model compiled and was close to the reference."""
    options = _parser().parse_args(arguments)
    names = options.names or list(REGISTRY)
    rows = []
    for name in names:
        rows.append(measure_row(REGISTRY[name], options))
        print(_summary(rows[-1]), flush=True)
    machine = describe()
    result = {"machine": machine, "settings": _settings(options), "rows": rows}
    path = options.json or RESULTS / f"model_table-{slug(machine)}.json"
    write_json(path, result)
    print(f"wrote {path}")
    # A table of some of the models would take the place of a table of all.
    if not options.names:
        update_document(options.document, result)
        print(f"wrote {options.document}")
    return 0 if all(row.get("close") for row in rows) else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.model_table", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="default: all", type=_known)
    parser.add_argument("--models", type=Path, default=DEFAULT_FOLDER, help="default: models/")
    parser.add_argument("--cold", type=int, default=1, help="cold compilations (default 1)")
    parser.add_argument("--cached", type=int, default=3, help="cached compilations (default 3)")
    parser.add_argument("--seeds", type=int, default=5, help="random inputs (default 5)")
    parser.add_argument("--rounds", type=int, default=10, help="least rounds of timing")
    parser.add_argument("--seconds", type=float, default=10.0, help="time for timing")
    parser.add_argument("--timeout", type=float, default=1200.0, help="seconds for a process")
    parser.add_argument("--json", type=Path, help="default: bench/results/model_table-….json")
    parser.add_argument("--document", type=Path, default=DOCUMENT, help="default: docs/models.md")
    return parser


def _known(name: str) -> str:
    if name not in REGISTRY:
        raise argparse.ArgumentTypeError(f"unknown model; known: {', '.join(REGISTRY)}")
    return name


def _settings(options: argparse.Namespace) -> dict[str, object]:
    names = ("cold", "cached", "seeds", "rounds", "seconds")
    return {"threads": 1, **{name: getattr(options, name) for name in names}}


def measure_row(spec: ModelSpec, options: argparse.Namespace) -> dict[str, Any]:
    """Return one row. On failure it holds `error` and what was measured before."""
    row: dict[str, Any] = {"model": spec.name, "title": spec.title}
    try:
        path = ensure(spec.name, options.models)
        row["file_bytes"] = path.stat().st_size
        with tempfile.TemporaryDirectory(prefix="xyntra-cache-") as cache:
            job = _job(spec, path, Path(cache), options)
            row |= _compile_times(job, Path(cache), options)
            row["peak_per_file_byte"] = row["memory"]["peak_bytes"] / row["file_bytes"]
            row |= fresh("bench.compare_once", job, options.timeout)
    except XyntraError as error:
        row["error"] = str(error)
    except MeasureError as error:
        row |= {"error": str(error), "detail": error.detail}
    return row


def _job(
    spec: ModelSpec, path: Path, cache: Path, options: argparse.Namespace
) -> dict[str, object]:
    return {
        "model": spec.name,
        "path": str(path),
        "shapes": spec.shapes,
        "config": {"cache_dir": str(cache), "threads": 1, "target": "cpu"},
        "seeds": options.seeds,
        "rounds": options.rounds,
        "seconds": options.seconds,
    }


def _compile_times(
    job: dict[str, object], cache: Path, options: argparse.Namespace
) -> dict[str, Any]:
    cold = _repeat(options.cold, job, options.timeout, before=lambda: _empty(cache))
    before = _files(cache)
    cached = _repeat(options.cached, job, options.timeout)
    if not before or _files(cache) != before:
        raise MeasureError("the second compilation did not come from the cache")
    largest = max((run["memory"] for run in cold), key=lambda memory: int(memory["peak_bytes"]))
    return {
        "cold_seconds": _median(cold, "compile_seconds"),
        "cached_seconds": _median(cached, "compile_seconds"),
        "first_run_seconds": _median(cached, "first_run_seconds"),
        "memory": largest,
        **{name: cold[0][name] for name in COUNTS},
    }


def _repeat(
    times: int,
    job: dict[str, object],
    timeout: float,
    before: Callable[[], None] = lambda: None,
) -> list[dict[str, Any]]:
    runs = []
    for _ in range(max(1, times)):
        before()
        runs.append(fresh("bench.compile_once", job, timeout))
    return runs


def _files(folder: Path) -> set[Path]:
    return {path for path in folder.rglob("*") if path.is_file()}


def _empty(folder: Path) -> None:
    for path in sorted(folder.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()


def _median(runs: Sequence[dict[str, Any]], key: str) -> float:
    return statistics.median([float(run[key]) for run in runs])


def _summary(row: dict[str, Any]) -> str:
    if "error" in row:
        return f"{row['model']:14} FAILED: {row['error'].splitlines()[0]}"
    return (
        f"{row['model']:14} cold {row['cold_seconds']:.2f} s, "
        f"cached {row['cached_seconds']:.3f} s, "
        f"{row['kernels']} kernels, scaled error {row['max_scaled_error']:.2e}, "
        f"{row['ratio']:.2f} x onnxruntime"
    )


if __name__ == "__main__":
    sys.exit(main())
