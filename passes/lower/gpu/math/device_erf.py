# SPDX-License-Identifier: MIT OR Apache-2.0
"""erf of an f32, of which the larger part is 1 less a power of the GPU's.

Where that is used the power is below 0.19, so that its error of 2**-22.5 is half a unit in the last
place of the result. Everything else is as in `passes/math/erf.py`, and so is the bound.
"""

from __future__ import annotations

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.analysis.kernel_function import operations_named
from xyntra.passes.lower.gpu.math.narrow_functions import power_of_two
from xyntra.passes.lower.gpu.math.placeholders import expand, hide
from xyntra.passes.math.erf import ERF_HIGHEST, ERF_LARGE, ERF_SWITCH, erf_below_switch
from xyntra.passes.math.values import Builder, Float, polynomial

_NAME = "xyntra.erf"


def hide_erf(module: ir.Operation) -> None:
    """Put a placeholder where the erf of an f32 is computed."""
    for op in operations_named(module, "math.erf"):
        if isinstance(op.result.type, ir.F32Type):
            hide(op, op.operands[0], _NAME, ir.UnitAttr.get())
            op.erase()


def expand_erf(module: ir.Operation) -> None:
    """Put arithmetic in the place of what `hide_erf` has left."""
    expand(module, _NAME, lambda x, _: _erf(Float(Builder(x.type), x)).value)


def _erf(x: Float) -> Float:
    size = abs(x)
    highest = x.build.float(ERF_HIGHEST).value
    bounded = Float(x.build, emit("arith.minnumf", [size.value, highest], x.value.type))
    power = power_of_two(polynomial(bounded, [-each for each in ERF_LARGE]))
    # NaN takes the first branch.
    return (size > ERF_SWITCH).select((1.0 - power).with_sign_of(x), erf_below_switch(x))
