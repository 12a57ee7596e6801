# SPDX-License-Identifier: MIT OR Apache-2.0
"""Both graphs as lists of who reads whom: inputs first, then nodes or kernels, then outputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xyntra.observe.launches import Launch
from xyntra.plan.plan import Plan
from xyntra.plan.source_graph import SourceGraph


@dataclass(frozen=True)
class KernelGraph:
    """The graph of a call after fusion.

    Attributes:
        positions: steps of the plan that are in it: all but those at load.
        reads: for each input, kernel and output in this order, what it reads.
    """

    positions: list[int]
    reads: list[list[int]]


def kernel_graph(plan: Plan, launches: Sequence[Launch]) -> KernelGraph:
    """The graph of the launches of a call."""
    positions = [i for i, launch in enumerate(launches) if not launch.kernel.once]
    first = len(plan.inputs)
    places = {position: first + index for index, position in enumerate(positions)}
    inputs = {port.buffer: index for index, port in enumerate(plan.inputs)}
    writers = dict(inputs)
    reads: list[list[int]] = [[] for _ in plan.inputs]
    for position in positions:
        step = plan.steps[position]
        found = [writers[each] for each in map(plan.home, step.inputs) if each in writers]
        reads.append(list(dict.fromkeys(found)))
        writers.update(dict.fromkeys(step.outputs, places[position]))
    reads += [[writers[p.buffer]] if p.buffer in writers else [] for p in plan.outputs]
    return KernelGraph(positions, reads)


def source_edges(plan: Plan, graph: SourceGraph) -> list[list[int]]:
    """For each input, node and output in this order, what it reads; the graph before fusion."""
    first = len(plan.inputs)

    def place(read: int) -> int:
        return read + first if read >= 0 else -1 - read

    reads: list[list[int]] = [[] for _ in plan.inputs]
    reads += [[place(read) for read in node.reads] for node in graph.nodes]
    known = graph.outputs or (None,) * len(plan.outputs)
    return reads + [[] if read is None else [place(read)] for read in known]
