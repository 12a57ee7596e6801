# SPDX-License-Identifier: MIT OR Apache-2.0
"""`nonfinite-constants`: infinities and NaN come from memory, as bits."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from math import isfinite
from typing import ClassVar

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.lower.webgpu.spirv_functions import (
    bitcast,
    local_variable,
    operations_in,
    spirv_functions,
)
from xyntra.passes.registry import register_pass


@register_pass
@dataclass(frozen=True)
class NonfiniteConstants:
    """Load the bits of every infinite or undefined constant from a variable.

    WGSL has no such literals, and refuses constant expressions that give one ("Floating Point
    Evaluation"). What is loaded is no constant expression.
    """

    name: ClassVar[str] = "nonfinite-constants"

    def run(self, module: ir.Operation) -> None:
        """Rewrite the SPIR-V functions of `module`."""
        with module.context:
            for function in spirv_functions(module):
                found = [op for op in operations_in(function) if _is_nonfinite(op)]
                for op in found:
                    op.results[0].replace_all_uses_with(_loaded(function, op))
                for op in found:
                    op.erase()


def _is_nonfinite(op: ir.Operation) -> bool:
    if op.name != "spirv.Constant" or not isinstance(op.results[0].type, ir.F32Type):
        return False
    return not isfinite(ir.FloatAttr(op.attributes["value"]).value)


def _loaded(function: ir.Operation, op: ir.Operation) -> ir.Value:
    value = ir.FloatAttr(op.attributes["value"]).value
    (bits,) = struct.unpack("<i", struct.pack("<f", value))
    word = ir.IntegerType.get_signless(32)
    variable = local_variable(function, word)
    with op.location, ir.InsertionPoint.after(variable.owner):
        constant = emit("spirv.Constant", [], word, value=ir.IntegerAttr.get(word, bits))
    # Behind all variables, which stand first in a function.
    with op.location, ir.InsertionPoint(op):
        ir.Operation.create("spirv.Store", operands=[variable, constant])
        return bitcast(emit("spirv.Load", [variable], word), ir.F32Type.get())
