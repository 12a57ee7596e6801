# SPDX-License-Identifier: MIT OR Apache-2.0
"""Lets elementwise operations between a transpose and the opposite one work without the two."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xyntra.dialects.builder import Tensor
from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.cloning import repeat
from xyntra.passes.analysis.views import RESHAPES
from xyntra.passes.fusion.norms.rows_of_views import permutation

__all__ = ["kept_layout"]


@dataclass
class _Readers:
    """The operations that depend on a transposed tensor.

    Attributes:
        order: the dimension of the original tensor for each of the transposed one.
        shape: of the transposed tensor.
        moved: values with its elements in order, and whether they have its shape.
        steps: elementwise operations on such values.
        ends: transposes that bring back the order of the original tensor.
    """

    order: tuple[int, ...]
    shape: tuple[int, ...]
    moved: dict[ir.Value, bool]
    steps: list[ir.Operation] = field(default_factory=list)
    ends: list[ir.Operation] = field(default_factory=list)

    def take(self, op: ir.Operation) -> bool:
        """Add what reads a value of `moved`; tell whether it can be computed without transposes."""
        if len(op.results) != 1:
            return False
        result = op.results[0]
        if op.name in RESHAPES:
            self.moved[result] = tuple(ir.RankedTensorType(result.type).shape) == self.shape
            return True
        if not all(self.moved.get(value, True) for value in op.operands):
            return False
        opposite = tuple(self.order.index(number) for number in range(len(self.order)))
        if permutation(op) == opposite:
            self.ends.append(op)
            return True
        if not self._is_elementwise(op):
            return False
        self.moved[result] = True
        self.steps.append(op)
        return True

    def _is_elementwise(self, op: ir.Operation) -> bool:
        if op.name != "linalg.generic" or "reduction" in str(op.attributes["iterator_types"]):
            return False
        if tuple(ir.RankedTensorType(op.results[0].type).shape) != self.shape:
            return False
        body = op.regions[0].blocks[0]
        inner = [view.operation for view in body.operations]
        if any(each.name == "linalg.index" or len(each.regions) for each in inner):
            return False
        identity = ir.AffineMap.get_identity(len(self.shape))
        maps = [ir.AffineMapAttr(each).value for each in op.attributes["indexing_maps"]]
        moved = [map_ for value, map_ in zip(op.operands, maps, strict=True) if value in self.moved]
        if any(map_ != identity for map_ in (*moved, maps[-1])):
            return False
        plain = (ir.AffineDimExpr, ir.AffineConstantExpr)
        return all(isinstance(each, plain) for map_ in maps for each in map_.results)


def kept_layout(
    block: ir.Block, value: ir.Value, original: Tensor, order: Sequence[int], shape: Sequence[int]
) -> list[ir.Operation]:
    """Let what reads `value` read `original` instead, up to the opposite transposes.

    Args:
        block: of all these operations.
        value: has the elements of the transposed tensor, in its order.
        original: the same without the transpose.
        order: the dimension of `original` for each of the transposed tensor.
        shape: of the transposed tensor.

    Returns:
        The transposes that have no readers any more; nothing where something else has to see the
        transposed elements, or no transpose brings back their order.
    """
    is_exact = tuple(ir.RankedTensorType(value.type).shape) == tuple(shape)
    readers = _Readers(tuple(order), tuple(shape), {value: is_exact})
    for view in block.operations:
        op = view.operation
        if any(operand in readers.moved for operand in op.operands) and not readers.take(op):
            return []
    if not readers.ends:
        return []
    twins = {each: original.value for each, exact in readers.moved.items() if exact}
    for step in readers.steps:
        twins[step.results[0]] = _without_transpose(step, readers, twins)
        _follow_reshapes(step.results[0], readers, twins)
    for end in readers.ends:
        end.results[0].replace_all_uses_with(twins[end.operands[0]])
    return readers.ends


def _follow_reshapes(value: ir.Value, readers: _Readers, twins: dict[ir.Value, ir.Value]) -> None:
    """Give values that are `value` again after reshapes its twin."""
    waiting = [value]
    while waiting:
        for use in waiting.pop().uses:
            op = use.owner.operation
            if op.name in RESHAPES:
                waiting.append(op.results[0])
                if readers.moved[op.results[0]]:
                    twins[op.results[0]] = twins[value]


def _without_transpose(
    step: ir.Operation, readers: _Readers, twins: dict[ir.Value, ir.Value]
) -> ir.Value:
    """Build an elementwise operation whose loops are in the order of the original tensor."""
    order, rank = readers.order, len(readers.order)
    shape = [readers.shape[order.index(number)] for number in range(rank)]
    element = ir.RankedTensorType(step.results[0].type).element_type
    maps = [ir.AffineMapAttr(each).value for each in step.attributes["indexing_maps"]]
    inputs = list(step.operands)[:-1]
    with step.location, ir.InsertionPoint(step):
        identity = ir.AffineMap.get_identity(rank)
        kind = ir.RankedTensorType.get(shape, element)
        empty = ir.Operation.create("tensor.empty", results=[kind]).results[0]
        turned = [
            identity if value in readers.moved else _turned(map_, order)
            for value, map_ in zip(inputs, maps, strict=False)
        ]
        attributes = {each: step.attributes[each] for each in step.attributes}
        attributes["indexing_maps"] = ir.ArrayAttr.get(
            [ir.AffineMapAttr.get(each) for each in (*turned, identity)]
        )
        built = ir.Operation.create(
            "linalg.generic",
            results=[kind],
            operands=[*(twins.get(value, value) for value in inputs), empty],
            attributes=attributes,
            regions=1,
        )
    old = step.regions[0].blocks[0]
    kinds = [each.type for each in old.arguments]
    body = built.regions[0].blocks.append(*kinds, arg_locs=[step.location] * len(kinds))
    known = dict(zip(old.arguments, body.arguments, strict=True))
    with ir.InsertionPoint(body):
        for view in old.operations:
            repeat(view.operation, known)
    return built.results[0]


def _turned(map_: ir.AffineMap, order: Sequence[int]) -> ir.AffineMap:
    """Return a map of loops in the other order."""
    found = [
        ir.AffineDimExpr.get(order[ir.AffineDimExpr(each).position])
        if isinstance(each, ir.AffineDimExpr)
        else each
        for each in map_.results
    ]
    return ir.AffineMap.get(len(order), 0, found)
