# SPDX-License-Identifier: MIT OR Apache-2.0
"""Compile and run the ten models: `python -m bench.model_table [NAME…]`.

For each model: compile time with an empty cache and with a full one, each in a fresh process;
peak memory of the cold compilation; kernels; errors and run time against onnxruntime, one thread
each. A model that fails is a row with its error. The result is JSON in bench/results, and the
table of docs/models.md is written from it.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.compile.cold import measure_compilations, model_file
from bench.cpu.entrants import OURS, REFERENCE, model_entrants
from bench.documents.model_table import REGION, render
from bench.harness.contest import Pace, contest
from bench.harness.machine import describe, slug
from bench.harness.measure import ROOT, MeasureError, write_json
from bench.models import DEFAULT_FOLDER, REGISTRY, ModelSpec

TURN = 0.25
RESULTS = ROOT / "bench" / "results"
COUNTS = ("operations", "kernels", "kernels_at_load", "distinct_kernels")
DOCUMENT = ROOT / "docs" / "models.md"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns 0 if every model compiled and was close to the reference."""
    options = make_parser().parse_args(arguments)
    names = options.names or list(REGISTRY)
    machine = describe()
    rows = []
    for name in names:
        rows.append(measure_row(REGISTRY[name], options))
        print(_summary(rows[-1]), flush=True)
    result = {"machine": machine, "settings": _settings(options), "rows": rows}
    path = options.json or RESULTS / f"model_table-{slug(machine)}.json"
    write_json(path, result)
    print(f"wrote {path}")
    # A table of some of the models would take the place of a table of all.
    if not options.names:
        REGION.update(options.document, render(result))
        print(f"wrote {options.document}")
    return 0 if all(row.get("close") for row in rows) else 1


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of the command's arguments."""
    parser = argparse.ArgumentParser(prog="python -m bench.model_table", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="default: all", type=_known)
    parser.add_argument("--models", type=Path, default=DEFAULT_FOLDER, help="default: models/")
    parser.add_argument("--cold", type=_count, default=1, help="cold compilations (default 1)")
    parser.add_argument("--cached", type=_count, default=3, help="cached compilations (default 3)")
    parser.add_argument("--seeds", type=_count, default=5, help="random inputs (default 5)")
    parser.add_argument("--rounds", type=_count, default=10, help="least rounds of timing")
    parser.add_argument("--seconds", type=float, default=10.0, help="time for timing")
    parser.add_argument("--timeout", type=float, default=1200.0, help="seconds for a process")
    parser.add_argument("--json", type=Path, help="default: bench/results/model_table-….json")
    parser.add_argument("--document", type=Path, default=DOCUMENT, help="default: docs/models.md")
    return parser


def _known(name: str) -> str:
    if name not in REGISTRY:
        raise argparse.ArgumentTypeError(f"unknown model; known: {', '.join(REGISTRY)}")
    return name


def _count(text: str) -> int:
    if (number := int(text)) < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


def _settings(options: argparse.Namespace) -> dict[str, object]:
    names = ("cold", "cached", "seeds", "rounds", "seconds")
    return {"threads": 1, **{name: getattr(options, name) for name in names}}


def measure_row(spec: ModelSpec, options: argparse.Namespace) -> dict[str, Any]:
    """Return one row. On failure it holds `error` and what was measured before."""
    row: dict[str, Any] = {"model": spec.name, "title": spec.title}
    try:
        path = model_file(spec, options.models, options.timeout)
        row["file_bytes"] = path.stat().st_size
        with tempfile.TemporaryDirectory(prefix="xyntra-cache-") as cache:
            row |= _compilations(spec, path, Path(cache), options)
            row["peak_per_file_byte"] = row["memory"]["peak_bytes"] / row["file_bytes"]
            row |= _comparison(spec, path, Path(cache), options)
    except MeasureError as error:
        row |= {"error": str(error), "detail": error.detail}
    return row


def _compilations(
    spec: ModelSpec, path: Path, cache: Path, options: argparse.Namespace
) -> dict[str, Any]:
    done = measure_compilations(
        spec, path, cache, cold=options.cold, cached=options.cached, timeout=options.timeout
    )
    return {
        "cold_seconds": done.median(done.cold),
        "cached_seconds": done.median(done.cached),
        "first_run_seconds": done.median(done.cached, "first_run_seconds"),
        "memory": done.memory(done.cold),
        "cached_memory": done.memory(done.cached),
        **{name: done.cold[0][name] for name in COUNTS},
    }


def _comparison(
    spec: ModelSpec, path: Path, cache: Path, options: argparse.Namespace
) -> dict[str, Any]:
    pace = Pace(options.seconds, options.rounds, TURN, options.timeout)
    config = {"cache_dir": str(cache), "target": "cpu"}
    entrants = model_entrants(spec, path, threads=1, config=config, peers=[REFERENCE])
    outcome = contest(entrants, [spec.random_inputs(s) for s in range(options.seeds)], pace)
    for error in outcome.errors.values():
        raise MeasureError(error)
    difference = outcome.difference(OURS, REFERENCE)
    run, reference = outcome.median(OURS), outcome.median(REFERENCE)
    return {
        "max_absolute_error": difference.absolute,
        "max_scaled_error": difference.scaled,
        "close": difference.close,
        "random_inputs": options.seeds,
        "run_seconds": run,
        "onnxruntime_seconds": reference,
        "ratio": run / reference,
        "rounds": outcome.rounds,
    }


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
