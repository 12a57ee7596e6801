# SPDX-License-Identifier: MIT OR Apache-2.0
"""Reductions in vectors: where they start, and how two partial results become one."""

from __future__ import annotations

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.errors import CompileError
from xyntra.passes.lower.nests.neutral_element import neutral_element
from xyntra.passes.lower.nests.vector_body import broadcast


def identity(op: ir.Operation, lanes: int) -> ir.Value:
    """Return a vector that changes nothing when `op` combines it with another one."""
    kind = op.result.type
    neutral = neutral_element(op.name, kind)
    if neutral is None:
        raise CompileError("kernel-reduction", f"{op.name} has no neutral element")
    return broadcast(emit("arith.constant", [], kind, value=neutral), lanes)


def combine(op: ir.Operation, first: ir.Value, second: ir.Value) -> ir.Value:
    """Return what `op` makes of two scalars or vectors."""
    return emit(op.name, [first, second], first.type, **dict(op.attributes.items()))


def narrowed(op: ir.Operation, value: ir.Value) -> ir.Value:
    """Return the combined halves of a vector."""
    lanes = ir.VectorType(value.type).shape[0] // 2
    return combine(op, _part(value, 0, lanes), _part(value, lanes, lanes))


def only_lane(value: ir.Value) -> ir.Value:
    """Return the scalar in a vector of one lane."""
    kind = ir.VectorType(value.type).element_type
    place = ir.DenseI64ArrayAttr.get([0])
    return emit("vector.extract", [value], kind, static_position=place)


def _part(value: ir.Value, first: int, lanes: int) -> ir.Value:
    kind = ir.VectorType.get([lanes], ir.VectorType(value.type).element_type)
    numbers = [
        ir.ArrayAttr.get([ir.IntegerAttr.get(ir.IntegerType.get_signless(64), number)])
        for number in (first, lanes, 1)
    ]
    names = ("offsets", "sizes", "strides")
    return emit(
        "vector.extract_strided_slice", [value], kind, **dict(zip(names, numbers, strict=True))
    )
