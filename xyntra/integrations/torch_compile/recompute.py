# SPDX-License-Identifier: MIT OR Apache-2.0
"""Cuts graphs of training into forward and backward so that attention is whole in the forward.

PyTorch's min-cut partitioner never computes a product again, so the probabilities of attention are
stored, and the forward has to write all of them. Here what lies between the two products of
attention, the first of them included, is computed again by the backward instead: the forward is
one kernel that holds no scores, and keeps the queries, keys and values alone (Dao et al.,
"FlashAttention", 2022).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, TypeAlias

import torch
from torch._functorch.partitioners import min_cut_rematerialization_partition
from torch.utils.checkpoint import CheckpointPolicy

from xyntra.integrations.torch_compile.narrow_attention import STEPS, narrow_products
from xyntra.integrations.torch_compile.support import is_operator, is_random

__all__ = ["attention_scores", "has_matrix_units", "partition"]

Node: TypeAlias = torch.fx.Node
_PRODUCTS = frozenset({"bmm", "mm"})
_SOFTMAX = frozenset({"_softmax", "_safe_softmax"})
_BETWEEN = frozenset(
    """
    _safe_softmax _softmax _to_copy add alias any clone detach div eq expand full_like logical_and
    logical_not masked_fill mul reshape squeeze sub tanh unsqueeze view where
    """.split()
)
"""What may be done with scores and probabilities: it is computed again element by element."""


def partition(
    joint: torch.fx.GraphModule, inputs: Sequence[Any], **arguments: Any
) -> tuple[torch.fx.GraphModule, torch.fx.GraphModule]:
    """Return the forward and the backward of a joint graph.

    Args:
        joint: the graph of both.
        inputs: of it.
        arguments: of PyTorch's partitioner, `num_fwd_outputs` among them.
    """
    outputs = arguments["num_fwd_outputs"]
    again = attention_scores(joint.graph, outputs)
    if any(has_matrix_units(node.meta["val"].device) for node in again):
        narrow_products(joint.graph, again)
        again = attention_scores(joint.graph, outputs)
    for node in [*again, *_before(again), *_of_nothing(joint.graph)]:
        node.meta.setdefault("recompute", CheckpointPolicy.MUST_RECOMPUTE)  # users may have chosen
    cut: Any = min_cut_rematerialization_partition
    forward, backward = cut(joint, inputs, **arguments)
    return forward, backward


def has_matrix_units(device: torch.device) -> bool:
    """Tell whether products of 16 bits are faster on a device than those of f32."""
    return bool(device.type == "cuda")


def attention_scores(graph: torch.fx.Graph, outputs: int) -> list[Node]:
    """Return the nodes that compute the scores and probabilities of attention in the forward.

    Args:
        graph: of the forward and the backward.
        outputs: how many results, the first ones, are the forward's.
    """
    (end,) = (node for node in graph.nodes if node.op == "output")
    results = [each for each in end.args[0][:outputs] if isinstance(each, torch.fx.Node)]
    forward = _ancestors(results)
    found: list[Node] = []
    for node in graph.nodes:
        if node in forward and is_operator(node, _SOFTMAX):
            found += _between_products(node, forward, frozenset(results))
    return list(dict.fromkeys(found))


def _between_products(
    softmax: Node, forward: Collection[Node], results: Collection[Node]
) -> list[Node]:
    """Return the product that makes a softmax's scores and what follows up to the second one.

    There are none where something else reads it in the forward, such as dropout, whose mask would
    have to be drawn again.
    """
    first = _product_before(softmax)
    if first is None:
        return []
    found, seconds, waiting = {first: None}, set(), [first]
    while waiting:
        node = waiting.pop()
        if node in results:
            return []
        for user in node.users:
            if user not in forward or user in found:
                continue
            if is_operator(user, _PRODUCTS) and user.args[0] is node:
                seconds.add(user)
            elif is_operator(user, _BETWEEN):
                found[user] = None
                waiting.append(user)
            else:
                return []
    return list(found) if len(seconds) == 1 and softmax in found else []


def _product_before(softmax: Node) -> Node | None:
    """Return the product that scores come from, through what is done with each of them."""
    waiting, seen = [softmax.args[0]], set()
    while waiting:
        node = waiting.pop()
        if not isinstance(node, torch.fx.Node) or node in seen:
            continue
        seen.add(node)
        if is_operator(node, _PRODUCTS):
            return node
        if is_operator(node, _BETWEEN) and _count(node) == _count(softmax):
            waiting += node.all_input_nodes
    return None


def _before(scores: Sequence[Node]) -> list[Node]:
    """Return what scales, widens or moves queries, keys and values before their products.

    Without it the partitioner would store the results of these steps beside what they read.
    """
    inside = set(scores)
    products = [node for node in scores if is_operator(node, _PRODUCTS)]
    products += [u for n in scores for u in n.users if is_operator(u, _PRODUCTS)]
    waiting = [read for node in products for read in node.all_input_nodes]
    found: dict[Node, None] = {}
    while waiting:
        node = waiting.pop()
        is_step = is_operator(node, STEPS) and len(node.all_input_nodes) == 1
        if is_step and node not in inside and node not in found:
            found[node] = None
            waiting += node.all_input_nodes
    return list(found)


def _of_nothing(graph: torch.fx.Graph) -> list[Node]:
    """Return what reads no input, such as a mask made of positions: it is known when compiling."""
    found: dict[Node, None] = {}
    for node in graph.nodes:
        is_plain = isinstance(node.target, torch._ops.OpOverload) and not node.is_impure()
        is_known = is_plain and all(each in found for each in node.all_input_nodes)
        if is_known and not is_random(node):
            found[node] = None
    return list(found)


def _ancestors(nodes: Sequence[Node]) -> set[Node]:
    found: set[Node] = set()
    waiting = list(nodes)
    while waiting:
        node = waiting.pop()
        if node not in found:
            found.add(node)
            waiting += node.all_input_nodes
    return found


def _count(node: Node) -> int:
    value = node.meta.get("val")
    return value.numel() if isinstance(value, torch.Tensor) else -1
