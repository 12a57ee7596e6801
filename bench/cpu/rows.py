# SPDX-License-Identifier: MIT OR Apache-2.0
"""Rows of the benchmark of the CPU target: one model, or one operation, for numbers of threads."""

from __future__ import annotations

import math
import statistics
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import onnx

from bench.compile.cold import measure_compilations, model_file
from bench.cpu.ceilings import copy_bandwidth, fma_peak
from bench.cpu.entrants import BEST, OURS, REFERENCE, model_entrants, operation_entrants
from bench.cpu.operations import Operation
from bench.harness.contest import Entrant, Outcome, Pace, contest
from bench.harness.measure import MeasureError
from bench.models import ModelSpec

__all__ = ["MEASURED_SEEDS", "How", "geometric_means", "model_row", "operation_row"]

Row = dict[str, Any]
MEASURED_SEEDS = 2
"""Random inputs for which outputs are compared."""


@dataclass(frozen=True)
class How:
    """How rows are measured.

    Attributes:
        threads: numbers of threads, one contest for each.
        pace: of a contest.
        config: settings of Xyntra, besides the threads.
        peers: whom models run beside; see `bench.cpu.entrants.PEERS`.
        cold: compilations of a model with an empty cache, each in a fresh process; may be 0.
        folder: of the models' files.
    """

    threads: Sequence[int]
    pace: Pace
    config: Mapping[str, object]
    peers: Sequence[str]
    cold: int
    folder: Path


def model_row(spec: ModelSpec, how: How) -> Row:
    """One model. What failed has an `error`, beside what was measured."""
    row = _row(spec.name, spec.title)
    inputs = [spec.random_inputs(seed) for seed in range(MEASURED_SEEDS)]
    with tempfile.TemporaryDirectory(prefix="xyntra-cache-") as cache:
        try:
            path = model_file(spec, how.folder, how.pace.timeout)
            if how.cold:
                row["cold_seconds"] = _cold_seconds(spec, path, how, Path(cache))
        except MeasureError as error:
            return row | {"error": str(error)}
        # What was compiled to take its time need not be compiled again.
        config = {**how.config, "cache_dir": cache} if how.cold else how.config
        for threads in how.threads:
            entrants = model_entrants(spec, path, threads=threads, config=config, peers=how.peers)
            row["threads"][str(threads)] = _contest(entrants, inputs, how.pace)
    return row


def _cold_seconds(spec: ModelSpec, path: Path, how: How, cache: Path) -> float:
    done = measure_compilations(
        spec, path, cache, cold=how.cold, cached=0, timeout=how.pace.timeout
    )
    return done.median(done.cold)


def operation_row(operation: Operation, how: How) -> Row:
    """One operation, with what the machine could do at most."""
    row = _row(operation.name, operation.title)
    row |= {"limit": operation.limit, "work": operation.work, "unit": operation.unit}
    inputs = [operation.random_inputs(seed) for seed in range(MEASURED_SEEDS)]
    with tempfile.TemporaryDirectory(prefix="xyntra-bench-") as folder:
        path, best = Path(folder) / "operation.onnx", Path(folder) / "best.onnx"
        onnx.save(operation.model(), path)
        if operation.best is not None:
            onnx.save(operation.best(), best)
        for threads in how.threads:
            entrants = operation_entrants(
                path, best if operation.best else None, threads=threads, config=how.config
            )
            entry = _contest(entrants, inputs, how.pace)
            row["threads"][str(threads)] = entry | _floor(operation, threads, entry)
    return row


def _floor(operation: Operation, threads: int, entry: Row) -> Row:
    if operation.unit == "FLOP":
        ceiling = fma_peak(threads)
    else:
        ceiling = copy_bandwidth(threads, int(operation.work))
    if OURS not in entry["seconds"]:
        return {"ceiling": ceiling}
    achieved = operation.work / entry["seconds"][OURS]
    return {"ceiling": ceiling, "achieved": achieved, "share": achieved / ceiling}


def _row(name: str, title: str) -> Row:
    date = datetime.now(UTC).isoformat(timespec="seconds")
    return {"name": name, "title": title, "date": date, "threads": {}}


def _contest(entrants: Sequence[Entrant], inputs: Sequence[Mapping[str, Any]], pace: Pace) -> Row:
    outcome = contest(entrants, inputs, pace)
    timed = [name for name, seconds in outcome.seconds.items() if seconds]
    entry: Row = {
        "seconds": {name: outcome.median(name) for name in timed},
        "quartiles": {name: _quartiles(outcome.seconds[name]) for name in timed},
        "rounds": outcome.rounds,
        "others": outcome.others,
        "errors": outcome.errors,
    }
    if REFERENCE in outcome.outputs:
        entry |= _differences(outcome)
    if OURS in entry["seconds"]:
        entry["ratios"] = _ratios(entry["seconds"])
    return entry


def _quartiles(seconds: Sequence[float]) -> list[float]:
    first, _, third = statistics.quantiles(seconds, n=4)
    return [first, third]


def _differences(outcome: Outcome) -> Row:
    errors: dict[str, float] = {}
    close = {}
    for name in outcome.outputs:
        try:
            difference = outcome.difference(name, REFERENCE)
        except ValueError as error:
            outcome.errors[name] = str(error)
            continue
        errors[name], close[name] = difference.absolute, difference.close
    return {"max_absolute_errors": errors, "close": close}


def _ratios(seconds: Mapping[str, float]) -> dict[str, float]:
    """Ours / theirs; `onnxruntime` is the faster of its two graphs where there are two."""
    ratios = {name: seconds[OURS] / value for name, value in seconds.items() if name != OURS}
    if BEST in ratios and REFERENCE in ratios:
        ratios[REFERENCE] = max(ratios[REFERENCE], ratios[BEST])
    return ratios


def geometric_means(rows: Iterable[Row]) -> dict[str, dict[str, float]]:
    """Geometric means of ours / theirs over all rows that have it, by threads and by peer."""
    found: dict[str, dict[str, list[float]]] = {}
    for row in rows:
        for threads, entry in row["threads"].items():
            for name, ratio in entry.get("ratios", {}).items():
                found.setdefault(threads, {}).setdefault(name, []).append(ratio)
    return {
        threads: {name: math.exp(statistics.fmean(map(math.log, r))) for name, r in peers.items()}
        for threads, peers in found.items()
    }
