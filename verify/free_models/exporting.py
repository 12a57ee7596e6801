# SPDX-License-Identifier: MIT OR Apache-2.0
"""Exports networks to ONNX with free dimensions, by either of PyTorch's exporters."""

from __future__ import annotations

import inspect
import warnings
from pathlib import Path
from typing import Any

import torch
from torch.export import Dim

from verify.free_models.network import Network

__all__ = ["EXPORTERS", "export"]

EXPORTERS = ("torchscript", "dynamo")


def export(network: Network, path: Path, exporter: str) -> None:
    """Write a network to a file.

    Raises:
        Exception: PyTorch cannot export it.
    """
    torch.manual_seed(0)
    network.module.eval()
    names = list(network.names)
    settings: dict[str, Any] = {"input_names": names, "dynamo": exporter == "dynamo"}
    if exporter == "dynamo":
        settings |= {"opset_version": 18, "external_data": False, "verbose": False}
        settings["dynamic_shapes"] = _dynamic_shapes(network)
    else:
        settings |= {"opset_version": 17}
        settings["dynamic_axes"] = dict(zip(names, map(dict, network.axes), strict=True))
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        torch.onnx.export(network.module, network.inputs, path, **settings)


def _dynamic_shapes(network: Network) -> tuple[Any, ...]:
    """Return the shapes nested as the arguments of the module's `forward` are."""
    shapes = [
        {place: _dim(name, network.dims[name]) for place, name in each.items()}
        for each in network.axes
    ]
    parameters = inspect.signature(network.module.forward).parameters.values()
    plain = [each for each in parameters if each.kind is not each.VAR_POSITIONAL]
    if len(plain) == len(parameters):
        return tuple(shapes)
    return (*shapes[: len(plain)], tuple(shapes[len(plain) :]))


def _dim(name: str, sizes: range | str) -> Any:
    if isinstance(sizes, str):
        return Dim.DYNAMIC
    if sizes.step == 1:
        return Dim(name, min=1, max=sizes[-1])
    steps = Dim(f"{name}_steps", min=max(2, sizes[0] // sizes.step), max=sizes[-1] // sizes.step)
    return sizes.step * steps
