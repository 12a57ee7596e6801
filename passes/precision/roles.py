# SPDX-License-Identifier: MIT OR Apache-2.0
"""Classifies operations by what a lower precision does to them."""

from __future__ import annotations

from enum import Enum

from xyntra.dialects.attention import OP as ATTENTION
from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.multiply_add import is_multiply_add
from xyntra.passes.analysis.reductions import Reductions
from xyntra.passes.analysis.views import TENSOR_VIEWS

__all__ = ["PrecisionRole", "element_of", "has_windows", "is_copy", "role_of"]

_VIEWS = TENSOR_VIEWS | {"tensor.concat", "tensor.insert_slice", "tensor.pad"}
_NAMED = frozenset(
    f"xyntra.{name}" for name in ("layer_norm", "log_softmax", "rms_norm", "softmax")
)
_EXTREMES = frozenset({"arith.maximumf", "arith.maxnumf", "arith.minimumf", "arith.minnumf"})


class PrecisionRole(Enum):
    """What an operation is to the choice of types.

    `CONTRACTION` sums products and `EXTREME` selects elements; `SUM` is any other reduction.
    `NAMED` computes in f32 and rounds once by itself. `MOVE` gives elements another place.
    """

    CONTRACTION = "contraction"
    ATTENTION = "attention"
    NAMED = "named"
    EXTREME = "extreme"
    SUM = "sum"
    ELEMENTWISE = "elementwise"
    MOVE = "move"
    CONSTANT = "constant"
    OTHER = "other"


def role_of(op: ir.Operation, reductions: Reductions) -> PrecisionRole:
    """Return the role of `op`; `reductions` remembers which generic operations reduce."""
    if op.name == "linalg.generic":
        return _role_of_generic(op, reductions)
    if op.name == ATTENTION:
        return PrecisionRole.ATTENTION
    if op.name in _NAMED:
        return PrecisionRole.NAMED
    if op.name in _VIEWS:
        return PrecisionRole.MOVE
    return (
        PrecisionRole.CONSTANT
        if op.name in ("arith.constant", "tensor.empty")
        else PrecisionRole.OTHER
    )


def _role_of_generic(op: ir.Operation, reductions: Reductions) -> PrecisionRole:
    body = op.regions[0].blocks[0]
    if len(op.results) != 1:
        return PrecisionRole.OTHER
    running = body.arguments[len(body.arguments) - 1]
    if not reductions.has(op):
        is_read = any(True for _ in running.uses)
        return PrecisionRole.OTHER if is_read else PrecisionRole.ELEMENTWISE
    if is_multiply_add(body) and len(op.operands) == 3:
        return PrecisionRole.CONTRACTION
    names = [view.name for view in body.operations]
    if len(names) == 2 and names[0] in _EXTREMES:
        return PrecisionRole.EXTREME
    is_fold = str(running.type) == "f32" and any(True for _ in running.uses)
    return PrecisionRole.SUM if is_fold and "scf" not in "".join(names) else PrecisionRole.OTHER


def has_windows(op: ir.Operation) -> bool:
    """Whether a contraction reads an operand at computed places, as convolutions do."""
    maps = [ir.AffineMapAttr(each).value for each in op.attributes["indexing_maps"]]
    return any(not isinstance(place, ir.AffineDimExpr) for map_ in maps for place in map_.results)


def is_copy(op: ir.Operation) -> bool:
    """Whether an elementwise operation gives elements another place, and does nothing else."""
    if op.name != "linalg.generic" or len(op.operands) != 2:
        return False
    body = op.regions[0].blocks[0]
    first = body.operations[0].operation
    return first.name == "linalg.yield" and bool(first.operands[0] == body.arguments[0])


def element_of(value: ir.Value) -> str:
    """Return the element type of a ranked tensor, such as "f32"; "" for all else."""
    kind = value.type
    return str(kind.element_type) if isinstance(kind, ir.RankedTensorType) else ""
