# SPDX-License-Identifier: MIT OR Apache-2.0
"""Places keep readers below what they read, never overlap, and take linear time."""

from __future__ import annotations

import random
import time
from itertools import pairwise

import pytest

from xyntra.observe.page.layout import GraphLayout, place_nodes

WIDTH, GAP = 100.0, 20.0


def random_reads(count: int, seed: int) -> list[list[int]]:
    """A graph with short edges, some long ones, and a node that is read everywhere."""
    generator = random.Random(seed)
    reads: list[list[int]] = [[]]
    for node in range(1, count):
        found = {generator.randrange(max(0, node - 5), node)}
        if generator.random() < 0.3:
            found.add(generator.randrange(max(0, node - 40), node))
        if node % 20 == 0:
            found.add(0)
        reads.append(sorted(found) if generator.random() < 0.97 else [])
    return reads


def check(layout: GraphLayout, reads: list[list[int]]) -> None:
    assert all(
        layout.rows[source] < layout.rows[node]
        for node, sources in enumerate(reads)
        for source in sources
    )
    for row in set(layout.rows):
        centres = sorted(x for x, own in zip(layout.x, layout.rows, strict=True) if own == row)
        gaps = [b - a for a, b in pairwise(centres)]
        assert all(gap >= WIDTH + GAP - 0.2 for gap in gaps)
        assert all(0 <= x <= layout.width for x in centres)
    assert layout.height == max(layout.rows, default=-1) + 1


@pytest.mark.parametrize("seed", range(6))
def test_random_graphs(seed: int) -> None:
    reads = random_reads(150, seed)
    layout = place_nodes(reads, WIDTH, GAP)
    check(layout, reads)
    assert place_nodes(reads, WIDTH, GAP) == layout


def test_a_chain_is_straight() -> None:
    reads = [[], *([i] for i in range(50))]
    layout = place_nodes(reads, WIDTH, GAP)
    check(layout, reads)
    assert layout.rows == tuple(range(51))
    assert max(layout.x) - min(layout.x) < 1


def test_a_long_edge_has_one_lane_that_avoids_nodes() -> None:
    # 0 -> 1 -> 2 -> 3 -> 4, and 0 is also read by 3 and 4.
    reads = [[], [0], [1], [2, 0], [3, 0]]
    layout = place_nodes(reads, WIDTH, GAP)
    check(layout, reads)
    assert set(layout.lanes) == {0}
    assert len(layout.lanes[0]) == 3
    for step, x in enumerate(layout.lanes[0]):
        node = step + 1
        assert abs(layout.x[node] - x) >= WIDTH / 2


def test_what_reads_nothing_stands_above_its_reader() -> None:
    reads = [[], [0], [1], [], [2, 3]]
    assert place_nodes(reads, WIDTH, GAP).rows == (0, 1, 2, 2, 3)


def test_outputs_are_last() -> None:
    reads = [[], [0], [1], [0]]
    assert place_nodes(reads, WIDTH, GAP, last=[3]).rows == (0, 1, 2, 2)


def test_nothing_and_one() -> None:
    assert place_nodes([], WIDTH, GAP) == GraphLayout((), (), {}, 0.0, 0)
    one = place_nodes([[]], WIDTH, GAP)
    assert (one.rows, one.height, one.width) == ((0,), 1, WIDTH + GAP)


def test_very_long_edges_have_no_lanes_but_rows() -> None:
    # Each of 60 nodes is read 1000 rows below: lanes for all would be the square of the graph.
    chain = [[], *([i] for i in range(1500))]
    chain += [[i, 1440 + i] for i in range(60)]
    layout = place_nodes(chain, WIDTH, GAP)
    check(layout, chain)
    assert sum(map(len, layout.lanes.values())) <= 4 * (len(chain) + sum(map(len, chain))) + 1000


def test_time_is_linear() -> None:
    times = []
    for count in (1000, 4000):
        reads = random_reads(count, 0)
        start = time.process_time()
        place_nodes(reads, WIDTH, GAP)
        times.append(time.process_time() - start)
    assert times[1] < 4 * 3 * times[0]
