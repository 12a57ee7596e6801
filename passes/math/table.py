# SPDX-License-Identifier: MIT OR Apache-2.0
"""Lists the operations that have an expansion, and the error of each.

Left to the passes `convert-math-to-llvm` and `convert-math-to-libm`:

* operations that LLVM has instructions or short sequences for: absf, absi, ceil, copysign, ctlz,
  ctpop, cttz, floor, fma (but of f16), isfinite, isnan, round, roundeven, sqrt, trunc;
* all of f64, which becomes calls into libm, but for rsqrt (1 / sqrt) and fpowi (pow); for targets
  that have no libm, `double/table.py` lists expansions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xyntra.dialects.mlir import ir
from xyntra.passes.math import erf, exp, float_classes, integer_power, log, power, roots, tanh
from xyntra.passes.math.angles import hyperbolic, inverse_hyperbolic, inverse_trig, trig
from xyntra.passes.math.values import Float

__all__ = ["EXPANSIONS", "MAX_ULP", "OTHER_TYPES", "Expansion"]


@dataclass(frozen=True)
class Expansion:
    """An expansion of an operation.

    Attributes:
        emit: emits the arithmetic for `Float` operands (fpowi's exponent is an `Int`) and returns
            the result or results.
        max_ulp: bound on the error against the exact value, in units in the last place of the
            f32 result; holds for every finite input.
    """

    emit: Callable[..., Float | tuple[Float, ...]]
    max_ulp: float


EXPANSIONS: dict[str, Expansion] = {
    "math.acos": Expansion(inverse_trig.acos, 1.5),
    "math.acosh": Expansion(inverse_hyperbolic.acosh, 2.5),
    "math.asin": Expansion(inverse_trig.asin, 1.5),
    "math.asinh": Expansion(inverse_hyperbolic.asinh, 2.0),
    "math.atan": Expansion(inverse_trig.atan, 1.5),
    "math.atan2": Expansion(inverse_trig.atan2, 2.0),
    "math.atanh": Expansion(inverse_hyperbolic.atanh, 2.0),
    "math.cbrt": Expansion(roots.cbrt, 1.0),
    "math.cos": Expansion(trig.cos, 2.0),
    "math.cosh": Expansion(hyperbolic.cosh, 1.5),
    "math.erf": Expansion(erf.erf, 1.5),
    "math.erfc": Expansion(erf.erfc, 4.0),
    "math.exp": Expansion(exp.exp, 1.0),
    "math.exp2": Expansion(exp.exp2, 1.0),
    "math.expm1": Expansion(exp.expm1, 1.5),
    "math.fpowi": Expansion(integer_power.fpowi, 2.0),
    "math.log": Expansion(log.log, 1.0),
    "math.log10": Expansion(log.log10, 1.0),
    "math.log1p": Expansion(log.log1p, 1.5),
    "math.log2": Expansion(log.log2, 1.5),
    "math.powf": Expansion(power.powf, 2.0),
    "math.rsqrt": Expansion(roots.rsqrt, 1.5),
    "math.sin": Expansion(trig.sin, 2.0),
    "math.sincos": Expansion(trig.sincos, 2.0),
    "math.sinh": Expansion(hyperbolic.sinh, 2.0),
    "math.tan": Expansion(trig.tan, 2.0),
    "math.tanh": Expansion(tanh.tanh, 2.0),
}

# How the same operations, and those on integers, are expanded for the types that have no f32 form.
OTHER_TYPES: dict[tuple[str, type[ir.Type]], Callable[[ir.Operation], ir.Value]] = {
    ("math.fpowi", ir.F64Type): integer_power.fpowi_of_f64,
    ("math.ipowi", ir.IntegerType): integer_power.ipowi,
    ("math.isinf", ir.IntegerType): float_classes.isinf,
    ("math.isnormal", ir.IntegerType): float_classes.isnormal,
    ("math.fma", ir.F16Type): float_classes.fma_of_f16,
    ("math.clampf", ir.F64Type): float_classes.clampf,
    ("math.clampf", ir.F32Type): float_classes.clampf,
    ("math.clampf", ir.F16Type): float_classes.clampf,
    ("math.clampf", ir.BF16Type): float_classes.clampf,
}

MAX_ULP: dict[str, float] = {name: entry.max_ulp for name, entry in EXPANSIONS.items()}
