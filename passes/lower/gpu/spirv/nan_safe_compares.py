# SPDX-License-Identifier: MIT OR Apache-2.0
"""`nan-safe-compares`: comparisons of f32, and what may be NaN, look at the bits."""

from __future__ import annotations

from dataclasses import dataclass
from math import isnan, nan
from typing import ClassVar

from torch_mlir.dialects import arith

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.analysis.kernel_function import operations_named
from xyntra.passes.analysis.owners import constant_attribute
from xyntra.passes.math.values import Bool, Builder, Float, Int
from xyntra.passes.registry import register_pass

_COMPARE = "arith.cmpf"
_ROOTS = ("math.sqrt", "math.rsqrt")
_SAME = ("arith.subf", "arith.divf")
_INFINITY = 0x7F800000
_FLAGS, _NO_NAN = "fastmath", "#arith.fastmath<nnan>"
"""Says of what has been rewritten, and of what the model is sure, that there is no NaN."""
_EXTREMES = {
    "arith.maxnumf": "OGT",
    "arith.minnumf": "OLT",
    "arith.maximumf": "OGT",
    "arith.minimumf": "OLT",
}
_FALSE, _ORD, _UNO, _TRUE = 0, 7, 14, 15
_ORDERED_OF = 7  # predicates from 8 to 13 are those from 1 to 6, or true where one is NaN


@register_pass
@dataclass(frozen=True)
class NanSafeCompares:
    """Let comparisons of f32 say what MLIR's do where an operand is NaN, and results be NaN.

    WGSL lets an implementation assume that there is no NaN ("Floating Point Evaluation"), and naga
    takes unordered comparisons for ordered ones. Integers are compared as they are everywhere.
    The square of the root of x is |x| to drivers, x - x is 0 and x / x is 1: the bits of x decide
    whether these are NaN. `arith-expand` goes before: maxima are comparisons then.
    """

    name: ClassVar[str] = "nan-safe-compares"

    def run(self, module: ir.Operation) -> None:
        """Rewrite the comparisons in `module`."""
        with module.context:
            found = operations_named(module, _COMPARE, *_EXTREMES, *_ROOTS, *_SAME)
            found = [op for op in found if _may_be_rewritten(op)]
            for op in found:
                with op.location, ir.InsertionPoint(op):
                    new = _REWRITTEN.get(op.name, _number)(op)
                op.result.replace_all_uses_with(new)
            for op in found:
                op.erase()


def _may_be_rewritten(op: ir.Operation) -> bool:
    if op.name in _SAME and op.operands[0] != op.operands[1]:
        return False
    flags = str(op.attributes[_FLAGS]) if _FLAGS in op.attributes else ""
    return isinstance(op.operands[0].type, ir.F32Type) and not {"nnan", "fast"} & set(
        flags.removeprefix("#arith.fastmath<").removesuffix(">").split(",")
    )


def _compared(op: ir.Operation) -> ir.Value:
    predicate = ir.IntegerAttr(op.attributes["predicate"]).value
    left, right = op.operands
    truth = ir.IntegerType.get_signless(1)
    if predicate in (_FALSE, _TRUE):
        return arith.constant(truth, int(predicate == _TRUE))
    build = Builder(left.type)
    tests = [_is_nan(build, each) for each in _may_be_nan([left, right])]
    unordered = tests[0] if tests else Bool(build, arith.constant(truth, 0))
    for each in tests[1:]:
        unordered = unordered | each
    ordered = unordered ^ Bool(build, arith.constant(truth, 1))
    if predicate in (_ORD, _UNO):
        return (ordered if predicate == _ORD else unordered).value
    is_unordered = predicate > _ORD
    number = predicate - _ORDERED_OF if is_unordered else predicate
    plain = _plain(number, left, right)
    if not tests:
        return plain
    found = Bool(build, plain)
    return (found | unordered if is_unordered else found & ordered).value


def _plain(number: int, left: ir.Value, right: ir.Value) -> ir.Value:
    """Compare numbers, of which none is NaN."""
    return arith.cmpf(
        arith.CmpFPredicate(number), left, right, fastmath=ir.Attribute.parse(_NO_NAN)
    )


def _root(op: ir.Operation) -> ir.Value:
    """Return the root of a number, NaN below zero."""
    (value,) = op.operands
    build = Builder(value.type)
    plain = emit(op.name, [value], value.type, fastmath=ir.Attribute.parse(_NO_NAN))
    is_below = (Float(build, value).bits() ^ -(1 << 31)) > 0
    return is_below.select(build.float(nan), Float(build, plain)).value


def _number(op: ir.Operation) -> ir.Value:
    """Return the larger, or smaller, operand.

    Where one is NaN, the other one for `maxnumf` and `minnumf`, and NaN for the other two.
    """
    left, right = op.operands
    build = Builder(left.type)
    predicate = arith.CmpFPredicate[_EXTREMES[op.name]]
    takes = Bool(build, _plain(predicate.value, left, right))
    first, second = Float(build, left), Float(build, right)
    keeps_nan = not op.name.endswith("numf")
    # First of the second operand, then of the first, which has the last word.
    if not keeps_nan and _may_be_nan([right]):
        takes = takes | _is_nan(build, right)
    if keeps_nan and _may_be_nan([right]):
        takes = takes & _is_number(build, right)
    found = takes.select(first, second)
    if _may_be_nan([left]):
        found = _is_nan(build, left).select(first if keeps_nan else second, found)
    return found.value


def _may_be_nan(values: list[ir.Value]) -> list[ir.Value]:
    """Return the values that are no constant numbers, each once."""
    found: list[ir.Value] = []
    for value in values:
        attribute = constant_attribute(value)
        is_number = attribute is not None and not isnan(ir.FloatAttr(attribute).value)
        if not is_number and value not in found and not _is_integer(value):
            found.append(value)
    return found


def _is_integer(value: ir.Value) -> bool:
    """Tell whether a number comes from an integer."""
    owner = value.owner
    return not isinstance(owner, ir.Block) and owner.name in ("arith.sitofp", "arith.uitofp")


def _is_number(build: Builder, value: ir.Value) -> Bool:
    return _magnitude(build, value) < _INFINITY + 1


def _is_nan(build: Builder, value: ir.Value) -> Bool:
    return _magnitude(build, value) > _INFINITY


def _difference(op: ir.Operation) -> ir.Value:
    """Return 0 for a finite number less itself, NaN for others."""
    build = Builder(op.result.type)
    is_finite = _magnitude(build, op.operands[0]) < _INFINITY
    return is_finite.select(build.float(0.0), build.float(nan)).value


def _quotient(op: ir.Operation) -> ir.Value:
    """Return 1 for a number by itself, NaN for zeros, infinities and NaN."""
    build = Builder(op.result.type)
    magnitude = _magnitude(build, op.operands[0])
    is_finite = (magnitude < _INFINITY) & (magnitude > 0)
    return is_finite.select(build.float(1.0), build.float(nan)).value


def _magnitude(build: Builder, value: ir.Value) -> Int:
    """Return the bits of a number without its sign."""
    return Float(build, value).bits() & 0x7FFFFFFF


_REWRITTEN = {
    _COMPARE: _compared,
    **dict.fromkeys(_ROOTS, _root),
    "arith.subf": _difference,
    "arith.divf": _quotient,
}
