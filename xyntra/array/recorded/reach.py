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
        roots: the nodes that need it.
        places: every node, with a number of its own.
        leaves: the nodes that have their values.
        numbers: the nodes that are numbers of Python.
        held: the nodes without a value that arrays of the user stand for.
        key: operations, types and structure, without the numbers.
    """

    __slots__ = ("held", "key", "leaves", "numbers", "places", "roots")

    def __init__(
        self,
        roots: Sequence[LazyNode],
        places: dict[LazyNode, int],
        leaves: list[LazyNode],
        numbers: list[LazyNode],
        held: list[LazyNode],
        key: list[Any],
    ) -> None:
        self.roots = roots
        self.places = places
        self.leaves = leaves
        self.numbers = numbers
        self.held = held
        self.key = key

    def ordered(self) -> list[LazyNode]:
        """Return every node after those that it reads."""
        order: dict[LazyNode, None] = {}
        stack = list(reversed(self.roots))
        while stack:
            node = stack.pop()
            if node in order:
                continue
            waiting = () if node.value is not None else [e for e in node.args if e not in order]
            if waiting:
                stack.append(node)
                stack += reversed(waiting)
            else:
                order[node] = None
        return list(order)


def graph_of(roots: Sequence[LazyNode]) -> Graph:
    """Return what nodes need, numbered by the structure alone.

    A node is met once: its number is given where it is first read, and the key names what it reads
    by numbers. An order to compute them in is not needed where the graph was compiled before.
    """
    nodes = list(dict.fromkeys(roots))
    places = {node: place for place, node in enumerate(nodes)}
    roots = list(nodes)
    leaves: list[LazyNode] = []
    numbers: list[LazyNode] = []
    held: list[LazyNode] = []
    key: list[Any] = []
    count = len(nodes)
    known = places.get
    for node in nodes:  # which grows
        if node.value is not None:
            leaves.append(node)
            key.append(node.meta)
            continue
        op = node.op
        if op is NUMBER:
            numbers.append(node)
            key += (NUMBER, node.meta)
            continue
        key += (op, node.meta, node.attrs)
        for each in node.args:
            place = known(each)
            if place is None:
                place = places[each] = count
                count += 1
                nodes.append(each)
            key.append(place)
        handle = node.handle
        if handle is not None:
            array = handle()
            if array is not None and array._node is node:
                held.append(node)
    return Graph(roots, places, leaves, numbers, held, key)


def shallow_first(graph: Graph, roots: Sequence[LazyNode]) -> list[LazyNode]:
    """Return the nodes of a graph in an order that lets go of what is on the way sooner.

    Of what a node reads, and of the roots, that with the shortest way from leaves comes first.
    Where a network is trained, the gradients of a layer's parameters come when its activations are
    read for the gradient that goes on, and not after that has gone through all layers.
    """
    depth: dict[LazyNode, int] = {}
    known = graph.places
    for node in graph.ordered():
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
