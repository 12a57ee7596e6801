# SPDX-License-Identifier: MIT OR Apache-2.0
"""tanh(log(1 + e**x)), as in Mish, without a logarithm.

With n = e**x (e**x + 2) it is n / (n + 2), where nothing cancels: the error is at most twice that
of e**x and three roundings. From x = 20 on it is 1.
"""

from __future__ import annotations

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.analysis.kernel_function import kernel_function, operations_named
from xyntra.passes.analysis.owners import constant_number, owner_of
from xyntra.passes.lower.gpu.math.narrow_functions import gives_narrow, inverse, natural_power
from xyntra.passes.lower.gpu.math.placeholders import erase_with_sources, expand, hide
from xyntra.passes.math.exp import exp
from xyntra.passes.math.values import Builder, Float, fma

_NAME = "xyntra.tanh_of_softplus"
_LARGEST = 20.0  # tanh rounds to 1 from 9.011 on
_SATURATED = 9.1
_GREATER = (2, 3)  # arith.cmpf: ogt, oge


def hide_tanh_of_softplus(module: ir.Operation) -> None:
    """Put a placeholder where the tanh of a softplus of an f32 is computed."""
    for op in operations_named(module, "math.tanh"):
        x = _softplus_of(op.operands[0])
        if x is None or x.type != op.result.type or not isinstance(x.type, ir.F32Type):
            continue
        how = ir.BoolAttr.get(gives_narrow(kernel_function(module)))
        hide(op, x, _NAME, how)
        erase_with_sources(op)


def expand_tanh_of_softplus(module: ir.Operation) -> None:
    """Put arithmetic in the place of what `hide_tanh_of_softplus` has left."""

    def compute(value: ir.Value, how: ir.Attribute) -> ir.Value:
        x = Float(Builder(value.type), value)
        return _tanh_of_softplus(x, narrow=ir.BoolAttr(how).value).value

    expand(module, _NAME, compute)


def _tanh_of_softplus(x: Float, *, narrow: bool) -> Float:
    largest = x.build.float(_LARGEST).value
    bounded = Float(x.build, emit("arith.minimumf", [x.value, largest], x.value.type))
    power = natural_power(bounded) if narrow else exp(bounded)
    n = fma(power, power, power + power)
    divisor = n + 2.0
    share = inverse(divisor)
    quotient = n * share
    return quotient if narrow else fma(fma(-quotient, divisor, n), share, quotient)


def _softplus_of(value: ir.Value) -> ir.Value | None:
    """Return what the softplus is of that `value` is; None for anything else.

    It is max(x, 0) + log(1 + exp(-|x|)) or log(1 + exp(x)), or x above a threshold.
    """
    op = owner_of(_unrounded(value))
    if op is None:
        return None
    if op.name == "arith.select":
        return _thresholded(op)
    if op.name == "arith.addf":
        first, second = op.operands
        return _by_parts(first, second) or _by_parts(second, first)
    return _exponent_in(op)


def _thresholded(op: ir.Operation) -> ir.Value | None:
    """Return x of a selection of x above a threshold, and of its softplus below."""
    condition = owner_of(op.operands[0], "arith.cmpf")
    x = _softplus_of(op.operands[2])
    if condition is None or x is None or not _are_same(op.operands[1], x):
        return None
    left, right = condition.operands
    threshold = constant_number(right)
    is_above = ir.IntegerAttr(condition.attributes["predicate"]).value in _GREATER
    is_far = threshold is not None and threshold >= _SATURATED
    return x if is_above and is_far and _are_same(left, x) else None


def _by_parts(logarithm: ir.Value, positive: ir.Value) -> ir.Value | None:
    """Return x of log(1 + exp(-|x|)) and max(x, 0)."""
    log, larger = owner_of(_unrounded(logarithm)), owner_of(_unrounded(positive), "arith.maximumf")
    exponent = None if log is None else _exponent_in(log)
    negated = None if exponent is None else owner_of(_unrounded(exponent), "arith.negf")
    size = None if negated is None else owner_of(_unrounded(negated.operands[0]), "math.absf")
    if larger is None or size is None:
        return None
    x = size.operands[0]
    others = [each for each in larger.operands if not _are_same(each, x)]
    return x if len(others) == 1 and constant_number(others[0]) == 0.0 else None


def _exponent_in(op: ir.Operation) -> ir.Value | None:
    """Return x where `op` computes log(1 + exp(x)); None elsewhere."""
    power = op.operands[0] if op.name == "math.log1p" else None
    total = owner_of(_unrounded(op.operands[0]), "arith.addf") if op.name == "math.log" else None
    if total is not None:
        others = [each for each in total.operands if constant_number(each) != 1.0]
        power = others[0] if len(others) == 1 else None
    power_of = None if power is None else owner_of(_unrounded(power), "math.exp")
    return None if power_of is None else power_of.operands[0]


def _are_same(first: ir.Value, second: ir.Value) -> bool:
    return bool(_unrounded(first) == _unrounded(second))


def _unrounded(value: ir.Value) -> ir.Value:
    """Return the number that `value` is but for roundings to 16 bits and back."""
    op = owner_of(value, "arith.extf", "arith.truncf")
    return value if op is None else _unrounded(op.operands[0])
