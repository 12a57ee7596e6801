# SPDX-License-Identifier: MIT OR Apache-2.0
"""The operations of one block as the graph that fusion partitions."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from xyntra.dialects.mlir import ir
from xyntra.passes.fusion.access import (
    UNALIGNED,
    Access,
    Loops,
    Shape,
    pointwise,
    row_counts,
    through_reshape,
)
from xyntra.passes.fusion.functions import weight_positions
from xyntra.passes.fusion.nodes import (
    OPAQUE,
    PASSIVE,
    Description,
    Node,
    Read,
    Role,
    Tensors,
    describe,
)
from xyntra.passes.walking import nested_operations

__all__ = ["FusionGraph"]


@dataclass(slots=True)
class _Seen:
    """Where a value comes from.

    Attributes:
        shape: of the value.
        tensor: its number.
        origin: number of the value behind its views.
        producer: the operation that computes it; None for arguments and constants.
        source: whether it is cloned wherever it is used.
        static: whether it depends on weights and constants alone.
        views: the views between.
        sliced: numbers of rows at which slices among the views keep rows whole; None without any.
    """

    shape: Shape
    tensor: int
    origin: int
    producer: int | None
    source: bool = False
    static: bool = False
    views: tuple[int, ...] = ()
    sliced: frozenset[int] | None = None


@dataclass
class FusionGraph:
    """Operations in order, terminator last.

    Attributes:
        nodes: the operations.
        nbytes: size of every tensor, by number.
        readers: for every tensor that an operation of the block computes, how many other
            operations read it, straight or through views.
        producer: the operation that computes a tensor, for those that one computes.
        types: type of every tensor that is no view.
        passive: the operation behind each value that is cloned into the kernels that use it.
    """

    nodes: list[Node] = field(default_factory=list)
    nbytes: list[int] = field(default_factory=list)
    readers: list[int] = field(default_factory=list)
    producer: list[int | None] = field(default_factory=list)
    types: dict[int, ir.Type] = field(default_factory=dict)
    passive: dict[ir.Value, int] = field(default_factory=dict)

    @classmethod
    def of(cls, block: ir.Block) -> FusionGraph:
        """Analyse `block` in one sweep."""
        return _Reader(block).graph


class _Reader:
    def __init__(self, block: ir.Block) -> None:
        self.graph = FusionGraph()
        self.tensors = Tensors()
        self.seen: dict[ir.Value, _Seen] = {}
        self.read_by_node: set[int] = set()
        weights = weight_positions(block)
        for position, argument in enumerate(block.arguments):
            self._add(argument, None, static=position in weights)
        for view in block.operations:
            self._visit(view.operation)

    def _add(
        self, value: ir.Value, producer: int | None, *, source: bool = False, static: bool = False
    ) -> int:
        type_ = value.type
        known = self.tensors.shape_and_bytes(type_)
        shape, nbytes = known or ((), 0)
        number = self._number(nbytes, producer)
        self.graph.types[number] = type_
        self.seen[value] = _Seen(shape, number, number, producer, source, static)
        return number

    def _number(self, nbytes: int, producer: int | None) -> int:
        graph = self.graph
        graph.nbytes.append(nbytes)
        graph.readers.append(0)
        graph.producer.append(producer)
        return len(graph.nbytes) - 1

    def _visit(self, op: ir.Operation) -> None:
        results = list(op.results)
        known = self.tensors.shape_and_bytes(results[0].type) if results else None
        shape = known[0] if known else ()
        name = op.name
        if known is None and name != "arith.constant":
            about = OPAQUE
        else:
            about = describe(op, name, shape, self.tensors)
        index = len(self.graph.nodes)
        node = Node(op, about.role, shape, about.rows)
        self.graph.nodes.append(node)
        if about.role in PASSIVE:
            self._pass(index, node, results)
            return
        node.matrix_flops, node.scalar_ops = about.matrix_flops, about.scalar_ops
        node.moves_only = about.moves_only
        node.static = self._read_operands(node, name, about) and bool(results)
        node.results = tuple([self._add(v, index, static=node.static) for v in results])

    def _pass(self, index: int, node: Node, results: list[ir.Value]) -> None:
        """Note the results of an operation that computes nothing."""
        if node.role is Role.VIEW:
            self.seen[results[0]] = self._through(index, node)
        else:
            for value in results:
                self._add(value, None, source=node.role is Role.SOURCE, static=True)
        if node.role is not Role.CONSTANT:
            self.graph.passive.update(dict.fromkeys(results, index))

    def _through(self, index: int, node: Node) -> _Seen:
        inner = self.seen[node.op.operands[0]]
        known = self.tensors.shape_and_bytes(node.op.results[0].type)
        sliced = inner.sliced
        if node.op.name == "tensor.extract_slice":
            kept = row_counts(node.shape, _equal_prefix(node.shape, inner.shape))
            sliced = kept if sliced is None else sliced & kept
        return _Seen(
            node.shape,
            self._number(known[1] if known else 0, inner.producer),
            inner.origin,
            inner.producer,
            inner.source,
            inner.static,
            (*inner.views, index),
            sliced,
        )

    def _read_operands(self, node: Node, name: str, about: Description) -> bool:
        """Add what the operation reads; returns whether all of it is static."""
        op, static, loops = node.op, True, about.loops
        self.read_by_node.clear()
        operands = list(op.operands)
        destinations = len(operands)
        if loops is not None:
            destinations = loops.inputs
        elif name == "tensor.insert_slice" and node.role is Role.DATA:
            destinations = 1
        for position, value in enumerate(operands):
            seen = self.seen.get(value)
            if seen is None or (seen.source and not seen.views):
                continue
            static = static and seen.static
            found = self._access(node, loops, position, seen)
            self._add_read(node, seen, found, op, position, position >= destinations)
        if about.captured or node.role is Role.OPAQUE:
            static = self._read_in_body(node, about) and static
        return static

    def _read_in_body(self, node: Node, about: Description) -> bool:
        """Add what operations of the body read; returns whether all of it is static."""
        static = True
        for holder in nested_operations(node.op) if node.role is Role.OPAQUE else about.captured:
            for position, value in enumerate(holder.operands):
                seen = self.seen.get(value)
                # Scalar constants may stay outside; a fill has to come along.
                if seen is not None and not (seen.source and not self.graph.nbytes[seen.tensor]):
                    static = static and seen.static
                    gathered = self._gathered(node, seen)
                    self._add_read(node, gathered, UNALIGNED, holder, position, False)
        return static

    def _gathered(self, node: Node, seen: _Seen) -> _Seen:
        """What `node` reads of a tensor at computed positions: no more than it computes."""
        known = self.tensors.shape_and_bytes(node.op.results[0].type) if node.shape else None
        nbytes = min(self.graph.nbytes[seen.tensor], known[1] if known else 0)
        return replace(seen, tensor=self._number(nbytes, seen.producer))

    def _add_read(
        self,
        node: Node,
        seen: _Seen,
        found: Access,
        holder: ir.Operation,
        position: int,
        initial: bool,
    ) -> None:
        producer = seen.producer
        if seen.views and producer is not None:
            found = through_reshape(found, self.graph.nodes[producer].shape)
            if seen.sliced is not None:
                found = Access(found.rows & seen.sliced, False)
        tensor, origin = seen.tensor, seen.origin
        if tensor not in self.read_by_node:
            self.read_by_node.add(tensor)
            self.graph.readers[origin] += 1
        node.reads.append(
            Read(producer, tensor, origin, found, holder, position, seen.views, initial)
        )

    def _access(self, node: Node, loops: Loops | None, position: int, seen: _Seen) -> Access:
        role = node.role
        if loops is not None and role is not Role.OPAQUE:
            return loops.access(position, node.shape, seen.shape)
        if role is Role.DATA:
            kept = _equal_prefix(node.shape, seen.shape)
            return Access(row_counts(node.shape, kept), False)
        if position == 0 and role in (Role.ROW, Role.LOOP):
            return pointwise(node.shape)
        return UNALIGNED


def _equal_prefix(shape: tuple[int, ...], other: tuple[int, ...]) -> int:
    count = 0
    for ours, theirs in zip(shape, other, strict=False):
        if ours != theirs:
            break
        count += 1
    return count
