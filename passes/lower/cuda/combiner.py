# SPDX-License-Identifier: MIT OR Apache-2.0
"""How partial results of a reduction are put together."""

from __future__ import annotations

import math
from dataclasses import dataclass

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.lower.nests.kernel_function import terminator
from xyntra.passes.lower.nests.linear_nest import LinearNest

_FLOATS = {
    "arith.addf": -0.0,
    "arith.mulf": 1.0,
    "arith.maximumf": -math.inf,
    "arith.maxnumf": -math.inf,
    "arith.minimumf": math.inf,
    "arith.minnumf": math.inf,
}
_INTEGERS = {"arith.addi": 0, "arith.muli": 1, "arith.andi": -1, "arith.ori": 0, "arith.xori": 0}


@dataclass(frozen=True)
class Combiner:
    """An associative operation with a neutral element.

    Attributes:
        operation: combines what is there with the next value.
        neutral: the attribute of the constant that changes nothing.
    """

    operation: ir.Operation
    neutral: ir.Attribute

    @classmethod
    def of(cls, nest: LinearNest) -> Combiner | None:
        """Return how `nest` combines, or None if it is not known to be associative."""
        if len(nest.outputs) != 1:
            return None
        carried = nest.body.arguments[len(nest.inputs)]
        operation = terminator(nest.body).operands[0].owner
        if isinstance(operation, ir.Block):
            return None
        operation = operation.operation
        uses = list(carried.uses)
        if len(uses) != 1 or uses[0].owner.operation != operation:
            return None
        neutral = _neutral(operation.name, carried.type)
        return None if neutral is None else cls(operation, neutral)

    @property
    def type(self) -> ir.Type:
        """The type of what is combined."""
        return self.operation.results[0].type

    def start(self) -> ir.Value:
        """Emit the neutral element."""
        return emit("arith.constant", [], self.type, value=self.neutral)

    def combine(self, first: ir.Value, second: ir.Value) -> ir.Value:
        """Emit the combination of two values."""
        attributes = dict(self.operation.attributes.items())
        return emit(self.operation.name, [first, second], self.type, **attributes)


def _neutral(name: str, kind: ir.Type) -> ir.Attribute | None:
    if name in _FLOATS:
        return ir.FloatAttr.get(kind, _FLOATS[name])
    if name in _INTEGERS:
        return ir.IntegerAttr.get(kind, _INTEGERS[name])
    if name in ("arith.maxsi", "arith.minsi"):
        bits = ir.IntegerType(kind).width
        largest = (1 << (bits - 1)) - 1
        return ir.IntegerAttr.get(kind, largest if name.endswith("minsi") else -largest - 1)
    if name in ("arith.maxui", "arith.minui"):
        return ir.IntegerAttr.get(kind, -1 if name.endswith("minui") else 0)
    return None
