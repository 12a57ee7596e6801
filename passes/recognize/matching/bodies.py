# SPDX-License-Identifier: MIT OR Apache-2.0
"""Looks into the body of a linalg.generic."""

from __future__ import annotations

from xyntra.dialects.mlir import ir
from xyntra.passes.recognize.matching.layouts import UNIT, Dims, Layouts, OperandLayout
from xyntra.passes.recognize.matching.nodes import Expression, ExpressionReader, Operand, Read, Type
from xyntra.passes.recognize.matching.opcodes import REDUCTIONS, opcode_of

__all__ = ["analyse_body"]

_SCALAR = ("arith.", "math.")


def analyse_body(
    graph: ExpressionReader, layouts: Layouts, operation: ir.Operation
) -> list[Expression] | None:
    """Return an expression for each result of a `linalg.generic`.

    None where the body or the maps are beyond what expressions can say: it reads at computed
    positions, asks for its loop indices, or accumulates in another way than
    `running = combine(running, element)` from the neutral value on.

    Args:
        graph: reads operands; the expressions do not keep it alive.
        layouts: of operations.
        operation: the `linalg.generic`.
    """
    operands = list(operation.operands)
    shapes = [graph.type_of(operand)[0] for operand in operands]
    layout = layouts.of(operation, shapes, len(operation.results))
    if layout is None:
        return None
    found = _Body(graph, operation, layout, operands).results()
    for expression in found or ():
        expression.operation = operation
    return found


class _Body:
    """The scalar operations of one body, from the first to the last."""

    def __init__(
        self,
        graph: ExpressionReader,
        operation: ir.Operation,
        layout: OperandLayout,
        operands: list[ir.Value],
    ) -> None:
        self.graph = graph
        self.operation = operation
        self.layout = layout
        self.operands = operands
        self.block = operation.regions[0].blocks[0]
        self.scalars: dict[ir.Value, Operand] = {}
        self.made: dict[ir.Value, Expression] = {}
        self.running: set[ir.Value] = set()
        self.everywhere: Dims = tuple(
            UNIT if size == 1 else d for d, size in enumerate(layout.domain)
        )

    def results(self) -> list[Expression] | None:
        """The expression of each result; None where the body stays opaque."""
        count = len(self.operation.results)
        inputs = len(self.operands) - count
        self.scalars = dict(
            zip(
                self.block.arguments, zip(self.operands, self.layout.dims, strict=True), strict=True
            )
        )
        if self.layout.reduced:
            self.running = set(list(self.block.arguments)[inputs:])
            for argument in self.running:
                del self.scalars[argument]
        for scalar in self.block.operations:
            name = scalar.name
            if name == "linalg.yield":
                found = [self._result(v, inputs + i) for i, v in enumerate(scalar.operands)]
                return [each for each in found if each] if None not in found else None
            if not name.startswith(_SCALAR) or not self._step(name, scalar.operation):
                return None
        return None

    def _step(self, name: str, scalar: ir.Operation) -> bool:
        """Analyse one scalar operation; False if it is beyond expressions."""
        operands = list(scalar.operands)
        if self.running and any(value in self.running for value in operands):
            return True  # The accumulation itself: `_result` looks at it.
        results = list(scalar.results)
        if len(results) != 1:
            return False
        result = results[0]
        if name == "arith.constant":
            # A value inside of a body must not be kept: it does not notice when that is erased.
            self.scalars[result] = Read(self.graph.constant(scalar), ())
            return True
        reads = tuple(self.scalars.get(value) or (value, ()) for value in operands)
        self.scalars[result] = self._make(opcode_of(scalar, name), reads, result)
        return True

    def _make(self, opcode: str, operands: tuple[Operand, ...], result: ir.Value) -> Read:
        element = self.graph.type_of(result)[1]
        made = Expression(self.graph, opcode, operands, (self.layout.domain, element))
        made.operation = self.operation
        self.made[result] = made
        return Read(made, self.everywhere)

    def _operand(self, value: ir.Value) -> Operand:
        """A scalar of the body, or one captured from around it."""
        return self.scalars.get(value) or (value, ())

    def _result(self, value: ir.Value, position: int) -> Expression | None:
        type_ = self.graph.type_of(self.operands[position])
        if self.layout.reduced:
            return self._reduction(value, position, type_)
        made = self.made.pop(value, None)
        if made is not None:
            return made
        operand = self._operand(value)
        return Expression(self.graph, "copy", (operand,), type_)

    def _reduction(self, value: ir.Value, position: int, type_: Type) -> Expression | None:
        running = list(self.block.arguments)[position]
        if isinstance(value.owner, ir.Block):
            return None
        last = value.owner.operation
        name, neutral = REDUCTIONS.get(opcode_of(last, last.name), ("", None))
        uses = list(running.uses)
        if not name or len(uses) != 1 or uses[0].owner.operation != last:
            return None
        if any(use.owner.name != "linalg.yield" for use in value.uses):
            return None
        element = self._operand(next(v for v in last.operands if v != running))
        initial = self.graph.whole(self.operands[position]).source
        if initial.number != neutral:
            return None
        return Expression(self.graph, name, (element,), type_, self.layout.domain)
