# SPDX-License-Identifier: MIT OR Apache-2.0
"""The graphs before and after fusion in formats that other tools read."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import Any, Literal

from xyntra.observe.colours import KIND_COLOURS
from xyntra.observe.kernel_graph import source_edges
from xyntra.observe.launches import crossings_of, launches_of, sentence
from xyntra.plan.plan import Buffer, Plan, Port
from xyntra.plan.source_graph import SourceGraph

Which = Literal["before", "after", "both"]

_OVAL = "shape=oval, fillcolor=white"


def to_json(plan: Plan, source: SourceGraph | None = None, which: Which = "after") -> str:
    """A graph as JSON; both as the fields `before` and `after`.

    Args:
        plan: the kernels in order with what they read and write.
        source: the graph before fusion; not needed for `after`.
        which: what to write.
    """
    content: dict[str, Any] = {}
    if which != "after":
        content["before"] = _source_content(plan, source or SourceGraph())
    if which != "before":
        content["after"] = _kernel_content(plan)
    return json.dumps(content if which == "both" else content[which], indent=1) + "\n"


def _kernel_content(plan: Plan) -> dict[str, Any]:
    launches = launches_of(plan)
    boundaries: list[list[dict[str, Any]]] = [[] for _ in plan.steps]
    for crossing in crossings_of(plan, launches):
        entry = {"kernel": crossing.producer, **asdict(crossing.boundary)}
        entry["why"] = sentence(crossing.boundary.reason)
        boundaries[crossing.consumer].append(entry)
    kernels = [
        {
            "name": launch.kernel.name,
            "label": launch.label,
            "kind": launch.kernel.kind,
            "nodes": list(launch.kernel.fused),
            "bytes": launch.kernel.bytes,
            "flops": launch.kernel.flops,
            "predicted_ns": launch.kernel.predicted,
            "bound": launch.kernel.bound,
            "once": launch.kernel.once,
            "reads": list(step.inputs),
            "writes": list(step.outputs),
            "boundaries": None if step.boundaries is None else boundaries[position],
        }
        for position, (launch, step) in enumerate(zip(launches, plan.steps, strict=True))
    ]
    return {
        "operations": plan.operations,
        "unfused": None if plan.unfused is None else asdict(plan.unfused),
        "inputs": [_port(port) for port in plan.inputs],
        "outputs": [_port(port) for port in plan.outputs],
        "requirements": [{**asdict(each), "flag": each.flag.buffer} for each in plan.requirements],
        "sizes": [{**asdict(each), "count": each.count.buffer} for each in plan.sizes],
        "kernels": kernels,
        "buffers": [
            {"kind": buffer.kind, "bytes": buffer.nbytes, "name": buffer.name, **_place(buffer)}
            for buffer in plan.buffers
        ],
    }


def _place(buffer: Buffer) -> dict[str, int]:
    is_part = buffer.kind == "part"
    return {"whole": buffer.whole, "offset": buffer.offset} if is_part else {}


def _source_content(plan: Plan, source: SourceGraph) -> dict[str, Any]:
    holders = _holders(plan)
    reads = source_edges(plan, source)
    first = len(plan.inputs)
    nodes = [
        {
            "name": node.label,
            "op": node.op,
            "operations": list(node.operations),
            "types": [str(type_) for type_ in node.types],
            "kernels": sorted({k for name in node.names for k in holders.get(name, ())}),
            "reads": [_reader(read, first) for read in reads[first + position]],
        }
        for position, node in enumerate(source.nodes)
    ]
    return {
        "inputs": [port.name for port in plan.inputs],
        "outputs": [
            {"name": port.name, "reads": [_reader(read, first) for read in found]}
            for port, found in zip(plan.outputs, reads[first + len(nodes) :], strict=True)
        ],
        "nodes": nodes,
    }


def _reader(read: int, inputs: int) -> dict[str, int]:
    return {"input": read} if read < inputs else {"node": read - inputs}


def _holders(plan: Plan) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for position, step in enumerate(plan.steps):
        for name in step.nodes:
            found.setdefault(name, []).append(position)
    return found


def _port(port: Port) -> dict[str, Any]:
    return {
        "name": port.name,
        "dtype": port.dtype,
        "shape": list(port.shape),
        "buffer": port.buffer,
    }


def to_dot(plan: Plan, source: SourceGraph | None = None, which: Which = "after") -> str:
    """A graph for Graphviz; both as two clusters. Nodes have the colour of their kernel's kind.

    Args:
        plan: the kernels; an edge is a tensor that one writes and another reads, with its bytes.
        source: the graph before fusion; not needed for `after`.
        which: what to write.
    """
    lines = ["digraph xyntra {", "  node [shape=box, style=filled, fontname=Helvetica];"]
    if which != "after":
        lines += _cluster("before", _source_lines(plan, source or SourceGraph()), which)
    if which != "before":
        lines += _cluster("after", _kernel_lines(plan), which)
    return "\n".join([*lines, "}"]) + "\n"


def _cluster(name: str, lines: Iterable[str], which: Which) -> Iterable[str]:
    if which != "both":
        return lines
    return [f"  subgraph cluster_{name} {{", f"  label={name};", *lines, "  }"]


def _kernel_lines(plan: Plan) -> Iterator[str]:
    for port in plan.inputs:
        yield f"  b{port.buffer} [label={_quote(port.name)}, {_OVAL}];"
    for position, step in enumerate(plan.steps):
        kind = plan.kernels[step.kernel].kind
        label = _quote(f"{kind}\n{_label(step.nodes)}")
        yield f"  k{position} [label={label}, fillcolor={_quote(_fill(kind))}];"
    yield from _edges(plan)
    for number, port in enumerate(plan.outputs):
        yield f"  o{number} [label={_quote(port.name)}, {_OVAL}];"


def _edges(plan: Plan) -> list[str]:
    writers = {port.buffer: f"b{port.buffer}" for port in plan.inputs}
    edges = []
    for i, step in enumerate(plan.steps):
        for buffer in step.inputs:
            if plan.home(buffer) in writers:
                size = _quote(str(plan.buffers[buffer].nbytes))
                edges.append(f"  {writers[plan.home(buffer)]} -> k{i} [label={size}];")
        writers |= dict.fromkeys(step.outputs, f"k{i}")
    return edges + [f"  {writers[p.buffer]} -> o{n};" for n, p in enumerate(plan.outputs)]


def _source_lines(plan: Plan, source: SourceGraph) -> Iterator[str]:
    holders = _holders(plan)
    for number, port in enumerate(plan.inputs):
        yield f"  n{number} [label={_quote(port.name)}, {_OVAL}];"
    first = len(plan.inputs)
    for number, node in enumerate(source.nodes, first):
        kernels = [k for name in node.names for k in holders.get(name, ())]
        fill = _fill(plan.kernels[plan.steps[kernels[0]].kernel].kind) if kernels else "white"
        style = "" if kernels else ', style="filled,dashed"'
        label = _quote(f"{node.op}\n{node.label}")
        yield f"  n{number} [label={label}, fillcolor={_quote(fill)}{style}];"
    for number, port in enumerate(plan.outputs, first + len(source.nodes)):
        yield f"  n{number} [label={_quote(port.name)}, {_OVAL}];"
    for number, reads in enumerate(source_edges(plan, source)):
        yield from (f"  n{read} -> n{number};" for read in reads)


def _fill(kind: str) -> str:
    return KIND_COLOURS[kind][0]


def _label(nodes: tuple[str, ...]) -> str:
    return "\n".join(nodes[:4]) + (f"\nand {len(nodes) - 4} more" if len(nodes) > 4 else "")


def _quote(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
