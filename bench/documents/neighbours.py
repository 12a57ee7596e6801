# SPDX-License-Identifier: MIT OR Apache-2.0
"""Writes the results of `bench.cpu.neighbours`, as text and as a table in Markdown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bench.documents.cpu import BUSY
from bench.documents.markdown import Region, machine_line, number, table

__all__ = ["REGION", "render", "summary"]

REGION = Region("python -m bench.cpu.neighbours")
_DOUBT = "†"
Row = Mapping[str, Any]


def summary(row: Row) -> str:
    """A line for each kind of turn: medians, and the least, in milliseconds."""
    lines = [f"{row['model']}:"]
    for name, entry in row["phases"].items():
        alone = row["phases"][f"{name.rpartition(', ')[0]}, alone"]["seconds"]
        lines.append(
            f"  {name:32} {entry['seconds'] * 1e3:8.3f} ms, least {entry['least'] * 1e3:8.3f}, "
            f"{entry['seconds'] / alone:.2f} of alone, others {entry['others']:.2f}"
        )
    return "\n".join(lines)


def render(result: Mapping[str, Any]) -> str:
    """A line for each model: milliseconds alone, then the ratio to that, for each neighbour."""
    settings = result["settings"]
    places = ["in turns", *(f"beside {count}" for count in settings["busy"])]
    who = ("xyntra", "xyntra, one thread", "onnxruntime")
    short = ("ours", "one thread", "onnxruntime")
    header = ["model", *(f"{name}, ms" for name in short)]
    header += [f"{name}, {place}" for place in places for name in short]
    rows = []
    for row in result["rows"]:
        cells = [row["title"], *(_milliseconds(row["phases"][f"{name}, alone"]) for name in who)]
        cells += [_ratio(row["phases"], name, place) for place in places for name in who]
        rows.append(cells)
    said = f"{settings['threads']} threads; {settings['rounds']} turns of {settings['turn']} s."
    lines = [machine_line(result["machine"], said), "", *table(header, rows)]
    lines += ["", f"{_DOUBT} Other programs kept more than {BUSY} processors busy meanwhile.", ""]
    return "\n".join(lines)


def _milliseconds(entry: Row) -> str:
    return number(entry["seconds"], 1e3, 2) + (_DOUBT if entry["others"] > BUSY else "")


def _ratio(phases: Mapping[str, Row], who: str, place: str) -> str:
    entry, alone = phases[f"{who}, {place}"], phases[f"{who}, alone"]
    return number(entry["seconds"] / alone["seconds"], 1, 2) + (
        _DOUBT if entry["others"] > BUSY else ""
    )
