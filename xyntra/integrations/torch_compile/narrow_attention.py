# SPDX-License-Identifier: MIT OR Apache-2.0
"""Gives the backward of attention in 16 bits products of 16 bits, which matrix units compute.

PyTorch writes attention of 16 bits out in f32: queries, keys, values and the gradient of the result
are widened first. The backward's products of these with probabilities and their gradients would be
products of f32. Kernels that are written for attention round probabilities and their gradients to
16 bits there; so does what is inserted here, and results are summed in f32 as before.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import torch

from xyntra.integrations.torch_compile.support import is_operator

__all__ = ["STEPS", "narrow_products"]

Node: TypeAlias = torch.fx.Node
STEPS = frozenset(
    """
    _to_copy clone expand mul permute reshape slice squeeze transpose unsqueeze view
    """.split()
)
"""What is done with queries, keys and values on their way into a product."""
_NARROW = (torch.float16, torch.bfloat16)
_PRODUCT = ("bmm",)


def narrow_products(graph: torch.fx.Graph, scores: Sequence[Node]) -> None:
    """Round what meets a widened tensor in a product of attention's backward.

    Args:
        graph: of the forward and the backward; it is changed.
        scores: the nodes between attention's two products, and the first of these.
    """
    inside = set(scores)
    own = {each for node in scores for each in (node, *node.users) if is_operator(each, _PRODUCT)}
    widened = {_source(each) for node in own for each in node.all_input_nodes}
    widened = {node for node in widened if _widens(node)}
    rounded: dict[Node, torch.dtype] = {}
    for node in graph.nodes:
        if not is_operator(node, _PRODUCT) or node in own:
            continue
        sources = [_source(each) for each in node.args[:2]]
        for one, other in (sources, sources[::-1]):
            is_known = other in widened or (one in inside and _widens(other))
            if is_known and not _widens(one) and one.op == "call_function":
                rounded[one] = other.args[0].meta["val"].dtype
    for node, dtype in rounded.items():
        _round(graph, node, dtype)


def _source(node: Node) -> Node:
    """Return what steps lead from to `node`: a conversion from 16 bits where there is one."""
    while _is_step(node) and not _widens(node):
        node = node.all_input_nodes[0]
    return node


def _is_step(node: Node) -> bool:
    return is_operator(node, STEPS) and len(node.all_input_nodes) == 1


def _widens(node: Node) -> bool:
    if not is_operator(node, ("_to_copy",)):
        return False
    return node.meta["val"].dtype == torch.float32 and node.args[0].meta["val"].dtype in _NARROW


def _round(graph: torch.fx.Graph, node: Node, dtype: torch.dtype) -> None:
    """Let the steps that follow `node`, and products, read its elements rounded to `dtype`."""
    readers = [each for each in node.users if _is_step(each) or is_operator(each, _PRODUCT)]
    to_copy = torch.ops.aten._to_copy.default
    value, wide = node.meta["val"], node
    for kind in (dtype, torch.float32):
        with graph.inserting_after(wide):
            wide = graph.call_function(to_copy, (wide,), {"dtype": kind})
        wide.meta["val"] = value.to(kind)
    for each in readers:
        each.replace_input_with(node, wide)
