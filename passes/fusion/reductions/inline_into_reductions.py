# SPDX-License-Identifier: MIT OR Apache-2.0
"""`inline-into-reductions`: computes elementwise operations in the reductions that read them."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.analysis.cloning import repeat
from xyntra.passes.analysis.functions import function_blocks
from xyntra.passes.analysis.locations import fused_location
from xyntra.passes.analysis.owners import owner_of
from xyntra.passes.analysis.views import TENSOR_VIEWS
from xyntra.passes.fusion.graph.factors import composed_map
from xyntra.passes.fusion.reductions.equal_reductions import reduction_key
from xyntra.passes.fusion.reductions.reduced_reads import ReducedReads
from xyntra.passes.registry import register_pass

__all__ = ["InlineIntoReductions"]

_SEGMENTS = "operandSegmentSizes"


@register_pass
@dataclass(frozen=True)
class InlineIntoReductions:
    """Move elementwise operations into reductions that share no rows with them, and into scans.

    Such are reductions over leading dimensions, over all elements, and over very long rows. An
    operation with several readers is computed by each of them where it is cheap, and where no more
    has to be read for that. Reductions that become equal by that are computed once.
    """

    name: ClassVar[str] = "inline-into-reductions"

    def run(self, module: ir.Operation) -> None:
        """Rewrite every function of `module`."""
        for block in function_blocks(module):
            _inline(block)


def _inline(block: ir.Block) -> None:
    reads, built = ReducedReads(block), list[ir.Operation]()
    for view in list(block.operations):
        op = view.operation
        position = reads.position(op)
        while position is not None:
            producer = op.operands[position].owner.operation
            reads.replaced.add(op)
            op = _with_producer(op, position, producer)
            built.append(op)
            reads.retire(producer)
            position = reads.position(op)
        extracts = reads.extracts(op)
        while extracts:
            for extract in extracts:
                reads.replaced.add(extract)
                _compute_in_place(extract)
                reads.retire(extract.operands[0].owner.operation)
            extracts = reads.extracts(op)
    if built:
        _merge_equal(block, built, reads.replaced)
    # Nothing is created any more: erased operations may still have wrappers.
    for op in reads.replaced:
        if op.name == "tensor.extract":
            op.erase()
    for view in reversed(list(block.operations)):
        if view.operation in reads.replaced:
            view.operation.erase()


def _merge_equal(
    block: ir.Block, built: Sequence[ir.Operation], replaced: set[ir.Operation]
) -> None:
    """Let readers of what a new reduction gives, too, have it from the first one that does."""
    known: dict[Hashable, ir.Operation] = {}
    new = set(built)
    for view in block.operations:
        op = view.operation
        key = None
        if op.name == "linalg.generic" and op not in replaced:
            key = reduction_key(op)
        first = op if key is None else known.setdefault(key, op)
        is_new = first in new or op in new
        if first != op and is_new and not _may_be_returned(op.results[0]):
            op.results[0].replace_all_uses_with(first.results[0])
            replaced.add(op)


def _may_be_returned(value: ir.Value) -> bool:
    """Tell whether a result, or a view of it, needs memory of its own."""
    readers = {use.owner.operation.name for use in value.uses}
    return not readers.isdisjoint({"func.return", *TENSOR_VIEWS})


def _with_producer(op: ir.Operation, position: int, producer: ir.Operation) -> ir.Operation:
    """Build `op` with the body of `producer` in its own, and let it take the place of `op`."""
    outputs = len(op.results)
    maps = [each.value for each in op.attributes["indexing_maps"]]
    inner = [each.value for each in producer.attributes["indexing_maps"]][:-1]
    inner = [composed_map(each, maps[position]) for each in inner]
    own = list(zip(op.operands, maps, strict=True))
    reads = list(zip(producer.operands, inner, strict=False))
    inputs = own[:-outputs]
    merged = list(dict.fromkeys([*inputs[:position], *reads, *inputs[position + 1 :]]))
    operands = [value for value, _ in (*merged, *own[-outputs:])]
    attributes = {each: op.attributes[each] for each in op.attributes}
    attributes["indexing_maps"] = ir.ArrayAttr.get(
        [ir.AffineMapAttr.get(map_) for _, map_ in (*merged, *own[-outputs:])]
    )
    attributes[_SEGMENTS] = ir.DenseI32ArrayAttr.get([len(merged), outputs])
    with fused_location([producer.location, op.location]), ir.InsertionPoint(op):
        built = ir.Operation.create(
            "linalg.generic",
            results=[result.type for result in op.results],
            operands=operands,
            attributes=attributes,
            regions=1,
        )
        kinds = [ir.RankedTensorType(value.type).element_type for value in operands]
        body = built.regions[0].blocks.append(*kinds, arg_locs=[op.location] * len(kinds))
    arguments = list(body.arguments)
    with ir.InsertionPoint(body):
        (element,) = _repeat(producer, [arguments[merged.index(each)] for each in reads])
        values = [
            element if number == position else arguments[merged.index(each)]
            for number, each in enumerate(inputs)
        ]
        results = _repeat(op, [*values, *arguments[len(merged) :]])
        ir.Operation.create("linalg.yield", operands=results, loc=op.location)
    for old, new in zip(op.results, built.results, strict=True):
        old.replace_all_uses_with(new)
    return built


def _repeat(op: ir.Operation, arguments: Sequence[ir.Value]) -> list[ir.Value]:
    """Clone the body of `op` to the insertion point; returns what it yields."""
    body = op.regions[0].blocks[0]
    known: dict[ir.Value, ir.Value] = dict(zip(body.arguments, arguments, strict=False))
    for view in body.operations:
        inner = view.operation
        if inner.name == "linalg.yield":
            return [known.get(value, value) for value in inner.operands]
        repeat(inner, known)
    raise AssertionError("a body without an end")


def _compute_in_place(extract: ir.Operation) -> None:
    """Let what reads one element of a computed tensor compute it."""
    tensor, *places = extract.operands
    producer = owner_of(tensor)
    if producer is None:
        raise AssertionError("an argument is not computed")
    maps = [each.value for each in producer.attributes["indexing_maps"]][:-1]
    with extract.location, ir.InsertionPoint(extract):
        elements = [
            _element(value, map_, places)
            for value, map_ in zip(producer.operands, maps, strict=False)
        ]
        (result,) = _repeat(producer, elements)
    extract.results[0].replace_all_uses_with(result)


def _element(value: ir.Value, map_: ir.AffineMap, places: Sequence[ir.Value]) -> ir.Value:
    """Read the element of an input that belongs to `places` of the result."""
    kind = ir.RankedTensorType(value.type).element_type
    return emit("tensor.extract", [value, *(_index(e, places) for e in map_.results)], kind)


def _index(expression: ir.AffineExpr, places: Sequence[ir.Value]) -> ir.Value:
    if isinstance(expression, ir.AffineDimExpr):
        return places[ir.AffineDimExpr(expression).position]
    number = ir.AffineConstantExpr(expression).value
    kind = ir.IndexType.get()
    return emit("arith.constant", [], kind, value=ir.IntegerAttr.get(kind, number))
