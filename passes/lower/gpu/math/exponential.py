# SPDX-License-Identifier: MIT OR Apache-2.0
"""exp(x) of an f32 that is not above zero, as in softmax, by way of the GPU's exponential.

For t = x log2(e), rounded, exp(x) is 2**t exp(x - t ln 2), and the second exponent is so small
that 1 plus it is exact enough. The instruction is exact to 2**-22.5 (PTX ISA, "ex2"), and taking
ln 2 for its nearest f32 adds 2.8e-9 |x|: at most 4.2e-7 of the result in all. Below 2**-126 it is
zero.
"""

from __future__ import annotations

from math import e, log, log2

from torch_mlir.dialects import arith

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import AT_MOST_ZERO, emit
from xyntra.passes.analysis.kernel_function import kernel_function, operations_named
from xyntra.passes.lower.gpu.math.narrow_functions import gives_narrow
from xyntra.passes.lower.gpu.math.placeholders import expand, f32_constant, hide

_NAME = "xyntra.exp_at_most_zero"
_LOWEST = -104.0  # so that minus infinity leaves no NaN; its exponential is zero as well
_FLUSHED = "#arith.fastmath<afn>"


def hide_exponentials(module: ir.Operation) -> None:
    """Put a placeholder where an f32 that is known to be at most zero is exponentiated."""
    found = operations_named(module, "math.exp")
    found = [op for op in found if AT_MOST_ZERO in op.attributes]
    if not found or gives_narrow(kernel_function(module)):
        return  # there every exponential is a power, see `narrow_functions`
    for op in found:
        if isinstance(op.result.type, ir.F32Type):
            hide(op, op.operands[0], _NAME, ir.UnitAttr.get())
            op.erase()


def expand_exponentials(module: ir.Operation) -> None:
    """Put arithmetic in the place of what `hide_exponentials` has left."""
    expand(module, _NAME, lambda x, _: exponential(x))


def exponential(x: ir.Value) -> ir.Value:
    """Return exp(x) of an f32 that is at most zero, or NaN."""
    kind = x.type
    bounded = arith.maximumf(x, f32_constant(_LOWEST))
    exponent = arith.mulf(bounded, f32_constant(log2(e)))
    rest = emit("math.fma", [exponent, f32_constant(-log(2.0)), bounded], kind)
    power = emit("math.exp2", [exponent], kind, fastmath=ir.Attribute.parse(_FLUSHED))
    return emit("math.fma", [power, rest, power], kind)
