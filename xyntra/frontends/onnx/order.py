# SPDX-License-Identifier: MIT OR Apache-2.0
"""Topological order of a graph's nodes, and the graph errors that it brings to light."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence

import onnx

from xyntra.errors import ModelError


def node_label(node: onnx.NodeProto) -> str:
    """Return what messages and locations call a node."""
    if node.name:
        return str(node.name)
    first = next((name for name in node.output if name), "")
    return f"{node.op_type}:{first}" if first else str(node.op_type)


def sort_nodes(nodes: Sequence[onnx.NodeProto]) -> list[onnx.NodeProto]:
    """`nodes` so that each comes after the nodes it reads from, keeping the given order if it can.

    The specification demands sorted graphs; exporters do not always deliver them.

    Raises:
        ModelError: `duplicate-name` or `graph-cycle`.
    """
    producers = _producers(nodes)
    waiting = [
        {producers[name] for name in names_read(node) if name in producers} for node in nodes
    ]
    if all(all(source < index for source in sources) for index, sources in enumerate(waiting)):
        return list(nodes)
    readers: dict[int, list[int]] = {}
    for index, sources in enumerate(waiting):
        for source in sources:
            readers.setdefault(source, []).append(index)
    ready = deque(index for index, sources in enumerate(waiting) if not sources)
    order = []
    while ready:
        index = ready.popleft()
        order.append(index)
        for reader in readers.get(index, []):
            waiting[reader].discard(index)
            if not waiting[reader]:
                ready.append(reader)
    if len(order) < len(nodes):
        stuck = [node_label(nodes[index]) for index, sources in enumerate(waiting) if sources]
        raise ModelError(
            "graph-cycle",
            "the graph has a cycle: these nodes wait for each other",
            place=", ".join(f"node '{label}'" for label in stuck[:8]),
        )
    return [nodes[index] for index in order]


def _producers(nodes: Sequence[onnx.NodeProto]) -> dict[str, int]:
    producers: dict[str, int] = {}
    for index, node in enumerate(nodes):
        for name in filter(None, node.output):
            if name in producers:
                raise ModelError(
                    "duplicate-name",
                    f"value '{name}' is defined by two nodes",
                    place=f"node '{node_label(node)}'",
                )
            producers[name] = index
    return producers


def names_read(node: onnx.NodeProto) -> Iterable[str]:
    """Names a node reads, including those that its subgraphs take from outside."""
    yield from filter(None, node.input)
    for attribute in node.attribute:
        if attribute.HasField("g"):
            for inner in attribute.g.node:
                yield from names_read(inner)
            yield from (value.name for value in attribute.g.output)
