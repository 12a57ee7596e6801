# SPDX-License-Identifier: MIT OR Apache-2.0
"""The table of models as Markdown."""

from __future__ import annotations

from typing import Any

from bench.documents.markdown import Region, error_cell, machine_line, number, one_line, table

__all__ = ["HEADER", "REGION", "render"]

REGION = Region("python -m bench.model_table")

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


def render(result: dict[str, Any]) -> str:
    """Return the machine, the table and the errors of failed models as Markdown."""
    rows, settings = result["rows"], result["settings"]
    said = f"{settings['threads']} thread each, {settings['seeds']} random inputs."
    lines = [machine_line(result["machine"], said), ""]
    lines += table(HEADER, [_cells(row) for row in rows])
    failed = [row for row in rows if "error" in row]
    if failed:
        lines += ["", "Models that failed:", ""]
        lines += [f"* {row['model']}: {one_line(row['error'])}" for row in failed]
    return "\n".join(lines) + "\n"


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    return (
        row["title"],
        number(row.get("file_bytes"), 1e-6, 1),
        number(row.get("cold_seconds"), 1, 2),
        number(row.get("cached_seconds"), 1, 3),
        _memory(row.get("memory")),
        number(row.get("peak_per_file_byte"), 1, 2),
        number(row.get("operations"), 1, 0),
        number(row.get("kernels"), 1, 0),
        error_cell(row.get("max_absolute_error")),
        _close(row),
        number(row.get("run_seconds"), 1e3, 2),
        number(row.get("onnxruntime_seconds"), 1e3, 2),
        number(row.get("ratio"), 1, 2),
    )


def _memory(memory: dict[str, Any] | None) -> str:
    return "" if memory is None else f"{memory['peak_bytes'] / 1e6:.0f} ({memory['peak_process']})"


def _close(row: dict[str, Any]) -> str:
    if "error" in row:
        return "failed"
    return "yes" if row["close"] else "**no**"
