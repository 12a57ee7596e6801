# SPDX-License-Identifier: MIT OR Apache-2.0
"""Write the table of models into a Markdown document, between two markers."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from bench.files import atomic_path

__all__ = ["BEGIN", "END", "render", "replace_between", "update_document"]

BEGIN = "<!-- begin: python -m bench.model_table -->"
END = "<!-- end: python -m bench.model_table -->"

HEADER = (
    "model",
    "file, MB",
    "cold, s",
    "cached, s",
    "peak memory, MB",
    "of file",
    "operations",
    "kernels",
    "max error",
    "close",
    "run, ms",
    "onnxruntime, ms",
    "ratio",
)
NUMBERS = len(HEADER) - 1


def update_document(path: Path, result: dict[str, Any]) -> None:
    """Replace what is between the markers of `path`.

    Raises:
        ValueError: the markers are not there, once each and in order.
    """
    text = replace_between(path.read_text(encoding="utf-8"), render(result))
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def replace_between(text: str, table: str) -> str:
    """Return `text` with `table` between the markers; see `update_document`."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end or BEGIN in rest or END in before + after:
        raise ValueError(f"the document needs {BEGIN!r} and then {END!r}, once each")
    return f"{before}{BEGIN}\n{table}{END}{after}"


def render(result: dict[str, Any]) -> str:
    """Return the machine, the table and the errors of failed models as Markdown."""
    rows = result["rows"]
    lines = [_machine(result), "", _line(HEADER), _line(("---", *["---:"] * NUMBERS))]
    lines += [_line(_cells(row)) for row in rows]
    failed = [row for row in rows if "error" in row]
    if failed:
        lines += ["", "Models that failed:", ""]
        lines += [f"* {row['model']}: {_one_line(row['error'])}" for row in failed]
    return "\n".join(lines) + "\n"


def _machine(result: dict[str, Any]) -> str:
    machine, settings = result["machine"], result["settings"]
    versions = ", ".join(f"{k} {v}" for k, v in machine["versions"].items() if v is not None)
    return (
        f"Measured {machine['date'][:10]} on {machine['cpu']}, {machine['cores_allowed']} cores, "
        f"{_number(machine['memory_bytes'], 2**-30, 0) or '?'} GiB, {machine['os']}, "
        f"{machine['python']}; {versions}. Load average before: {machine['load_average']}. "
        f"{settings['threads']} thread each, {settings['seeds']} random inputs."
    )


def _line(cells: tuple[str, ...]) -> str:
    return f"| {' | '.join(cells)} |"


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    return (
        row["title"],
        _number(row.get("file_bytes"), 1e-6, 1),
        _number(row.get("cold_seconds"), 1, 2),
        _number(row.get("cached_seconds"), 1, 3),
        _memory(row.get("memory")),
        _number(row.get("peak_per_file_byte"), 1, 2),
        _number(row.get("operations"), 1, 0),
        _number(row.get("kernels"), 1, 0),
        _error(row.get("max_absolute_error")),
        _close(row),
        _number(row.get("run_seconds"), 1e3, 2),
        _number(row.get("onnxruntime_seconds"), 1e3, 2),
        _number(row.get("ratio"), 1, 2),
    )


def _number(value: float | None, scale: float, digits: int) -> str:
    return "" if value is None else f"{value * scale:.{digits}f}"


def _memory(memory: dict[str, Any] | None) -> str:
    return "" if memory is None else f"{memory['peak_bytes'] / 1e6:.0f} ({memory['peak_process']})"


def _error(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:.1e}" if math.isfinite(value) else "not finite"


def _close(row: dict[str, Any]) -> str:
    if "error" in row:
        return "failed"
    return "yes" if row["close"] else "**no**"


def _one_line(text: str) -> str:
    # Errors quote graphs and paths: keep them from being read as Markdown or HTML.
    joined = " / ".join(line.strip() for line in text.splitlines() if line.strip())
    return "`" + joined.replace("`", "'")[:500] + "`"
