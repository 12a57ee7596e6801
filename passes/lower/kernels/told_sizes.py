# SPDX-License-Identifier: MIT OR Apache-2.0
"""Lets the constants of a kernel that are sizes be told, and its memory have room for all sizes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.dialects.sizes import Bounds, Expr, ProductLimit
from xyntra.passes.analysis.sizes.agreement import Agreement, operations_of
from xyntra.passes.analysis.sizes.session import SizeSession, size_value
from xyntra.passes.analysis.sizes.size import Size, most_of
from xyntra.passes.lower.buffers.scratch_allocation import MOST_ELEMENTS

__all__ = ["Symbols", "set_sizes"]


@dataclass(frozen=True)
class Symbols:
    """The symbols of a model.

    Attributes:
        samples: sizes at which kernels are compared; code is made at the first two.
        hints: usual sizes.
        ranges: least and largest sizes.
        definitions: of those that others decide, expressions of these.
        limit: what the product of the others is at most; None where the ranges alone bound it.
    """

    samples: tuple[Mapping[str, int], ...]
    hints: Mapping[str, int]
    ranges: Mapping[str, Bounds]
    definitions: Mapping[str, str] = field(default_factory=dict)
    limit: ProductLimit | None = None


def set_sizes(module: ir.Operation, agreement: Agreement, current: SizeSession) -> None:
    """Let constants that are sizes be told, and memory have room for the largest ones."""
    operations = operations_of(module)
    for op in operations:
        if op.name == "memref.alloc":
            _set_room(op, current)
    for number, (expression, dividend) in agreement.constants.items():
        _tell(operations[number], expression, current, dividend)


def _set_room(op: ir.Operation, current: SizeSession) -> None:
    elements: int = 1
    for extent in ir.MemRefType(op.result.type).shape:
        found = current.numbers.get(extent)
        elements = elements * (extent if found is None else Size(extent, found))
    if isinstance(elements, Size):
        number = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), most_of(elements))
        op.attributes[MOST_ELEMENTS] = number


def _tell(op: ir.Operation, expression: Expr, current: SizeSession, dividend: float | None) -> None:
    kind = op.result.type
    size = size_value_at(op, Size(expression.at(current.sample), expression))
    with ir.InsertionPoint(op), op.location:
        if isinstance(kind, ir.IndexType):
            value = size
        else:
            word = emit("arith.index_cast", [size], ir.IntegerType.get_signless(64))
            if isinstance(kind, ir.IntegerType):
                if kind.width != 64:
                    word = emit("arith.trunci", [word], kind) if kind.width < 64 else word
                value = word
            else:
                value = emit("arith.sitofp", [word], kind)
                if dividend is not None:
                    number = ir.FloatAttr.get(kind, dividend)
                    value = emit(
                        "arith.divf", [emit("arith.constant", [], kind, value=number), value], kind
                    )
    op.result.replace_all_uses_with(value)
    op.erase()


def size_value_at(op: ir.Operation, size: Size) -> ir.Value:
    """Return the code of a size that `op` can use."""
    with ir.InsertionPoint(op):
        found = size_value(size)
    if found is None:
        raise ValueError("sizes are known only while a kernel with sizes is lowered")
    return found
