# SPDX-License-Identifier: MIT OR Apache-2.0
"""Lists the functions of f64 that have an expansion, and how large its error is."""

from __future__ import annotations

from xyntra.passes.math import roots
from xyntra.passes.math.double import erf, exp, inverse_trig, log, power, trig
from xyntra.passes.math.table import Expansion

__all__ = ["EXPANSIONS_OF_F64"]

# The bounds are in units in the last place of the f64 result.
EXPANSIONS_OF_F64: dict[str, Expansion] = {
    "math.acos": Expansion(inverse_trig.acos, 2.0),
    "math.acosh": Expansion(log.acosh, 3.0),
    "math.asin": Expansion(inverse_trig.asin, 2.0),
    "math.asinh": Expansion(log.asinh, 3.0),
    "math.atan": Expansion(inverse_trig.atan, 2.0),
    "math.atan2": Expansion(inverse_trig.atan2, 2.0),
    "math.atanh": Expansion(log.atanh, 3.0),
    "math.cbrt": Expansion(power.cbrt, 1.0),
    "math.cos": Expansion(trig.cos, 1.5),
    "math.cosh": Expansion(exp.cosh, 3.0),
    "math.erf": Expansion(erf.erf, 2.0),
    "math.erfc": Expansion(erf.erfc, 5.0),
    "math.exp": Expansion(exp.exp, 1.0),
    "math.exp2": Expansion(exp.exp2, 1.5),
    "math.expm1": Expansion(exp.expm1, 1.5),
    "math.log": Expansion(log.log, 1.0),
    "math.log10": Expansion(log.log10, 1.5),
    "math.log1p": Expansion(log.log1p, 1.5),
    "math.log2": Expansion(log.log2, 1.5),
    "math.powf": Expansion(power.powf, 2.0),
    "math.rsqrt": Expansion(roots.rsqrt, 1.5),
    "math.sin": Expansion(trig.sin, 1.5),
    "math.sincos": Expansion(trig.sincos, 1.5),
    "math.sinh": Expansion(exp.sinh, 3.0),
    "math.tan": Expansion(trig.tan, 1.5),
    "math.tanh": Expansion(exp.tanh, 2.0),
}
