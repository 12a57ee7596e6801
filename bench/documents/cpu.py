# SPDX-License-Identifier: MIT OR Apache-2.0
"""The tables of the benchmark of the CPU target as Markdown, and a sentence that sums them up."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from bench.cpu.entrants import BEST, OURS, REFERENCE, TORCH, TORCH_COMPILE
from bench.documents.markdown import Region, error_cell, machine_line, number, one_line, table

__all__ = ["BUSY", "DETAILS", "SUMMARY", "render_details", "render_summary", "update_documents"]

Row = dict[str, Any]
DETAILS = Region("python -m bench.cpu, details")
SUMMARY = Region("python -m bench.cpu, summary")
BUSY = 0.1
"""Processors that others keep busy, from which on a measurement is to be doubted."""
_DOUBT = "†"
_GIGA = 1e-9
_RATES = {"FLOP": "GFLOP/s", "B": "GB/s"}


def update_documents(paths: Sequence[Path], result: dict[str, Any]) -> None:
    """Write the tables into every document that has the markers of one.

    Raises:
        ValueError: a document has none of the markers, or not once each.
    """
    for path in paths:
        text = path.read_text(encoding="utf-8")
        region, render = (
            (DETAILS, render_details) if DETAILS.begin in text else (SUMMARY, render_summary)
        )
        region.update(path, render(result))


def render_summary(result: dict[str, Any]) -> str:
    """One sentence: when, where, and the geometric mean of ours / onnxruntime."""
    machine = result["machine"]
    found = [(_mean(result, n, REFERENCE), _said(n)) for n in _threads(result)]
    means = ", ".join(f"{mean or 'of nothing'} with {threads}" for mean, threads in found)
    where = f"{machine['date'][:10]}, {machine['cpu']}, {machine['cores_allowed']} cores"
    return f"{where}: geometric mean {means}.\n"


def render_details(result: dict[str, Any]) -> str:
    """The machine, a table of models and one of operations for each number of threads, errors."""
    settings = result["settings"]
    said = (
        f"Contests of at least {settings['rounds']} rounds and {settings['seconds']:g} s; "
        f"{settings['random_inputs']} random inputs compared."
    )
    lines = [machine_line(result["machine"], said)]
    for n in _threads(result):
        lines += ["", f"### Models, {_said(n)}", "", *_models(result, n)]
    for n in _threads(result):
        lines += ["", f"### Operations, {_said(n)}", "", *_operations(result["operations"], n)]
    lines += _footnote(lines)
    failed = list(_errors([*result["models"], *result["operations"]]))
    if failed:
        lines += ["", "What failed:", "", *failed]
    return "\n".join(lines) + "\n"


def _footnote(lines: Sequence[str]) -> list[str]:
    if not any(_DOUBT in text for text in lines):
        return []
    return ["", f"{_DOUBT} Other programs kept more than {BUSY} processors busy meanwhile."]


def _models(result: dict[str, Any], n: str) -> list[str]:
    peers = (REFERENCE, TORCH, TORCH_COMPILE)
    header = ["model", "cold, s", "max error", "ours, ms", *(f"{peer}, ms" for peer in peers)]
    header += [f"ours / {peer}" for peer in peers]
    rows = []
    for row in result["models"]:
        entry = row["threads"].get(n, {})
        cells = [row["title"], number(row.get("cold_seconds"), 1, 2), _error(entry)]
        cells += [_milliseconds(entry, name) for name in (OURS, *peers)]
        rows.append(cells + [_ratio(entry, peer) for peer in peers])
    means = [_mean(result, n, peer) for peer in peers]
    rows.append(["geometric mean", *[""] * 6, *means])
    return table(header, rows)


def _operations(operations: Sequence[Row], n: str) -> list[str]:
    header = [
        "operation", "max error", "ours, ms", "onnxruntime, ms", "its fused operator, ms",
        "ratio", "limit", "achieved", "ceiling", "share",
    ]  # fmt: skip
    rows = []
    for row in operations:
        entry = row["threads"].get(n, {})
        cells = [row["title"], _error(entry)]
        cells += [_milliseconds(entry, name) for name in (OURS, REFERENCE, BEST)]
        cells += [_ratio(entry, REFERENCE, row["limit"]), number(row["limit"], 1, 2)]
        cells += [_rate(row, entry.get("achieved")), _rate(row, entry.get("ceiling"))]
        rows.append([*cells, number(entry.get("share"), 1, 2)])
    return table(header, rows)


def _threads(result: dict[str, Any]) -> list[str]:
    rows = [*result["models"], *result["operations"]]
    return sorted({n for row in rows for n in row["threads"]}, key=int)


def _said(n: str) -> str:
    return f"{n} thread" if n == "1" else f"{n} threads"


def _milliseconds(entry: Row, name: str) -> str:
    seconds = entry.get("seconds", {}).get(name)
    text = number(seconds, 1e3, 2 if seconds is None or seconds >= 1e-3 else 3)
    doubted = name == OURS and entry.get("others", 0) > BUSY
    return text + _DOUBT if doubted else text


def _ratio(entry: Row, peer: str, limit: float | None = None) -> str:
    """Ours / theirs, in bold where it is above the limit."""
    ratio = entry.get("ratios", {}).get(peer)
    text = number(ratio, 1, 2)
    return f"**{text}**" if ratio is not None and limit is not None and ratio > limit else text


def _mean(result: dict[str, Any], n: str, peer: str) -> str:
    return number(result["geometric_means"].get(n, {}).get(peer), 1, 2)


def _error(entry: Row) -> str:
    text = error_cell(entry.get("max_absolute_errors", {}).get(OURS))
    return text if entry.get("close", {}).get(OURS, True) else f"**{text}**"


def _rate(row: Row, value: float | None) -> str:
    return "" if value is None else f"{number(value, _GIGA, 1)} {_RATES[row['unit']]}"


def _errors(rows: Sequence[Row]) -> Iterator[str]:
    for row in rows:
        if "error" in row:
            yield f"* {row['name']}: {one_line(row['error'])}"
        for n, entry in row["threads"].items():
            for name, error in entry["errors"].items():
                yield f"* {row['name']}, {_said(n)}, {name}: {one_line(error)}"
