# SPDX-License-Identifier: MIT OR Apache-2.0
"""Writes recorded sweeps into the documents."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from bench.documents.markdown import Region, machine_line, number, table
from bench.harness.measure import ROOT
from bench.sweep.summary import FAR, NEAR, best_peer, ratio

__all__ = ["document"]

_RESULTS = ROOT / "bench" / "results"
_PAGES = (
    ("docs/performance-cuda.md", ("sweep-nvidia-*.json", "sweep-networks-nvidia-*.json")),
    ("docs/performance.md", ("sweep-*t.json",)),
)
_MOST = 12
"""Rows that are shown, the slowest ones."""
Row = dict[str, Any]


def document() -> None:
    """Replace what `python -m bench.sweep document` wrote before, where there are results."""
    region = Region("python -m bench.sweep document")
    for page, patterns in _PAGES:
        found = [path for pattern in patterns for path in sorted(_RESULTS.glob(pattern))]
        if found:
            content = "\n".join(line for path in found for line in _lines(path))
            region.update(ROOT / page, content + "\n")


def _lines(path: Path) -> Iterator[str]:
    recorded = json.loads(path.read_text("utf-8"))
    rows = [row for row in recorded["rows"] if "microseconds" in row]
    machine = recorded["machine"]
    where = f"GPU: {machine['gpu']}. " if "gpu" in machine else ""
    threads = f"Threads of each: {recorded['threads']}. " if "threads" in recorded else ""
    what = "networks" if "networks" in path.name else "layers"
    seed = f"Seed {recorded['seed']}." if what == "layers" else "Whole networks."
    yield machine_line(machine, f"{where}{threads}{seed}")
    yield ""
    header = [f"{what} of", "rows", "geometric mean", f"above {NEAR}", f"above {FAR}", "worst"]
    libraries = sorted({row["library"] for row in rows})
    shares = [(each, [row for row in rows if row["library"] == each]) for each in libraries]
    yield from table(header, [_share(*each) for each in [*shares, ("all", rows)]])
    yield ""
    yield "The slowest rows, ours by the best peer's:"
    yield ""
    slowest = sorted(rows, key=ratio, reverse=True)[:_MOST]
    cells = [[row["name"], _shapes(row), *_times(row)] for row in slowest]
    yield from table([what[:-1], "inputs", "ours, µs", "best peer, µs", "ratio"], cells, texts=2)
    failures = [row for row in recorded["rows"] if "microseconds" not in row]
    wrong = [row for row in rows if row["wrong"]]
    if failures:
        yield f"* No result: {', '.join(row['name'] for row in failures)}"
    for row in wrong:
        yield f"* {row['name']}: {'; '.join(row['wrong'])}"
    yield ""


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
