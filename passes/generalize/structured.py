# SPDX-License-Identifier: MIT OR Apache-2.0
"""Rewrites linalg's named operations as generics, and gives generics a form that fusion reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from torch_mlir._mlir_libs._mlirDialectsLinalg import get_indexing_maps

from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.owners import owner_of
from xyntra.passes.analysis.walking import nested_operations
from xyntra.passes.generalize.rewriter import (
    GenericOutput,
    Iterator,
    Rewriter,
    captured_scalars,
    is_inlined,
    is_scalar,
    move_body,
    stored_type,
)

__all__ = ["StructuredOperation", "rewrite_structured"]


@dataclass(frozen=True)
class StructuredOperation:
    """A structured operation of linalg on tensors and scalars, and the map of every operand."""

    op: ir.Operation
    maps: tuple[ir.AffineMap, ...]

    @classmethod
    def of(cls, op: ir.Operation) -> StructuredOperation | None:
        """`op` as such; None where it is none, or works on memory."""
        found = get_indexing_maps(op) if op.name.startswith("linalg.") else None
        if found is None or not len(op.results):
            return None
        return cls(op, tuple(ir.AffineMapAttr(each).value for each in found))

    @property
    def body(self) -> ir.Block:
        """The computation of one iteration."""
        return self.op.regions[0].blocks[0]

    @property
    def inputs(self) -> int:
        """The number of operands that are only read."""
        return len(self.maps) - len(self.op.results)

    @cached_property
    def iterators(self) -> list[Iterator]:
        """The kind of every loop: what no result depends on reduces."""
        if self.op.name == "linalg.generic":
            kinds = map(str, self.op.attributes["iterator_types"])
            return ["reduction" if "reduction" in kind else "parallel" for kind in kinds]
        written = {e.position for map_ in self.maps[self.inputs :] for e in _dimensions(map_)}
        loops = self.maps[0].n_dims
        return ["parallel" if loop in written else "reduction" for loop in range(loops)]

    @property
    def is_pointwise(self) -> bool:
        """Tell whether nothing is reduced, and every result written at each position once."""
        outputs = self.maps[self.inputs :]
        return "reduction" not in self.iterators and all(map_.is_permutation for map_ in outputs)

    @property
    def writes_unread_part(self) -> bool:
        """Tell whether a result keeps elements of a tensor that the body does not read.

        Bufferization takes what a body does not read for written as a whole.
        """
        written = list(self.op.operands)[self.inputs :]
        return any(
            not _covers(map_)
            and not self.reads_initial(each)
            and owner_of(value, "tensor.empty") is None
            for each, (map_, value) in enumerate(
                zip(self.maps[self.inputs :], written, strict=True)
            )
        )

    def reads_initial(self, output: int) -> bool:
        """Tell whether the running value of result `output` is read."""
        return bool(len(list(self.body.arguments[self.inputs + output].uses)))


def _dimensions(map_: ir.AffineMap) -> list[ir.AffineDimExpr]:
    return [ir.AffineDimExpr(e) for e in map_.results if isinstance(e, ir.AffineDimExpr)]


def rewrite_structured(rewriter: Rewriter, found: StructuredOperation) -> None:
    """Replace an operation, on tensors of static shape and scalars, by a generic.

    A result whose running value is not read gets a destination without contents, and the running
    value of an operation that reduces nothing becomes an input, so that no operation writes over
    what others read. The loops of such an operation come in the order in which it writes. A generic
    that has this form already is left as it is.
    """
    op, inputs, results = found.op, found.inputs, len(found.op.results)
    captured = captured_scalars(found.body)
    order = _order_of_writing(found)
    initial = _initial_values(found)
    if op.name == "linalg.generic" and not captured and not order and _is_plain(found, initial):
        return
    running = [
        each for each in range(results) if initial[each] is None and found.reads_initial(each)
    ]
    maps = [_with_loops(map_, order) for map_ in found.maps]
    operands = list(zip(op.operands, maps, strict=True))
    scalar_map = ir.AffineMap.get(len(found.iterators), 0, [], op.context)
    read = [*operands[:inputs], *[operands[inputs + each] for each in running]]
    taken = len(read)
    read += [(value, scalar_map) for value in captured]

    def body(elements: list[ir.Value]) -> Sequence[ir.Value]:
        outputs = elements[len(read) :]
        for position, each in enumerate(running, inputs):
            outputs[each] = elements[position]
        _renumber_indices(found.body, order)
        outside = dict(zip(captured, elements[taken : len(read)], strict=True))
        return move_body(found.body, [*elements[:inputs], *outputs], outside)

    types = [ir.RankedTensorType(result.type) for result in op.results]
    outputs = [
        GenericOutput(list(type_.shape), type_.element_type, map_, value)
        for type_, map_, value in zip(types, maps[inputs:], initial, strict=True)
    ]
    rewriter.replace(op, rewriter.generic(op, read, outputs, found.iterators, body))


def _initial_values(found: StructuredOperation) -> list[ir.Value | None]:
    """What results start from; None where nothing reads that, or where it may be an input."""
    given = list(found.op.operands)[found.inputs :]
    if found.is_pointwise:
        return [None] * len(given)
    maps = found.maps[found.inputs :]
    return [
        value if found.reads_initial(each) or not _covers(map_) else None
        for each, (value, map_) in enumerate(zip(given, maps, strict=True))
    ]


def _covers(map_: ir.AffineMap) -> bool:
    """Tell whether what is written through `map_` is every element of a result."""
    loops = [e.position for e in _dimensions(map_)]
    return len(loops) == len(map_.results) == len(set(loops))


def _is_plain(found: StructuredOperation, initial: Sequence[ir.Value | None]) -> bool:
    """Whether a generic reads tensors that are stored as they are, and starts from nothing else."""
    inputs = found.inputs
    operands = list(found.op.operands)
    read, written = operands[:inputs], operands[inputs:]
    if any(is_scalar(value.type) or is_inlined(value, found.iterators) for value in read):
        return False
    if any(_element(value) != stored_type(_element(value)) for value in operands):
        return False
    return all(
        value is not None or owner_of(old, "tensor.empty") is not None
        for old, value in zip(written, initial, strict=True)
    )


def _element(tensor: ir.Value) -> ir.Type:
    return ir.RankedTensorType(tensor.type).element_type


def _order_of_writing(found: StructuredOperation) -> list[int]:
    """The loops in the order of a result's dimensions; empty where they are in that order."""
    if not found.is_pointwise:
        return []
    orders = [[e.position for e in _dimensions(map_)] for map_ in found.maps[found.inputs :]]
    if any(order != orders[0] for order in orders) or orders[0] == sorted(orders[0]):
        return []
    return orders[0]


def _with_loops(map_: ir.AffineMap, order: Sequence[int]) -> ir.AffineMap:
    """`map_` as a function of the loops in another `order`."""
    if not order:
        return map_
    context, rank = map_.context, len(order)
    loops = [ir.AffineDimExpr.get(order.index(loop), context) for loop in range(rank)]
    reordered = ir.AffineMap.get(rank, 0, loops, context)
    return ir.AffineMap.get(rank, 0, [e.compose(reordered) for e in map_.results], context)


def _renumber_indices(body: ir.Block, order: Sequence[int]) -> None:
    """Let `linalg.index` in `body` name loops in another `order`."""
    if not order:
        return
    for view in body.operations:
        for op in (view.operation, *nested_operations(view.operation)):
            if op.name == "linalg.index":
                dim = ir.IntegerAttr(op.attributes["dim"])
                op.attributes["dim"] = ir.IntegerAttr.get(dim.type, order.index(dim.value))
