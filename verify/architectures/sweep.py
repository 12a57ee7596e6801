# SPDX-License-Identifier: MIT OR Apache-2.0
"""Exports, compiles and compares architectures, one after the other."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from verify.architectures.checking import check, check_half, compile_only, reference
from verify.architectures.children import ChildFailure, call
from verify.architectures.exporting import Entry, entry, export_all
from verify.architectures.libraries import import_libraries
from verify.architectures.registry import Architecture

__all__ = ["Options", "sweep"]

_EXPORT_SECONDS = 400.0


@dataclass(frozen=True)
class Options:
    """How a sweep goes; see the command's arguments."""

    exporters: list[str]
    export_only: bool = False
    target: str = "cpu"
    half: bool = False
    timed: bool = False
    timeout: float = 300.0
    cached: bool = False
    keep: Path | None = None

    @property
    def config(self) -> dict[str, object]:
        """Settings of Xyntra."""
        return {
            "target": self.target,
            "cache": self.cached,
            "threads": 1,
            "compile_timeout": self.timeout,
        }


def sweep(architectures: Sequence[Architecture], options: Options) -> list[dict[str, Any]]:
    """Return a row for every architecture and exporter, and print each as it comes."""
    rows = []
    for architecture in architectures:
        _fill_cache(architecture, options)
        for exporter in options.exporters:
            row = _row(architecture, exporter, options)
            rows.append(row)
            print(_summary(row), flush=True)
    return rows


def _fill_cache(architecture: Architecture, options: Options) -> None:
    missing = [
        name for name in options.exporters if not entry(architecture, name, half=options.half).done
    ]
    if not missing:
        return
    import_libraries()
    try:
        call(_export, architecture, missing, options.half, seconds=_EXPORT_SECONDS)
    except ChildFailure as failure:
        for name in missing:
            found = entry(architecture, name, half=options.half)
            if not found.done:
                found.note(f"{failure.kind}: {failure}")


def _export(architecture: Architecture, exporters: list[str], half: bool) -> None:
    export_all(architecture, exporters, half=half)


def _row(architecture: Architecture, exporter: str, options: Options) -> dict[str, Any]:
    found = entry(architecture, exporter, half=options.half)
    row: dict[str, Any] = {
        "name": architecture.name,
        "family": architecture.family,
        "library": architecture.library,
        "exporter": exporter,
    }
    if found.error is not None:
        return row | {"status": "not exported", "message": found.error}
    row |= {"nodes": found.nodes, "parameters": found.parameters}
    if options.export_only:
        return row | {"status": "exported"}
    row |= _exporters_fault(found, _outcome(found, options))
    if options.keep is not None and row["status"] not in ("ok", "exported"):
        options.keep.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(found.model, options.keep / f"{architecture.name}-{exporter}.onnx")
        with (options.keep / "LIST.md").open("a", encoding="utf-8") as file:
            file.write(f"* {_summary(row)}\n")
    return row


def _outcome(found: Entry, options: Options) -> dict[str, Any]:
    limit = options.timeout + 60
    try:
        if options.target != "cpu":
            return dict(call(compile_only, found.model, options.config, seconds=limit))
        if options.half:
            return dict(call(check_half, found, options.config, seconds=limit))
        theirs = call(reference, found, options.timed, seconds=limit)
        row = dict(call(check, found, options.config, theirs, options.timed, seconds=limit))
    except ChildFailure as failure:
        return {"status": "failed", "code": failure.kind, "message": str(failure)[-600:]}
    if theirs["outputs"] is None:
        row["runtime_message"] = theirs["error"]
    if "run_seconds" in theirs:
        row["runtime_seconds"] = theirs["run_seconds"]
    return row


def _exporters_fault(found: Entry, row: dict[str, Any]) -> dict[str, Any]:
    """The row, which says "not exported" where the graph is invalid for onnxruntime, too."""
    if row.get("kind") != "ModelError":
        return row
    theirs = call(reference, found, False, seconds=_EXPORT_SECONDS)
    if theirs["outputs"] is not None:
        return row
    message = f"the exported graph is invalid: {row['message']}"
    return {"status": "not exported", "message": message, "runtime_message": theirs["error"]}


def _summary(row: dict[str, Any]) -> str:
    text = f"{row['name']:30} {row['exporter']:11} {row['status']:12}"
    if row["status"] == "ok":
        error = row.get("error", row.get("torch_error"))
        shown = "" if error is None else f"error {error:.1e}, "
        return (
            f"{text} {shown}{row['nodes']} nodes, {row['kernels']} kernels, "
            f"{row['compile_seconds']:.1f} s"
        )
    said = [str(row[name]) for name in ("code", "message", "place", "cause") if row.get(name)]
    return f"{text} {' | '.join(' '.join(part.split())[:260] for part in said)}"
