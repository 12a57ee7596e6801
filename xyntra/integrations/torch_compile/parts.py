# SPDX-License-Identifier: MIT OR Apache-2.0
"""Compiles parts of graphs, and calls them with PyTorch's tensors where they lie."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from xyntra.compiler.driver import compile_source
from xyntra.compiler.inputs.sizes import Sizes
from xyntra.compiler.inputs.source import ModelSource
from xyntra.config import Config
from xyntra.errors import DeviceError
from xyntra.executable import Executable
from xyntra.frontends.torch.parts import BorderTensor, GraphPart

__all__ = ["PartCall", "compile_part"]

PartCall = Callable[..., list[torch.Tensor]]
"""Takes the inputs of a part and returns its outputs, which are new tensors."""
_Reader = Callable[[Sequence[torch.Tensor]], tuple[list[int], list[torch.Tensor]]]
_ALIGNMENT = 16
"""Bytes: what kernels of GPUs rely on."""
_NO_MEMORY = "gpu-memory"
_recorded: set[Executable] = set()
"""What CUDA graphs hold the addresses of; nobody tells when such a graph is dropped."""


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
    read = _reader(part, 1)
    made = [(each.shape, each.stride, each.dtype) for each in part.outputs]
    run, new = executable.bare_call(), torch.empty_strided

    def call(*tensors: torch.Tensor) -> list[torch.Tensor]:
        addresses, _kept = read(tensors)
        results = [new(shape, stride, dtype=dtype) for shape, stride, dtype in made]
        addresses += [result.data_ptr() for result in results]
        run(addresses)
        return results

    return call


def _device_call(executable: Executable, part: GraphPart) -> PartCall:
    """Return the call on a GPU: on the stream that PyTorch uses, waiting for nothing.

    Memory comes from PyTorch's allocator on that stream, so that it may be given back at once. A
    stream that records a CUDA graph gets the launches themselves, and the graph keeps them.
    """
    launch, read = executable.stream_call(), _reader(part, _ALIGNMENT)
    current_stream = torch._C._cuda_getCurrentRawStream
    is_recording = torch.cuda.is_current_stream_capturing
    made = [(each.shape, each.stride, each.dtype, each.device) for each in part.outputs]
    ordinal = next(each.device.index or 0 for each in (*part.outputs, *part.inputs))

    def call(*tensors: torch.Tensor) -> list[torch.Tensor]:
        addresses, _kept = read(tensors)
        results = [
            torch.empty_strided(shape, stride, dtype=dtype, device=device)
            for shape, stride, dtype, device in made
        ]
        addresses += [result.data_ptr() for result in results]
        recorded = is_recording()
        if recorded:
            _recorded.add(executable)
        try:
            launch(addresses, current_stream(ordinal), recorded=recorded)
        except DeviceError as error:
            if error.code != _NO_MEMORY or recorded:
                raise
            torch.cuda.empty_cache()  # PyTorch keeps memory that it does not use
            launch(addresses, current_stream(ordinal), recorded=recorded)
        return results

    return call


def _reader(part: GraphPart, alignment: int) -> _Reader:
    """Return what gives the addresses of a part's inputs, with the copies that it had to make."""
    expected = [(each.dtype, each.shape, each.stride, each) for each in part.inputs]

    def read(tensors: Sequence[torch.Tensor]) -> tuple[list[int], list[torch.Tensor]]:
        addresses, copies = [], []
        for tensor, (dtype, shape, stride, border) in zip(tensors, expected, strict=True):
            if tensor.dtype is not dtype or tensor.shape != shape or tensor.stride() != stride:
                tensor = _fitted(tensor, border)
                copies.append(tensor)
            address = tensor.data_ptr()
            if address % alignment:
                copies.append(tensor.detach().clone(memory_format=torch.preserve_format))
                address = copies[-1].data_ptr()
            addresses.append(address)
        return addresses, copies

    return read


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
