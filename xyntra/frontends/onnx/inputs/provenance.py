# SPDX-License-Identifier: MIT OR Apache-2.0
"""Finds the inputs that a value is computed from, to say which of them to bind."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence

import onnx
from torch_mlir import ir

__all__ = ["binding_hint", "binding_to", "inputs_behind"]

_MOST_NAMES = 4


def inputs_behind(value: ir.Value, block: ir.Block) -> set[int]:
    """The numbers of the arguments of `block` that `value` is computed from."""
    found: set[int] = set()
    seen: set[ir.Value] = set()
    waiting = [value]
    while waiting:
        current = waiting.pop()
        if current in seen:
            continue
        seen.add(current)
        owner = current.owner
        if not isinstance(owner, ir.Block):
            waiting += _read_by(owner.operation)
        elif owner == block:
            found.add(ir.BlockArgument(current).arg_number)
    return found


def _read_by(op: ir.Operation) -> Iterator[ir.Value]:
    yield from op.operands
    for region in op.regions:
        for inner in region.blocks:
            for view in inner.operations:
                yield from _read_by(view.operation)


def binding_hint(graph: onnx.GraphProto, names: Sequence[str]) -> str | None:
    """Return how to bind the inputs `names`; None without any, or with more than one would bind.

    Args:
        graph: the model's, in which constants that they are compared with are looked for.
        names: of inputs.
    """
    if not 0 < len(names) <= _MOST_NAMES:
        return None
    hint = binding_to(dict.fromkeys(names, "VALUE"))
    known = [str(value) for name in names for value in sorted(set(_compared(graph, name, {})))]
    return f"{hint}; the graph compares with {', '.join(known)}" if known else hint


def binding_to(values: Mapping[str, str]) -> str:
    """Return how to bind inputs to values: their texts by name."""
    flags = " ".join(f"--constant {shlex.quote(f'{name}={v}')}" for name, v in values.items())
    arguments = ", ".join(f"{name!r}: {value}" for name, value in values.items())
    return f"{flags}, or constants={{{arguments}}}"


def _compared(
    graph: onnx.GraphProto, name: str, outer: dict[str, onnx.TensorProto]
) -> Iterator[int]:
    """Integers that nodes of `graph`, and of graphs in it, compare the value `name` with."""
    known = outer | {tensor.name: tensor for tensor in graph.initializer}
    for node in graph.node:
        values = [each.t for each in node.attribute if each.name == "value"]
        if node.op_type == "Constant" and values:
            known[node.output[0]] = values[0]
        if node.op_type == "Equal" and name in node.input:
            others = [known[other] for other in node.input if other in known]
            yield from (_integer(tensor) for tensor in others if _is_integer(tensor))
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from _compared(attribute.g, name, known)


def _is_integer(tensor: onnx.TensorProto) -> bool:
    kinds = (onnx.TensorProto.INT32, onnx.TensorProto.INT64)
    stored = tensor.data_location != onnx.TensorProto.EXTERNAL
    return tensor.data_type in kinds and list(tensor.dims) in ([], [1]) and stored


def _integer(tensor: onnx.TensorProto) -> int:
    return int(onnx.numpy_helper.to_array(tensor).item())
