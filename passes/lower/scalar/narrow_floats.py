# SPDX-License-Identifier: MIT OR Apache-2.0
"""`narrow-floats`: conversions to and from bf16, and from f64 to f16, without library calls."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xyntra.dialects.dtypes import mlir_type
from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import Scalar, constant, emit
from xyntra.passes.analysis.kernel_function import operations_named
from xyntra.passes.registry import register_pass


@register_pass
@dataclass(frozen=True)
class NarrowFloats:
    """Rewrite conversions that most processors lack as integer arithmetic.

    Results are rounded to nearest even, once; NaN stays NaN and keeps its sign.

    Attributes:
        singles: also those between bf16 and f32, which every GPU that we generate code for has.
    """

    name: ClassVar[str] = "narrow-floats"
    singles: bool = True

    def run(self, module: ir.Operation) -> None:
        """Rewrite every scalar `arith.extf` and `arith.truncf` below `module` that needs it."""
        for op in operations_named(module, "arith.extf", "arith.truncf"):
            source, target = str(op.operands[0].type), str(op.result.type)
            if "bf16" not in (source, target) and (source, target) != ("f64", "f16"):
                continue
            if not self.singles and {source, target} == {"bf16", "f32"}:
                continue
            with op.context, op.location, ir.InsertionPoint(op):
                value = _convert(op.operands[0], source, target)
            op.result.replace_all_uses_with(value)
            op.erase()


def _convert(value: ir.Value, source: str, target: str) -> ir.Value:
    if source == "bf16":
        single = _from_bfloat16(Scalar(value, "bfloat16"))
        return single.value if target == "f32" else single.cast("float64").value
    single = Scalar(value, "float32")
    if source == "f64":
        single = _round_to_odd(Scalar(value, "float64"))
    return _to_bfloat16(single).value if target == "bf16" else single.cast("float16").value


def _from_bfloat16(value: Scalar) -> Scalar:
    bits = _bitcast(value, "uint16").cast("uint32")
    return _bitcast(bits << 16, "float32")


def _to_bfloat16(value: Scalar) -> Scalar:
    bits = _bitcast(value, "uint32")
    nearest = bits + (((bits >> 16) & 1) + 0x7FFF)
    # Rounding could carry a NaN's payload away, so its top is kept and made quiet.
    quiet = bits | 0x400000
    rounded = value.is_nan().select(quiet, nearest)
    return _bitcast((rounded >> 16).cast("uint16"), "bfloat16")


def _round_to_odd(value: Scalar) -> Scalar:
    """Return f32 that rounds to f16 or bf16 as the f64 `value` would.

    Rounding to odd keeps, in the last bit, the fact that something was cut off; with two bits more
    than the final format, the second rounding is then correct (Boldo and Melquiond, "Emulation of
    FMA and correctly rounded sums: proved algorithms using rounding to odd", 2008).
    """
    nearest = value.cast("float32")
    back = nearest.cast("float64")
    bits = _bitcast(nearest, "int32")
    even = (bits & 1).equals(0)
    # One step toward zero where the rounding went away from it, and then the odd neighbour.
    too_large = back.math("absf") > value.math("absf")
    stepped = bits + too_large.select(constant(-1, "int32"), 1)
    inexact = back.differs(value) & value.equals(value)
    use_odd = inexact & even
    return use_odd.select(_bitcast(stepped, "float32"), nearest)


def _bitcast(value: Scalar, dtype: str) -> Scalar:
    kind = mlir_type(dtype, ir.Context.current)
    return Scalar(emit("arith.bitcast", [value.value], kind), dtype)
