# SPDX-License-Identifier: MIT OR Apache-2.0
"""The operators of an ONNX model's nodes, by the names that locations carry."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import onnx
from google.protobuf.message import DecodeError

from xyntra.frontends.onnx.order import node_label


def onnx_op_types(skeleton: bytes) -> dict[str, str]:
    """Operator by node name, functions and subgraphs included; the first where a name repeats.

    A skeleton that does not parse has none: importing it says what is wrong.
    """
    model = onnx.ModelProto()
    try:
        model.ParseFromString(skeleton)
    except DecodeError:
        return {}
    types: dict[str, str] = {}
    for nodes in (model.graph.node, *(function.node for function in model.functions)):
        for node in _all_nodes(nodes):
            types.setdefault(node_label(node), str(node.op_type))
    return types


def _all_nodes(nodes: Iterable[onnx.NodeProto]) -> Iterator[onnx.NodeProto]:
    waiting = list(nodes)[::-1]
    while waiting:
        node = waiting.pop()
        yield node
        for attribute in node.attribute:
            for graph in (attribute.g, *attribute.graphs):
                waiting.extend(graph.node)
