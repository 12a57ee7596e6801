# SPDX-License-Identifier: MIT OR Apache-2.0
"""`signed-integers`: SPIR-V says which integers are signed, for naga to read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xyntra.dialects.mlir import ir
from xyntra.passes.lower.webgpu.spirv_functions import bitcast, operations_in, spirv_functions
from xyntra.passes.registry import register_pass

_BOTH = (True, True)
_SIGNED: dict[str, tuple[bool, bool]] = {
    "spirv.SDiv": _BOTH,
    "spirv.SRem": _BOTH,
    "spirv.SMod": _BOTH,
    "spirv.SNegate": _BOTH,
    "spirv.GL.SMax": _BOTH,
    "spirv.GL.SMin": _BOTH,
    "spirv.GL.SAbs": _BOTH,
    "spirv.GL.SClamp": _BOTH,
    "spirv.GL.SSign": _BOTH,
    "spirv.GL.FindSMsb": _BOTH,
    "spirv.ShiftRightArithmetic": _BOTH,
    "spirv.SConvert": _BOTH,
    "spirv.SLessThan": (True, False),
    "spirv.SLessThanEqual": (True, False),
    "spirv.SGreaterThan": (True, False),
    "spirv.SGreaterThanEqual": (True, False),
    "spirv.ConvertSToF": (True, False),
    "spirv.ConvertFToS": (False, True),
}
"""Whether operands, and whether results, are signed."""
_SHIFT = "spirv.ShiftRightArithmetic"


@register_pass
@dataclass(frozen=True)
class SignedIntegers:
    """Put the operands and results of signed operations into signed types, by `spirv.Bitcast`.

    MLIR's integers have no sign, which SPIR-V leaves to the operation. naga goes by the type, and
    would divide, shift and compare unsigned numbers.
    """

    name: ClassVar[str] = "signed-integers"

    def run(self, module: ir.Operation) -> None:
        """Rewrite the SPIR-V functions of `module`."""
        with module.context:
            for function in spirv_functions(module):
                found = [op for op in operations_in(function) if op.name in _SIGNED]
                for op in found:
                    with op.location, ir.InsertionPoint(op):
                        op.results[0].replace_all_uses_with(_signed(op))
                for op in found:
                    op.erase()


def _signed(op: ir.Operation) -> ir.Value:
    operands, result = _SIGNED[op.name]
    given = []
    for number, value in enumerate(op.operands):
        is_amount = op.name == _SHIFT and number == 1
        kind = _signed_type(value.type)
        changes = operands and not is_amount and kind != value.type
        given.append(bitcast(value, kind) if changes else value)
    old = op.results[0].type
    kind = _signed_type(old) if result else old
    attributes = {name: op.attributes[name] for name in op.attributes}
    new = ir.Operation.create(op.name, results=[kind], operands=given, attributes=attributes)
    return new.results[0] if kind == old else bitcast(new.results[0], old)


def _signed_type(kind: ir.Type) -> ir.Type:
    if isinstance(kind, ir.VectorType):
        return ir.VectorType.get(kind.shape, _signed_type(kind.element_type))
    if isinstance(kind, ir.IntegerType):
        return ir.IntegerType.get_signed(kind.width)
    return kind
