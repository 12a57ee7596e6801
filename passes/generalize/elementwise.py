# SPDX-License-Identifier: MIT OR Apache-2.0
"""Rewrites arith and math operations on tensors, or on scalars of a function, as generics."""

from __future__ import annotations

from collections.abc import Sequence

from xyntra.dialects.dtypes import ITEM_BYTES
from xyntra.dialects.mlir import ir
from xyntra.passes.generalize.rewriter import (
    GenericOutput,
    Rewriter,
    captured_scalars,
    element_of,
    is_inlined,
    is_scalar,
    is_static,
)
from xyntra.passes.generalize.structured import StructuredOperation, rewrite_structured

__all__ = ["generalize_elementwise", "is_elementwise", "rewrite_elementwise"]

_DIALECTS = ("arith.", "math.")
_SCALAR_NAMES = {"tensor.bitcast": "arith.bitcast"}
_NOT_ELEMENTWISE = frozenset({"arith.constant", "arith.flush_denormals"})


def is_elementwise(op: ir.Operation) -> bool:
    """Tell whether `op` computes every element, or one scalar, by itself.

    All of arith and math do but constants, and `arith.flush_denormals`, which sets a mode.
    """
    name = op.name
    return (name.startswith(_DIALECTS) or name in _SCALAR_NAMES) and name not in _NOT_ELEMENTWISE


def rewrite_elementwise(rewriter: Rewriter, op: ir.Operation) -> None:
    """Replace `op`, on tensors of one static shape and scalars, by a generic around its scalar."""
    shape = _shape(op)
    rank = len(shape)
    identity = ir.AffineMap.get_identity(rank, op.context)
    elements = [element_of(result.type) for result in op.results]
    attributes = dict(op.attributes.items())

    def body(scalars: list[ir.Value]) -> Sequence[ir.Value]:
        return list(
            ir.Operation.create(
                _SCALAR_NAMES.get(op.name, op.name),
                results=elements,
                operands=scalars[: len(op.operands)],
                attributes=attributes,
            ).results
        )

    results = rewriter.generic(
        op,
        [(operand, identity) for operand in op.operands],
        [GenericOutput(shape, element, identity) for element in elements],
        ["parallel"] * rank,
        body,
    )
    rewriter.replace(op, results)


def _shape(op: ir.Operation) -> Sequence[int]:
    type_ = op.results[0].type
    return list(ir.RankedTensorType(type_).shape) if is_static(type_) else []


def generalize_elementwise(block: ir.Block) -> None:
    """Rewrite what works element by element in a function's body, on tensors of static shape.

    A scalar that such an operation reads is put into a tensor of rank 0. Operations on numbers
    that have no size in memory, such as indices, stay.
    """
    rewriter = Rewriter()
    for op in [view.operation for view in block.operations]:
        if not len(op.results) or not all(map(_is_stored, _types(op))):
            continue
        structured = StructuredOperation.of(op)
        if structured is None and not is_elementwise(op):
            continue
        if not is_static(op.results[0].type):
            continue
        if structured is None:
            _hold(rewriter, op, list(op.operands))
            rewrite_elementwise(rewriter, op)
        elif structured.is_pointwise:
            _hold(rewriter, op, [*op.operands, *captured_scalars(structured.body)])
            rewrite_structured(rewriter, structured)
    rewriter.finish()


def _types(op: ir.Operation) -> list[ir.Type]:
    return [value.type for value in (*op.results, *op.operands)]


def _is_stored(type_: ir.Type) -> bool:
    if is_static(type_):
        type_ = ir.RankedTensorType(type_).element_type
    return str(type_) in ITEM_BYTES


def _hold(rewriter: Rewriter, op: ir.Operation, values: Sequence[ir.Value]) -> None:
    """Put scalars among `values` that are computed into tensors."""
    for value in values:
        if is_scalar(value.type) and not is_inlined(value) and value not in rewriter.stored:
            type_ = ir.RankedTensorType.get([], value.type, loc=op.location)
            held = rewriter.builder(op).emit("tensor.from_elements", [value], [type_])
            rewriter.stored[value] = held.results[0]
