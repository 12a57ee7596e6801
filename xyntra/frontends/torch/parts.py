# SPDX-License-Identifier: MIT OR Apache-2.0
"""Writes a part of an ATen graph as a program whose inputs and outputs lie as PyTorch lays them.

A tensor whose memory is a permutation of a contiguous one, such as a channels-last image, enters
and leaves the program in the order of its memory, with a `permute` next to it: nothing is copied.
"""

from __future__ import annotations

import base64
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from xyntra.errors import UnsupportedError
from xyntra.frontends.torch.arrays import array_of
from xyntra.frontends.torch.calls import call_of, memory_order, tensor_type
from xyntra.frontends.torch.program import (
    INLINE_BYTES,
    AtenCall,
    AtenInput,
    AtenParameter,
    AtenProgram,
    AtenTensor,
)

__all__ = ["BorderTensor", "GraphPart", "describe_part", "is_dense"]


@dataclass(frozen=True)
class BorderTensor:
    """A tensor that goes into or out of a part.

    Attributes:
        dtype: of its elements.
        shape: static.
        stride: in elements.
        order: its dimensions from the outermost to the innermost in memory.
        device: where it lies.
    """

    dtype: torch.dtype
    shape: tuple[int, ...]
    stride: tuple[int, ...]
    order: tuple[int, ...]
    device: torch.device


@dataclass(frozen=True)
class GraphPart:
    """A program with what its caller has to know.

    Attributes:
        program: as the compiler takes it.
        weights: constants that are not part of the program.
        inputs: in order.
        outputs: in order.
        held: names of the inputs that are weights of the program instead, by their positions.
    """

    program: AtenProgram
    weights: Mapping[str, np.ndarray[Any, Any]]
    inputs: tuple[BorderTensor, ...]
    outputs: tuple[BorderTensor, ...]
    held: Mapping[int, str] = field(default_factory=dict)


def describe_part(
    nodes: Sequence[torch.fx.Node],
    inputs: Sequence[torch.fx.Node],
    constants: Mapping[torch.fx.Node, torch.Tensor],
    outputs: Sequence[torch.fx.Node],
    held: Container[torch.fx.Node] = (),
) -> GraphPart:
    """Return the program that computes `outputs` of `inputs` and `constants`.

    Args:
        nodes: of one graph, in its order; `meta["val"]` holds their results as fake tensors.
        inputs: values that are computed outside.
        constants: tensors on the CPU, by the node that reads them.
        outputs: among `nodes`; each is dense in memory, as `is_dense` tells, or becomes contiguous.
        held: inputs that become weights, where they are large enough.

    Raises:
        UnsupportedError: as `call_of` and `tensor_type`, or a tensor is a negated view.
    """
    calls: list[AtenCall] = []
    given: list[AtenInput] = []
    parameters, weights = _constants(constants)
    places: dict[int, str] = {}
    for place, node in enumerate(inputs):
        value = node.meta["val"]
        type_ = _plain_type(value, f"input '{node.name}'")
        order = _order_of(value)
        name, physical = _in_memory(node.name, type_, order)
        if node in held and value.numel() * value.element_size() > INLINE_BYTES:
            places[place] = name
            parameters.append(AtenParameter(name, name, physical))
        else:
            given.append(AtenInput(name, physical))
        calls += _permuted(name, node.name, order, type_)
    calls += [call_of(node) for node in nodes]
    names = []
    for node in outputs:
        value = node.meta["val"]
        type_, order = _plain_type(value, f"output '{node.name}'"), _order_of(value)
        name, physical = _in_memory(node.name, type_, order)
        calls += _permuted(node.name, name, _inverse(order), physical)
        names.append(name)
    program = AtenProgram(tuple(given), tuple(parameters), tuple(calls), tuple(names))
    return GraphPart(program, weights, _borders(inputs), _borders(outputs), places)


def is_dense(value: torch.Tensor) -> bool:
    """Tell whether a tensor's memory is that of a contiguous one with dimensions permuted."""
    return memory_order(value) is not None


def _order_of(value: torch.Tensor) -> tuple[int, ...]:
    """Return the order of dimensions in memory; that of a contiguous tensor where it has none."""
    order = memory_order(value)
    return tuple(range(value.dim())) if order is None else order


def _borders(nodes: Sequence[torch.fx.Node]) -> tuple[BorderTensor, ...]:
    return tuple(_border(node.meta["val"]) for node in nodes)


def _border(value: torch.Tensor) -> BorderTensor:
    stride = tuple(value.stride()) if is_dense(value) else _contiguous(value.shape)
    return BorderTensor(value.dtype, tuple(value.shape), stride, _order_of(value), value.device)


def _contiguous(shape: Sequence[int]) -> tuple[int, ...]:
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= max(size, 1)
    return tuple(reversed(strides))


def _plain_type(value: torch.Tensor, place: str) -> AtenTensor:
    if value.is_neg():
        raise UnsupportedError("dtype-unsupported", "negated views are not read", place=place)
    return tensor_type(value, place)


def _inverse(order: tuple[int, ...]) -> tuple[int, ...]:
    """Return the permutation whose inverse `order` is: that of the logical to the physical."""
    return tuple(sorted(range(len(order)), key=lambda place: order[place]))


def _in_memory(name: str, type_: AtenTensor, order: tuple[int, ...]) -> tuple[str, AtenTensor]:
    """Return the name and the type of a tensor in the order of its memory."""
    if order == tuple(range(len(order))):
        return name, type_
    return f"{name}.memory", AtenTensor(type_.dtype, tuple(type_.shape[d] for d in order))


def _permuted(source: str, name: str, order: tuple[int, ...], type_: AtenTensor) -> list[AtenCall]:
    """Return the call that makes `name`, of `type_`, of what holds its dimensions in `order`."""
    if source == name:
        return []
    arguments = {"self": {"value": source}, "dims": list(_inverse(order))}
    return [AtenCall(name, "aten.permute.default", name, arguments, (type_,))]


def _constants(
    constants: Mapping[torch.fx.Node, torch.Tensor],
) -> tuple[list[AtenParameter], dict[str, np.ndarray[Any, Any]]]:
    parameters, weights = [], {}
    for node, value in constants.items():
        type_ = tensor_type(value, f"constant '{node.name}'")
        array = array_of(value)
        if array.nbytes <= INLINE_BYTES:
            data = base64.b64encode(array.tobytes()).decode()
            parameters.append(AtenParameter(node.name, node.name, type_, data))
        else:
            weights[node.name] = array
            parameters.append(AtenParameter(node.name, node.name, type_))
    return parameters, weights
