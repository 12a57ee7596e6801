# SPDX-License-Identifier: MIT OR Apache-2.0
"""The operations of one block as the graph that fusion partitions."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from xyntra.dialects.mlir import ir
from xyntra.passes.fusion.access import (
    UNALIGNED,
    Access,
    Loops,
    access,
    pointwise,
    row_counts,
    through_reshape,
)
from xyntra.passes.fusion.nodes import Description, Node, Read, Role, Tensors, describe

__all__ = ["FusionGraph"]


@dataclass(slots=True)
class _Seen:
    """Where a value comes from.

    Attributes:
        root: the value behind its views.
        producer: the operation that computes it; None for arguments and constants.
        views: the views between.
        sliced: numbers of rows at which slices among the views keep rows whole; None without any.
        source: whether the operation is cloned wherever it is used.
        static: whether it depends on weights and constants alone.
    """

    root: ir.Value
    producer: int | None
    views: tuple[int, ...] = ()
    sliced: frozenset[int] | None = None
    source: bool = False
    static: bool = False


@dataclass
class FusionGraph:
    """Operations in order, terminator last.

    Attributes:
        nodes: the operations.
        nbytes: size of every tensor, by number.
        readers: for every tensor that an operation of the block computes, how many other
            operations read it, straight or through views.
        producer: the operation that computes a tensor, for those that one computes.
        passive: the operation behind each value that is cloned into the kernels that use it.
    """

    nodes: list[Node] = field(default_factory=list)
    nbytes: list[int] = field(default_factory=list)
    readers: list[int] = field(default_factory=list)
    producer: list[int | None] = field(default_factory=list)
    passive: dict[ir.Value, int] = field(default_factory=dict)

    @classmethod
    def of(cls, block: ir.Block) -> FusionGraph:
        """Analyse `block` in one sweep."""
        return _Reader(block).graph


class _Reader:
    def __init__(self, block: ir.Block) -> None:
        self.graph = FusionGraph()
        self.tensors = Tensors()
        self.numbers: dict[ir.Value, int] = {}
        self.seen: dict[ir.Value, _Seen] = {}
        weights = _weights(block)
        for position, argument in enumerate(block.arguments):
            self.seen[argument] = _Seen(argument, None, static=position in weights)
        for view in block.operations:
            self._visit(view.operation)

    def _visit(self, op: ir.Operation) -> None:
        results = list(op.results)
        about, shape = self._describe(op, results)
        index = len(self.graph.nodes)
        node = Node(op, about.role, shape, about.rows)
        self.graph.nodes.append(node)
        if about.role is Role.VIEW:
            self.seen[results[0]] = self._through(index, op, shape)
            self.graph.passive[results[0]] = index
            return
        if about.role in (Role.SOURCE, Role.CONSTANT):
            source = about.role is Role.SOURCE
            for value in results:
                self.seen[value] = _Seen(value, None, source=source, static=True)
                if source:
                    self.graph.passive[value] = index
            return
        node.matrix_flops, node.scalar_ops = about.matrix_flops, about.scalar_ops
        node.moves_only = about.moves_only
        node.static = self._read_operands(node, about) and bool(results)
        node.results = tuple(self._number(value, index) for value in results)
        for value in results:
            self.seen[value] = _Seen(value, index, static=node.static)

    def _describe(
        self, op: ir.Operation, results: list[ir.Value]
    ) -> tuple[Description, tuple[int, ...]]:
        known = self.tensors.shape_and_bytes(results[0].type) if results else None
        if known is None and op.name != "arith.constant":
            return Description(Role.OPAQUE), ()
        shape = known[0] if known else ()
        return describe(op, shape, self.tensors), shape

    def _through(self, index: int, op: ir.Operation, shape: tuple[int, ...]) -> _Seen:
        inner = self.seen[op.operands[0]]
        sliced = inner.sliced
        if op.name == "tensor.extract_slice":
            known = self.tensors.shape_and_bytes(op.operands[0].type)
            kept = row_counts(shape, _equal_prefix(shape, known[0] if known else ()))
            sliced = kept if sliced is None else sliced & kept
        return replace(inner, views=(*inner.views, index), sliced=sliced)

    def _number(self, value: ir.Value, producer: int | None) -> int:
        number = self.numbers.get(value)
        if number is None:
            number = self.numbers[value] = len(self.graph.nbytes)
            known = self.tensors.shape_and_bytes(value.type)
            self.graph.nbytes.append(known[1] if known else 0)
            self.graph.readers.append(0)
            self.graph.producer.append(producer)
        return number

    def _read_operands(self, node: Node, about: Description) -> bool:
        """Add what the operation reads; returns whether all of it is static."""
        op, static = node.op, True
        destinations = len(op.operands) - len(op.results) if about.loops else 1 << 30
        if op.name == "tensor.insert_slice":
            destinations = 1
        for position, value in enumerate(op.operands):
            seen = self.seen.get(value)
            if seen is None or (seen.source and not seen.views):
                continue
            static = static and seen.static
            found = self._access(node, about.loops, position, value)
            self._add_read(node, value, found, (op, position), position >= destinations)
        for holder in _nested(op) if node.role is Role.OPAQUE else about.captured:
            for position, value in enumerate(holder.operands):
                seen = self.seen.get(value)
                if seen is not None and not seen.source:
                    static = static and seen.static
                    self._add_read(node, value, UNALIGNED, (holder, position), False)
        return static

    def _add_read(
        self,
        node: Node,
        value: ir.Value,
        found: Access,
        use: tuple[ir.Operation, int],
        initial: bool,
    ) -> None:
        seen = self.seen[value]
        if seen.views and seen.producer is not None:
            found = through_reshape(found, self.graph.nodes[seen.producer].shape)
            if seen.sliced is not None:
                found = Access(found.rows & seen.sliced, False)
        origin = self._number(seen.root, seen.producer)
        tensor = self._number(value, seen.producer) if seen.views else origin
        if all(read.tensor != tensor for read in node.reads):
            self.graph.readers[origin] += 1
        node.reads.append(Read(seen.producer, tensor, origin, found, *use, seen.views, initial))

    def _access(self, node: Node, loops: Loops | None, position: int, value: ir.Value) -> Access:
        known = self.tensors.shape_and_bytes(value.type)
        if known is None or node.role is Role.OPAQUE:
            return UNALIGNED
        if loops is not None:
            return access(loops.maps[-1], node.shape, loops.maps[position], known[0])
        if node.role is Role.DATA:
            kept = _equal_prefix(node.shape, known[0])
            return Access(row_counts(node.shape, kept), False)
        if node.role in (Role.ROW, Role.LOOP) and position == 0:
            return pointwise(node.shape)
        return UNALIGNED


def _equal_prefix(shape: tuple[int, ...], other: tuple[int, ...]) -> int:
    count = 0
    for ours, theirs in zip(shape, other, strict=False):
        if ours != theirs:
            break
        count += 1
    return count


def _weights(block: ir.Block) -> set[int]:
    """Positions of the arguments that are weights."""
    function = block.owner
    if "arg_attrs" not in function.attributes:
        return set()
    return {
        position
        for position, given in enumerate(ir.ArrayAttr(function.attributes["arg_attrs"]))
        if "xyntra.parameter" in ir.DictAttr(given)
    }


def _nested(op: ir.Operation) -> list[ir.Operation]:
    """All operations inside `op`."""
    found: list[ir.Operation] = []
    for region in op.regions:
        for block in region.blocks:
            for view in block.operations:
                found += [view.operation, *_nested(view.operation)]
    return found
