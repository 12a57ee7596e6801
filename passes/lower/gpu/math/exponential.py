# SPDX-License-Identifier: MIT OR Apache-2.0
"""exp(x) of an f32 that is not above zero, as in softmax, by way of the GPU's exponential.

For t = x log2(e), rounded, exp(x) is 2**t exp(x - t ln 2), and the second exponent is so small
that 1 plus it is exact enough. The instruction is exact to 2**-22.5 (PTX ISA, "ex2"), and taking
ln 2 for its nearest f32 adds 2.8e-9 |x|: at most 4.2e-7 of the result in all. Where all that a
kernel gives has 16 bits, it is 2**t alone, whose error grows by 8.7e-8 |x|. Below 2**-126 both are
zero.
"""

from __future__ import annotations

from math import e, log, log2

from torch_mlir.dialects import arith

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import AT_MOST_ZERO, emit
from xyntra.passes.lower.gpu.math.placeholders import expand, f32_constant, hide
from xyntra.passes.lower.nests.kernel_function import kernel_function, operations_named

_NAME = "xyntra.exp_at_most_zero"
_LOWEST = -104.0  # so that minus infinity leaves no NaN; its exponential is zero as well
_FLUSHED = "#arith.fastmath<afn>"
_NARROW = ("f16", "bf16")


def hide_exponentials(module: ir.Operation) -> None:
    """Put a placeholder where an f32 that is known to be at most zero is exponentiated."""
    found = operations_named(module, "math.exp")
    found = [op for op in found if AT_MOST_ZERO in op.attributes]
    how = ir.BoolAttr.get(bool(found) and _gives_narrow(kernel_function(module)))
    for op in found:
        if isinstance(op.result.type, ir.F32Type):
            hide(op, op.operands[0], _NAME, how)
            op.erase()


def expand_exponentials(module: ir.Operation) -> None:
    """Put arithmetic in the place of what `hide_exponentials` has left."""
    expand(module, _NAME, lambda x, how: _power(x) if ir.BoolAttr(how).value else _exponential(x))


def _gives_narrow(function: ir.Operation) -> bool:
    """Tell whether all results of a kernel are floats of 16 bits."""
    kinds = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value).results
    return all(str(getattr(kind, "element_type", kind)) in _NARROW for kind in kinds)


def _power(x: ir.Value) -> ir.Value:
    exponent = arith.mulf(x, f32_constant(log2(e)))
    return emit("math.exp2", [exponent], x.type, fastmath=ir.Attribute.parse(_FLUSHED))


def _exponential(x: ir.Value) -> ir.Value:
    kind = x.type
    bounded = arith.maximumf(x, f32_constant(_LOWEST))
    exponent = arith.mulf(bounded, f32_constant(log2(e)))
    rest = emit("math.fma", [exponent, f32_constant(-log(2.0)), bounded], kind)
    power = emit("math.exp2", [exponent], kind, fastmath=ir.Attribute.parse(_FLUSHED))
    return emit("math.fma", [power, rest, power], kind)
