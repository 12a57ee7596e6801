# SPDX-License-Identifier: MIT OR Apache-2.0
"""Writes the solution of a window into the IR."""

from __future__ import annotations

from dataclasses import dataclass, field

from xyntra.dialects.mlir import ir
from xyntra.passes.recognize.egraph.constants import is_float, number_of, width
from xyntra.passes.recognize.egraph.extraction import Solution
from xyntra.passes.recognize.egraph.loops import ElementwiseLoop
from xyntra.passes.recognize.egraph.rules.vocabulary import CMPI, NAMED, OPERATIONS, TYPE_NAMES
from xyntra.passes.recognize.egraph.terms import Node, is_leaf, opcode, operands_of, type_of
from xyntra.passes.recognize.egraph.windows import LoopWindow

__all__ = ["Writer", "is_placeable"]

_OPERATIONS = tuple(OPERATIONS.values())


def is_placeable(window: LoopWindow, solution: Solution, positions: dict[ir.Value, int]) -> bool:
    """Whether everything that the new expressions read is there where the first of them stands."""
    first = _first_positions(window, solution)
    return all(
        positions.get(window.leaves[int(node[2])][0], -1) < first[number]
        for number, node in enumerate(solution.terms.nodes)
        if node[0] == "V" and number in first
    )


def _first_positions(window: LoopWindow, solution: Solution) -> dict[int, int]:
    """For every expression the position of the first loop that needs it."""
    first: dict[int, int] = {}
    for loop, root in zip(window.loops, solution.roots, strict=True):
        stack = [] if root is None else [root]
        while stack:
            number = stack.pop()
            if number not in first:
                first[number] = loop.index
                stack += operands_of(solution.terms.nodes[number])
    return first


@dataclass
class Writer:
    """Rewrites the windows of one block; `erase` removes at the end what is no longer used."""

    block: ir.Block
    _constants: dict[tuple[int, int], ir.Value] = field(default_factory=dict)
    _replaced: list[ir.Operation] = field(default_factory=list)

    def write(self, window: LoopWindow, solution: Solution) -> None:
        """Replace the results of the loops of `window`."""
        values: dict[int, ir.Value] = {}
        body = _Bodies(self, window, solution, values)
        for position, loop in enumerate(window.loops):
            root = solution.roots[position]
            if root is not None:
                if root not in values and solution.kept[position]:
                    values[root] = loop.result
                value = body.value(root, loop)
                if value != loop.result:
                    loop.result.replace_all_uses_with(value)
        self._replaced += [loop.op for loop in window.loops]

    def constant(self, type_: int, bits: int) -> ir.Value:
        """A scalar constant at the start of the block."""
        known = self._constants.get((type_, bits))
        if known is None:
            context = self.block.owner.context
            element = ir.Type.parse(TYPE_NAMES[type_], context)
            if is_float(type_):
                digits = width(type_) // 4
                text = f"0x{bits:0{digits}X} : {TYPE_NAMES[type_]}"
                attribute = ir.Attribute.parse(text, context)
            else:
                attribute = ir.IntegerAttr.get(element, int(number_of(type_, bits)))
            known = ir.Operation.create(
                "arith.constant",
                results=[element],
                attributes={"value": attribute},
                loc=ir.Location.unknown(context),
                ip=ir.InsertionPoint.at_block_begin(self.block),
            ).results[0]
            self._constants[type_, bits] = known
        return known

    def erase(self) -> None:
        """Remove loops that nobody reads any more, and what only they read."""
        # Later loops first; nothing may be created after this.
        for op in reversed(self._replaced):
            if not _is_unused(op):
                continue
            sources = _sources(op)
            op.erase()
            for source in sources:
                if _is_unused(source):
                    source.erase()


def _sources(op: ir.Operation) -> list[ir.Operation]:
    """Constants and empty tensors that `op` or its body reads."""
    values = list(op.operands)
    for view in op.regions[0].blocks[0].operations:
        values += view.operation.operands
    found: dict[ir.Value, ir.Operation] = {}
    for value in values:
        owner = value.owner
        if isinstance(owner, ir.Block) or owner.parent == op:
            continue
        if owner.name in ("tensor.empty", "arith.constant"):
            found[value] = owner.operation
    return list(found.values())


def _is_unused(op: ir.Operation) -> bool:
    return not any(True for result in op.results for _ in result.uses)


@dataclass
class _Bodies:
    """Builds the operations of one window; `values` are those that exist, by expression."""

    writer: Writer
    window: LoopWindow
    solution: Solution
    values: dict[int, ir.Value]

    def value(self, number: int, loop: ElementwiseLoop) -> ir.Value:
        """The tensor that holds an expression, created before `loop` if need be."""
        known = self.values.get(number)
        if known is not None:
            return known
        node = self.solution.terms.nodes[number]
        if node[0] == "V" and self.window.leaves[int(node[2])][2]:
            value = self.window.leaves[int(node[2])][0]
        else:
            for operand in self._stored_below(number):
                self.value(operand, loop)
            value = self._named(node, loop) if opcode(node) in NAMED else self._loop(number, loop)
        self.values[number] = value
        return value

    def _stored_below(self, number: int) -> list[int]:
        """Other tensors that an expression reads, in an order that does not depend on hashing."""
        found: dict[int, None] = {}
        stack = list(operands_of(self.solution.terms.nodes[number]))
        seen = set(stack)
        while stack:
            below = stack.pop()
            if below in self.solution.stored:
                found[below] = None
                continue
            news = [n for n in operands_of(self.solution.terms.nodes[below]) if n not in seen]
            seen.update(news)
            stack += news
        return sorted(found)

    def _named(self, node: Node, loop: ElementwiseLoop) -> ir.Value:
        operation = _OPERATIONS[opcode(node)]
        attributes: dict[str, ir.Attribute] = {}
        if operation.mlir == "xyntra.gelu":
            kind = "tanh" if operation.name == "gelu_tanh" else "none"
            attributes["approximate"] = ir.StringAttr.get(kind, loop.op.context)
        (operand,) = operands_of(node)
        op = ir.Operation.create(
            operation.mlir,
            results=[loop.result.type],
            operands=[self.value(operand, loop)],
            attributes=attributes,
            loc=loop.op.location,
            ip=ir.InsertionPoint(loop.op),
        )
        return op.results[0]

    def _loop(self, number: int, loop: ElementwiseLoop) -> ir.Value:
        body = _Body(self, number)
        context = loop.op.context
        rank = len(loop.op.attributes["iterator_types"])
        maps = [map_ for _, map_ in body.reads] + [ir.AffineMap.get_identity(rank, context)]
        operands = [value for value, _ in body.reads] + [list(loop.op.operands)[-1]]
        with loop.op.location:
            attributes = {
                "indexing_maps": ir.ArrayAttr.get([ir.AffineMapAttr.get(map_) for map_ in maps]),
                "iterator_types": loop.op.attributes["iterator_types"],
                "operandSegmentSizes": ir.DenseI32ArrayAttr.get([len(operands) - 1, 1]),
            }
            op = ir.Operation.create(
                "linalg.generic",
                results=[loop.result.type],
                operands=operands,
                attributes=attributes,
                regions=1,
                ip=ir.InsertionPoint(loop.op),
            )
            body.fill(op, operands)
        return op.results[0]


class _Body:
    """The scalar operations of one new loop."""

    def __init__(self, bodies: _Bodies, root: int) -> None:
        self.bodies = bodies
        self.root = root
        self.nodes = bodies.solution.terms.nodes
        self.reads: dict[tuple[ir.Value, ir.AffineMap], list[int]] = {}
        self.order = self._collect()

    def _collect(self) -> list[int]:
        """Numbers of the operations in the body, operands first; fills `reads`."""
        inside = {self.root}
        stack = [self.root]
        while stack:
            number = stack.pop()
            if self._is_read(number):
                continue
            news = [n for n in operands_of(self.nodes[number]) if n not in inside]
            inside.update(news)
            stack += news
        ordered = sorted(inside)
        for number in sorted(filter(self._is_read, ordered), key=self._read_order):
            self.reads.setdefault(self._source(number), []).append(number)
        return [n for n in ordered if not self._is_read(n)]

    def _is_read(self, number: int) -> bool:
        if self.nodes[number][0] == "V":
            return True
        return number != self.root and number in self.bodies.solution.stored

    def _read_order(self, number: int) -> tuple[bool, int]:
        """Tensors from outside the window first, in the order in which it read them."""
        node = self.nodes[number]
        return (False, int(node[2])) if node[0] == "V" else (True, number)

    def _source(self, number: int) -> tuple[ir.Value, ir.AffineMap]:
        node = self.nodes[number]
        if node[0] == "V":
            value, map_, _ = self.bodies.window.leaves[int(node[2])]
            return value, map_
        value = self.bodies.values[number]
        rank = len(ir.RankedTensorType(value.type).shape)
        return value, ir.AffineMap.get_identity(rank, value.context)

    def fill(self, op: ir.Operation, operands: list[ir.Value]) -> None:
        """Write the body of `op`, at the current location."""
        types = [ir.RankedTensorType(value.type).element_type for value in operands]
        locations = [op.location] * len(types)
        block = op.regions[0].blocks.append(*types, arg_locs=locations)
        scalars: dict[int, ir.Value] = {}
        for argument, numbers in zip(block.arguments, self.reads.values(), strict=False):
            scalars.update(dict.fromkeys(numbers, argument))
        with ir.InsertionPoint(block):
            for number in self.order:
                scalars[number] = self._scalar(self.nodes[number], scalars)
            ir.Operation.create("linalg.yield", operands=[scalars[self.root]])

    def _scalar(self, node: Node, scalars: dict[int, ir.Value]) -> ir.Value:
        if is_leaf(node):
            return self.bodies.writer.constant(int(node[1]), int(node[2]))
        operands = [scalars[operand] for operand in operands_of(node)]
        attributes: dict[str, ir.Attribute] = {}
        if node[0] == "Q":
            predicate = int(node[1])
            first = CMPI["eq"] if predicate >= CMPI["eq"] else 0
            i64 = ir.IntegerType.get_signless(64)
            attributes["predicate"] = ir.IntegerAttr.get(i64, predicate - first)
        return ir.Operation.create(
            _OPERATIONS[opcode(node)].mlir,
            results=[ir.Type.parse(TYPE_NAMES[type_of(node)])],
            operands=operands,
            attributes=attributes,
        ).results[0]
