# SPDX-License-Identifier: MIT OR Apache-2.0
"""Renders recorded sweeps: a table by library, the slowest rows, and a sentence for README."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

from bench.documents.markdown import Region, machine_line, number, table
from bench.sweep.summary import FAR, NEAR, best_peer, ratio

__all__ = ["LAYERS", "LAYERS_2_THREADS", "NETWORKS", "SUMMARY", "render", "render_summary"]

LAYERS = Region("python -m bench.sweep, layers")
LAYERS_2_THREADS = Region("python -m bench.sweep, layers with two threads")
NETWORKS = Region("python -m bench.sweep, networks")
SUMMARY = Region("python -m bench.sweep, summary")
_MOST = 12
"""Rows that are shown, the slowest ones."""
Row = dict[str, Any]


def render(what: str, result: Row) -> str:
    """Return the machine and the tables of a result of `bench.sweep`.

    Args:
        what: "layer" or "network", as which its rows are spoken of.
        result: as recorded.
    """
    machine, rows = result["machine"], _timed(result)
    where = f"GPU: {machine['gpu']}. " if "gpu" in machine else ""
    threads = f"Threads of each: {result['threads']}. " if "threads" in result else ""
    seed = f"Seed {result['seed']}." if what == "layer" else "Whole networks."
    header = [f"{what}s of", "rows", "geometric mean", f"above {NEAR}", f"above {FAR}", "worst"]
    libraries = sorted({row["library"] for row in rows})
    shares = [(each, [row for row in rows if row["library"] == each]) for each in libraries]
    slowest = sorted(rows, key=ratio, reverse=True)[:_MOST]
    cells = [[row["name"], _shapes(row), *_times(row)] for row in slowest]
    lines = [
        machine_line(machine, f"{where}{threads}{seed}"),
        "",
        *table(header, [_share(*each) for each in [*shares, ("all", rows)]]),
        "",
        "The slowest rows, ours by the best peer's:",
        "",
        *table([what, "inputs", "ours, µs", "best peer, µs", "ratio"], cells, texts=2),
    ]
    failures = [row["name"] for row in result["rows"] if "microseconds" not in row]
    notes = [f"* No result: {', '.join(failures)}"] if failures else []
    notes += [f"* {row['name']}: {'; '.join(row['wrong'])}" for row in rows if row["wrong"]]
    return "\n".join([*lines, *(["", *notes] if notes else [])]) + "\n"


def render_summary(result: Row) -> str:
    """Return one sentence: when, where, the geometric mean, and how many rows are slower."""
    machine = result["machine"]
    ratios = [ratio(row) for row in _timed(result)]
    near, far = (sum(each > limit for each in ratios) for limit in (NEAR, FAR))
    where = machine.get("gpu", machine["cpu"])
    mean, worst = (number(each, 1, 2) for each in (statistics.geometric_mean(ratios), max(ratios)))
    return (
        f"{machine['date'][:10]}, {where}, {len(ratios)} rows: geometric mean {mean} of the best"
        f" peer's time; {near} rows are more than 5 % above it, {far} more than 25 %,"
        f" the worst takes {worst} times as long.\n"
    )


def _timed(result: Row) -> list[Row]:
    return [row for row in result["rows"] if "microseconds" in row]


def _share(name: str, rows: Sequence[Row]) -> list[str]:
    ratios = [ratio(row) for row in rows]
    above = [str(sum(each > limit for each in ratios)) for limit in (NEAR, FAR)]
    mean = number(statistics.geometric_mean(ratios), 1, 2)
    return [name, str(len(rows)), mean, *above, number(max(ratios), 1, 2)]


def _shapes(row: Row) -> str:
    shapes = " ".join("x".join(map(str, shape)) for shape in row["shapes"])
    return f"{row['dtype']} {shapes}{' channels last' if row.get('channels_last') else ''}"


def _times(row: Row) -> list[str]:
    times = row["microseconds"]
    both = [number(times[name], 1, 1) for name in ("xyntra", best_peer(row))]
    return [*both, number(ratio(row), 1, 2)]
