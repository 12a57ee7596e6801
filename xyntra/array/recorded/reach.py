# SPDX-License-Identifier: MIT OR Apache-2.0
"""Finds the part of the recorded graph that some nodes need, and the key of its structure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xyntra.array.recorded.graph import NUMBER, LazyNode

__all__ = ["Graph", "graph_of"]


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
