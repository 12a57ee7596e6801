# SPDX-License-Identifier: MIT OR Apache-2.0
"""The graph as it was imported, before any pass, in the nodes that the user knows."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from xyntra.plan.plan import TensorType


@dataclass(frozen=True)
class SourceNode:
    """One node of the model.

    Attributes:
        names: its name; several where the model is MLIR whose locations name several.
        op: its ONNX operator, or the MLIR operation where the model is no ONNX file.
        operations: names of the MLIR operations that it was imported as, each once.
        types: types of the tensors that others read of it.
        reads: positions of the nodes that it reads; -1 - k for input k of the model. Weights and
            constants are left out.
    """

    names: tuple[str, ...]
    op: str
    operations: tuple[str, ...]
    types: tuple[TensorType, ...]
    reads: tuple[int, ...]

    @property
    def label(self) -> str:
        """The name to show."""
        if not self.names:
            return self.op
        rest = len(self.names) - 1
        return f"{self.names[0]} and {rest} more" if rest else self.names[0]


@dataclass(frozen=True)
class SourceGraph:
    """The model's nodes in order; each reads only nodes before it.

    Attributes:
        nodes: the nodes.
        outputs: for each output of the model, what gives it, in the numbers of `reads`; None for a
            weight or a constant.
    """

    nodes: tuple[SourceNode, ...] = ()
    outputs: tuple[int | None, ...] = ()

    def to_bytes(self) -> bytes:
        """The graph as JSON."""
        content = {"nodes": [_node_json(node) for node in self.nodes], "outputs": self.outputs}
        return json.dumps(content, separators=(",", ":")).encode()

    @classmethod
    def from_bytes(cls, data: bytes | memoryview) -> SourceGraph:
        """The graph that `to_bytes` wrote; KeyError, TypeError or ValueError if it is none."""
        content = json.loads(bytes(data))
        return cls(tuple(map(_node, content["nodes"])), tuple(content["outputs"]))


def _node_json(node: SourceNode) -> list[Any]:
    types = [[type_.dtype, type_.shape] for type_ in node.types]
    return [node.names, node.op, node.operations, types, node.reads]


def _node(entry: list[Any]) -> SourceNode:
    names, op, operations, types, reads = entry
    return SourceNode(
        tuple(names),
        op,
        tuple(operations),
        tuple(TensorType(dtype, tuple(shape)) for dtype, shape in types),
        tuple(reads),
    )
