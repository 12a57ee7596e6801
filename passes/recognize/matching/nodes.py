# SPDX-License-Identifier: MIT OR Apache-2.0
"""Expressions and what they read of each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from xyntra.dialects.mlir import ir
from xyntra.passes.recognize.matching.layouts import UNIT, Dims

__all__ = ["Expression", "ExpressionReader", "Operand", "Read", "Type", "compose"]

Type = tuple[tuple[int, ...], str]
"""Shape and MLIR's text for the element type."""


class ExpressionReader(Protocol):
    """A source of expressions of values."""

    def read(self, value: ir.Value, dims: Dims) -> Read:
        """Return what is read at `dims` of `value`."""

    def whole(self, value: ir.Value) -> Read:
        """Read all of `value`."""

    def type_of(self, value: ir.Value) -> Type:
        """Return the shape and the element type of `value`."""

    def constant(self, operation: ir.Operation) -> Expression:
        """Return what an `arith.constant` is."""


class Expression:
    """One scalar operation over a whole iteration space; equal only to itself.

    Attributes:
        opcode: `add`, `exp`, `reduce_sum`, `constant`, `argument`, `reshape`, `slice`, a named op
            (`xyntra.softmax`); `copy` for data movement, which no read ends at; the name of the
            MLIR operation for everything that is not looked into.
        shape: of the result.
        element: MLIR's text for the element type.
        aligned: whether operands are read over `domain`; else each over its own dimensions.
        domain: sizes of the iteration space: `shape`, followed by the dimensions that are reduced.
        operation: the operation of the block that computes it; None for block arguments.
        value: the tensor that holds it; None for a step inside the body of an operation.
        number: the value of a constant with one element or of equal elements; else None.
        pending: its operands, those that were not asked for yet as a value and where it is read.
    """

    __slots__ = (
        "_graph", "aligned", "domain", "element", "number", "opcode", "operation", "pending",
        "shape", "value",
    )  # fmt: skip

    def __init__(
        self,
        graph: ExpressionReader,
        opcode: str,
        operands: tuple[Operand, ...],
        type_: Type,
        domain: tuple[int, ...] | None = None,
    ) -> None:
        self._graph = graph
        self.pending = operands
        self.opcode = opcode
        self.aligned = True
        self.shape, self.element = type_
        self.domain = self.shape if domain is None else domain
        self.operation: ir.Operation | None = None
        self.value: ir.Value | None = None
        self.number: float | int | None = None

    @property
    def operands(self) -> tuple[Read, ...]:
        """Return what it reads, each at dimensions of `domain`."""
        reads = tuple(
            operand if isinstance(operand, Read) else self._graph.read(*operand)
            for operand in self.pending
        )
        self.pending = reads
        return reads

    @property
    def contraction(self) -> tuple[Read, Read] | None:
        """The factors, read over `domain`, if this is a sum of products of two tensors."""
        if self.opcode != "reduce_sum" or self.operands[0].source.opcode != "mul":
            return None
        product = self.operands[0].source
        left, right = product.operands
        if product.value is not None or not (left.dims and right.dims):
            return None
        return left, right

    def __repr__(self) -> str:
        shape = "x".join(map(str, (*self.shape, self.element)))
        return f"<{self.opcode} {shape}>"


@dataclass(frozen=True, slots=True)
class Read:
    """`source`, read at `dims`: for each of its dimensions one of the reader's, or `UNIT`.

    A constant of one number is read at ().
    """

    source: Expression
    dims: Dims

    def through(self, outer: Dims) -> Read:
        """This read, made by something that is itself read at `outer`."""
        return Read(self.source, compose(self.dims, outer))


Operand = Read | tuple[ir.Value, Dims]
"""A read, or a value and where it is read, not looked into yet."""


def compose(inner: Dims, outer: Dims) -> Dims:
    """Return where something is read at `inner` by a reader that is read at `outer`."""
    return tuple(UNIT if d == UNIT else outer[d] for d in inner)
