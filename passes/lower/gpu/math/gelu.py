# SPDX-License-Identifier: MIT OR Apache-2.0
"""GELU by way of the GPU's exponential, as exact as what it is rounded to.

GELU(x) is x Phi(x), with the distribution function of the normal distribution. For t = |x|,
Phi(-t) = 2**-P(t) with a polynomial P; Phi(t) is 1 - Phi(-t), so that nothing cancels where x is
negative. A result of bf16 has a polynomial for the least relative error of Phi(-t) up to t = 13.2,
where Phi leaves bf16: 1.4e-4 up to t = 6 and 2.9e-4 behind, while half a unit in the last place is
9.8e-4 at least. For f16 the relative error is 2.4e-5 up to t = 3, 1.5e-4 up to t = 4.3, and 6e-9
absolute behind, where results are subnormal; half a unit is 2.4e-4 at least, or 3e-8. For f32 it is
the polynomial of `one_plus_erf`, with an absolute error of 1.1e-7.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import sqrt

from torch_mlir.dialects import arith

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.analysis.kernel_function import operations_named
from xyntra.passes.analysis.owners import constant_attribute, only_reader, owner_of
from xyntra.passes.lower.gpu.math.one_plus_erf import COEFFICIENTS
from xyntra.passes.lower.gpu.math.placeholders import (
    erase_with_sources,
    expand,
    f32_constant,
    hide,
)

# Of 1, t, t**2, … in P(t).
_POLYNOMIALS = {
    "f32": (1.0, *(each * sqrt(0.5) ** (power + 1) for power, each in enumerate(COEFFICIENTS))),
    "bf16": (
        1.0000920295715332,
        1.1500507593154907,
        0.46096956729888916,
        0.052011873573064804,
        -0.0078068021684885025,
        0.0008102495921775699,
        -5.378387504606508e-05,
        2.0312938886490883e-06,
        -3.2986758213837675e-08,
    ),
    "f16": (
        1.0000321865081787,
        1.1505968570709229,
        0.46042925119400024,
        0.05173427239060402,
        -0.0073189702816307545,
        0.0006125385407358408,
        -2.133842463081237e-05,
    ),
}
_END = 13.5  # there every P is above 127, and the power is zero
_NAME = "xyntra.gelu"
_TOLERANCE = 1e-6
_FLUSHED = "#arith.fastmath<afn>"


def hide_gelus(module: ir.Operation) -> None:
    """Put a placeholder where the GELU of an f32 is computed by an erf that nothing else reads."""
    for erf in operations_named(module, "math.erf"):
        found = _gelu_around(erf)
        if found is None:
            continue
        value, result = found
        with result.location:
            hide(result, value, _NAME, ir.StringAttr.get(_rounded_to(result)))
        # Now, since the next one may be the GELU of this one.
        erase_with_sources(result)


def expand_gelus(module: ir.Operation) -> None:
    """Put arithmetic in the place of what `hide_gelus` has left."""
    expand(module, _NAME, lambda x, kind: _gelu(x, _POLYNOMIALS[ir.StringAttr(kind).value]))


def _gelu_around(erf: ir.Operation) -> tuple[ir.Value, ir.Operation] | None:
    """Return x and the operation that finishes x (1 + erf(x sqrt(1/2))) / 2; None for others."""
    total = only_reader(erf.result)
    scaled = owner_of(erf.operands[0], "arith.mulf")
    if total is None or scaled is None or total.name != "arith.addf":
        return None
    if not isinstance(erf.result.type, ir.F32Type) or 1.0 not in _constants(total):
        return None
    value = next((each for each in scaled.operands if _constant_of(each) is None), None)
    factors = _constants(scaled)
    if value is None or not factors or abs(factors[0] - sqrt(0.5)) > _TOLERANCE:
        return None
    last = total
    while True:
        following = only_reader(last.result)
        if following is None or following.name != "arith.mulf":
            return None
        last = following
        leaves = list(_leaves(last))
        others = [each for each in leaves if each not in (value, total.result)]
        if leaves.count(value) == 1 and [_constant_of(each) for each in others] == [0.5]:
            return value, last
        if len(leaves) > 2:
            return None


def _leaves(product: ir.Operation) -> Iterator[ir.Value]:
    """Yield the factors of a product of products, of which nothing else reads the inner ones."""
    for each in product.operands:
        inner = owner_of(each, "arith.mulf")
        reader = None if inner is None else only_reader(inner.result)
        if inner is not None and reader is not None and reader == product:
            yield from _leaves(inner)
        else:
            yield each


def _rounded_to(result: ir.Operation) -> str:
    """Return the type that all readers of a result round it to; f32 if they do not."""
    readers = [use.owner.operation for use in result.result.uses]
    kinds = {str(each.result.type) if each.name == "arith.truncf" else "f32" for each in readers}
    kind = kinds.pop() if len(kinds) == 1 else "f32"
    return kind if kind in _POLYNOMIALS else "f32"


def _gelu(x: ir.Value, coefficients: tuple[float, ...]) -> ir.Value:
    kind = x.type
    distance = emit("arith.minnumf", [emit("math.absf", [x], kind), f32_constant(_END)], kind)
    power = f32_constant(-coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        power = emit("math.fma", [power, distance, f32_constant(-coefficient)], kind)
    below = emit("math.exp2", [power], kind, fastmath=ir.Attribute.parse(_FLUSHED))
    is_negative = arith.cmpf(arith.CmpFPredicate.OLT, x, f32_constant(0.0))
    share = arith.select(is_negative, below, arith.subf(f32_constant(1.0), below))
    return arith.mulf(x, share)


def _constants(op: ir.Operation) -> list[float]:
    return [each for each in map(_constant_of, op.operands) if each is not None]


def _constant_of(value: ir.Value) -> float | None:
    attribute = constant_attribute(value)
    return float(attribute.value) if isinstance(attribute, ir.FloatAttr) else None
