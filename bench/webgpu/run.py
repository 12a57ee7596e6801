# SPDX-License-Identifier: MIT OR Apache-2.0
"""Measures on a GPU what `bench.webgpu prepare` compiled, prints it and records it as JSON."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

from bench.cuda.operations import HOST_MODEL, TINY_MODEL
from bench.harness.machine import describe
from bench.harness.measure import write_json
from bench.webgpu.first_call import first_calls
from bench.webgpu.lines import LINES
from bench.webgpu.measures import (
    copy_bandwidth,
    host_cost,
    measure_plugin,
    measure_row,
)
from bench.webgpu.rows import FILES, MODELS, OPERATIONS
from xyntra.targets.webgpu.adapter import open_device

__all__ = ["PARTS", "run"]

PARTS = ("rows", "host", "plugin", "first")
Record = dict[str, Any]


def run(
    folder: Path,
    target: str,
    rounds: int,
    is_chosen: Callable[[str], bool],
    parts: Collection[str] = PARTS,
    output: Path | None = None,
) -> int:
    """Print a line for each row; returns 1 if a result is wrong or a row failed.

    Args:
        folder: what `prepare` has filled.
        target: "webgpu" or "webgpu:1".
        rounds: calls of which times are the median.
        is_chosen: tells of a row's name whether it is wanted.
        parts: rows, the host's cost of calls, onnxruntime's plugin, and first calls.
        output: where the record is written, anew after each row.
    """
    opened = open_device(int(target.partition(":")[2] or 0))
    bandwidth = copy_bandwidth(opened, rounds)
    print(f"{opened.name}: a copy moves {bandwidth / 1e9:.0f} GB/s", flush=True)
    record: Record = {"machine": describe(), "adapter": opened.name, "copy_bytes_per_s": bandwidth}
    measures = {
        "rows": lambda name: measure_row(folder, name, target, rounds, bandwidth),
        "host": lambda name: host_cost(folder, name, target, rounds),
        "plugin": lambda name: measure_plugin(folder, name, rounds),
        "first": lambda name: first_calls(folder, name, target),
    }
    good = True
    for part in PARTS:
        for name in _names(part, is_chosen) if part in parts else ():
            found = _measured(measures[part], name)
            record.setdefault(part, {})[name] = found
            print(f"{name}: {_words(part, found)}", flush=True)
            good = good and not _is_wrong(found)
            if output is not None:
                write_json(output, record)
    return 0 if good else 1


def _names(part: str, is_chosen: Callable[[str], bool]) -> list[str]:
    if part == "host":
        return [TINY_MODEL, HOST_MODEL]
    names = [*MODELS, *FILES]
    return list(filter(is_chosen, [*OPERATIONS, *names] if part == "rows" else names))


def _measured(measure: Callable[[str], Record], name: str) -> Record:
    """Return what was measured, or the error: one row does not end the others."""
    try:
        return measure(name)
    except subprocess.SubprocessError as error:
        return {"error": str(getattr(error, "stderr", "") or error)}
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}


def _is_wrong(found: Record) -> bool:
    parts = [found, *(each for each in found.values() if isinstance(each, dict))]
    return any("error" in each or each.get("beyond") for each in parts)


def _words(part: str, found: Record) -> str:
    return f"FAILED: {found['error']}" if "error" in found else LINES[part](found)
