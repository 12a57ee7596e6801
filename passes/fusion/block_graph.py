# SPDX-License-Identifier: MIT OR Apache-2.0
"""The operations of one block as a graph: who reads whom, and over which iteration space."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from xyntra.dialects.mlir import ir

VIEWS = frozenset({"tensor.collapse_shape", "tensor.expand_shape"})
"""Operations that only give a buffer another shape."""


@dataclass(frozen=True)
class Read:
    """One use of a value that an operation of the same block defines.

    Attributes:
        producer: index of the defining operation.
        result: which of its results.
        operand: operand position, or None where a nested region captures the value.
        pointwise: element by element over the reader's whole iteration space.
    """

    producer: int
    result: int
    operand: int | None
    pointwise: bool


@dataclass
class Item:
    """One operation of the block.

    Attributes:
        op: the operation.
        reads: what it uses of other operations of the block.
        domain: its iteration space, where every element is computed on its own; else None.
        source: costs nothing and is cloned into the regions that use it.
    """

    op: ir.Operation
    reads: list[Read]
    domain: tuple[int, ...] | None
    source: bool


@dataclass
class BlockGraph:
    """All operations of a block in order, terminator last."""

    items: list[Item] = field(default_factory=list)

    @classmethod
    def of(cls, block: ir.Block) -> BlockGraph:
        """Analyse `block` in one sweep."""
        graph = cls()
        defined: dict[ir.Value, tuple[int, int]] = {}
        for index, view in enumerate(block.operations):
            op = view.operation
            domain, pointwise = elementwise_domain(op)
            reads = [
                Read(*defined[value], position, pointwise[position] if pointwise else False)
                for position, value in enumerate(op.operands)
                if value in defined
            ]
            reads += [Read(*defined[v], None, False) for v in captured(op) if v in defined]
            graph.items.append(Item(op, reads, domain, is_source(op)))
            defined.update({value: (index, number) for number, value in enumerate(op.results)})
        return graph

    def readers(self) -> list[set[int]]:
        """For every operation, the indices of the operations that read its results."""
        readers: list[set[int]] = [set() for _ in self.items]
        for index, item in enumerate(self.items):
            for read in item.reads:
                readers[read.producer].add(index)
        return readers


def captured(op: ir.Operation) -> Iterator[ir.Value]:
    """Values that operations nested in `op` use; those that `op` itself defines included."""
    for region in op.regions:
        for block in region.blocks:
            for nested in block.operations:
                yield from nested.operation.operands
                yield from captured(nested.operation)


def is_source(op: ir.Operation) -> bool:
    """Whether `op` is a destination without contents, a scalar or a splat constant."""
    if op.name == "tensor.empty":
        return not len(op.operands)
    if op.name != "arith.constant":
        return False
    value = op.attributes["value"]
    return not isinstance(value, ir.DenseElementsAttr) or value.is_splat


def is_fill(op: ir.Operation) -> bool:
    """Whether `op` writes one value everywhere and reads no tensor."""
    if op.name != "linalg.generic":
        return bool(op.name == "linalg.fill")
    return int(op.attributes["operandSegmentSizes"][0]) == 0


def elementwise_domain(op: ir.Operation) -> tuple[tuple[int, ...] | None, list[bool]]:
    """The iteration space of an elementwise operation, and which operands it reads pointwise.

    (None, []) for everything but a `linalg.generic` that is elementwise.
    """
    if op.name != "linalg.generic":
        return None, []
    if any("parallel" not in str(kind) for kind in op.attributes["iterator_types"]):
        return None, []
    maps = [attribute.value for attribute in op.attributes["indexing_maps"]]
    outputs = len(op.results)
    identity = ir.AffineMap.get_identity(maps[0].n_dims, op.context)
    if not outputs or any(map_ != identity for map_ in maps[-outputs:]) or _reads_output(op):
        return None, []
    inputs = len(maps) - outputs
    pointwise = [map_ == identity and position < inputs for position, map_ in enumerate(maps)]
    return tuple(ir.RankedTensorType(op.results[0].type).shape), pointwise


def _reads_output(op: ir.Operation) -> bool:
    arguments = list(op.regions[0].blocks[0].arguments)
    return any(len(list(argument.uses)) for argument in arguments[-len(op.results) :])
