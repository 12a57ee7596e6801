# SPDX-License-Identifier: MIT OR Apache-2.0
"""Instructions of GPUs that approximate a function of f32s."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from torch_mlir.dialects import llvm

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.analysis.kernel_function import operations_named
from xyntra.passes.lower.cuda.ptx.numbers import div_full, ex2_approx, lg2_approx, rcp_approx

_INSTRUCTIONS: dict[str, dict[str, tuple[Callable[..., ir.Value], tuple[int, ...]]]] = {
    "llvm.intr.exp2": {"afn": (ex2_approx, (0,))},
    "llvm.intr.log2": {"afn": (lg2_approx, (0,))},
    "llvm.fdiv": {"afn": (rcp_approx, (1,)), "arcp": (div_full, (0, 1))},
}
"""By operation and flag: what computes it, and which operands that is given."""
APPROXIMATED = frozenset(_INSTRUCTIONS)
"""Operations that `approximate_marked` may take the place of."""


def approximate(instruction: Callable[..., ir.Value], operands: Sequence[ir.Value]) -> ir.Value:
    """Apply an instruction, in LLVM's dialect, to f32s or to all elements of vectors."""
    kind = operands[0].type
    if not isinstance(kind, ir.VectorType):
        return instruction(*operands)
    result = llvm.mlir_poison(kind)
    for number in range(kind.shape[0]):
        place = emit("llvm.mlir.constant", [], _word(), value=ir.IntegerAttr.get(_word(), number))
        element = instruction(*(llvm.extractelement(each, place) for each in operands))
        result = llvm.insertelement(result, element, place)
    return result


def approximate_marked(module: ir.Operation) -> None:
    """Let instructions compute operations, in LLVM's dialect, that allow approximations.

    Powers and inverses marked `afn` become zero instead of subnormal, which is faster; what is
    divided so is 1. Divisions marked `arcp` are off by two units in the last place at most.
    """
    for op in operations_named(module, *_INSTRUCTIONS):
        flags = str(op.attributes.get("fastmathFlags", ""))
        found = next((how for flag, how in _INSTRUCTIONS[op.name].items() if flag in flags), None)
        if found is None:
            continue
        instruction, operands = found
        with op.location, ir.InsertionPoint(op):
            value = approximate(instruction, [op.operands[number] for number in operands])
        op.result.replace_all_uses_with(value)
        op.erase()


def _word() -> ir.Type:
    return ir.IntegerType.get_signless(64)
