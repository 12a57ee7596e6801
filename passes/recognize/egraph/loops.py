# SPDX-License-Identifier: MIT OR Apache-2.0
"""Reads the elementwise operations of a block."""

from __future__ import annotations

from dataclasses import dataclass, field

from xyntra.dialects.mlir import ir
from xyntra.passes.recognize.egraph.loop_bodies import Body, Scalars
from xyntra.passes.recognize.egraph.terms import Node

__all__ = ["ElementwiseLoop", "ElementwiseLoops"]


@dataclass(slots=True)
class ElementwiseLoop:
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
class ElementwiseLoops:
    """The elementwise operations of one block, in order."""

    found: list[ElementwiseLoop] = field(default_factory=list)
    _scalars: Scalars = field(default_factory=Scalars)
    _maps: dict[tuple[ir.Attribute, ir.Attribute], _Maps | None] = field(default_factory=dict)
    _map_numbers: dict[ir.AffineMap, int] = field(default_factory=dict)

    @classmethod
    def of(cls, block: ir.Block) -> ElementwiseLoops:
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
                loops._scalars.define(op)
        return loops

    def _loop(self, op: ir.Operation, index: int) -> ElementwiseLoop | None:
        attributes = op.attributes
        key = attributes["indexing_maps"], attributes["iterator_types"]
        if key not in self._maps:
            self._maps[key] = self._analyse(*key)
        maps = self._maps[key]
        if maps is None or len(op.results) != 1:
            return None
        return self._read(op, index, maps)

    def _read(self, op: ir.Operation, index: int, maps: _Maps) -> ElementwiseLoop | None:
        operands = list(op.operands)[:-1]
        block = op.regions[0].blocks[0]
        arguments = list(block.arguments)
        if len(operands) != len(arguments) - 1:
            return None
        body = Body(self._scalars, arguments[:-1])
        root = body.read(block)
        if root is None:
            return None
        if not body.size:
            # Data movement; a fill is a constant to its readers.
            if body.nodes[root][0] == "K":
                _, type_, bits = body.nodes[root]
                self._scalars.constants[op.results[0]] = (int(type_), int(bits))
            return None
        constants = {
            position: constant
            for position, value in enumerate(operands)
            if (constant := self._scalars.constants.get(value)) is not None
        }
        inputs = list(zip(operands, maps.maps, maps.numbers, strict=False))
        return ElementwiseLoop(
            op=op,
            index=index,
            result=op.results[0],
            inputs=inputs,
            input_types=body.types[: len(operands)],
            constants=constants,
            identity=maps.identity,
            nodes=body.nodes,
            root=root,
            size=body.size,
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
