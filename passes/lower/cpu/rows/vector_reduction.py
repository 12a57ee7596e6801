# SPDX-License-Identifier: MIT OR Apache-2.0
"""Reductions in vectors: where they start, and how two partial results become one."""

from __future__ import annotations

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.errors import CompileError
from xyntra.passes.analysis.neutral_element import neutral_element
from xyntra.passes.lower.loops.vector_body import broadcast

_KINDS = {
    "arith.addi": "add", "arith.muli": "mul", "arith.andi": "and", "arith.ori": "or",
    "arith.xori": "xor", "arith.minsi": "minsi", "arith.minui": "minui", "arith.maxsi": "maxsi",
    "arith.maxui": "maxui",
}  # fmt: skip
"""Operations on integers, of which LLVM reduces vectors in one step."""


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


def narrowed(op: ir.Operation, value: ir.Value, lanes: int) -> ir.Value:
    """Return a vector of `lanes` elements, a power of two, that combine to what `value` does."""
    kind = _KINDS.get(op.name)
    if lanes == 1 and kind is not None:
        # LLVM takes the last of the halves below for a sum of products of bytes, and loses terms.
        element = ir.VectorType(value.type).element_type
        attribute = ir.Attribute.parse(f"#vector.kind<{kind}>")
        return broadcast(emit("vector.reduction", [value], element, kind=attribute), 1)
    while (width := ir.VectorType(value.type).shape[0] // 2) >= lanes:
        value = combine(op, _part(value, 0, width), _part(value, width, width))
    return value


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
