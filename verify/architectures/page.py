# SPDX-License-Identifier: MIT OR Apache-2.0
"""Writes docs/architectures.md from the results."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.documents.markdown import Region, error_cell, machine_line, number, one_line, table
from bench.harness.measure import ROOT

__all__ = ["REGION", "render", "write_page"]

REGION = Region("python -m verify.architectures")
DOCUMENT = ROOT / "docs" / "architectures.md"
RESULTS = ROOT / "bench" / "results" / "architectures-cpu.json"
_LONGEST = 180
_HEADER = ("architecture", "exporter", "result", "nodes", "kernels", "compile, s", "error")
_TIMES = ("run, ms", "onnxruntime, ms")
_ORDER = ("ok", "refused", "failed", "wrong", "not exported")


def write_page(results: Path = RESULTS, document: Path = DOCUMENT) -> None:
    """Write the tables of `document` from `results`."""
    REGION.update(document, render(json.loads(results.read_text(encoding="utf-8"))))
    print(f"wrote {document}")


def render(result: dict[str, Any]) -> str:
    """Return the machine, the counts, a table for each family and the reasons as Markdown."""
    rows = result["rows"]
    lines = [machine_line(result["machine"], _settings(result["settings"])), "", *_counts(rows)]
    timed = any("run_seconds" in row for row in rows)
    for family in dict.fromkeys(row["family"] for row in rows):
        members = [row for row in rows if row["family"] == family]
        lines += ["", f"### {family[0].upper()}{family[1:]}", ""]
        header = _HEADER + (_TIMES if timed else ())
        lines += table(header, [_cells(row, timed) for row in members], texts=3)
        lines += _reasons(members)
    return "\n".join(lines) + "\n"


def _settings(settings: dict[str, Any]) -> str:
    """What decides how long compiling takes."""
    cached = "with" if settings.get("cached") else "without"
    level = settings.get("opt_level", 2)
    return f"1 thread, optimisation level {level}, {cached} a cache of kernels."


def _counts(rows: Sequence[dict[str, Any]]) -> list[str]:
    """How many architectures there are, and a table of results by exporter."""
    names = {row["name"] for row in rows}
    right = {row["name"] for row in rows if row["status"] == "ok"}
    exported = {row["name"] for row in rows if row["status"] != "not exported"}
    sentence = (
        f"{len(names)} architectures, of which PyTorch exports {len(exported)}; "
        f"{len(right)} of these compile and are right from at least one exporter."
    )
    exporters = list(dict.fromkeys(row["exporter"] for row in rows))
    found = Counter((row["exporter"], row["status"]) for row in rows)
    cells = [[e, *(str(found[e, status]) for status in _ORDER)] for e in exporters]
    return [sentence, "", *table(("exporter", *_ORDER), cells)]


def _cells(row: dict[str, Any], timed: bool) -> list[str]:
    error = row.get("error", row.get("torch_error"))
    status = row["status"]
    cells = [
        row["name"],
        row["exporter"],
        status if status in ("ok", "not exported") else f"**{status}**",
        number(row.get("nodes"), 1, 0),
        number(row.get("kernels"), 1, 0),
        number(row.get("compile_seconds"), 1, 1) if "kernels" in row else "",
        error_cell(error),
    ]
    if timed:
        cells += [
            number(row.get("run_seconds"), 1e3, 2),
            number(row.get("runtime_seconds"), 1e3, 2),
        ]
    return cells


def _reasons(rows: Sequence[dict[str, Any]]) -> list[str]:
    """A line for every row that is not right."""
    lines = []
    for row in rows:
        if row["status"] == "ok":
            continue
        said = [str(row[k]) for k in ("code", "message", "cause") if row.get(k)]
        lines.append(f"* {row['name']}, {row['exporter']}: {one_line(_short(': '.join(said)))}")
    return ["", *lines] if lines else []


def _short(message: str) -> str:
    """The beginning of a message, without the line that raised it and without addresses."""
    plain = re.sub(r" \(\w+\.py:\d+\)$|\S+://\S+", "", message.replace(" / ", " "))
    return plain if len(plain) <= _LONGEST else plain[:_LONGEST].rsplit(" ", 1)[0] + " …"
