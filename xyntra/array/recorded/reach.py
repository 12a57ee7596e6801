# SPDX-License-Identifier: MIT OR Apache-2.0
"""Finds the part of the recorded graph that some nodes need, and the key of its structure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xyntra.array.recorded.graph import NUMBER, LazyNode

__all__ = ["Graph", "graph_of", "shallow_first"]


class Graph:
    """The part of the recorded graph that some nodes need.

    Attributes:
        order: every node, after those that it reads.
        places: the position of each node in the order.
        leaves: the nodes that have their values.
        numbers: the nodes that are numbers of Python.
        key: operations, types and structure, without the numbers.
    """

    __slots__ = ("key", "leaves", "numbers", "order", "places")

    def __init__(
        self,
        order: list[LazyNode],
        places: dict[LazyNode, int],
        leaves: list[LazyNode],
        numbers: list[LazyNode],
        key: list[Any],
    ) -> None:
        self.order = order
        self.places = places
        self.leaves = leaves
        self.numbers = numbers
        self.key = key


def graph_of(roots: Sequence[LazyNode]) -> Graph:
    """Return what nodes need, in an order that depends on the structure alone."""
    places: dict[LazyNode, int] = {}
    order: list[LazyNode] = []
    leaves: list[LazyNode] = []
    numbers: list[LazyNode] = []
    key: list[Any] = []
    find = places.get
    stack = list(reversed(roots))
    while stack:
        node = stack.pop()
        if node in places:
            continue
        if node.value is not None:
            leaves.append(node)
            key.append(node.meta)
        elif node.op is NUMBER:
            numbers.append(node)
            key += (NUMBER, node.meta)
        else:
            read = [find(each) for each in node.args]
            if None in read:
                stack.append(node)
                stack += [each for each in reversed(node.args) if each not in places]
                continue
            key += (node.op, node.meta, node.attrs)
            key += read
        places[node] = len(order)
        order.append(node)
    return Graph(order, places, leaves, numbers, key)


def shallow_first(graph: Graph, roots: Sequence[LazyNode]) -> list[LazyNode]:
    """Return the nodes of a graph in an order that lets go of what is on the way sooner.

    Of what a node reads, and of the roots, that with the shortest way from leaves comes first.
    Where a network is trained, the gradients of a layer's parameters come when its activations are
    read for the gradient that goes on, and not after that has gone through all layers.
    """
    depth: dict[LazyNode, int] = {}
    known = graph.places
    for node in graph.order:
        reads = () if node.value is not None else node.args
        depth[node] = 1 + max((depth[each] for each in reads if each in known), default=0)
    order: dict[LazyNode, None] = {}
    stack = sorted(roots, key=depth.__getitem__, reverse=True)
    while stack:
        node = stack[-1]
        waiting = [] if node.value is not None else [e for e in node.args if e not in order]
        if node in order or not waiting:
            order[stack.pop()] = None
        else:
            stack += sorted(waiting, key=depth.__getitem__, reverse=True)
    return list(order)
