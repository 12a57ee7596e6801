# SPDX-License-Identifier: MIT OR Apache-2.0
"""The operations of one block as the graph that fusion partitions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.functions import weight_positions
from xyntra.passes.analysis.reductions import BY_ROWS
from xyntra.passes.analysis.walking import nested_operations
from xyntra.passes.fusion.graph.access import (
    UNALIGNED,
    RowAccess,
    Shape,
    loops_of,
    pointwise,
    row_counts,
    through_reshape,
)
from xyntra.passes.fusion.graph.factors import PRODUCT_BODY, multiplies_factors
from xyntra.passes.fusion.graph.nodes import (
    OPAQUE,
    PASSIVE,
    Description,
    FusionNode,
    KernelRole,
    TensorRead,
    TensorTypes,
    ValueType,
    describe,
    describe_generic,
    gathering,
)

__all__ = ["FusionGraph"]


_SQUARES = {"arith.mulf": "arith.addf", "arith.muli": "arith.addi"}  # which take as long


@dataclass(slots=True)
class _Seen:
    """The origin of a value.

    Attributes:
        kind: of the value.
        tensor: its number.
        origin: number of the value behind its views.
        producer: the operation that computes it; None for arguments and constants.
        source: the operation that is cloned wherever it is used, if it is such.
        static: whether it depends on weights and constants alone.
        views: the views between.
        sliced: numbers of rows at which slices among the views keep rows whole; None without any.
    """

    kind: ValueType
    tensor: int
    origin: int
    producer: int | None
    source: int | None = None
    static: bool = False
    views: tuple[int, ...] = ()
    sliced: frozenset[int] | None = None


@dataclass(slots=True)
class _Alike:
    """The properties of generics of equal attributes, types and names of scalar operations.

    `accesses` and `destinations` are those of the operands: how each is read, and the number of
    the first that only initialises what is written.
    """

    about: Description
    shape: Shape
    accesses: list[RowAccess]
    destinations: int


@dataclass
class FusionGraph:
    """Operations in order, terminator last.

    Attributes:
        nodes: the operations.
        nbytes: size of every tensor, by number.
        readers: for every tensor that an operation of the block computes, how many other
            operations read it, straight or through views.
        producer: the operation that computes a tensor, for those that one computes.
        kinds: number of the type of every tensor.
        passive: the operation behind each value that is cloned into the kernels that use it.
    """

    nodes: list[FusionNode] = field(default_factory=list)
    nbytes: list[int] = field(default_factory=list)
    readers: list[int] = field(default_factory=list)
    producer: list[int | None] = field(default_factory=list)
    kinds: list[int] = field(default_factory=list)
    passive: dict[ir.Value, int] = field(default_factory=dict)

    @classmethod
    def of(cls, block: ir.Block) -> FusionGraph:
        """Analyse `block` in one sweep."""
        return _Reader(block).graph


class _Reader:
    def __init__(self, block: ir.Block) -> None:
        self.graph = FusionGraph()
        self.tensors = TensorTypes()
        self.seen: dict[ir.Value, _Seen] = {}
        self.alike: dict[tuple[object, ...], _Alike] = {}
        self.read_by_node: set[int] = set()
        weights = weight_positions(block)
        for position, argument in enumerate(block.arguments):
            self._add(argument, self.tensors.kind(argument.type), None, None, position in weights)
        for view in block.operations:
            op = view.operation
            name = op.name
            results = list(op.results)
            if name == "linalg.generic" and results:
                self._visit_generic(op, results)
            else:
                self._visit_other(op, name, results)

    def _add(
        self,
        value: ir.Value,
        kind: ValueType,
        producer: int | None,
        source: int | None,
        static: bool,
    ) -> int:
        number = self._number(kind, producer, kind.nbytes)
        self.seen[value] = _Seen(kind, number, number, producer, source, static)
        return number

    def _number(self, kind: ValueType, producer: int | None, nbytes: int) -> int:
        graph = self.graph
        number = len(graph.nbytes)
        graph.nbytes.append(nbytes)
        graph.readers.append(0)
        graph.producer.append(producer)
        graph.kinds.append(kind.number)
        return number

    def _visit_generic(self, op: ir.Operation, results: list[ir.Value]) -> None:
        seen = [self.seen[value] for value in op.operands]
        block = op.regions[0].blocks[0]
        names = tuple([view.name for view in block.operations])
        alike = self._alike(op, names, seen, len(results))
        about = alike.about
        index = len(self.graph.nodes)
        node = _node(op, about, alike.shape)
        self.graph.nodes.append(node)
        if about.role is KernelRole.SOURCE:
            self._pass(index, node, results)
            return
        self._read_operands(node, seen, alike.accesses, alike.destinations)
        if about.gathers or about.role is KernelRole.OPAQUE:
            holders = nested_operations(op) if about.role is KernelRole.OPAQUE else gathering(block)
            self._read_in_body(node, holders)
        # A result has the type of what it is written to, which saves asking for it.
        kinds = [entry.kind for entry in seen[len(seen) - len(results) :]]
        self._add_results(node, index, results, kinds)

    def _alike(
        self, op: ir.Operation, names: tuple[str, ...], seen: list[_Seen], results: int
    ) -> _Alike:
        attributes = op.attributes
        maps, iterators = attributes["indexing_maps"], attributes["iterator_types"]
        multiplies = "arith.mulf" in names or "arith.muli" in names
        if multiplies and (BY_ROWS in attributes or not PRODUCT_BODY.issuperset(names)):
            names = self._without_products(op, names)
        key = (maps, iterators, names, results, *[entry.kind.number for entry in seen])
        found = self.alike.get(key)
        if found is None:
            found = self.alike[key] = self._describe_alike(op, names, seen)
        return found

    def _without_products(self, op: ir.Operation, names: tuple[str, ...]) -> tuple[str, ...]:
        """Return `names` with products of a reduction renamed that are none of two factors."""
        is_contraction = BY_ROWS not in op.attributes and multiplies_factors(op)
        if loops_of(op, self.tensors.loops).is_parallel or is_contraction:
            return names
        return tuple([_SQUARES.get(name, name) for name in names])

    def _describe_alike(
        self, op: ir.Operation, names: tuple[str, ...], seen: list[_Seen]
    ) -> _Alike:
        loops = loops_of(op, self.tensors.loops)
        written = seen[loops.inputs].kind
        shape, shapes = written.shape, [entry.kind.shape for entry in seen]
        about = describe_generic(loops, names, shape, shapes) if written.is_tensor else OPAQUE
        accesses = [UNALIGNED] * len(seen)
        if about.loops is not None and about.role is not KernelRole.OPAQUE:
            accesses = [loops.access(i, shape, operand) for i, operand in enumerate(shapes)]
        return _Alike(about, shape, accesses, loops.inputs if about.loops else len(seen))

    def _visit_other(self, op: ir.Operation, name: str, results: list[ir.Value]) -> None:
        kinds = [self.tensors.kind(value.type) for value in results]
        is_tensor = bool(kinds) and kinds[0].is_tensor
        shape = kinds[0].shape if kinds else ()
        is_known = name != "linalg.generic" and (is_tensor or name == "arith.constant")
        about = describe(op, name, shape) if is_known else OPAQUE
        index = len(self.graph.nodes)
        node = _node(op, about, shape)
        self.graph.nodes.append(node)
        if about.role in PASSIVE:
            self._pass(index, node, results)
            return
        operands = [self.seen.get(value) for value in op.operands]
        accesses = [_access(node, position, seen) for position, seen in enumerate(operands)]
        places = name == "tensor.insert_slice" and about.role is KernelRole.DATA
        self._read_operands(node, operands, accesses, 1 if places else len(operands))
        if about.role is KernelRole.OPAQUE:
            self._read_in_body(node, nested_operations(op))
        self._add_results(node, index, results, kinds)

    def _add_results(
        self, node: FusionNode, index: int, results: Sequence[ir.Value], kinds: Sequence[ValueType]
    ) -> None:
        numbers = []
        for value, kind in zip(results, kinds, strict=True):
            numbers.append(self._add(value, kind, index, None, node.static))
            node.nbytes += kind.nbytes
        node.results = tuple(numbers)
        node.static = node.static and bool(numbers)

    def _pass(self, index: int, node: FusionNode, results: list[ir.Value]) -> None:
        """Note the results of an operation that computes nothing."""
        if node.role is KernelRole.VIEW:
            self.seen[results[0]] = self._through(index, node)
        else:
            source = index if node.role is KernelRole.SOURCE else None
            for value in results:
                self._add(value, self.tensors.kind(value.type), None, source, static=True)
        if node.role is not KernelRole.CONSTANT:
            self.graph.passive.update(dict.fromkeys(results, index))

    def _through(self, index: int, node: FusionNode) -> _Seen:
        inner = self.seen[node.op.operands[0]]
        kind = self.tensors.kind(node.op.results[0].type)
        sliced = inner.sliced
        if node.op.name == "tensor.extract_slice":
            kept = row_counts(node.shape, _equal_prefix(node.shape, inner.kind.shape))
            sliced = kept if sliced is None else sliced & kept
        return _Seen(
            kind,
            self._number(kind, inner.producer, kind.nbytes),
            inner.origin,
            inner.producer,
            inner.source,
            inner.static,
            (*inner.views, index),
            sliced,
        )

    def _read_operands(
        self,
        node: FusionNode,
        operands: Sequence[_Seen | None],
        accesses: Sequence[RowAccess],
        destinations: int,
    ) -> None:
        """Note what the operation reads, and what is cloned for it."""
        graph, op, reads, static = self.graph, node.op, node.reads, True
        self.read_by_node.clear()
        for position, seen in enumerate(operands):
            if seen is None:
                continue
            if seen.views:
                self._add_read(
                    node, seen, accesses[position], op, position, position >= destinations
                )
            elif seen.source is not None:
                node.sources.append((position, seen.source))
                continue
            else:  # as _add_read does, for the many reads that are as simple as that
                tensor = seen.tensor
                if tensor not in self.read_by_node:
                    self.read_by_node.add(tensor)
                    graph.readers[tensor] += 1
                    node.nbytes += seen.kind.nbytes
                access, initial = accesses[position], position >= destinations
                reads.append(
                    TensorRead(seen.producer, tensor, tensor, access, op, position, (), initial)
                )
            static = static and seen.static
        node.static = static

    def _read_in_body(self, node: FusionNode, holders: Iterable[ir.Operation]) -> None:
        """Note what operations of the body read."""
        for holder in holders:
            for position, value in enumerate(holder.operands):
                seen = self.seen.get(value)
                # Scalar constants may stay outside; a fill has to come along.
                if seen is not None and (seen.source is None or self.graph.nbytes[seen.tensor]):
                    node.static = node.static and seen.static
                    gathered = self._gathered(node, seen)
                    self._add_read(node, gathered, UNALIGNED, holder, position, False)

    def _gathered(self, node: FusionNode, seen: _Seen) -> _Seen:
        """Return what `node` reads of a tensor at computed positions: no more than it computes."""
        known = self.tensors.kind(node.op.results[0].type).nbytes if node.shape else 0
        nbytes = min(self.graph.nbytes[seen.tensor], known)
        return replace(seen, tensor=self._number(seen.kind, seen.producer, nbytes))

    def _add_read(
        self,
        node: FusionNode,
        seen: _Seen,
        found: RowAccess,
        holder: ir.Operation,
        position: int,
        initial: bool,
    ) -> None:
        producer = seen.producer
        if seen.views and producer is not None:
            found = through_reshape(found, self.graph.nodes[producer].shape)
            if seen.sliced is not None:
                found = RowAccess(found.rows & seen.sliced, False)
        tensor, origin = seen.tensor, seen.origin
        if tensor not in self.read_by_node:
            self.read_by_node.add(tensor)
            self.graph.readers[origin] += 1
            node.nbytes += self.graph.nbytes[tensor]
        node.reads.append(
            TensorRead(producer, tensor, origin, found, holder, position, seen.views, initial)
        )


def _node(op: ir.Operation, about: Description, shape: Shape) -> FusionNode:
    rows, flops, work = about.rows, about.matrix_flops, about.scalar_ops
    moves, columns = about.moves_only, about.columns
    return FusionNode(
        op, about.role, shape, rows, (), flops, work, [], moves, False, 0, [], columns
    )


def _access(node: FusionNode, position: int, seen: _Seen | None) -> RowAccess:
    """Return how an operation that is no generic reads an operand."""
    role = node.role
    if role is KernelRole.DATA and seen is not None:
        kept = _equal_prefix(node.shape, seen.kind.shape)
        return RowAccess(row_counts(node.shape, kept), False)
    if position == 0 and role in (KernelRole.ROW, KernelRole.LOOP):
        return pointwise(node.shape)
    return UNALIGNED


def _equal_prefix(shape: tuple[int, ...], other: tuple[int, ...]) -> int:
    count = 0
    for ours, theirs in zip(shape, other, strict=False):
        if ours != theirs:
            break
        count += 1
    return count
