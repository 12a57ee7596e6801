# SPDX-License-Identifier: MIT OR Apache-2.0
"""`form-kernels`: puts every operation that is not yet in a region into one of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from xyntra.dialects.mlir import ir
from xyntra.errors import UnsupportedError
from xyntra.passes.analysis.functions import function_blocks
from xyntra.passes.analysis.views import TENSOR_VIEWS
from xyntra.passes.fusion.graph.classify import classify
from xyntra.passes.fusion.graph.fusion_graph import FusionGraph
from xyntra.passes.fusion.graph.nodes import PASSIVE
from xyntra.passes.fusion.regions.inlined_views import inline_views_of_block
from xyntra.passes.fusion.regions.materialize import Region, build_regions
from xyntra.passes.registry import register_pass

_OUTSIDE = frozenset({"xyntra.fused", "func.call", "arith.constant", "tensor.empty"})
_NEEDLESS = _OUTSIDE | TENSOR_VIEWS | {"func.return"}


@register_pass
@dataclass(frozen=True)
class FormKernels:
    """Wrap each remaining operation in a xyntra.fused of its kind.

    The insertions that a concatenation consists of stay together. Views, constants and what fills
    an accumulator are cloned into the regions that use them, those that are there already
    included. A part of a tensor that a call takes, or that is returned, is copied.
    """

    name: ClassVar[str] = "form-kernels"

    def run(self, module: ir.Operation) -> None:
        """Rewrite every function of `module`."""
        for block in function_blocks(module):
            inline_views_of_block(block)
            if all(view.operation.name in _NEEDLESS for view in block.operations):
                continue
            graph = FusionGraph.of(block)
            chains = _chains(graph)
            if chains:
                build_regions(graph, [_region(graph, chain) for chain in chains])


def _chains(graph: FusionGraph) -> list[list[int]]:
    """Operations that have no region, those together that fill one tensor step by step."""
    chain_of: dict[int, list[int]] = {}
    chains = []
    for index, node in enumerate(graph.nodes[:-1]):
        if node.role in PASSIVE or node.op.name in _OUTSIDE:
            continue
        _check_results(node.op)
        chain = _filled_before(graph, index, chain_of)
        if chain is None:
            chain = []
            chains.append(chain)
        chain.append(index)
        chain_of[index] = chain
    return chains


def _filled_before(
    graph: FusionGraph, index: int, chain_of: dict[int, list[int]]
) -> list[int] | None:
    node = graph.nodes[index]
    for read in node.reads:
        if read.initial and read.producer in chain_of and graph.readers[read.origin] == 1:
            first = graph.nodes[read.producer]
            if first.op.name == node.op.name == "tensor.insert_slice":
                return chain_of[read.producer]
    return None


def _region(graph: FusionGraph, chain: Sequence[int]) -> Region:
    return Region(tuple(chain), classify(graph.nodes[chain[-1]].op))


def _check_results(op: ir.Operation) -> None:
    for result in op.results:
        if not isinstance(result.type, ir.RankedTensorType) or not result.type.has_static_shape:
            raise UnsupportedError(
                "kernel-type",
                f"'{op.name}' gives {result.type}: a kernel gives tensors of static shape",
                place=str(op.location),
            )
