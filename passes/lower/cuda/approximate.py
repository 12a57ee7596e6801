# SPDX-License-Identifier: MIT OR Apache-2.0
"""Instructions of GPUs that approximate a function of an f32, subnormals being zeros."""

from __future__ import annotations

from collections.abc import Callable

from torch_mlir.dialects import llvm

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.lower.cuda.ptx.numbers import ex2_approx, rcp_approx
from xyntra.passes.lower.nests.kernel_function import operations_named

_INSTRUCTIONS = {"llvm.intr.exp2": (ex2_approx, 0), "llvm.fdiv": (rcp_approx, 1)}
"""By operation: what computes it, and which operand that is given."""
APPROXIMATED = frozenset(_INSTRUCTIONS)
"""Operations that `approximate_marked` may take the place of."""


def approximate(instruction: Callable[[ir.Value], ir.Value], x: ir.Value) -> ir.Value:
    """Apply an instruction, in LLVM's dialect, to an f32 or to every element of a vector."""
    kind = x.type
    if not isinstance(kind, ir.VectorType):
        return instruction(x)
    result = llvm.mlir_poison(kind)
    for number in range(kind.shape[0]):
        place = emit("llvm.mlir.constant", [], _word(), value=ir.IntegerAttr.get(_word(), number))
        element = approximate(instruction, llvm.extractelement(x, place))
        result = llvm.insertelement(result, element, place)
    return result


def approximate_marked(module: ir.Operation) -> None:
    """Let instructions compute operations, in LLVM's dialect, that allow approximations.

    The powers in GELUs become zero instead of subnormal, which is faster, and 1 is divided by what
    belongs to 1 + tanh(x).
    """
    for op in operations_named(module, *_INSTRUCTIONS):
        if "afn" not in str(op.attributes.get("fastmathFlags", "")):
            continue
        instruction, operand = _INSTRUCTIONS[op.name]
        with op.location, ir.InsertionPoint(op):
            value = approximate(instruction, op.operands[operand])
        op.result.replace_all_uses_with(value)
        op.erase()


def _word() -> ir.Type:
    return ir.IntegerType.get_signless(64)
