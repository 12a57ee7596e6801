# SPDX-License-Identifier: MIT OR Apache-2.0
"""Compiles what `bench.webgpu run` measures, for WebGPU and for CUDA."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import xyntra
from bench.cuda.graphs import host_model, onnx_model, tiny_model
from bench.cuda.models import onnx_network
from bench.cuda.networks import network
from bench.cuda.operations import HOST_MODEL, TINY_MODEL
from bench.models import REGISTRY, ensure
from bench.webgpu.rows import (
    ARCHITECTURES,
    FILES,
    MODELS,
    NETWORKS,
    OPERATIONS,
    artifact,
)

__all__ = ["prepare"]


def prepare(folder: Path, models: Path, architecture: str, is_chosen: Callable[[str], bool]) -> int:
    """Fill `folder` with the artifacts of the chosen rows; returns 0.

    Args:
        folder: what `run` reads.
        models: where models of wheels are, or are put.
        architecture: "cuda:sm_90a" of the artifacts for CUDA.
        is_chosen: tells of a row's name whether it is wanted.
    """
    folder.mkdir(parents=True, exist_ok=True)
    targets = {name: f"webgpu:{name}" for name in ARCHITECTURES} | {"cuda": architecture}

    def make(name: str, model: Any, **given: Any) -> None:
        for short, target in targets.items():
            executable = xyntra.compile(model, target=target, **given)
            executable.save(artifact(folder, name, short), weights=False)
            print(f"{name}, {short}: {len(executable.kernels)} kernels", flush=True)

    for name, model in ((HOST_MODEL, host_model()), (TINY_MODEL, tiny_model())):
        for short, target in targets.items():
            xyntra.compile(model, target=target).save(artifact(folder, name, short))
    for name, operation in OPERATIONS.items():
        if is_chosen(name):
            make(name, onnx_model(operation))
    for name in MODELS:
        if is_chosen(name):
            make(name, onnx_network(network(NETWORKS[name].network), NETWORKS[name]))
    for name in FILES:
        if is_chosen(name):
            path = folder / f"{name}.onnx"
            shutil.copyfile(ensure(name, models), path)
            make(name, path, inputs={each.name: each.shape for each in REGISTRY[name].inputs})
    return 0
