# SPDX-License-Identifier: MIT OR Apache-2.0
"""Finds where rounding to 16 bits would be amplified or overflow, from the bodies of operations."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite

from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.owners import constant_number, owner_of

__all__ = ["ANGLES", "BodyHazards", "hazards_of"]

_AMPLIFIES = {
    "math.sin": "the sine of it is taken",
    "math.cos": "the cosine of it is taken",
    "math.tan": "the tangent of it is taken",
    "math.exp": "the exponential of it is taken",
    "math.exp2": "the exponential of it is taken",
    "math.expm1": "the exponential of it is taken",
    "math.log": "the logarithm of it is taken",
    "math.log2": "the logarithm of it is taken",
    "math.log10": "the logarithm of it is taken",
    "math.log1p": "the logarithm of it is taken",
    "math.powf": "a power of it is taken",
    "math.floor": "it is rounded to integers",
    "math.ceil": "it is rounded to integers",
    "math.round": "it is rounded to integers",
    "math.roundeven": "it is rounded to integers",
    "math.trunc": "it is rounded to integers",
    "arith.fptosi": "it is converted to integers",
    "arith.fptoui": "it is converted to integers",
    "arith.remf": "a remainder of it is taken",
}
ANGLES = frozenset(_AMPLIFIES[f"math.{name}"] for name in ("sin", "cos", "tan"))
"""Reasons for which factors of a product have to keep their digits, too, and not the sum alone."""

_GROWS = {
    "math.exp": "an exponential may overflow",
    "math.exp2": "an exponential may overflow",
    "math.expm1": "an exponential may overflow",
    "math.sinh": "a hyperbolic function may overflow",
    "math.cosh": "a hyperbolic function may overflow",
    "math.powf": "a power may overflow",
    "math.fpowi": "a power may overflow",
    "math.rsqrt": "a reciprocal may overflow",
}
_EXPONENTIALS = frozenset({"math.exp", "math.exp2"})
_SATURATING = frozenset({"arith.addf", "arith.subf"})


@dataclass(frozen=True)
class BodyHazards:
    """What the body of a `linalg.generic` does to errors and magnitudes.

    Attributes:
        amplified: for numbers of operands, why their rounding errors would grow.
        grows: why a result may be far larger than what it is computed from; "" where it is not.
        peak: the largest finite magnitude that a constant in the body gives the result.
    """

    amplified: dict[int, str]
    grows: str
    peak: float


def hazards_of(op: ir.Operation, peaks: list[float]) -> BodyHazards:
    """Look through the body of `op`; `peaks` has the largest known constant in each operand."""
    body = op.regions[0].blocks[0]
    arguments = list(body.arguments)
    sources = {argument: frozenset([number]) for number, argument in enumerate(arguments)}
    known = dict(zip(arguments, peaks, strict=False))
    amplified: dict[int, str] = {}
    operations = [view.operation for view in body.operations]
    for each in operations[:-1]:
        operands = list(each.operands)
        reads = frozenset().union(*(sources.get(value, frozenset()) for value in operands))
        reason = _amplifies(each)
        if reason:
            amplified.update(dict.fromkeys(reads, reason))
        for result in each.results:
            sources[result] = reads
            known[result] = _peak(each, known)
    results = list(operations[-1].operands)
    grows = next((reason for value in results if (reason := _grows(value))), "")
    return BodyHazards(amplified, grows, max((_of(known, value) for value in results), default=0.0))


def _amplifies(op: ir.Operation) -> str:
    if op.name == "arith.cmpf":
        left, right = op.operands
        is_exact = left == right or any(constant_number(each) is not None for each in (left, right))
        return "" if is_exact else "it is compared"
    if op.name in _EXPONENTIALS and all(
        use.owner.operation.name in _SATURATING for use in op.results[0].uses
    ):
        return ""  # as in a sigmoid
    return _AMPLIFIES.get(op.name, "")


def _grows(value: ir.Value) -> str:
    op = owner_of(value)
    if op is None:
        return ""
    if op.name == "arith.mulf" and op.operands[0] == op.operands[1]:
        return "a square may overflow"
    if op.name == "arith.divf" and constant_number(op.operands[0]) is not None:
        saturates = (inner := owner_of(op.operands[1])) and inner.name == "arith.addf"
        return "" if saturates else "a reciprocal may overflow"
    return _GROWS.get(op.name, "")


def _of(known: dict[ir.Value, float], value: ir.Value) -> float:
    number = constant_number(value)
    if number is not None:
        return abs(number) if isfinite(number) and isinstance(number, float) else 0.0
    return known.get(value, 0.0)


def _peak(op: ir.Operation, known: dict[ir.Value, float]) -> float:
    """The largest magnitude that is known to be among the values of `op`."""
    operands = list(op.operands)
    if op.name == "arith.select":
        return max(_of(known, value) for value in operands[1:])
    if op.name in ("arith.addf", "arith.subf", "arith.negf", "math.absf"):
        return sum(_of(known, value) for value in operands)
    if op.name in ("arith.maximumf", "arith.maxnumf", "arith.minimumf", "arith.minnumf"):
        return max(_bound(op.name, value, known) for value in operands)
    if op.name == "arith.mulf":
        return _peak_of_product(operands, known)
    return 0.0


def _bound(name: str, value: ir.Value, known: dict[ir.Value, float]) -> float:
    """What an operand of a maximum or minimum adds: its constant may be a bound never reached."""
    number = constant_number(value)
    if number is None:
        return known.get(value, 0.0)
    is_reached = number > 0 if "max" in name else number < 0
    return abs(number) if is_reached and isfinite(number) else 0.0


def _peak_of_product(operands: list[ir.Value], known: dict[ir.Value, float]) -> float:
    """Both factors have to be known, or one large: a constant alone is a mere scale."""
    peaks = [known.get(value, 0.0) for value in operands]
    numbers = [constant_number(value) for value in operands]
    factors = [
        abs(number) if number is not None else peak
        for number, peak in zip(numbers, peaks, strict=True)
    ]
    return factors[0] * factors[1] if max(peaks) > 0 else 0.0
