# SPDX-License-Identifier: MIT OR Apache-2.0
"""Times rows on a CPU beside onnxruntime and PyTorch, each in a process of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from bench.harness.accuracy import compare
from bench.harness.contest import Entrant, Pace, contest
from bench.sweep.folder import artifact
from bench.sweep.networks import Network
from bench.sweep.row import Row
from verify.architectures.children import ChildFailure, call

__all__ = ["measure"]

_RELATIVE = 2e-4
"""How far results may be from onnxruntime's, in the largest element."""


def measure(row: Row | Network, folder: Path, threads: int, rounds: int) -> dict[str, Any]:
    """Return the times of a row and what is wrong with its outputs.

    Args:
        row: for the CPU.
        folder: where its ONNX file is kept.
        threads: of each entrant.
        rounds: in each, everyone has a turn.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = artifact(folder, row, "onnx")
    found: dict[str, Any] = {"name": row.name, "library": row.layer.library}
    found |= {"layer": row.layer.name, "dtype": "float32", "channels_last": row.channels_last}
    try:
        inputs = call(_exported, row, path, seconds=300.0)
    except ChildFailure as error:
        return found | {"failure": f"export: {str(error).strip()[-300:]}"}
    file = {"path": str(path), "threads": threads, "preallocated": False}
    ours = {**file, "runner": "xyntra", "shapes": {}, "config": {}}
    entrants = [
        Entrant("xyntra", ours),
        Entrant("onnxruntime", {**file, "runner": "onnxruntime"}),
        Entrant("torch", {"runner": "layer", "threads": threads, "row": row}),
    ]
    outcome = contest(entrants, [inputs], Pace(0.0, rounds, 0.03, 300.0))
    return found | _judged(outcome, inputs)


def _judged(outcome: Any, inputs: dict[str, np.ndarray]) -> dict[str, Any]:
    if "xyntra" in outcome.errors:
        return {"failure": outcome.errors["xyntra"][:300]}
    times = {name: min(outcome.seconds[name]) * 1e6 for name in outcome.seconds}
    wrong = [
        f"output {index}: {problem}"
        for index, (own, other) in enumerate(
            zip(outcome.outputs["xyntra"][0], outcome.outputs["onnxruntime"][0], strict=True)
        )
        if (problem := _distance(own, other))
    ]
    shapes = [list(each.shape) for each in inputs.values()]
    return {"microseconds": times, "wrong": wrong, "shapes": shapes, "errors": outcome.errors}


def _distance(own: np.ndarray, other: np.ndarray) -> str | None:
    try:
        far = compare({"": own}, {"": other}).absolute
    except ValueError as error:
        return str(error)
    scale = float(np.abs(other[np.isfinite(other)]).max(initial=0.0))
    allowed = _RELATIVE * scale + 1e-6 if other.dtype.kind == "f" else 0.0
    return None if far <= allowed else f"{far:.3g} off, of {scale:.3g}"


def _exported(row: Row | Network, path: Path) -> dict[str, np.ndarray]:
    from bench.sweep.exporting import export

    if not path.exists():
        export(row, path)
    return {f"x{index}": each.numpy() for index, each in enumerate(row.build()[1])}
