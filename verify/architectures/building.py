# SPDX-License-Identifier: MIT OR Apache-2.0
"""Builds an architecture, and runs it with torch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from verify.architectures.libraries import seed
from verify.architectures.registry import Architecture, Model
from verify.architectures.weights import randomize

__all__ = ["Built", "DegenerateError", "build"]

_SEED = 7
_LEAST = 1e-4


class DegenerateError(Exception):
    """The outputs hardly say anything about the network or its inputs."""


class Built:
    """A model in evaluation mode that takes and returns tensors by position.

    Attributes:
        module: a `torch.nn.Module`.
        inputs: example inputs by name.
    """

    def __init__(self, model: Model) -> None:
        self.module = _positional(model)
        self.inputs: dict[str, Any] = dict(model.inputs)

    def outputs(self, inputs: Mapping[str, Any] | None = None) -> list[np.ndarray[Any, Any]]:
        """What torch computes."""
        import torch

        with torch.no_grad():
            found = self.module(*(inputs or self.inputs).values())
        return [tensor.detach().clone().numpy() for tensor in found]


def build(architecture: Architecture) -> Built:
    """Build an architecture with weights that matter.

    Raises:
        DegenerateError: its outputs are constant, not finite, or do not depend on the inputs.
    """
    import torch

    seed(_SEED)
    model = architecture.build()
    model.module.eval().requires_grad_(False)
    built = Built(model)
    if not model.ready:
        randomize(model.module, lambda: built.module(*built.inputs.values()), _SEED)
    with torch.no_grad():
        _demand_meaning(built)
    return built


def _demand_meaning(built: Built) -> None:
    outputs = built.outputs()
    if not outputs:
        raise DegenerateError("there are no outputs")
    again = built.outputs()
    if any(not np.array_equal(a, b, equal_nan=True) for a, b in zip(outputs, again, strict=True)):
        raise DegenerateError("two calls with the same inputs differ")
    other = built.outputs({name: _changed(value) for name, value in built.inputs.items()})
    moved = False
    for index, (first, second) in enumerate(zip(outputs, other, strict=True)):
        if first.dtype.kind != "f":
            moved = moved or not np.array_equal(first, second)
            continue
        if not np.isfinite(first).any():
            raise DegenerateError(f"output {index} is nowhere finite")
        values = first[np.isfinite(first)].astype(np.float64)
        scale = float(np.abs(values).max())
        if first.size > 1 and values.std() <= _LEAST * scale:
            raise DegenerateError(f"output {index} is constant: {values.flat[0]:.6g}")
        if first.shape == second.shape:
            moved = moved or float(np.nanmax(np.abs(first - second))) > _LEAST * scale
    if not moved:
        raise DegenerateError("no output depends on the inputs")


def _changed(value: Any) -> Any:
    if value.is_floating_point():
        return value.flip(-1) * 0.9
    if value.numel() > 1 and int(value.max()) > 1:
        return value.flip(min(1, value.ndim - 1))
    return value


def _positional(model: Model) -> Any:
    import torch

    class Positional(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = model.module

        def forward(self, *tensors: Any) -> Any:
            named = dict(zip(model.inputs, tensors, strict=True))
            return tuple(_tensors(model.select(self.inner(**named, **model.options))))

    return Positional().eval()


def _tensors(value: Any) -> list[Any]:
    """The tensors in nested tuples, lists and dictionaries, in order; the rest is left out."""
    import torch

    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, (tuple, list)):
        return [tensor for part in value for tensor in _tensors(part)]
    return []
