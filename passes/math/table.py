# SPDX-License-Identifier: MIT OR Apache-2.0
"""Which operations have an expansion, and how large its error is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xyntra.dialects.mlir import ir
from xyntra.passes.math import (
    erf,
    exp,
    hyperbolic,
    integer_power,
    inverse_hyperbolic,
    inverse_trig,
    log,
    power,
    roots,
    tanh,
    trig,
)
from xyntra.passes.math.values import Float

__all__ = ["EXACT", "EXPANSIONS", "MAX_ULP", "Expansion"]


@dataclass(frozen=True)
class Expansion:
    """How an operation is computed.

    Attributes:
        emit: emits the arithmetic for `Float` operands (fpowi's exponent is an `Int`) and returns
            the result or results.
        max_ulp: bound on the error against the exact value, in units in the last place of the
            f32 result; holds for every finite input.
    """

    emit: Callable[..., Float | tuple[Float, ...]]
    max_ulp: float


EXPANSIONS: dict[str, Expansion] = {
    "math.acos": Expansion(inverse_trig.acos, 3.0),
    "math.acosh": Expansion(inverse_hyperbolic.acosh, 3.0),
    "math.asin": Expansion(inverse_trig.asin, 3.0),
    "math.asinh": Expansion(inverse_hyperbolic.asinh, 3.0),
    "math.atan": Expansion(inverse_trig.atan, 3.0),
    "math.atan2": Expansion(inverse_trig.atan2, 3.0),
    "math.atanh": Expansion(inverse_hyperbolic.atanh, 3.0),
    "math.cbrt": Expansion(roots.cbrt, 3.0),
    "math.cos": Expansion(trig.cos, 3.0),
    "math.cosh": Expansion(hyperbolic.cosh, 3.0),
    "math.erf": Expansion(erf.erf, 1.5),
    "math.erfc": Expansion(erf.erfc, 4.0),
    "math.exp": Expansion(exp.exp, 1.0),
    "math.exp2": Expansion(exp.exp2, 1.0),
    "math.expm1": Expansion(exp.expm1, 2.0),
    "math.fpowi": Expansion(integer_power.fpowi, 2.0),
    "math.log": Expansion(log.log, 1.5),
    "math.log10": Expansion(log.log10, 2.0),
    "math.log1p": Expansion(log.log1p, 2.0),
    "math.log2": Expansion(log.log2, 1.5),
    "math.powf": Expansion(power.powf, 2.0),
    "math.rsqrt": Expansion(roots.rsqrt, 1.5),
    "math.sin": Expansion(trig.sin, 3.0),
    "math.sincos": Expansion(trig.sincos, 3.0),
    "math.sinh": Expansion(hyperbolic.sinh, 3.0),
    "math.tan": Expansion(trig.tan, 3.0),
    "math.tanh": Expansion(tanh.tanh, 2.0),
}

# Integer operations, whose results are exact.
EXACT: dict[str, Callable[[ir.Operation], ir.Value]] = {"math.ipowi": integer_power.ipowi}

MAX_ULP: dict[str, float] = {name: entry.max_ulp for name, entry in EXPANSIONS.items()}
