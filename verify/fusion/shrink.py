# SPDX-License-Identifier: MIT OR Apache-2.0
"""Makes a graph that shows a defect as small as it can, and writes it down."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from verify.fusion.graphs import LEAVES, Graph, Node, build, evaluate
from verify.fusion.values import Known
from xyntra.dialects.dtypes import is_float
from xyntra.dialects.mlir import ir

__all__ = ["shrink", "write_reproducer"]

_LIMIT = 400
"""Graphs tried at most."""


def shrink(graph: Graph, fails: Callable[[Graph], bool]) -> Graph:
    """The smallest graph found that still `fails`, one change after the other.

    The changes: one output less, a node replaced by an input that holds what it computed, a node
    replaced by one of its operands, and what nothing reads removed.
    """
    tried = 0
    progress = True
    while progress and tried < _LIMIT:
        progress = False
        for smaller in _smaller(graph):
            tried += 1
            if tried > _LIMIT:
                break
            if fails(smaller):
                graph, progress = smaller, True
                break
    return graph


def _smaller(graph: Graph) -> Iterator[Graph]:
    if len(graph.outputs) > 1:
        for position in range(len(graph.outputs)):
            kept = (*graph.outputs[:position], *graph.outputs[position + 1 :])
            yield _pruned(replace(graph, outputs=kept))
    known = evaluate(graph)
    for index in reversed(range(len(graph.nodes))):
        node = graph.nodes[index]
        if node.op in LEAVES:
            continue
        yield _pruned(_with(graph, index, Node("input", data=_array(known[index]))))
        if index in graph.outputs:
            for operand in node.operands:
                moved = tuple(operand if i == index else i for i in graph.outputs)
                yield _pruned(replace(graph, outputs=moved))


def _array(known: Known) -> np.ndarray[Any, Any]:
    with np.errstate(all="ignore"):
        return known.value.astype(np.dtype(known.dtype)) if is_float(known.dtype) else known.value


def _with(graph: Graph, index: int, node: Node) -> Graph:
    return replace(graph, nodes=(*graph.nodes[:index], node, *graph.nodes[index + 1 :]))


def _pruned(graph: Graph) -> Graph:
    """Without the nodes that no output depends on."""
    needed = set(graph.outputs)
    for index in reversed(range(len(graph.nodes))):
        if index in needed:
            needed.update(graph.nodes[index].operands)
    places = {old: new for new, old in enumerate(sorted(needed))}
    nodes = tuple(
        replace(graph.nodes[old], operands=tuple(places[i] for i in graph.nodes[old].operands))
        for old in places
    )
    return Graph(nodes, tuple(places[i] for i in graph.outputs))


def write_reproducer(
    folder: Path, name: str, graph: Graph, message: str, context: ir.Context
) -> Sequence[Path]:
    """Write NAME.mlir (level 1), NAME.npz (inputs and weights) and NAME.json (what is wrong)."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{name}{suffix}" for suffix in (".mlir", ".npz", ".json")]
    with context, ir.Location.unknown():
        paths[0].write_text(str(build(graph, context)), encoding="utf-8")
    arrays = graph.leaves("input") | graph.leaves("parameter")
    # numpy's files have no bfloat16: its bits are stored.
    np.savez(paths[1], **{k: _storable(v) for k, v in arrays.items()})
    paths[2].write_text(
        json.dumps(
            {
                "message": message,
                "nodes": [_described(node) for node in graph.nodes],
                "outputs": graph.outputs,
            },
            indent=1,
            default=str,
        ),
        encoding="utf-8",
    )
    return paths


def _storable(array: np.ndarray[Any, Any]) -> Any:
    return array.view(np.uint16) if array.dtype.name == "bfloat16" else array


def _described(node: Node) -> dict[str, Any]:
    data = {} if node.data is None else {"dtype": node.data.dtype.name, "shape": node.data.shape}
    return {"op": node.op, "operands": node.operands, **(node.attributes or {}), **data}
