# SPDX-License-Identifier: MIT OR Apache-2.0
"""Graphs by the addresses that they hold, in memory that native code reads as well."""

from __future__ import annotations

import ctypes

from xyntra.targets.cuda.graphs.graph import LaunchGraph

__all__ = ["Addresses", "GraphSets"]

_GRAPHS = 8
_TRIED = 2 * _GRAPHS  # graphs that are made before it is asked whether they are used
_REPAID = 4  # uses of a graph that are worth making it

Addresses = tuple[int, ...]


class GraphSets:
    """A few graphs, of which the one that was not used for longest is dropped for a new one.

    The memory is an array of 64-bit words: a count of uses; then for every graph its handle or 0,
    the count when it was used last, and the addresses.

    Attributes:
        capacity: number of graphs.
        address: of the memory.

    Args:
        arguments: number of addresses of a graph.
    """

    def __init__(self, arguments: int) -> None:
        self.capacity = _GRAPHS
        self._width = arguments + 2
        self._words = (ctypes.c_uint64 * (1 + _GRAPHS * self._width))()
        self.address = ctypes.addressof(self._words)
        self._graphs: dict[Addresses, LaunchGraph] = {}
        self._places: dict[Addresses, int] = {}
        self._made = 0

    def pay_off(self) -> bool:
        """Tell whether graphs have been used often enough to make another one."""
        return self._made < _TRIED or self._words[0] >= _REPAID * self._made

    def __len__(self) -> int:
        return len(self._graphs)

    def find(self, addresses: Addresses) -> LaunchGraph | None:
        """Return the graph for some addresses, if there is one, and note the use."""
        graph = self._graphs.get(addresses)
        if graph is not None:
            self._use(self._places[addresses])
        return graph

    def add(self, addresses: Addresses, graph: LaunchGraph) -> None:
        """Keep a graph; nothing else may use this object meanwhile."""
        self._made += 1
        place = self._free_place()
        words = self._words
        words[place + 2 : place + self._width] = list(addresses)
        words[place] = graph.handle
        self._graphs[addresses], self._places[addresses] = graph, place
        self._use(place)

    def _use(self, place: int) -> None:
        words = self._words
        words[0] += 1
        words[place + 1] = words[0]

    def _free_place(self) -> int:
        if len(self._graphs) < self.capacity:
            return 1 + len(self._graphs) * self._width
        oldest = min(self._places, key=lambda each: self._words[self._places[each] + 1])
        place = self._places.pop(oldest)
        self._words[place] = 0
        del self._graphs[oldest]
        return place
