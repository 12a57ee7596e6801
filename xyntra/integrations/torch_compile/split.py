# SPDX-License-Identifier: MIT OR Apache-2.0
"""Cuts an ATen graph into parts for Xyntra with nodes for PyTorch between them.

Every node has a level: parts and PyTorch's nodes take turns, part 0, nodes 0, part 1, nodes 1 and
so on, and whatever a node reads lies on a lower level or before it on its own. So no part can
depend on itself through a node of PyTorch.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import torch

from xyntra.integrations.torch_compile.support import is_random, is_view

__all__ = ["SplitLevel", "levels"]


@dataclass
class SplitLevel:
    """Nodes of one level, in the graph's order.

    Attributes:
        part: what Xyntra compiles; it comes first.
        rest: what PyTorch runs.
    """

    part: list[torch.fx.Node] = field(default_factory=list)
    rest: list[torch.fx.Node] = field(default_factory=list)


def levels(
    nodes: Sequence[torch.fx.Node], is_supported: Callable[[torch.fx.Node], bool]
) -> list[SplitLevel]:
    """Return the levels of a graph's nodes.

    Args:
        nodes: those that call something, in order.
        is_supported: whether Xyntra may compile a node; `getitem` goes with what it reads.
    """
    place: dict[torch.fx.Node, tuple[int, bool]] = {}
    found: list[SplitLevel] = []
    ordered = 0  # level of the last node whose order among PyTorch's counts
    for node in nodes:
        source = node.args[0] if node.target is operator.getitem else None
        if source in place:
            place[node] = place[source]
        else:
            inner = is_supported(node)
            level = _level(node, inner=inner, place=place)
            if not inner and (is_random(node) or node.is_impure()):
                level = ordered = max(level, ordered)
            place[node] = level, inner
        level, inner = place[node]
        found += [SplitLevel() for _ in range(level + 1 - len(found))]
        (found[level].part if inner else found[level].rest).append(node)
    for each in found:
        if all(is_view(node) or node.target is operator.getitem for node in each.part):
            each.rest, each.part = [*each.part, *each.rest], []
    return found


def _level(
    node: torch.fx.Node, *, inner: bool, place: dict[torch.fx.Node, tuple[int, bool]]
) -> int:
    read = [place[each] for each in node.all_input_nodes if each in place]
    return max((level + (inner and not theirs) for level, theirs in read), default=0)
