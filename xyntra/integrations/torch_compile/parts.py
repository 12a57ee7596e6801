# SPDX-License-Identifier: MIT OR Apache-2.0
"""Compiles parts of graphs, and calls them with PyTorch's tensors where they lie."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from xyntra.compiler.driver import compile_source
from xyntra.compiler.inputs.sizes import Sizes
from xyntra.compiler.inputs.source import ModelSource
from xyntra.config import Config
from xyntra.executable import Executable
from xyntra.frontends.torch.parts import BorderTensor, GraphPart

__all__ = ["PartCall", "compile_part"]

PartCall = Callable[..., list[torch.Tensor]]
"""Takes the inputs of a part and returns its outputs, which are new tensors."""


def compile_part(part: GraphPart, config: Config, device: torch.device, name: str) -> PartCall:
    """Compile a part to a function of its inputs.

    Args:
        part: what it computes.
        config: how it is compiled.
        device: where its tensors lie.
        name: of the function.

    Raises:
        XyntraError: it cannot be compiled.
    """
    source = ModelSource("torch", part.program.to_bytes(), None, {}, None, arrays=part.weights)
    executable = compile_source(source, Sizes(), config)
    call = _device_call(executable, part) if device.type == "cuda" else _host_call(executable, part)
    call.__name__ = call.__qualname__ = name
    return call


def _host_call(executable: Executable, part: GraphPart) -> PartCall:
    """Return the call on the CPU: addresses in, addresses out."""
    expected = [(each.dtype, each.shape, each.stride, each) for each in part.inputs]
    made = [(each.shape, each.stride, each.dtype) for each in part.outputs]
    run, new = executable.bare_call(), torch.empty_strided

    def call(*tensors: torch.Tensor) -> list[torch.Tensor]:
        addresses, kept = [], []
        for tensor, (dtype, shape, stride, border) in zip(tensors, expected, strict=True):
            if tensor.dtype is not dtype or tensor.shape != shape or tensor.stride() != stride:
                tensor = _fitted(tensor, border)
                kept.append(tensor)
            addresses.append(tensor.data_ptr())
        results = [new(shape, stride, dtype=dtype) for shape, stride, dtype in made]
        addresses += [result.data_ptr() for result in results]
        run(addresses)
        return results

    return call


def _device_call(executable: Executable, part: GraphPart) -> PartCall:
    """Return the call on a GPU: on the stream that PyTorch uses, waiting for nothing."""

    def call(*tensors: torch.Tensor) -> list[torch.Tensor]:
        given = []
        for tensor, border in zip(tensors, part.inputs, strict=True):
            fitted = _fitted(tensor, border)
            given.append(fitted.detach().permute(border.order))
        results = [
            torch.empty_strided(each.shape, each.stride, dtype=each.dtype, device=each.device)
            for each in part.outputs
        ]
        out = [r.permute(each.order) for r, each in zip(results, part.outputs, strict=True)]
        executable(*given, out=out)
        return results

    return call


def _fitted(tensor: torch.Tensor, border: BorderTensor) -> torch.Tensor:
    """Return a tensor of the expected type in the expected layout, copied where it has another.

    Raises:
        RuntimeError: it is of another dtype, shape or device than the graph was compiled for, which
            PyTorch's guards exclude.
    """
    fits = tensor.dtype is border.dtype and tensor.shape == border.shape
    if not fits or tensor.device != border.device:
        raise RuntimeError(
            f"a graph was compiled for {border.dtype} {list(border.shape)} on {border.device}, and"
            f" is given {tensor.dtype} {list(tensor.shape)} on {tensor.device}"
        )
    if tensor.stride() == border.stride and not tensor.is_neg():
        return tensor
    plain: Any = tensor.detach().resolve_neg()
    copy = torch.empty_strided(
        border.shape, border.stride, dtype=border.dtype, device=border.device
    )
    return copy.copy_(plain)
