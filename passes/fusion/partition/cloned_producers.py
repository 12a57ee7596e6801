# SPDX-License-Identifier: MIT OR Apache-2.0
"""Finds tensors that are cheaper to compute where they are read than to store.

A mask that is spread over a larger tensor needs few inputs and little arithmetic: every attention
or product that reads it computes it again, and it never goes through memory.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod

from xyntra.passes.fusion.graph.access import UNALIGNED
from xyntra.passes.fusion.graph.fusion_graph import FusionGraph
from xyntra.passes.fusion.graph.nodes import ANCHORS, FusionNode, KernelRole, TensorRead
from xyntra.passes.fusion.reductions.inline_into_scores import COMPUTED_IN_TILES

__all__ = ["recompute_cheap"]

_MAX_COST = 4  # instructions for one element
_MIN_GROWTH = 2  # times the size of what it is computed from

Uses = list[tuple[FusionNode, TensorRead]]


def recompute_cheap(graph: FusionGraph) -> None:
    """Let readers of cheap, growing tensors have clones of the operation that computes them."""
    read_by_anchors = {
        read.producer for node in graph.nodes if node.role in ANCHORS for read in node.reads
    }
    cheap = [i for i in read_by_anchors if i is not None and _is_cheap(graph, graph.nodes[i])]
    uses: dict[int, Uses] = {index: [] for index in sorted(cheap)}
    for node in graph.nodes if uses else ():
        for read in node.reads:
            if read.producer in uses:
                uses[read.producer].append((node, read))
    for index, found in uses.items():
        if _may_clone(found):
            _clone_for_readers(graph, index, found)


def _is_cheap(graph: FusionGraph, node: FusionNode) -> bool:
    if node.role is not KernelRole.LOOP or len(node.results) != 1:
        return False
    if COMPUTED_IN_TILES in node.op.attributes:
        return True
    if node.static:
        return False
    elements = max(prod(node.shape), 1)
    if node.scalar_ops > _MAX_COST * elements or not node.reads:
        return False
    if any(read.holder is not node.op or read.initial for read in node.reads):
        return False
    read_bytes = sum(graph.nbytes[tensor] for tensor in {read.tensor for read in node.reads})
    return graph.nbytes[node.results[0]] >= _MIN_GROWTH * max(read_bytes, 1)


def _may_clone(uses: Uses) -> bool:
    """Whether all readers are built around a tile, for which they can compute what they need."""
    return all(node.role in ANCHORS and read.holder is node.op for node, read in uses)


def _clone_for_readers(graph: FusionGraph, index: int, uses: Uses) -> None:
    cloned = graph.nodes[index]
    for origin, _ in {(read.origin, read.tensor) for read in cloned.reads}:
        graph.readers[origin] -= 1
    for node, use in uses:
        node.reads.remove(use)
        node.scalar_ops += cloned.scalar_ops
        for read in cloned.reads:
            _add_read(graph, node, use, read, (*read.views, index, *use.views))
        tensors = {*node.results, *[read.tensor for read in node.reads]}
        node.nbytes = sum([graph.nbytes[tensor] for tensor in tensors])
    cloned.role = KernelRole.VIEW
    graph.passive[cloned.op.results[0]] = index


def _add_read(
    graph: FusionGraph, node: FusionNode, use: TensorRead, read: TensorRead, views: tuple[int, ...]
) -> None:
    if all(known.tensor != read.tensor for known in node.reads):
        graph.readers[read.origin] += 1
    node.reads.append(
        replace(
            read,
            access=UNALIGNED,
            holder=use.holder,
            position=use.position,
            views=views,
            initial=False,
        )
    )
