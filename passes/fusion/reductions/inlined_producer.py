# SPDX-License-Identifier: MIT OR Apache-2.0
"""Builds an operation that computes by itself what it would read of another one."""

from __future__ import annotations

from collections.abc import Sequence

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.analysis.cloning import repeat
from xyntra.passes.analysis.locations import fused_location
from xyntra.passes.analysis.owners import owner_of
from xyntra.passes.fusion.graph.factors import composed_map

__all__ = ["compute_in_place", "repeat_body", "with_producer"]

_SEGMENTS = "operandSegmentSizes"


def with_producer(op: ir.Operation, position: int, producer: ir.Operation) -> ir.Operation:
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
        (element,) = repeat_body(producer, [arguments[merged.index(each)] for each in reads])
        values = [
            element if number == position else arguments[merged.index(each)]
            for number, each in enumerate(inputs)
        ]
        results = repeat_body(op, [*values, *arguments[len(merged) :]])
        ir.Operation.create("linalg.yield", operands=results, loc=op.location)
    for old, new in zip(op.results, built.results, strict=True):
        old.replace_all_uses_with(new)
    return built


def repeat_body(op: ir.Operation, arguments: Sequence[ir.Value]) -> list[ir.Value]:
    """Clone the body of `op` to the insertion point; returns what it yields."""
    body = op.regions[0].blocks[0]
    known: dict[ir.Value, ir.Value] = dict(zip(body.arguments, arguments, strict=False))
    for view in body.operations:
        inner = view.operation
        if inner.name == "linalg.yield":
            return [known.get(value, value) for value in inner.operands]
        repeat(inner, known)
    raise AssertionError("a body without an end")


def compute_in_place(extract: ir.Operation) -> None:
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
        (result,) = repeat_body(producer, elements)
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
