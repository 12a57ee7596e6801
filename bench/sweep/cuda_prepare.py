# SPDX-License-Identifier: MIT OR Apache-2.0
"""Compiles the rows for a GPU, ours and torch.compile's, several at a time."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from bench.harness.measure import write_json
from bench.sweep.folder import artifact
from bench.sweep.networks import Network
from bench.sweep.row import Row
from verify.architectures.children import ChildFailure, call

__all__ = ["compiled", "note", "prepare"]


def note(folder: Path, row: Row | Network) -> dict[str, Any]:
    """Return what `prepare` found: `seconds` to compile, `kernels`, `fallbacks`; or `failure`."""
    found: dict[str, Any] = json.loads(artifact(folder, row, "json").read_text("utf-8"))
    return found


def prepare(
    rows: Sequence[Row | Network], folder: Path, *, target: str, jobs: int, peers: bool
) -> None:
    """Export and compile the rows into a folder; what is there already is kept.

    Args:
        rows: to be compiled.
        folder: for ONNX files, saved models and notes.
        target: of Xyntra.
        jobs: processes at a time.
        peers: torch.compile compiles them as well, and keeps that in a cache of its own.
    """
    folder.mkdir(parents=True, exist_ok=True)
    os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")
    import onnxscript  # noqa: F401 - the forked processes have it loaded

    import bench.sweep.layers  # noqa: F401
    import xyntra  # noqa: F401

    with ThreadPoolExecutor(jobs) as pool:
        for row, found in zip(
            rows, pool.map(lambda row: _prepare(row, folder, target, peers), rows), strict=True
        ):
            if "failure" in found:
                print(f"{row.name}: {found['failure']}", flush=True)


def _prepare(row: Row | Network, folder: Path, target: str, peers: bool) -> dict[str, Any]:
    path = artifact(folder, row, "json")
    if path.exists():
        return note(folder, row)
    try:
        found = call(_compile, row, folder, target, seconds=240.0)
    except ChildFailure as error:
        found = {"failure": f"{error.kind}: {str(error).strip()[-400:]}"}
    if peers:
        try:
            call(_compile_peer, row, seconds=240.0)
        except ChildFailure as error:
            found["peer"] = f"{error.kind}: {str(error).strip()[-400:]}"
    write_json(path, found)
    return found


def _compile(row: Row | Network, folder: Path, target: str) -> dict[str, Any]:
    import xyntra
    from bench.sweep.exporting import export

    model = artifact(folder, row, "onnx")
    export(row, model)
    start = time.perf_counter()
    executable = xyntra.compile(model, target=target, config={"jobs": 1, "isolate": False})
    seconds = time.perf_counter() - start
    executable.save(artifact(folder, row, "xyn"))
    model.unlink()
    found = {"seconds": seconds, "kernels": len(executable.kernels)}
    return found | {"fallbacks": list(executable.plan.fallbacks)}


def compiled(module: Any) -> Any:
    """Return a module as torch.compile makes it."""
    import torch

    return torch.compile(module, dynamic=False)


def _compile_peer(row: Row | Network) -> None:
    import torch

    torch.backends.cudnn.benchmark = False
    module, inputs, _ = row.build("cuda")
    compiled(module)(*inputs)
    torch.cuda.synchronize()
