# SPDX-License-Identifier: MIT OR Apache-2.0
"""The tables of the CUDA target as Markdown: `python -m bench.documents.cuda JSON`."""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from bench.documents.markdown import Region, error_cell, machine_line, number, one_line, table
from bench.harness.measure import ROOT

__all__ = ["DETAILS", "SUMMARY", "main", "render_details", "render_summary", "update_documents"]

Row = dict[str, Any]
DOCUMENTS = (ROOT / "docs" / "performance-cuda.md", ROOT / "README.md")
DETAILS = Region("python -m bench.documents.cuda, details")
SUMMARY = Region("python -m bench.documents.cuda, summary")
_OURS = "xyntra"
_COPY = "microseconds_of_copying_the_input"
_TORCH = "torch"
_COMPILED = ("torch.compile", "reduce-overhead")
"""torch.compile as it comes, its kernels in a graph of ours, and with CUDA graphs of its own."""
_MODELS = "models"
_TITLES = {
    "elementwise": "Chains of elementwise operations",
    "rows": "Softmax and norms",
    "contractions": "Matrix products",
    "attention": "Attention",
    "convolutions": "Convolutions",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the tables of a result of `bench.cuda run` into the documents; returns 0."""
    parser = argparse.ArgumentParser(prog="python -m bench.documents.cuda", description=__doc__)
    parser.add_argument("result", type=Path, metavar="JSON", help="what `bench.cuda run` wrote")
    options = parser.parse_args(arguments)
    update_documents(DOCUMENTS, json.loads(options.result.read_text(encoding="utf-8")))
    return 0


def update_documents(paths: Sequence[Path], result: Row) -> None:
    """Write the tables into every document that has the markers of one.

    Raises:
        ValueError: a document has none of the markers, or not once each.
    """
    for path in paths:
        details = DETAILS.begin in path.read_text(encoding="utf-8")
        region, render = (DETAILS, render_details) if details else (SUMMARY, render_summary)
        region.update(path, render(result))


def render_summary(result: Row) -> str:
    """One sentence: when, where, and the geometric means of ours / the faster torch.compile."""
    machine, rows = result["machine"], _group(result, _MODELS)
    means = []
    for dtype in dict.fromkeys(row["name"].split()[-1] for row in rows):
        ratios = [_faster(row) for row in rows if row["name"].endswith(dtype)]
        means.append(f"{statistics.geometric_mean(ratios):.2f} in {dtype}")
    return f"{machine['date'][:10]}, {machine['gpu']}: geometric mean {', '.join(means)}.\n"


def _faster(row: Row) -> float:
    times = row["microseconds"]
    return float(times[_OURS] / min(times[peer] for peer in _COMPILED if peer in times))


def render_details(result: Row) -> str:
    """The machine, a table for each group of operations, one of models, host costs, errors."""
    bandwidth = f"A copy moves {result['copy_bytes_per_second'] / 1e9:.0f} GB/s."
    machine = result["machine"]
    lines = [machine_line(machine, f"GPU: {machine['gpu']}. {bandwidth}")]
    for group, title in _TITLES.items():
        rows = _group(result, group)
        if rows:
            lines += ["", f"### {title}", "", *_operations(rows)]
    if _group(result, _MODELS):
        lines += ["", "### Models", "", *_models(_group(result, _MODELS))]
    load = result.get("host_machine", machine)["load_average"]
    lines += ["", "### Calls and copies", "", f"Load average before: {load}.", ""]
    lines += _host(result["host"])
    failed = list(_errors(result["rows"]))
    if failed:
        lines += ["", "What failed:", "", *failed]
    return "\n".join(lines) + "\n"


def _group(result: Row, group: str) -> list[Row]:
    return [row for row in result["rows"] if row["group"] == group and "microseconds" in row]


def _operations(rows: Sequence[Row]) -> list[str]:
    peers = list(dict.fromkeys(name for row in rows for name in row["microseconds"]))
    peers.remove(_OURS)
    products = any(row["flops_per_second"] for row in rows)
    header = ["operation", "ours, µs", *(f"{peer}, µs" for peer in peers)]
    header += [f"ours / {peer}" for peer in peers]
    header += ["TFLOP/s" if products else "of a copy"]
    copies = any(_COPY in row for row in rows)
    header += ["of a copy of that size"] if copies else []
    lines = []
    for row in rows:
        rate = row["flops_per_second"] * 1e-12 if products else row["share_of_copy"]
        cells = [row["name"], *(_time(row, name) for name in (_OURS, *peers))]
        cells += [_ratio(row, [peer]) for peer in peers]
        cells.append(number(rate, 1, 0 if products else 2))
        if copies:
            share = row[_COPY] / row["microseconds"][_OURS] if _COPY in row else None
            cells.append(number(share, 1, 2))
        lines.append(cells)
    means = [_mean(rows, peer) for peer in peers]
    lines.append(["geometric mean", *[""] * (1 + len(peers)), *means, *[""] * (1 + copies)])
    return table(header, lines)


def _models(rows: Sequence[Row]) -> list[str]:
    header = ["model", "ours, µs", "torch, µs", "torch.compile, µs", "with its CUDA graphs, µs"]
    header += ["ours / the best", "error", "torch's", "first result, s", "again, s"]
    header += ["compile, s", "torch.compile's, s"]
    lines = []
    for row in rows:
        peers = [_TORCH, *_COMPILED]
        first = row.get("seconds_to_first_result", [None, None])
        compiled = row.get("compile_seconds", {}).get("torch.compile")
        lines.append(
            [
                row["name"],
                *(_time(row, name) for name in (_OURS, *peers)),
                _ratio(row, peers),
                *(error_cell(max(row["error"][name])) for name in (_OURS, _TORCH)),
                *(number(seconds, 1, 2) for seconds in first),
                *(number(each, 1, 1) for each in (row.get("seconds_to_compile"), compiled)),
            ]
        )
    return table(header, lines)


def _host(costs: Row) -> list[str]:
    return table(["what", "measured"], [[name, f"{value:.4g}"] for name, value in costs.items()])


def _time(row: Row, name: str) -> str:
    microseconds = row["microseconds"].get(name)
    return number(microseconds, 1, 1 if microseconds is None or microseconds < 100 else 0)


def _ratio(row: Row, peers: Sequence[str]) -> str:
    """Ours by the fastest of `peers`, in bold where ours is slower."""
    times = [row["microseconds"][peer] for peer in peers if peer in row["microseconds"]]
    if not times:
        return ""
    ratio = row["microseconds"][_OURS] / min(times)
    return f"**{ratio:.2f}**" if ratio > 1 else f"{ratio:.2f}"


def _mean(rows: Sequence[Row], peer: str) -> str:
    times = [row["microseconds"] for row in rows if peer in row["microseconds"]]
    if not times:
        return ""
    return number(statistics.geometric_mean(each[_OURS] / each[peer] for each in times), 1, 2)


def _errors(rows: Sequence[Row]) -> Iterator[str]:
    for row in rows:
        if row.get("wrong"):
            yield f"* {row['name']}: {row['wrong']} results are wrong"
        for name, error in row.get("errors", {}).items():
            yield f"* {row['name']}, {name}: {one_line(error)}"
        if "failure" in row:
            yield f"* {row['name']}: {one_line(row['failure'])}"


if __name__ == "__main__":
    sys.exit(main())
