# SPDX-License-Identifier: MIT OR Apache-2.0
"""Reads the elementwise operations of a block."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from xyntra.dialects.mlir import ir
from xyntra.passes.recognize.egraph.constants import bits_of
from xyntra.passes.recognize.egraph.terms import Node
from xyntra.passes.recognize.egraph.vocabulary import CMPI, OPERATIONS, TYPES, Operation

__all__ = ["Loop", "Loops"]

_OPERATIONS: dict[str, Operation] = {
    operation.mlir: operation
    for operation in OPERATIONS.values()
    if not operation.mlir.startswith("xyntra.")
}
_FLAGS = {"fastmath": "none", "overflowFlags": "none", "isExact": "", "nonNeg": ""}


@dataclass(slots=True)
class Loop:
    """One elementwise `linalg.generic` with one result.

    Attributes:
        op: the operation.
        index: its position in the block.
        result: its result.
        inputs: tensors that it reads, with the map of each and that map's number.
        input_types: numbers of their element types.
        constants: type and bits of inputs that hold one number everywhere, by position.
        identity: the number of the identity map.
        nodes: the body: `("R", input)`, constants, and operations on earlier nodes.
        root: the node that is yielded.
        size: how many operations the body has.
    """

    op: ir.Operation
    index: int
    result: ir.Value
    inputs: list[tuple[ir.Value, ir.AffineMap, int]]
    input_types: list[int]
    constants: dict[int, tuple[int, int]]
    identity: int
    nodes: list[Node]
    root: int
    size: int


@dataclass(slots=True)
class _Maps:
    """The maps of a `linalg.generic` with the number of each; `identity` is that of the result."""

    maps: list[ir.AffineMap]
    numbers: list[int]
    identity: int


@dataclass
class Loops:
    """The elementwise operations of one block, in order."""

    found: list[Loop] = field(default_factory=list)
    _constants: dict[ir.Value, tuple[int, int] | None] = field(default_factory=dict)
    _maps: dict[tuple[ir.Attribute, ir.Attribute], _Maps | None] = field(default_factory=dict)
    _map_numbers: dict[ir.AffineMap, int] = field(default_factory=dict)
    _types: dict[ir.Type, int | None] = field(default_factory=dict)

    @classmethod
    def of(cls, block: ir.Block) -> Loops:
        """Read `block` in one sweep."""
        loops = cls()
        for index, view in enumerate(block.operations):
            op = view.operation
            name = op.name
            if name == "linalg.generic":
                loop = loops._loop(op, index)
                if loop is not None:
                    loops.found.append(loop)
            elif name == "arith.constant":
                loops._constants[op.results[0]] = loops._constant(op.attributes["value"])
        return loops

    def _loop(self, op: ir.Operation, index: int) -> Loop | None:
        attributes = op.attributes
        key = attributes["indexing_maps"], attributes["iterator_types"]
        if key not in self._maps:
            self._maps[key] = self._analyse(*key)
        maps = self._maps[key]
        if maps is None or len(op.results) != 1:
            return None
        return self._read(op, index, maps)

    def _read(self, op: ir.Operation, index: int, maps: _Maps) -> Loop | None:
        operands = list(op.operands)[:-1]
        block = op.regions[0].blocks[0]
        arguments = list(block.arguments)
        types = [self._type(argument.type) for argument in arguments[:-1]]
        if None in types or len(operands) != len(types):
            return None
        body = _Body(self, arguments[:-1])
        root = body.read(block)
        if root is None:
            return None
        if not body.size:
            # Data movement; a fill is a constant to its readers.
            if body.nodes[root][0] == "K":
                _, type_, bits = body.nodes[root]
                self._constants[op.results[0]] = (int(type_), int(bits))
            return None
        constants = {
            position: constant
            for position, value in enumerate(operands)
            if (constant := self._constants.get(value)) is not None
        }
        inputs = list(zip(operands, maps.maps, maps.numbers, strict=False))
        found = [type_ for type_ in types if type_ is not None]
        result = op.results[0]
        return Loop(
            op, index, result, inputs, found, constants, maps.identity, body.nodes, root, body.size
        )

    def _analyse(self, maps: ir.Attribute, kinds: ir.Attribute) -> _Maps | None:
        """None unless every loop is parallel and the result is written in order."""
        if any("parallel" not in str(kind) for kind in kinds):
            return None
        parsed = [attribute.value for attribute in maps]
        identity = ir.AffineMap.get_identity(parsed[-1].n_dims, maps.context)
        if parsed[-1] != identity:
            return None
        numbers = [self._map_numbers.setdefault(m, len(self._map_numbers)) for m in parsed]
        return _Maps(parsed[:-1], numbers[:-1], numbers[-1])

    def _type(self, type_: ir.Type) -> int | None:
        if type_ not in self._types:
            self._types[type_] = TYPES.get(str(type_))
        return self._types[type_]

    def constant(self, value: ir.Value) -> tuple[int, int] | None:
        """Type and bits of a scalar that the block around a body defines as a constant."""
        return self._constants.get(value)

    def _constant(self, attribute: ir.Attribute) -> tuple[int, int] | None:
        if isinstance(attribute, ir.DenseElementsAttr):
            if not attribute.is_splat:
                return None
            attribute = attribute.get_splat_value()
        if not isinstance(attribute, ir.FloatAttr | ir.IntegerAttr | ir.BoolAttr):
            return None
        type_ = self._type(attribute.type)
        if type_ is None:
            return None
        value = attribute.value
        if isinstance(value, float) and math.isnan(value):
            return type_, _nan_bits(str(attribute))
        return type_, bits_of(type_, value)


def _nan_bits(text: str) -> int:
    """MLIR prints a NaN as its bits: `0x7FC00000 : f32`."""
    return int(text.split()[0], 16)


class _Body:
    """Reads the scalar operations of one body."""

    def __init__(self, loops: Loops, inputs: list[ir.Value]) -> None:
        self.loops = loops
        self.nodes: list[Node] = []
        self.size = 0
        self.known: dict[ir.Value, int] = {}
        for position, argument in enumerate(inputs):
            self.known[argument] = position
            self.nodes.append(("R", position))

    def read(self, block: ir.Block) -> int | None:
        """The number of what is yielded; None where the body holds what rules cannot speak of."""
        for view in block.operations:
            op = view.operation
            operands = [self._operand(value) for value in op.operands]
            if None in operands:
                return None
            numbers = [operand for operand in operands if operand is not None]
            if op.name == "linalg.yield":
                return numbers[0]
            node = self._node(op, numbers)
            if node is None:
                return None
            self.known[op.results[0]] = len(self.nodes)
            self.nodes.append(node)
        return None

    def _operand(self, value: ir.Value) -> int | None:
        number = self.known.get(value)
        if number is None:
            constant = self.loops.constant(value)
            if constant is None:
                return None
            number = self.known[value] = len(self.nodes)
            self.nodes.append(("K", *constant))
        return number

    def _node(self, op: ir.Operation, operands: list[int]) -> Node | None:
        if op.name == "arith.constant":
            constant = self.loops._constant(op.attributes["value"])
            return None if constant is None else ("K", *constant)
        operation = _OPERATIONS.get(op.name)
        if operation is None or _is_flagged(op):
            return None
        self.size += 1
        type_ = self.loops._type(op.results[0].type)
        source = self.loops._type(op.operands[0].type)
        if type_ is None or source is None:
            return None
        if operation.form == "select":
            return ("S", type_, *operands) if source == TYPES["i1"] else None
        if operation.form == "compare":
            predicate = op.attributes["predicate"].value
            first = CMPI["eq"] if operation.name == "cmpi" else 0
            return ("Q", first + predicate, source, *operands)
        if operation.form == "cast":
            return ("X", operation.code, source, type_, *operands)
        return self._arithmetic(op, operation, type_, operands)

    def _arithmetic(
        self, op: ir.Operation, operation: Operation, type_: int, operands: list[int]
    ) -> Node | None:
        # math.fpowi and the like take operands of two types.
        if any(self.loops._type(value.type) != type_ for value in op.operands):
            return None
        letter = {1: "U", 2: "B", 3: "T"}[len(operands)]
        return (letter, operation.code, type_, *operands)


def _is_flagged(op: ir.Operation) -> bool:
    """Whether `op` carries flags or attributes that rules know nothing of."""
    for entry in op.attributes:
        name = entry if isinstance(entry, str) else entry.name
        if name == "predicate":
            continue
        if name not in _FLAGS or "none" not in str(op.attributes[name]):
            return True
    return False
