# SPDX-License-Identifier: MIT OR Apache-2.0
"""Says which operations of a function no kernel can hold, and what to do about them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xyntra.dialects.dtypes import ITEM_BYTES
from xyntra.dialects.mlir import ir
from xyntra.dialects.purity import NAMED_OPS
from xyntra.errors import UnsupportedError
from xyntra.passes.diagnostics import Diagnostic
from xyntra.passes.generalize.elementwise import is_elementwise
from xyntra.passes.generalize.library import has_library_rule
from xyntra.passes.generalize.structured import StructuredOperation
from xyntra.passes.generalize.tensors import TENSOR_RULES

__all__ = ["Refusal", "refused", "why_not"]

_KNOWN = frozenset({"tensor.empty", "tensor.concat", "xyntra.fused", "func.call", "func.return"})
_HINTS = {
    "scf.for": "give it bounds that are constants",
    "scf.forall": "give it bounds that are constants",
    "scf.while": "write it as an scf.for whose bounds are constants",
    "memref": "keep values in tensors: memory is assigned by the compiler",
    "vector": "write it on tensors: vectors are chosen by the compiler",
    "winograd": "write the convolution itself: Winograd's algorithm is chosen by the compiler",
}


@dataclass(frozen=True)
class Refusal:
    """Why `op` stays, as a sentence, and what to do."""

    op: ir.Operation
    code: str
    message: str
    hint: str = ""


def why_not(op: ir.Operation) -> Refusal | None:
    """Why `op`, of a function's body, can be neither rewritten nor fused; None where it can."""
    for type_ in _types(op):
        found = _refuse_type(op, type_)
        if found is not None:
            return found
    if not _is_known(op):
        message = f"'{op.name}' is not compiled"
        return Refusal(op, "mlir-operation", message, _hint(op))
    structured = StructuredOperation.of(op)
    if structured is not None and structured.writes_unread_part:
        message = f"'{op.name}' writes a part of its result and reads nothing of the rest"
        hint = "write the part with tensor.insert_slice, or let the body read what was there"
        return Refusal(op, "mlir-operation", message, hint)
    return None


def refused(refusal: Refusal) -> UnsupportedError:
    """The error that `refusal` is."""
    place = Diagnostic.at(refusal.op.location, "").place
    return UnsupportedError(refusal.code, refusal.message, place=place, hint=refusal.hint or None)


def _types(op: ir.Operation) -> Iterator[ir.Type]:
    for value in (*op.results, *op.operands):
        yield value.type


def _refuse_type(op: ir.Operation, type_: ir.Type) -> Refusal | None:
    if isinstance(type_, ir.UnrankedTensorType) or (
        isinstance(type_, ir.RankedTensorType) and not type_.has_static_shape
    ):
        message = f"'{op.name}' has the dynamic shape {type_}"
        return Refusal(op, "mlir-dynamic", message, "give its tensors static shapes")
    element = type_.element_type if isinstance(type_, ir.RankedTensorType) else type_
    if isinstance(type_, ir.RankedTensorType) and type_.encoding is not None:
        return Refusal(op, "mlir-type", f"'{op.name}' has the type {type_}, with an encoding")
    if str(element) not in ITEM_BYTES and not isinstance(element, ir.IndexType):
        known = ", ".join(ITEM_BYTES)
        message = f"'{op.name}' has the type {type_}"
        return Refusal(op, "mlir-type", message, _hint(op) or f"tensors may hold {known}")
    return None


def _is_known(op: ir.Operation) -> bool:
    name = op.name
    return (
        name in _KNOWN
        or name in NAMED_OPS
        or name in TENSOR_RULES
        or has_library_rule(op)
        or is_elementwise(op)
        or StructuredOperation.of(op) is not None
    )


def _hint(op: ir.Operation) -> str:
    for name, hint in _HINTS.items():
        if op.name == name or name in op.name.replace("_", ".").split("."):
            return hint
    return "write it with the operations of linalg, tensor, arith and math"
