# SPDX-License-Identifier: MIT OR Apache-2.0
"""`shallow-expressions`: long chains of operations are cut by variables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.lower.webgpu.spirv_functions import (
    local_variable,
    operations_in,
    spirv_functions,
)
from xyntra.passes.registry import register_pass

_FLAT = ("spirv.Load", "spirv.Constant", "spirv.mlir.", "spirv.AccessChain", "spirv.Atomic")
"""Operations whose results naga gives names, and those that are leaves."""


@register_pass
@dataclass(frozen=True)
class ShallowExpressions:
    """Store and load what would be an expression of more than `depth` levels.

    naga writes a value that is used once inside of the expression that uses it. Readers of WGSL
    take about a hundred levels.
    """

    name: ClassVar[str] = "shallow-expressions"
    depth: int = 32

    def run(self, module: ir.Operation) -> None:
        """Rewrite the SPIR-V functions of `module`."""
        with module.context:
            for function in spirv_functions(module):
                for value in _deep(function, self.depth):
                    _name(function, value)


def _deep(function: ir.Operation, limit: int) -> list[ir.Value]:
    """Return the values to store, none of which is deeper than the limit then."""
    depths: dict[ir.Value, int] = {}
    found: list[ir.Value] = []
    for op in operations_in(function):
        if op.name.startswith(_FLAT) or len(op.results) != 1 or op.regions:
            continue
        result = op.results[0]
        depth = 1 + max([depths.get(each, 0) for each in op.operands], default=0)
        is_inner = len(list(result.uses)) == 1
        if is_inner and depth >= limit and not str(result.type).startswith("!spirv"):
            found.append(result)
            depth = 0
        depths[result] = depth if is_inner else 0
    return found


def _name(function: ir.Operation, value: ir.Value) -> None:
    variable = local_variable(function, value.type)
    op = value.owner
    with op.location, ir.InsertionPoint.after(op):
        store = ir.Operation.create("spirv.Store", operands=[variable, value])
        loaded = emit("spirv.Load", [variable], value.type)
    value.replace_all_uses_except(loaded, [store])
