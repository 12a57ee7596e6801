# SPDX-License-Identifier: MIT OR Apache-2.0
"""Reads the bodies of elementwise operations.

Binding calls are what reading costs: types are followed from node to node, and attributes are
compared with those seen before.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from xyntra.dialects.mlir import ir
from xyntra.passes.recognize.egraph.constants import bits_of
from xyntra.passes.recognize.egraph.rules.vocabulary import CMPI, OPERATIONS, TYPES, Operation
from xyntra.passes.recognize.egraph.terms import Node

__all__ = ["Body", "Scalars"]

_OPERATIONS: dict[str, Operation] = {
    operation.mlir: operation
    for operation in OPERATIONS.values()
    if not operation.mlir.startswith("xyntra.")
}
_LETTERS = {1: "U", 2: "B", 3: "T"}
_FLAGS = ("fastmath", "overflowFlags")


@dataclass
class Scalars:
    """A cache of constants, types and attributes in one block.

    Attributes:
        constants: type and bits of values that hold one number everywhere.
    """

    constants: dict[ir.Value, tuple[int, int]] = field(default_factory=dict)
    _types: dict[ir.Type, int | None] = field(default_factory=dict)
    _plain: dict[str, tuple[int, str, ir.Attribute | None]] = field(default_factory=dict)

    def define(self, op: ir.Operation) -> None:
        """Remember an `arith.constant`."""
        constant = self.constant(op.attributes["value"])
        if constant is not None:
            self.constants[op.results[0]] = constant

    def constant(self, attribute: ir.Attribute) -> tuple[int, int] | None:
        """Type and bits of a number, or of a tensor of equal numbers."""
        if isinstance(attribute, ir.DenseElementsAttr):
            if not attribute.is_splat:
                return None
            attribute = attribute.get_splat_value()
        if not isinstance(attribute, ir.FloatAttr | ir.IntegerAttr | ir.BoolAttr):
            return None
        type_ = self.type_of(attribute.type)
        if type_ is None:
            return None
        value = attribute.value
        if isinstance(value, float) and math.isnan(value):
            # MLIR prints a NaN as its bits: `0x7FC00000 : f32`.
            return type_, int(str(attribute).split()[0], 16)
        return type_, bits_of(type_, value)

    def type_of(self, type_: ir.Type) -> int | None:
        """The number of a type; None for index and the like."""
        if type_ not in self._types:
            self._types[type_] = TYPES.get(str(type_))
        return self._types[type_]

    def is_plain(self, op: ir.Operation, name: str) -> bool:
        """Tell whether `op` has no flags or attributes that rules know nothing of."""
        attributes = op.attributes
        known = self._plain.get(name)
        if known is None:
            return self._analyse(op, name)
        count, flag, neutral = known
        return len(attributes) == count and (not flag or attributes[flag] == neutral)

    def _analyse(self, op: ir.Operation, name: str) -> bool:
        names = [entry if isinstance(entry, str) else entry.name for entry in op.attributes]
        flags = [entry for entry in names if entry != "predicate"]
        if any(flag not in _FLAGS or "<none>" not in str(op.attributes[flag]) for flag in flags):
            return False
        if len(flags) < 2:
            flag = flags[0] if flags else ""
            neutral = op.attributes[flag] if flag else None
            self._plain[name] = len(names), flag, neutral
        return True


class Body:
    """The scalar operations of one body.

    Attributes:
        nodes: `("R", input)`, constants, and operations on earlier nodes.
        types: the number of each node's type.
        size: how many operations there are.
    """

    def __init__(self, scalars: Scalars, inputs: list[ir.Value]) -> None:
        self.nodes: list[Node] = [("R", position) for position in range(len(inputs))]
        self.types: list[int] = []
        self.size = 0
        self._scalars = scalars
        self._known = {argument: position for position, argument in enumerate(inputs)}
        self._inputs = inputs

    def read(self, block: ir.Block) -> int | None:
        """The number of what is yielded; None where the body holds what rules cannot speak of."""
        for argument in self._inputs:
            type_ = self._scalars.type_of(argument.type)
            if type_ is None:
                return None
            self.types.append(type_)
        for view in block.operations:
            op = view.operation
            name = op.name
            operands: list[int] = []
            for value in op.operands:
                number = self._operand(value)
                if number is None:
                    return None
                operands.append(number)
            if name == "linalg.yield":
                return operands[0]
            if not self._add(op, name, operands):
                return None
        return None

    def _operand(self, value: ir.Value) -> int | None:
        number = self._known.get(value)
        if number is None:
            constant = self._scalars.constants.get(value)
            if constant is None:
                return None
            number = self._known[value] = len(self.nodes)
            self.nodes.append(("K", *constant))
            self.types.append(constant[0])
        return number

    def _add(self, op: ir.Operation, name: str, operands: list[int]) -> bool:
        """Add the node of one operation; False if rules cannot speak of it."""
        result = op.results[0] if len(op.results) == 1 else None
        type_ = None if result is None else self._scalars.type_of(result.type)
        if type_ is None:
            return False
        if name == "arith.constant":
            constant = self._scalars.constant(op.attributes["value"])
            node: Node | None = None if constant is None else ("K", *constant)
        else:
            node = self._node(op, name, type_, operands)
        if node is None:
            return False
        self._known[result] = len(self.nodes)
        self.nodes.append(node)
        self.types.append(type_)
        return True

    def _node(self, op: ir.Operation, name: str, type_: int, operands: list[int]) -> Node | None:
        operation = _OPERATIONS.get(name)
        if operation is None or not self._scalars.is_plain(op, name):
            return None
        self.size += 1
        form = operation.form
        source = self.types[operands[0]]
        if form == "select":
            return ("S", type_, *operands) if source == TYPES["i1"] else None
        if form == "compare":
            first = CMPI["eq"] if name == "arith.cmpi" else 0
            return ("Q", first + op.attributes["predicate"].value, source, *operands)
        if form == "cast":
            return ("X", operation.code, source, type_, *operands)
        # math.fpowi and the like take operands of two types.
        if any(self.types[operand] != type_ for operand in operands):
            return None
        return (_LETTERS[len(operands)], operation.code, type_, *operands)
