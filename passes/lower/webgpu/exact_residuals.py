# SPDX-License-Identifier: MIT OR Apache-2.0
"""`exact-residuals`: computes exactly what a fused multiplication is to find of a rounding."""

from __future__ import annotations

from dataclasses import dataclass
from math import frexp
from typing import ClassVar

from torch_mlir.dialects import arith

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.analysis.kernel_function import operations_named
from xyntra.passes.analysis.owners import constant_attribute
from xyntra.passes.registry import register_pass

_FMA, _NEGATION = "math.fma", "arith.negf"
_SHORT = 2.0**16
"""Times the significand of a constant: a whole number where it has 16 bits."""
_HALF, _UPPER = 1 << 11, -(1 << 12)
"""What rounds the bits of an f32 to its upper twelve, and keeps them."""
_EXPONENT, _MAGNITUDE = 0x7F800000, 0x7FFFFFFF
_SMALL, _RAISED = (127 - 76) << 23, 96
"""Bits of 2**-76, below which the halves' products would be subnormal, and what raises them."""


@register_pass
@dataclass(frozen=True)
class ExactResiduals:
    """Take `a * b + c` apart where something is negated in it, into sums that lose nothing.

    WGSL lets `fma` round the product, and then what `fma(a, b, -(a * b))` finds is zero instead of
    the error of the product. Functions that are accurate to an ulp live on such residuals. Factors
    are cut into halves of 12 bits, whose products are exact (T. J. Dekker, A Floating-Point
    Technique for Extending the Available Precision, Numer. Math. 18, 1971), and small ones are
    raised first, since GPUs may take subnormal numbers for zero. Where a number is infinite or NaN,
    the GPU's own `fma` is kept. `scalarize-vectors` goes before.
    """

    name: ClassVar[str] = "exact-residuals"

    def run(self, module: ir.Operation) -> None:
        """Rewrite the fused multiplications of f32 in the functions of `module`."""
        with module.context:
            for function in operations_named(module, "gpu.func"):
                for op in operations_named(function, _FMA):
                    is_f32 = isinstance(op.result.type, ir.F32Type)
                    if is_f32 and _is_residual(op):
                        _take_apart(op)


def _is_residual(op: ir.Operation) -> bool:
    """Tell whether something is negated in an operation, or a long constant is taken off in it."""
    return any(_is_negation(value) for value in op.operands) or _takes_off_long_constant(op)


def _is_negation(value: ir.Value) -> bool:
    return not isinstance(value.owner, ir.Block) and value.owner.name == _NEGATION


def _takes_off_long_constant(op: ir.Operation) -> bool:
    """Tell whether multiples of a constant are taken off, whose products need more than 24 bits.

    Where it is taken off in several parts, the first says whether they are as short as exact
    products want them. The constants of a polynomial are no such parts: what they are added to is
    another one.
    """
    factor, constant, addend = *list(op.operands)[:2], op.operands[2]
    number = _number(constant)
    if number is None or number >= 0 or _number(addend) is not None:
        return False
    inner = None if isinstance(addend.owner, ir.Block) else addend.owner.operation
    if inner is not None and inner.name == _FMA and inner.operands[0] == factor:
        return _takes_off_long_constant(inner)
    significand, _ = frexp(number)
    return significand * _SHORT != int(significand * _SHORT)


def _number(value: ir.Value) -> float | None:
    attribute = constant_attribute(value)
    return None if attribute is None else float(ir.FloatAttr(attribute).value)


def _take_apart(op: ir.Operation) -> None:
    a, b, c = op.operands
    word = ir.IntegerType.get_signless(32)

    def bits(value: int) -> ir.Value:
        return arith.constant(word, ir.IntegerAttr.get(word, value))

    def halves(value: ir.Value) -> tuple[ir.Value, ir.Value]:
        whole = emit("arith.bitcast", [value], word)
        upper = arith.andi(arith.addi(whole, bits(_HALF)), bits(_UPPER))
        high = emit("arith.bitcast", [upper], value.type)
        return high, arith.subf(value, high)

    def power(exponent: int) -> ir.Value:
        return arith.constant(a.type, ir.FloatAttr.get(a.type, 2.0**exponent))

    with op.location, ir.InsertionPoint.after(op):
        size = arith.andi(emit("arith.bitcast", [arith.mulf(a, b)], word), bits(_MAGNITUDE))
        is_small = arith.cmpi(arith.CmpIPredicate.ult, size, bits(_SMALL))
        raised = arith.select(is_small, power(_RAISED), power(0))
        lowered = arith.select(is_small, power(-_RAISED), power(0))
        a, c = arith.mulf(a, raised), arith.mulf(c, raised)
        (a_high, a_low), (b_high, b_low) = halves(a), halves(b)
        product = arith.mulf(a, b)
        lost = arith.subf(arith.mulf(a_high, b_high), product)
        for one, other in ((a_high, b_low), (a_low, b_high), (a_low, b_low)):
            lost = arith.addf(lost, arith.mulf(one, other))
        total = arith.addf(product, c)
        taken = arith.subf(total, product)
        rest = arith.addf(arith.subf(product, arith.subf(total, taken)), arith.subf(c, taken))
        exact = arith.mulf(arith.addf(total, arith.addf(rest, lost)), lowered)
        exponent = arith.andi(emit("arith.bitcast", [exact], word), bits(_EXPONENT))
        is_finite = arith.cmpi(arith.CmpIPredicate.ne, exponent, bits(_EXPONENT))
        chosen = arith.select(is_finite, exact, exact)
    op.result.replace_all_uses_with(chosen)
    chosen.owner.operands[2] = op.result  # of the operation itself, where nothing else is right
