# SPDX-License-Identifier: MIT OR Apache-2.0
"""Prepares the contestants: Xyntra, onnxruntime, and torch where the model is its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from bench.harness.contest import Entrant
from bench.models import ModelSpec

__all__ = [
    "BEST",
    "OURS",
    "PEERS",
    "REFERENCE",
    "TORCH",
    "TORCH_COMPILE",
    "model_entrants",
    "operation_entrants",
]

OURS = "xyntra"
REFERENCE = "onnxruntime"
BEST = "onnxruntime, fused"
TORCH = "torch"
TORCH_COMPILE = "torch.compile"
PEERS = (REFERENCE, TORCH, TORCH_COMPILE)


def model_entrants(
    spec: ModelSpec,
    path: Path,
    *,
    threads: int,
    config: Mapping[str, object],
    peers: Sequence[str],
) -> list[Entrant]:
    """Xyntra and those of `peers` that can run a model, called as users call them.

    Args:
        spec, path: the model.
        threads: for each.
        config: settings of Xyntra, besides the threads.
        peers: some of `PEERS`. torch takes part where the model was exported from it.
    """
    file = {"path": str(path), "threads": threads, "preallocated": False}
    module = {"runner": "torch", "model": spec.name, "threads": threads}
    jobs = {
        OURS: {**file, "runner": "xyntra", "shapes": spec.shapes, "config": dict(config)},
        REFERENCE: {**file, "runner": "onnxruntime"},
        TORCH: {**module, "compiled": False},
        TORCH_COMPILE: {**module, "compiled": True},
    }
    foreign = (TORCH, TORCH_COMPILE) if spec.from_wheel else ()
    chosen = [OURS, *(peer for peer in peers if peer not in foreign)]
    return [Entrant(name, jobs[name]) for name in chosen]


def operation_entrants(
    path: Path, best: Path | None, *, threads: int, config: Mapping[str, object]
) -> list[Entrant]:
    """Xyntra and onnxruntime, which write results into arrays that were there before.

    Args:
        path: the operation as a model.
        best: the same as onnxruntime computes it fastest, which runs beside it.
        threads: for each.
        config: settings of Xyntra, besides the threads.
    """
    common = {"threads": threads, "preallocated": True, "shapes": {}}
    ours = {**common, "runner": "xyntra", "path": str(path), "config": dict(config)}
    entrants = [Entrant(OURS, ours)]
    for name, file in ((REFERENCE, path), (BEST, best)):
        if file is not None:
            entrants.append(Entrant(name, {**common, "runner": "onnxruntime", "path": str(file)}))
    return entrants
