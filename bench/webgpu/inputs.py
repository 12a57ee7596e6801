# SPDX-License-Identifier: MIT OR Apache-2.0
"""Draws the inputs of rows, and finds the weights of models."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from bench.cuda.operations import HOST_MODEL, TINY_MODEL
from bench.models import REGISTRY
from bench.webgpu.rows import FILES, MODELS, NETWORKS, OPERATIONS

__all__ = ["inputs_of", "weights_of"]

Array = np.ndarray[Any, Any]
_ALONE = {HOST_MODEL: (128, 128), TINY_MODEL: (4,)}


def inputs_of(name: str) -> dict[str, Array]:
    """Return the inputs of a row, in order."""
    rng = np.random.default_rng(0)
    if name in _ALONE:
        return {"x": rng.standard_normal(_ALONE[name], np.float32)}
    if name in OPERATIONS:
        shapes = OPERATIONS[name].inputs
        arrays = [rng.standard_normal(shape, np.float32) for shape in shapes]
        return {chr(ord("a") + number): array for number, array in enumerate(arrays)}
    if name in MODELS:
        from bench.cuda.models import model_inputs

        names = _network_inputs(name)
        arrays = [each.numpy() for each in model_inputs(NETWORKS[name], "cpu")]
        return dict(zip(names, arrays, strict=True))
    return {each.name: each.sample(rng) for each in REGISTRY[name].inputs}


def weights_of(folder: Path, name: str) -> dict[str, Array] | None:
    """Return the weights of a model; None for what has none, or holds its own."""
    if name in MODELS:
        from bench.cuda.networks import network

        module = network(NETWORKS[name].network)
        return {key: tensor.numpy() for key, tensor in module.state_dict().items()}
    if name in FILES:
        import onnx

        graph = onnx.load(folder / f"{name}.onnx").graph
        tensors = {each.name: each for each in graph.initializer}
        for node in graph.node:
            if node.op_type == "Constant" and node.attribute[0].name == "value":
                tensors[node.output[0]] = node.attribute[0].t
        return {key: onnx.numpy_helper.to_array(each) for key, each in tensors.items()}
    return None


def _network_inputs(name: str) -> list[str]:
    """Return what the exporter calls the inputs of a network: its parameters."""
    import inspect

    from bench.cuda.networks import network

    return list(inspect.signature(network(NETWORKS[name].network).forward).parameters)
