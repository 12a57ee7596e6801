# SPDX-License-Identifier: MIT OR Apache-2.0
"""A scalar body repeated on vectors."""

from __future__ import annotations

from collections.abc import Sequence

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.lower.cpu.kernel_function import terminator


def is_vectorizable(body: ir.Block) -> bool:
    """Tell whether `body` holds arithmetic only, on floats and integers of fixed width."""
    for view in body.operations:
        op = view.operation
        if op.name == "linalg.yield":
            continue
        if not op.name.startswith(("arith.", "math.")) or len(op.results) != 1:
            return False
        if any(str(value.type) == "index" for value in [*op.operands, *op.results]):
            return False
    return True


def emit_on_vectors(body: ir.Block, arguments: Sequence[ir.Value], lanes: int) -> ir.Value:
    """Emit `body` on vectors of `lanes` elements at the insertion point; return what it yields.

    Args:
        body: satisfies `is_vectorizable`, and yields one value.
        arguments: vectors for the arguments of `body`.
        lanes: elements of every vector.
    """
    mapped: dict[ir.Value, ir.Value] = dict(zip(body.arguments, arguments, strict=True))

    def vector(value: ir.Value) -> ir.Value:
        if value not in mapped:  # defined outside of the body
            mapped[value] = broadcast(value, lanes)
        return mapped[value]

    ending = terminator(body)
    for view in body.operations:
        op = view.operation
        if op == ending:
            break
        operands = [vector(value) for value in op.operands]
        mapped[op.result] = _on_vectors(op, operands, lanes)
    return vector(ending.operands[0])


def broadcast(value: ir.Value, lanes: int) -> ir.Value:
    """Return a vector with `value` in every lane."""
    return emit("vector.broadcast", [value], ir.VectorType.get([lanes], value.type))


def _on_vectors(op: ir.Operation, operands: list[ir.Value], lanes: int) -> ir.Value:
    kind = ir.VectorType.get([lanes], op.result.type)
    attributes = dict(op.attributes.items())
    if op.name == "arith.constant":
        attributes["value"] = ir.DenseElementsAttr.get_splat(kind, attributes["value"])
    return emit(op.name, operands, kind, **attributes)
