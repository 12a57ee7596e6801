# SPDX-License-Identifier: MIT OR Apache-2.0
"""Collects the data of the page: kernels, boundaries and both graphs with their places."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from xyntra.observe.details import arguments_of, results_of
from xyntra.observe.kernel_graph import kernel_graph, source_edges
from xyntra.observe.launches import Launch, crossings_of, launches_of, sentence
from xyntra.observe.page.layout import GraphLayout, place_nodes
from xyntra.observe.text import shared_prefix
from xyntra.observe.totals import totals_of
from xyntra.plan.plan import Plan
from xyntra.plan.source_graph import SourceGraph

SOURCE_WIDTH, KERNEL_WIDTH, GAP = 164, 204, 22
"""Pixels of a node of either graph, and between two."""


def page_content(
    plan: Plan, graph: SourceGraph, nanoseconds: Sequence[int] | None, title: str
) -> dict[str, Any]:
    """The page's data, JSON-ready."""
    launches = launches_of(plan, nanoseconds)
    crossings = crossings_of(plan, launches)
    called = [launch for launch in launches if not launch.kernel.once]
    names = [node for launch in launches for node in launch.kernel.fused]
    return {
        "title": title,
        "operations": plan.operations,
        "prefix": shared_prefix(names),
        "totals": asdict(totals_of(plan, called)),
        "kernels": [_kernel(plan, launches, position) for position in range(len(launches))],
        "texts": {name: code.source for name, code in plan.kernels.items()},
        "boundaries": [
            {"producer": x.producer, "consumer": x.consumer, **asdict(x.boundary)}
            for x in crossings
        ],
        "recorded": any(step.boundaries is not None for step in plan.steps),
        "reasons": {x.boundary.reason: sentence(x.boundary.reason) for x in crossings},
        "before": _before(plan, graph, launches),
        "after": _after(plan, launches),
    }


def _kernel(plan: Plan, launches: Sequence[Launch], position: int) -> dict[str, Any]:
    launch, kernel = launches[position], launches[position].kernel
    return {
        "label": launch.label,
        "name": kernel.name,
        "kind": kernel.kind,
        "nodes": kernel.fused,
        "bytes": kernel.bytes,
        "flops": kernel.flops,
        "predicted": kernel.predicted,
        "bound": kernel.bound,
        "measured": launch.measured,
        "once": kernel.once,
        "schedules": list(kernel.schedules),
        "reads": [list(entry) for entry in arguments_of(plan, launches, position)],
        "writes": results_of(plan, position),
    }


def _before(plan: Plan, graph: SourceGraph, launches: Sequence[Launch]) -> dict[str, Any]:
    holders: dict[str, list[int]] = {}
    for position, launch in enumerate(launches):
        for name in launch.kernel.fused:
            holders.setdefault(name, []).append(position)
    nodes: list[dict[str, Any]] = [_port(port.name, "input", port.dtype) for port in plan.inputs]
    for node in graph.nodes:
        kernels = sorted({k for name in node.names for k in holders.get(name, ())})
        entry = {"role": "node", "name": node.label, "op": node.op, "kernels": kernels}
        entry |= {"operations": node.operations, "types": [str(type_) for type_ in node.types]}
        nodes.append(entry)
    nodes += [_port(port.name, "output", port.dtype) for port in plan.outputs]
    return _graph(nodes, source_edges(plan, graph), SOURCE_WIDTH)


def _after(plan: Plan, launches: Sequence[Launch]) -> dict[str, Any]:
    graph = kernel_graph(plan, launches)
    nodes: list[dict[str, Any]] = [_port(port.name, "input", port.dtype) for port in plan.inputs]
    nodes += [{"role": "kernel", "kernel": position} for position in graph.positions]
    nodes += [_port(port.name, "output", port.dtype) for port in plan.outputs]
    return _graph(nodes, graph.reads, KERNEL_WIDTH)


def _port(name: str, role: str, dtype: str) -> dict[str, Any]:
    return {"role": role, "name": name, "op": dtype}


def _graph(nodes: list[dict[str, Any]], reads: list[list[int]], width: int) -> dict[str, Any]:
    outputs = [index for index, node in enumerate(nodes) if node["role"] == "output"]
    layout: GraphLayout = place_nodes(reads, width, GAP, outputs)
    return {
        "nodes": nodes,
        "reads": reads,
        "x": layout.x,
        "rows": layout.rows,
        "lanes": layout.lanes,
        "width": layout.width,
        "height": layout.height,
        "nodeWidth": width,
    }
