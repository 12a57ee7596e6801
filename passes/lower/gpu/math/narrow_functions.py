# SPDX-License-Identifier: MIT OR Apache-2.0
"""Functions of an f32 by the GPU's own instructions, where all results of a kernel have 16 bits.

Half a unit in the last place of f16 is 2.4e-4 of a number at least. These functions are off by at
most 1.5e-6 of their results, where x is not large (|x| < 16 for powers of e), a sixth to a tenth of
the operations that a last bit of f32 would take. The instructions are exact to 2**-22.5 (ex2),
2**-23 (rcp) and, absolutely, 2**-22 (lg2; PTX ISA). Differences that would cancel are polynomials
of ours. Powers of e below 2**-126, and what is divided by those above 2**126, are zero.
"""

from __future__ import annotations

from collections.abc import Callable
from math import e, log, log2, log10

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.analysis.kernel_function import kernel_function, operations_named
from xyntra.passes.lower.gpu.math.placeholders import expand, hide
from xyntra.passes.math.values import Builder, Float, fma, polynomial

__all__ = [
    "expand_narrow",
    "gives_narrow",
    "hide_narrow",
    "inverse",
    "natural_power",
    "power_of_two",
]

_NAME = "xyntra.narrow_function"
_KINDS = ("f16", "bf16")
_FLUSHED = "#arith.fastmath<afn>"

# tanh(x) / x in x**2 from its second coefficient on, for |x| <= 0.35: 4.2e-8 of it.
_TANH = (-0.33332669734954834, 0.1329999715089798, -0.049158524721860886)
_TANH_END = 0.35
# (e**x - 1 - x) / x**2 for |x| <= 1/4: 9.8e-8 of e**x - 1.
_EXPM1 = (0.4999983310699463, 0.1666661649942398, 0.041774749755859375, 0.008353757672011852)
_EXPM1_END = 0.25
# (log(1 + x) - x) / x**2 for |x| <= 0.2: 4.2e-7 of log(1 + x).
_LOG1P = (
    -0.5000012516975403,
    0.33323001861572266,
    -0.24977053701877594,
    0.2082459181547165,
    -0.1767856776714325,
)
_LOG1P_END = 0.2


def gives_narrow(function: ir.Operation) -> bool:
    """Tell whether all results of a kernel are floats of 16 bits."""
    kinds = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value).results
    return all(str(getattr(kind, "element_type", kind)) in _KINDS for kind in kinds)


def hide_narrow(module: ir.Operation) -> None:
    """Put placeholders where a kernel of 16-bit results computes functions of an f32."""
    found = operations_named(module, *_FORMS)
    if not found or not gives_narrow(kernel_function(module)):
        return
    for op in found:
        if isinstance(op.result.type, ir.F32Type):
            hide(op, op.operands[0], _NAME, ir.StringAttr.get(op.name))
            op.erase()


def expand_narrow(module: ir.Operation) -> None:
    """Put arithmetic in the place of what `hide_narrow` has left."""

    def compute(x: ir.Value, name: ir.Attribute) -> ir.Value:
        return _FORMS[ir.StringAttr(name).value](Float(Builder(x.type), x)).value

    expand(module, _NAME, compute)


def natural_power(x: Float) -> Float:
    """Return e**x, to 1.8e-7 + 8.7e-8 |x| of it; zero below 2**-126."""
    return power_of_two(x * log2(e))


def inverse(x: Float) -> Float:
    """Return 1 / x by the GPU's instruction, to 2**-23 of it; zero for |x| above 2**126."""
    flags = ir.Attribute.parse(_FLUSHED)
    operands = [x.build.float(1.0).value, x.value]
    return Float(x.build, emit("arith.divf", operands, x.value.type, fastmath=flags))


def power_of_two(x: Float) -> Float:
    """Return 2**x by the GPU's instruction, to 2**-22.5 of it; zero below 2**-126."""
    return _approximate("math.exp2", x)


def _approximate(name: str, x: Float) -> Float:
    flags = ir.Attribute.parse(_FLUSHED)
    return Float(x.build, emit(name, [x.value], x.value.type, fastmath=flags))


def _expm1(x: Float) -> Float:
    near = x * fma(x, polynomial(x, _EXPM1), 1.0)
    return (abs(x) < _EXPM1_END).select(near, natural_power(x) - 1.0)


def _log_with(unit: float) -> Callable[[Float], Float]:
    """Return the logarithm of which 1 is exp(1 / unit)."""

    def logarithm(x: Float) -> Float:
        f = x - 1.0
        return _either_log(f, x, unit)

    return logarithm


def _log1p(x: Float) -> Float:
    return _either_log(x, x + 1.0, 1.0)


def _either_log(f: Float, x: Float, unit: float) -> Float:
    """Return the logarithm of x = 1 + f."""
    near = f * fma(f, polynomial(f, _LOG1P), 1.0)
    if unit != 1.0:
        near = near * unit
    far = _approximate("math.log2", x) * (log(2.0) * unit)
    return (abs(f) < _LOG1P_END).select(near, far)


def _tanh(x: Float) -> Float:
    square = x * x
    near = x * fma(square, polynomial(square, _TANH), 1.0)
    far = fma(inverse(power_of_two(x * (2 * log2(e))) + 1.0), -2.0, 1.0)
    return (abs(x) < _TANH_END).select(near, far)


_FORMS: dict[str, Callable[[Float], Float]] = {
    "math.exp": natural_power,
    "math.exp2": power_of_two,
    "math.expm1": _expm1,
    "math.log": _log_with(1.0),
    "math.log10": _log_with(log10(e)),
    "math.log1p": _log1p,
    "math.log2": _log_with(log2(e)),
    "math.tanh": _tanh,
}
