# SPDX-License-Identifier: MIT OR Apache-2.0
"""`exact-remainders`: remainders of f32 by integer arithmetic."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch_mlir.dialects import scf

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.analysis.kernel_function import operations_named
from xyntra.passes.math.values import Builder, Float, Int
from xyntra.passes.registry import register_pass

_INFINITE, _NAN = 0x7F800000, 0x7FC00000


@register_pass
@dataclass(frozen=True)
class ExactRemainders:
    """Replace `arith.remf` of f32, in the code of threads, by a long division of the mantissas.

    WGSL computes x - y * trunc(x / y), whose quotient is rounded: nothing of the remainder is left
    where it is large. `scalarize-vectors` goes before.
    """

    name: ClassVar[str] = "exact-remainders"

    def run(self, module: ir.Operation) -> None:
        """Rewrite the remainders in `module`."""
        with module.context:
            found = operations_named(module, "arith.remf")
            found = [op for op in found if isinstance(op.result.type, ir.F32Type)]
            for op in found:
                with op.location, ir.InsertionPoint(op):
                    op.result.replace_all_uses_with(_remainder(*op.operands))
            for op in found:
                op.erase()


def _remainder(x: ir.Value, y: ir.Value) -> ir.Value:
    build = Builder(x.type)
    bits = Float(build, x).bits()
    size, divisor = bits & 0x7FFFFFFF, Float(build, y).bits() & 0x7FFFFFFF
    exponent, least = _exponent(size), _exponent(divisor)
    rest = _long_division(_mantissa(size), _mantissa(divisor), exponent - least)
    found = (size < divisor).select_int(size, _encoded(rest, least))
    is_undefined = (size > _INFINITE - 1) | (divisor > _INFINITE) | divisor.equals(0)
    return is_undefined.select_int(_NAN, found | (bits & -0x80000000)).as_float().value


def _exponent(size: Int) -> Int:
    """Return the power of two that a unit of the mantissa stands for; 1 for the smallest."""
    exponent = size.shift_right_logical(23)
    return exponent.equals(0).select_int(1, exponent)


def _mantissa(size: Int) -> Int:
    fraction = size & 0x7FFFFF
    return (size < 0x800000).select_int(fraction, fraction | 0x800000)


def _long_division(dividend: Int, divisor: Int, steps: Int) -> Int:
    """Return the remainder of `dividend`, shifted left by `steps`; of none where that is negative.

    The divisor may be zero, for which nothing is promised.
    """
    build = dividend.build
    safe = divisor.equals(0).select_int(1, divisor)
    first = Int(build, emit("arith.remui", [dividend.value, safe.value], build.int_type))
    count = (steps < 0).select_int(0, steps)
    loop = scf.ForOp(build.int(0).value, count.value, build.int(1).value, [first.value])
    with ir.InsertionPoint(loop.body):
        inside = Builder(ir.F32Type.get())
        twice = Int(inside, loop.inner_iter_args[0]) << 1
        limit = Int(inside, safe.value)
        scf.YieldOp([(twice < limit).select_int(twice, twice - limit).value])
    return Int(build, loop.results[0])


def _encoded(rest: Int, exponent: Int) -> Int:
    """Return the bits of `rest` units of an exponent."""
    build = rest.build
    zeros = Int(build, emit("math.ctlz", [rest.value], build.int_type))
    shift = rest.equals(0).select_int(0, zeros - 8)
    highest = exponent - shift
    normal = (highest << 23) | ((rest << shift) & 0x7FFFFF)
    small = rest << ((exponent - 1) & 31)
    return rest.equals(0).select_int(0, (highest > 0).select_int(normal, small))
