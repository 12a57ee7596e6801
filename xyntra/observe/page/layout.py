# SPDX-License-Identifier: MIT OR Apache-2.0
"""Places the nodes of an acyclic graph in rows, readers below what they read.

The method of Sugiyama, Tagawa and Toda (Methods for Visual Understanding of Hierarchical System
Structures, 1981): rows by longest path, an order in each row by barycentres, then coordinates. An
edge that skips rows runs through a lane of its source; all of a source's long edges share one lane,
so that a tensor that is read everywhere stays one line. Time grows with nodes and edges.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xyntra.observe.page.coordinates import assign_x

_SWEEPS = 4
_LANE_WIDTH = 14.0
_LANES_PER_ITEM = 4
"""Points of lanes for each node and edge; longer edges go straight."""


@dataclass(frozen=True)
class GraphLayout:
    """The places of the nodes.

    Attributes:
        x: centre of each node.
        rows: row of each node.
        lanes: for a source of edges that skip rows, the x of its lane in the rows below it.
        width: of the whole.
        height: rows.
    """

    x: tuple[float, ...]
    rows: tuple[int, ...]
    lanes: dict[int, tuple[float, ...]]
    width: float
    height: int


@dataclass
class _Rows:
    """Items are the nodes, then the points of lanes."""

    order: list[list[int]]
    above: list[list[int]]
    below: list[list[int]]
    lanes: dict[int, list[int]] = field(default_factory=dict)


def place_nodes(
    reads: Sequence[Sequence[int]], width: float, gap: float, last: Sequence[int] = ()
) -> GraphLayout:
    """Place nodes of one width.

    Args:
        reads: for each node, the nodes before it that it reads.
        width: of a node.
        gap: between two nodes of a row.
        last: nodes to be placed below all others, such as the outputs.
    """
    rows = _ranks(reads, last)
    grid = _rows(reads, rows)
    for sweep in range(_SWEEPS):
        _sort_rows(grid, downwards=sweep % 2 == 0)
    sizes = [width + gap] * len(reads) + [_LANE_WIDTH] * (len(grid.above) - len(reads))
    x = assign_x(grid.order, grid.above, grid.below, sizes, len(reads))
    left = min((x[i] - sizes[i] / 2 for i in range(len(x))), default=0.0)
    right = max((x[i] + sizes[i] / 2 for i in range(len(x))), default=0.0)
    return GraphLayout(
        tuple(round(value - left, 1) for value in x[: len(reads)]),
        tuple(rows),
        {node: tuple(round(x[i] - left, 1) for i in lane) for node, lane in grid.lanes.items()},
        round(right - left, 1),
        max(rows, default=-1) + 1,
    )


def _ranks(reads: Sequence[Sequence[int]], last: Sequence[int]) -> list[int]:
    rows: list[int] = []
    for sources in reads:
        rows.append(max((rows[source] + 1 for source in sources), default=0))
    bottom = max(rows, default=0)
    for node in last:
        rows[node] = bottom
    # What reads nothing stands right above its first reader, not in the first row.
    first_reader: dict[int, int] = {}
    for node, sources in enumerate(reads):
        for source in sources:
            first_reader[source] = min(first_reader.get(source, rows[node]), rows[node])
    for node, sources in enumerate(reads):
        if not sources and node in first_reader:
            rows[node] = first_reader[node] - 1
    return rows


def _rows(reads: Sequence[Sequence[int]], rows: Sequence[int]) -> _Rows:
    count = len(reads)
    grid = _Rows([[] for _ in range(max(rows, default=-1) + 1)], [], [])
    for node, row in enumerate(rows):
        grid.order[row].append(node)
    grid.above = [[] for _ in range(count)]
    grid.below = [[] for _ in range(count)]
    _add_lanes(grid, reads, rows)
    for node, sources in enumerate(reads):
        for source in sources:
            lane = grid.lanes.get(source)
            if rows[node] == rows[source] + 1:
                _join(grid, source, node)
            elif lane is not None:
                _join(grid, lane[rows[node] - rows[source] - 2], node)
    return grid


def _add_lanes(grid: _Rows, reads: Sequence[Sequence[int]], rows: Sequence[int]) -> None:
    spans: dict[int, int] = {}
    for node, sources in enumerate(reads):
        for source in sources:
            spans[source] = max(spans.get(source, 0), rows[node] - rows[source] - 1)
    budget = _LANES_PER_ITEM * (len(reads) + sum(map(len, reads))) + 1000
    for source, span in sorted(spans.items(), key=lambda entry: (entry[1], entry[0])):
        if span <= 0 or span > budget:
            continue
        budget -= span
        previous = source
        for row in range(rows[source] + 1, rows[source] + 1 + span):
            point = len(grid.above)
            grid.above.append([])
            grid.below.append([])
            grid.order[row].append(point)
            grid.lanes.setdefault(source, []).append(point)
            _join(grid, previous, point)
            previous = point


def _join(grid: _Rows, upper: int, lower: int) -> None:
    grid.below[upper].append(lower)
    grid.above[lower].append(upper)


def _sort_rows(grid: _Rows, downwards: bool) -> None:
    """Sort each row by the mean position of what its items are joined with in the row before."""
    neighbours = grid.above if downwards else grid.below
    position = [0.0] * len(grid.above)
    for row in grid.order if downwards else reversed(grid.order):
        weight = {}
        for index, item in enumerate(row):
            near = [position[other] for other in neighbours[item]]
            # What is joined with nothing keeps its place among the others.
            weight[item] = sum(near) / len(near) if near else (index + 0.5) / len(row)
        row.sort(key=lambda item: weight[item])
        for index, item in enumerate(row):
            position[item] = (index + 0.5) / len(row)
