# SPDX-License-Identifier: MIT OR Apache-2.0
"""Combines partial results of a reduction, by an associative operation with a neutral element."""

from __future__ import annotations

from dataclasses import dataclass

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.analysis.kernel_function import terminator
from xyntra.passes.analysis.neutral_element import neutral_element
from xyntra.passes.lower.loops.linear_nest import LinearNest


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
        return cls._of_output(nest, 0) if len(nest.outputs) == 1 else None

    @classmethod
    def of_all(cls, nest: LinearNest) -> list[Combiner] | None:
        """Return how `nest` combines for each output, or None if one is not known."""
        found = [cls._of_output(nest, number) for number in range(len(nest.outputs))]
        known = [each for each in found if each is not None]
        return known if len(known) == len(found) else None

    @classmethod
    def _of_output(cls, nest: LinearNest, number: int) -> Combiner | None:
        carried = nest.body.arguments[len(nest.inputs) + number]
        operation = terminator(nest.body).operands[number].owner
        if isinstance(operation, ir.Block):
            return None
        operation = operation.operation
        uses = list(carried.uses)
        if len(uses) != 1 or uses[0].owner.operation != operation:
            return None
        neutral = neutral_element(operation.name, carried.type)
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
