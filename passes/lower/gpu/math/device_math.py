# SPDX-License-Identifier: MIT OR Apache-2.0
"""Refuses functions of the dialect `math` that GPUs cannot compute."""

from __future__ import annotations

from xyntra.dialects.mlir import ir
from xyntra.errors import CompileError
from xyntra.passes.lower.gpu.math.waves import LATE

# What LLVM's NVPTX target has instructions or short sequences for, in every type.
_NATIVE = frozenset(
    "math." + name
    for name in (
        "absf absi ceil clampf copysign ctlz ctpop cttz floor fma isfinite isinf isnan isnormal "
        "round roundeven sqrt trunc"
    ).split()
)


def check_math(module: ir.Operation) -> None:
    """Refuse functions that have neither an expansion nor an instruction.

    LLVM would end the process on them.

    Raises:
        CompileError: naming the function and its type.
    """
    missing: set[str] = set()

    def visit(op: ir.Operation) -> ir.WalkResult:
        is_late = op.name in LATE and isinstance(op.result.type, ir.F32Type)
        if op.name.startswith("math.") and op.name not in _NATIVE and not is_late:
            missing.add(f"{op.name} of {op.operands[0].type}")
        return ir.WalkResult.ADVANCE

    module.walk(visit)
    if missing:
        raise CompileError(
            "gpu-function",
            f"GPUs have no code for {', '.join(sorted(missing))}",
            hint="compute in f32, or compile for the CPU",
        )
