# SPDX-License-Identifier: MIT OR Apache-2.0
"""Renders what tuning has found for single operations on a GPU."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bench.documents.markdown import Region, machine_line, number, table

__all__ = ["REGION", "render"]

REGION = Region("python -m bench.cuda.tuning")
_ENTRANTS = ("default", "tuned", "torch", "max-autotune")


def render(result: Mapping[str, Any]) -> str:
    """Return the machine and a line for each operation, with times in microseconds."""
    machine = result["machine"]
    said = f"GPU: {machine['gpu']}. Budget of a search: {result['budget']:g} s."
    heads = [f"{name}, µs" for name in _ENTRANTS]
    header = ["operation", *heads, "trials", "of", "search, s", "max-autotune, s"]
    rows = [
        [
            row["name"],
            *(number(row["microseconds"].get(name), 1, 2) for name in _ENTRANTS),
            str(row["trials"]),
            str(row["combinations"]),
            number(row["search_seconds"], 1, 1),
            number(row.get("max_autotune_seconds"), 1, 1),
        ]
        for row in result["rows"]
    ]
    return "\n".join([machine_line(machine, said), "", *table(header, rows)]) + "\n"
