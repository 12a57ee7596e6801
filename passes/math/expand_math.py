# SPDX-License-Identifier: MIT OR Apache-2.0
"""Replace `math` functions by arithmetic with a stated error."""

from __future__ import annotations

from collections.abc import Collection

from torch_mlir import ir
from torch_mlir.dialects import arith

from xyntra.passes.math.table import EXPANSIONS
from xyntra.passes.math.values import Builder, Float

__all__ = ["expand_math"]


def expand_math(op: ir.Operation, keep: Collection[str] = ()) -> None:
    """Expand every function of `table.EXPANSIONS` on f32, f16 or bf16 inside `op`.

    f16 and bf16 are computed in f32 and rounded once. Vectors keep their shape. Everything else
    (f64, tensors, operations without an expansion) is left as it is.

    Args:
        op: an operation with regions, usually a module or a function; rewritten in place.
        keep: names of operations to leave alone, such as those a target has instructions for.
    """
    found: list[ir.Operation] = []

    def visit(candidate: ir.Operation) -> ir.WalkResult:
        name = candidate.name
        if name in EXPANSIONS and name not in keep and _is_supported(candidate.result.type):
            found.append(candidate)
        return ir.WalkResult.ADVANCE

    op.walk(visit)
    for candidate in found:
        _expand(candidate)


def _is_supported(type_: ir.Type) -> bool:
    element = type_.element_type if isinstance(type_, ir.VectorType) else type_
    return isinstance(element, ir.F32Type | ir.F16Type | ir.BF16Type)


def _expand(op: ir.Operation) -> None:
    with op.context, op.location, ir.InsertionPoint(op):
        build = Builder(op.result.type)
        operands = [_widen(build, operand) for operand in op.operands]
        result = EXPANSIONS[op.name].emit(*operands).value
        if result.type != op.result.type:
            result = arith.truncf(op.result.type, result)
    op.result.replace_all_uses_with(result)
    op.erase()


def _widen(build: Builder, value: ir.Value) -> Float:
    if value.type == build.float_type:
        return Float(build, value)
    return Float(build, arith.extf(build.float_type, value))
