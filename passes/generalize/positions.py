# SPDX-License-Identifier: MIT OR Apache-2.0
"""Emits, in the body of a generic, arithmetic of positions and reads at them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from xyntra.dialects.mlir import ir
from xyntra.passes.generalize.rewriter import Rewriter

__all__ = [
    "Index",
    "constant_index",
    "element_at",
    "emit",
    "inside",
    "loop_index",
    "static_and_dynamic",
]

Index: TypeAlias = int | ir.Value
"""A number known when compiling, or a value of type index."""

_EQUAL, _LESS, _UNSIGNED_LESS = 0, 2, 6


def emit(name: str, operands: Sequence[ir.Value], *, predicate: int | None = None) -> ir.Value:
    """An operation whose result has the type of its last operand, or that compares."""
    attributes: dict[str, ir.Attribute] = {}
    type_ = operands[-1].type
    if predicate is not None:
        i64 = ir.IntegerType.get_signless(64)
        attributes["predicate"] = ir.IntegerAttr.get(i64, predicate)
        type_ = ir.IntegerType.get_signless(1)
    return ir.Operation.create(
        name, results=[type_], operands=list(operands), attributes=attributes
    ).results[0]


def constant_index(value: int) -> ir.Value:
    """A number of type index."""
    attribute = ir.IntegerAttr.get(ir.IndexType.get(), value)
    return ir.Operation.create(
        "arith.constant", results=[attribute.type], attributes={"value": attribute}
    ).results[0]


def loop_index(dimension: int) -> ir.Value:
    """The position of an iteration along `dimension`."""
    i64 = ir.IntegerType.get_signless(64)
    attributes = {"dim": ir.IntegerAttr.get(i64, dimension)}
    return ir.Operation.create(
        "linalg.index", results=[ir.IndexType.get()], attributes=attributes
    ).results[0]


def element_at(rewriter: Rewriter, source: ir.Value, indices: Sequence[ir.Value]) -> ir.Value:
    """The element of `source` at `indices`, of the type that the program gives it."""
    held = rewriter.holder(source)
    stored = ir.RankedTensorType(held.type).element_type
    value = ir.Operation.create(
        "tensor.extract", results=[stored], operands=[held, *indices]
    ).results[0]
    wanted = ir.RankedTensorType(source.type).element_type
    if wanted == stored:
        return value
    return ir.Operation.create("arith.index_cast", results=[wanted], operands=[value]).results[0]


def inside(
    position: ir.Value, start: ir.Value, step: ir.Value, size: int
) -> tuple[ir.Value, list[ir.Value]]:
    """Return which of `size` elements, from `start` on every `step`, lies at `position`.

    Returns:
        Its number, which is one of an element even if none lies there; and the conditions under
        which one does.
    """
    distance = emit("arith.subi", [position, start])
    number = emit("arith.divsi", [distance, step])
    remainder = emit("arith.remsi", [distance, step])
    zero = constant_index(0)
    whole = emit("arith.cmpi", [remainder, zero], predicate=_EQUAL)
    # Below zero is above every size where numbers have no sign.
    within = emit("arith.cmpi", [number, constant_index(size)], predicate=_UNSIGNED_LESS)
    last = constant_index(max(size - 1, 0))
    low = emit("arith.maxsi", [number, zero])
    return emit("arith.minsi", [low, last]), [whole, within]


def static_and_dynamic(
    op: ir.Operation, name: str, segment: int, prefix: str = "static_"
) -> list[Index]:
    """The numbers `static_NAME` of `op`, with operands of `segment` where they are not known."""
    static = list(ir.DenseI64ArrayAttr(op.attributes[f"{prefix}{name}"]))
    sizes = list(ir.DenseI32ArrayAttr(op.attributes["operandSegmentSizes"]))
    start = sum(sizes[:segment])
    given = iter(list(op.operands)[start : start + sizes[segment]])
    unknown = ir.ShapedType.get_dynamic_size()
    return [next(given) if each == unknown else int(each) for each in static]
