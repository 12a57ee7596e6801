# SPDX-License-Identifier: MIT OR Apache-2.0
"""A scalar body repeated on vectors."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.analysis.kernel_function import terminator

_ON_INDICES = ("arith.addi", "arith.muli", "arith.constant")


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


def takes_indices(body: ir.Block) -> bool:
    """Tell whether `body` holds arithmetic on vectors, which may have the numbers of elements."""
    return all(_takes_vector(view.operation) for view in body.operations)


def _takes_vector(op: ir.Operation) -> bool:
    if op.name in ("linalg.index", "linalg.yield"):
        return True
    if not op.name.startswith(("arith.", "math.")) or len(op.results) != 1:
        return False
    of_index = [str(value.type) == "index" for value in (*op.operands, *op.results)]
    is_cast = op.name == "arith.index_cast" and of_index[0]
    return is_cast or not any(of_index) or (all(of_index) and op.name in _ON_INDICES)


def emit_on_vectors(body: ir.Block, arguments: Sequence[ir.Value], lanes: int) -> ir.Value:
    """As `emit_results_on_vectors`, for a body that yields one value."""
    return emit_results_on_vectors(body, arguments, lanes)[0]


def emit_results_on_vectors(
    body: ir.Block, arguments: Sequence[ir.Value], lanes: int
) -> list[ir.Value]:
    """Emit `body` on vectors of `lanes` elements at the insertion point; return what it yields.

    Args:
        body: satisfies `is_vectorizable`.
        arguments: vectors for the arguments of `body`, at least for those that are used.
        lanes: elements of every vector.
    """
    return side_by_side(body, [dict(zip(body.arguments, arguments, strict=False))], lanes)[0]


def side_by_side(
    body: ir.Block, known: Sequence[Mapping[ir.Value, ir.Value]], lanes: int
) -> list[list[ir.Value]]:
    """Emit `body` on several vectors, operation by operation, so that one hides another's latency.

    Args:
        body: satisfies `is_vectorizable`.
        known: for each vector, what stands for arguments, and for results that need not be emitted.
        lanes: elements of every vector.

    Returns:
        For each vector, what the body yields.
    """
    mapped = [dict(each) for each in known]
    outside: dict[ir.Value, ir.Value] = {}

    def vector(value: ir.Value, number: int) -> ir.Value:
        if value in mapped[number]:
            return mapped[number][value]
        if value not in outside:
            outside[value] = broadcast(value, lanes)
        return outside[value]

    ending = terminator(body)
    for view in body.operations:
        op = view.operation
        if op == ending:
            break
        for number, values in enumerate(mapped):
            if op.result not in values:
                operands = [vector(value, number) for value in op.operands]
                values[op.result] = _on_vectors(op, operands, lanes)
    return [[vector(v, number) for v in ending.operands] for number in range(len(mapped))]


def emit_values(
    body: ir.Block, wanted: Collection[ir.Value], known: Mapping[ir.Value, ir.Value], lanes: int
) -> dict[ir.Value, ir.Value]:
    """Emit on vectors what some values of `body` need, and return `known` with it.

    Args:
        body: satisfies `is_vectorizable`.
        wanted: arguments, results, or what is defined outside of it.
        known: vectors of values that need not be emitted, the arguments among them.
        lanes: elements of every vector.
    """
    operations = [view.operation for view in body.operations][:-1]
    needed = set(wanted)
    for op in reversed(operations):
        if op.result in needed and op.result not in known:
            needed.update(op.operands)
    found = dict(known)

    def vector(value: ir.Value) -> ir.Value:
        if value not in found:
            found[value] = broadcast(value, lanes)
        return found[value]

    for op in operations:
        if op.result in needed and op.result not in found:
            found[op.result] = _on_vectors(op, [vector(each) for each in op.operands], lanes)
    return found | {value: vector(value) for value in wanted}


def broadcast(value: ir.Value, lanes: int) -> ir.Value:
    """Return a vector with `value` in every lane."""
    return emit("vector.broadcast", [value], ir.VectorType.get([lanes], value.type))


def _on_vectors(op: ir.Operation, operands: list[ir.Value], lanes: int) -> ir.Value:
    kind = ir.VectorType.get([lanes], op.result.type)
    attributes = dict(op.attributes.items())
    if op.name == "arith.constant":
        attributes["value"] = ir.DenseElementsAttr.get_splat(kind, attributes["value"])
    return emit(op.name, operands, kind, **attributes)


def lane_of(vector: ir.Value, lane: int) -> ir.Value:
    """Return one element of a vector."""
    kind = ir.VectorType(vector.type).element_type
    position = ir.DenseI64ArrayAttr.get([lane])
    return emit("vector.extract", [vector], kind, static_position=position)
