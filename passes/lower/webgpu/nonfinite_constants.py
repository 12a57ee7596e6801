# SPDX-License-Identifier: MIT OR Apache-2.0
"""`nonfinite-constants`: infinities, NaN, and zeros that make them are hidden from compilers."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from math import isfinite
from typing import ClassVar

from torch_mlir.dialects import arith

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.analysis.kernel_function import operations_named
from xyntra.passes.lower.webgpu.hidden_zero import hidden_zero
from xyntra.passes.registry import register_pass

_CONSTANT = "arith.constant"
_FACTORS = {"arith.mulf": 2, "arith.divf": 2, "math.fma": 2}
"""Operations whose result is NaN, or infinite, for a zero and some other number: the operands."""


@register_pass
@dataclass(frozen=True)
class NonfiniteConstants:
    """Combine the bits of constants with a zero that only the host knows of.

    WGSL has no literals for infinities and NaN, and lets an implementation assume that there are
    none ("Floating Point Evaluation"): drivers fold x / 0 and x * 0 to 0, whatever x is, and so
    inf - inf. Infinite and undefined constants, and zeros that something is multiplied with or
    divided by, are therefore known when the code runs.
    """

    name: ClassVar[str] = "nonfinite-constants"

    def run(self, module: ir.Operation) -> None:
        """Rewrite the constants of f32 and f16 in the functions of `module`."""
        with module.context:
            for function in operations_named(module, "gpu.func"):
                _rewrite(function)


def _rewrite(function: ir.Operation) -> None:
    constants = [
        op
        for op in operations_named(function, _CONSTANT)
        if isinstance(op.results[0].type, (ir.F32Type, ir.F16Type))
    ]
    found = {op: _hidden_uses(op) for op in constants}
    found = {op: uses for op, uses in found.items() if uses}
    if not found:
        return
    zero = hidden_zero(function)
    known: dict[tuple[int, str], ir.Value] = {}
    for op, uses in found.items():
        kind = op.results[0].type
        key = _bits(op), str(kind)
        if key not in known:
            known[key] = _number(zero, key[0], kind)
        for user, place in uses:
            user.operands[place] = known[key]


def _hidden_uses(op: ir.Operation) -> list[tuple[ir.Operation, int]]:
    """Return the uses of a constant from which compilers must not conclude anything."""
    value = ir.FloatAttr(op.attributes["value"]).value
    uses = [(use.owner.operation, use.operand_number) for use in op.results[0].uses]
    if not isfinite(value):
        return uses
    if value:
        return []
    return [(user, place) for user, place in uses if place < _FACTORS.get(user.name, 0)]


def _bits(op: ir.Operation) -> int:
    value = ir.FloatAttr(op.attributes["value"]).value
    (bits,) = struct.unpack("<i", struct.pack("<f", value))
    return int(bits)


def _number(zero: ir.Value, bits: int, kind: ir.Type) -> ir.Value:
    """Return the number that has some bits as an f32."""
    with zero.owner.location, ir.InsertionPoint.after(zero.owner):
        constant = arith.constant(zero.type, bits)
        found = emit("arith.bitcast", [arith.xori(constant, zero)], ir.F32Type.get())
        return found if found.type == kind else emit("arith.truncf", [found], kind)
