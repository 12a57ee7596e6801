# SPDX-License-Identifier: MIT OR Apache-2.0
"""1 + tanh(x), the larger part of a GELU by tanh, by way of the GPU's exponential.

It is 2 / (1 + 2**(-2 log2(e) x)), by instructions that are exact to 2**-22.5 and 2**-23, so that
the error is at most 7e-7, and where x is negative at most 4e-7 + |x| 2e-7 of the result. Zero and 2
are the limits.
"""

from __future__ import annotations

from math import e, log2

from torch_mlir.dialects import arith

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.lower.cpu.kernel_function import operations_named
from xyntra.passes.lower.cuda.approximate import RECIPROCAL, approximate

_PLACEHOLDER = "builtin.unrealized_conversion_cast"
_NAME = "xyntra.one_plus_tanh"
_APPROXIMATE = "#arith.fastmath<afn>"


def hide_one_plus_tanh(module: ir.Operation) -> None:
    """Put a placeholder where 1 is added to the tanh of an f32, which nothing else reads."""
    for tanh in operations_named(module, "math.tanh"):
        uses = list(tanh.result.uses)
        if len(uses) != 1 or not isinstance(tanh.result.type, ir.F32Type):
            continue
        total = uses[0].owner.operation
        if total.name != "arith.addf" or not any(map(_is_one, total.operands)):
            continue
        with total.location, ir.InsertionPoint(total):
            hidden = ir.Operation.create(
                _PLACEHOLDER,
                results=[tanh.result.type],
                operands=[tanh.operands[0]],
                attributes={_NAME: ir.UnitAttr.get()},
            )
        total.result.replace_all_uses_with(hidden.result)
        total.erase()
        tanh.erase()


def expand_one_plus_tanh(module: ir.Operation) -> None:
    """Put arithmetic in the place of what `hide_one_plus_tanh` has left."""
    for op in operations_named(module, _PLACEHOLDER):
        if _NAME not in op.attributes:
            continue
        with op.location, ir.InsertionPoint(op):
            value = _one_plus_tanh(op.operands[0])
        op.result.replace_all_uses_with(value)
        op.erase()


def approximate_shares(module: ir.Operation) -> None:
    """Let one instruction, in LLVM's dialect, divide 1 by what belongs to 1 + tanh(x)."""
    for op in operations_named(module, "llvm.fdiv"):
        if "afn" not in str(op.attributes.get("fastmathFlags", "")):
            continue
        with op.location, ir.InsertionPoint(op):
            value = approximate(RECIPROCAL, op.operands[1])
        op.result.replace_all_uses_with(value)
        op.erase()


def _one_plus_tanh(x: ir.Value) -> ir.Value:
    kind, flags = x.type, ir.Attribute.parse(_APPROXIMATE)
    exponent = arith.mulf(x, _constant(-2 * log2(e)))
    power = emit("math.exp2", [exponent], kind, fastmath=flags)
    below = arith.addf(_constant(1.0), power)
    share = emit("arith.divf", [_constant(1.0), below], kind, fastmath=flags)
    return arith.mulf(_constant(2.0), share)


def _constant(value: float) -> ir.Value:
    kind = ir.F32Type.get()
    return emit("arith.constant", [], kind, value=ir.FloatAttr.get(kind, value))


def _is_one(value: ir.Value) -> bool:
    if isinstance(value.owner, ir.Block) or value.owner.operation.name != "arith.constant":
        return False
    attribute = value.owner.operation.attributes["value"]
    return isinstance(attribute, ir.FloatAttr) and attribute.value == 1.0
