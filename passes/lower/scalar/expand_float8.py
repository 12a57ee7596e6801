# SPDX-License-Identifier: MIT OR Apache-2.0
"""`expand-float8`: conversions to and from floats of 8 bits as operations on their bits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xyntra.dialects.dtypes import mlir_type
from xyntra.dialects.mlir import ir
from xyntra.dialects.narrow import FLOAT8_TYPES, decoded, encoded
from xyntra.dialects.scalar import Scalar, emit
from xyntra.passes.analysis.kernel_function import operations_named
from xyntra.passes.analysis.owners import owner_of
from xyntra.passes.registry import register_pass

__all__ = ["DTYPES", "ExpandFloat8", "bits_of", "replace_bits"]

DTYPES = {mlir: name for name, mlir in FLOAT8_TYPES.items()}
"""The dtype of each of MLIR's float8 types that is converted."""
_BITCAST = "arith.bitcast"


@register_pass
@dataclass(frozen=True)
class ExpandFloat8:
    """Rewrite `arith.extf` and `arith.truncf` of float8 scalars for processors without the type.

    Results are rounded to nearest even, once. What is too large becomes NaN in f8E4M3FN and
    infinity in f8E5M2, unless it is clamped before. NaN stays NaN.
    """

    name: ClassVar[str] = "expand-float8"

    def run(self, module: ir.Operation) -> None:
        """Rewrite every scalar conversion below `module`."""
        for op in operations_named(module, "arith.extf", "arith.truncf"):
            if str(op.operands[0].type) not in DTYPES and str(op.result.type) not in DTYPES:
                continue
            with op.context, op.location, ir.InsertionPoint(op):
                if op.name == "arith.truncf":
                    replace_bits(op, _encoded(op).value)
                    continue
                dtype = DTYPES[str(op.operands[0].type)]
                wide = decoded(Scalar(bits_of(op), dtype)).cast(_dtype(op.result))
                op.result.replace_all_uses_with(wide.value)
                _erase(op)


def _encoded(op: ir.Operation) -> Scalar:
    value = Scalar(op.operands[0], _dtype(op.operands[0]))
    wide = value if value.dtype == "float64" else value.cast("float32")
    return encoded(wide, DTYPES[str(op.result.type)], saturate=False)


def _dtype(value: ir.Value) -> str:
    names = {"f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64"}
    return names[str(value.type)]


def bits_of(op: ir.Operation) -> ir.Value:
    """Return the bytes that `op` widens, i8s."""
    source = op.operands[0]
    before = owner_of(source, _BITCAST)
    if before is not None:
        return before.operands[0]
    return emit(_BITCAST, [source], _bytes_like(source.type))


def replace_bits(op: ir.Operation, found: ir.Value) -> None:
    """Put bytes, i8s, in the place of what `op` has narrowed a float to."""
    for use in list(op.result.uses):
        user = use.owner.operation
        if user.name == _BITCAST:
            user.result.replace_all_uses_with(found)
            user.erase()
    if any(True for _ in op.result.uses):
        op.result.replace_all_uses_with(emit(_BITCAST, [found], op.result.type))
    op.erase()


def _bytes_like(kind: ir.Type) -> ir.Type:
    byte = mlir_type("uint8", ir.Context.current)
    if not isinstance(kind, ir.VectorType):
        return byte
    return ir.VectorType.get(ir.VectorType(kind).shape, byte)


def _erase(op: ir.Operation) -> None:
    """Erase a conversion, and the cast of bits before it where nothing else reads that."""
    before = owner_of(op.operands[0], _BITCAST)
    op.erase()
    if before is not None and not any(True for _ in before.result.uses):
        before.erase()
