# SPDX-License-Identifier: MIT OR Apache-2.0
"""The graph of kernels in formats that other tools read."""

from __future__ import annotations

import json
from typing import Any

from xyntra.plan.kernel import kernels_of
from xyntra.plan.plan import Plan, Port

_COLOURS = {
    "elementwise": "#cfe8cf",
    "row": "#fde9b8",
    "contraction": "#c9dcf5",
    "conv": "#c9dcf5",
    "attention": "#e3cdf0",
    "data": "#eeeeee",
    "generic": "#f5cfcf",
}


def to_json(plan: Plan) -> str:
    """The kernels in order with what they read and write, as JSON."""
    kernels = [
        {
            "name": kernel.name,
            "kind": kernel.kind,
            "nodes": list(kernel.fused),
            "bytes": kernel.bytes,
            "flops": kernel.flops,
            "once": kernel.once,
            "reads": list(step.inputs),
            "writes": list(step.outputs),
        }
        for kernel, step in zip(kernels_of(plan), plan.steps, strict=True)
    ]
    content: dict[str, Any] = {
        "operations": plan.operations,
        "inputs": [_port(port) for port in plan.inputs],
        "outputs": [_port(port) for port in plan.outputs],
        "kernels": kernels,
        "buffers": [
            {"kind": buffer.kind, "bytes": buffer.nbytes, "name": buffer.name}
            for buffer in plan.buffers
        ],
    }
    return json.dumps(content, indent=1) + "\n"


def _port(port: Port) -> dict[str, Any]:
    return {
        "name": port.name,
        "dtype": port.dtype,
        "shape": list(port.shape),
        "buffer": port.buffer,
    }


def to_dot(plan: Plan) -> str:
    """The kernels as a Graphviz graph; an edge is a tensor that one writes and another reads."""
    lines = ["digraph xyntra {", "  node [shape=box, style=filled, fontname=Helvetica];"]
    for port in plan.inputs:
        lines.append(f"  b{port.buffer} [label={_quote(port.name)}, shape=oval, fillcolor=white];")
    for position, kernel in enumerate(kernels_of(plan)):
        label = _quote(f"{kernel.kind}\n{_label(kernel.fused)}")
        lines.append(f"  k{position} [label={label}, fillcolor={_quote(_COLOURS[kernel.kind])}];")
    lines += _edges(plan)
    for number, port in enumerate(plan.outputs):
        lines.append(f"  o{number} [label={_quote(port.name)}, shape=oval, fillcolor=white];")
    return "\n".join([*lines, "}"]) + "\n"


def _edges(plan: Plan) -> list[str]:
    writers = {port.buffer: f"b{port.buffer}" for port in plan.inputs}
    edges = []
    for i, step in enumerate(plan.steps):
        for buffer in step.inputs:
            if buffer in writers:
                size = _quote(str(plan.buffers[buffer].nbytes))
                edges.append(f"  {writers[buffer]} -> k{i} [label={size}];")
        writers |= dict.fromkeys(step.outputs, f"k{i}")
    return edges + [f"  {writers[p.buffer]} -> o{n};" for n, p in enumerate(plan.outputs)]


def _label(nodes: tuple[str, ...]) -> str:
    return "\n".join(nodes[:4]) + (f"\nand {len(nodes) - 4} more" if len(nodes) > 4 else "")


def _quote(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
