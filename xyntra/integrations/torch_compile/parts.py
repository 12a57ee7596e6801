# SPDX-License-Identifier: MIT OR Apache-2.0
"""Compiles parts of graphs, and calls them with PyTorch's tensors where they lie."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch

from xyntra.compiler.driver import compile_apart, compile_source
from xyntra.compiler.inputs.sizes import Sizes
from xyntra.compiler.inputs.source import ModelSource
from xyntra.config import Config
from xyntra.errors import DeviceError
from xyntra.executable import Executable
from xyntra.frontends.torch.parts import BorderTensor, GraphPart
from xyntra.integrations.torch_compile.frozen import FrozenPart

__all__ = ["PartCall", "compile_part"]

PartCall = Callable[..., list[torch.Tensor]]
"""Takes the inputs of a part and returns its outputs, which are new tensors."""
_Reader = Callable[[Sequence[torch.Tensor]], tuple[list[int], list[torch.Tensor]]]
_ALIGNMENT = 16
"""Bytes: what kernels of GPUs rely on."""
_NO_MEMORY = "gpu-memory"
_recorded: set[Executable] = set()
"""What CUDA graphs hold the addresses of; nobody tells when such a graph is dropped."""


def compile_part(
    describe: Callable[[bool], GraphPart], config: Config, device: torch.device, name: str
) -> PartCall:
    """Compile a part to a function of its inputs.

    Args:
        describe: returns what it computes, with parameters as weights or as inputs.
        config: how it is compiled.
        device: where its tensors lie.
        name: of the function.

    Raises:
        XyntraError: it cannot be compiled.
    """
    part = describe(True)
    if part.held:
        call = _frozen_call(
            part, lambda: compile_part(lambda _: describe(False), config, device, name), config
        )
    else:
        executable = compile_source(_source(part), Sizes(), config)
        on_host = device.type != "cuda"
        call = _host_call(executable, part) if on_host else _device_call(executable, part)

    def named(*tensors: torch.Tensor) -> list[torch.Tensor]:
        return call(*tensors)

    named.__name__ = named.__qualname__ = name
    return named


def _source(part: GraphPart) -> ModelSource:
    return ModelSource("torch", part.program.to_bytes(), None, {}, None, arrays=part.weights)


def _frozen_call(part: GraphPart, unfrozen: Callable[[], PartCall], config: Config) -> PartCall:
    """Return the call on the CPU of a part whose parameters are weights."""
    load = compile_apart(_source(part), config)
    given = tuple(each for place, each in enumerate(part.inputs) if place not in part.held)
    others = replace(part, inputs=given, held={})

    def loaded(weights: Mapping[str, Any]) -> PartCall:
        return _host_call(load(weights), others)

    return FrozenPart(part.held, part.inputs, loaded, unfrozen)


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
