# SPDX-License-Identifier: MIT OR Apache-2.0
"""Tells the kind of kernel that an operation makes on its own."""

from __future__ import annotations

from xyntra.dialects import Kind
from xyntra.dialects.mlir import ir

_NAMED: dict[str, Kind] = {
    "xyntra.softmax": "row",
    "xyntra.log_softmax": "row",
    "xyntra.layer_norm": "row",
    "xyntra.rms_norm": "row",
    "xyntra.gelu": "elementwise",
    "xyntra.silu": "elementwise",
    "linalg.transpose": "data",
    "linalg.copy": "data",
    "linalg.fill": "elementwise",
}


def classify(op: ir.Operation) -> Kind:
    """The kind of the kernel that holds `op`, and perhaps initial values of its destination."""
    if op.name in _NAMED:
        return _NAMED[op.name]
    if op.name.startswith("tensor."):
        return "data"
    if op.name.startswith(("linalg.conv", "linalg.depthwise")):
        return "conv"
    if "matmul" in op.name or op.name in ("linalg.contract", "linalg.matvec", "linalg.dot"):
        return "contraction"
    return _classify_generic(op) if op.name == "linalg.generic" else "generic"


def _classify_generic(op: ir.Operation) -> Kind:
    reduced = ["reduction" in str(kind) for kind in op.attributes["iterator_types"]]
    body = [view.operation.name for view in op.regions[0].blocks[0].operations]
    if not any(reduced):
        moves = set(body) <= {"linalg.yield", "linalg.index", "tensor.extract"}
        numbers = "linalg.index" in body and "tensor.extract" not in body
        return "data" if moves and not numbers else "elementwise"
    maps = [attribute.value for attribute in op.attributes["indexing_maps"]]
    inputs = maps[: len(maps) - len(op.results)]
    if len(inputs) >= 2 and any(name in ("arith.mulf", "arith.muli") for name in body):
        if not all(map(_reads_dimensions, inputs)):
            return "conv"
        if any(map_ != inputs[0] for map_ in inputs):
            return "contraction"
    trailing = reduced.index(True)
    return "row" if all(reduced[trailing:]) and all(map(_reads_dimensions, inputs)) else "generic"


def _reads_dimensions(map_: ir.AffineMap) -> bool:
    """Tell whether every position is a plain dimension or a constant."""
    return all(
        isinstance(expression, (ir.AffineDimExpr, ir.AffineConstantExpr))
        for expression in map_.results
    )
