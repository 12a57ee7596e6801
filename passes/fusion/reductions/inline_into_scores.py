# SPDX-License-Identifier: MIT OR Apache-2.0
"""`inline-into-scores`: lets attention compute masks and biases that positions decide."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import ClassVar

from xyntra.dialects.attention import OP, Attention
from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.analysis.functions import function_blocks
from xyntra.passes.analysis.owners import owner_of
from xyntra.passes.cost.work import scalar_cost
from xyntra.passes.fusion.graph.factors import inputs_of, map_of
from xyntra.passes.fusion.reductions.inlined_producer import with_producer
from xyntra.passes.fusion.reductions.narrow_positions import narrow_positions
from xyntra.passes.recognize.dead_operations import erase_unused
from xyntra.passes.registry import register_pass

__all__ = ["COMPUTED_IN_TILES", "InlineIntoScores"]

COMPUTED_IN_TILES = "xyntra.in_tiles"
"""Unit attribute of an operation that its readers repeat for their tiles, known at load or not."""
_MOST_COST = 4, 10
"""Instructions for one score; reading it from a cache, or memory, takes the time of about as many.
"""
_CACHED = 1 << 25
"""Bytes that the cache of a GPU keeps from one reader to the next."""
_LARGER = 16
"""Times as many bytes as what a mask is computed from, at least."""
_LARGE = 1 << 20
"""Bytes: of less a cache holds what all queries read."""
_FUNCTION = 8
"""Instructions from which on a value of few elements is computed once."""
_FEW = 1 << 14
_MOST_MAKERS = 32
"""Operations that are looked at to tell whether something is known at load."""


@register_pass
@dataclass(frozen=True)
class InlineIntoScores:
    """Compute masks and biases of attention from what they are made of, for every score anew.

    A bias by positions, such as a slope times a distance, is a tensor of all scores, which takes
    as long to read as the rest of the attention. What it is made of is composed into one operation
    on few elements and on the numbers of iterations, `linalg.index`; that is marked, so that fusion
    puts a copy into the kernel of each attention. What has few elements and takes a function, such
    as the slopes, stays apart. A mask stays as it is where it reads much, or costs much.
    """

    name: ClassVar[str] = "inline-into-scores"

    def run(self, module: ir.Operation) -> None:
        """Rewrite every function of `module`."""
        for block in function_blocks(module):
            readers = [view.operation for view in block.operations if view.operation.name == OP]
            terms: dict[ir.Value, None] = {}
            for op in readers:
                attention = Attention.of(op)
                masks = (attention.keep, attention.bias)
                terms.update(dict.fromkeys(each.value for each in masks if each is not None))
            for term in terms:
                _compose(term, readers)


def _compose(term: ir.Value, readers: list[ir.Operation]) -> None:
    """Let what computes a mask be one operation on few bytes, if it can be."""
    op = owner_of(term, "linalg.generic")
    if op is None or not _is_elementwise(op) or _nbytes(term) < _LARGE:
        return
    if any(use.owner.operation not in readers for use in term.uses) or not _is_worth_it(op):
        return
    replaced = []
    while (found := _inlined(op)) is not None:
        producer, position = found
        replaced += [op, producer]
        op = _with_indices(op, position, producer)
    narrow_positions(op)
    with op.context:
        op.attributes[COMPUTED_IN_TILES] = ir.UnitAttr.get()
    erase_unused(replaced)


def _is_worth_it(op: ir.Operation) -> bool:
    """Tell whether what is left to be read is little, and what is to be computed not much."""
    most = _MOST_COST[_nbytes(op.results[0]) > _CACHED]
    cost, nbytes, waiting = 0, 0, [op]
    while waiting:
        last = waiting.pop()
        cost += _cost(last)
        if cost > most:
            return False
        for position, value in enumerate(inputs_of(last)):
            producer = _producer(last, position)
            if producer is None:
                nbytes += _nbytes(value)
            else:
                waiting.append(producer)
    return nbytes * _LARGER <= _nbytes(op.results[0])


def _inlined(op: ir.Operation) -> tuple[ir.Operation, int] | None:
    """Return what an input of `op` is computed by, and its position, if it is to be inlined."""
    for position in range(len(inputs_of(op))):
        producer = _producer(op, position)
        if producer is not None:
            return producer, position
    return None


def _producer(op: ir.Operation, position: int) -> ir.Operation | None:
    """Return what computes an input, where every reader may as well do so."""
    producer = owner_of(inputs_of(op)[position], "linalg.generic")
    if producer is None or not _is_elementwise(producer):
        return None
    least = 1 if _is_position(producer) else _FUNCTION  # at load, or by a launch of a call
    if _cost(producer) >= least and _elements(producer.results[0]) <= _FEW:
        return None
    simple = ir.AffineDimExpr, ir.AffineConstantExpr
    is_simple = all(isinstance(each, simple) for each in map_of(op, position).results)
    return producer if is_simple else None


def _is_position(op: ir.Operation) -> bool:
    """Tell whether an operation computes from numbers of iterations alone, by a few others."""
    seen, waiting = {op}, [op]
    while waiting:
        for value in inputs_of(waiting.pop()):
            owner = owner_of(value, "linalg.generic", "arith.constant")
            if owner is None or len(seen) > _MOST_MAKERS:
                return False
            if owner.name == "linalg.generic" and owner not in seen:
                seen.add(owner)
                waiting.append(owner)
    return True


def _with_indices(op: ir.Operation, position: int, producer: ir.Operation) -> ir.Operation:
    """Inline a producer, whose numbers of iterations are places along the map that is read by."""
    places = map_of(op, position).results
    count = len(_indices(producer))
    built = with_producer(op, position, producer)
    for index in _indices(built)[:count]:  # the body of the producer comes first
        place = places[ir.IntegerAttr(index.attributes["dim"]).value]
        if isinstance(place, ir.AffineDimExpr):
            word = ir.IntegerType.get_signless(64, index.context)
            index.attributes["dim"] = ir.IntegerAttr.get(word, ir.AffineDimExpr(place).position)
            continue
        with index.location, ir.InsertionPoint(index):
            kind = ir.IndexType.get()
            number = ir.IntegerAttr.get(kind, ir.AffineConstantExpr(place).value)
            constant = emit("arith.constant", [], kind, value=number)
        index.results[0].replace_all_uses_with(constant)
        index.erase()
    return built


def _indices(op: ir.Operation) -> list[ir.Operation]:
    return [each for each in _body(op) if each.name == "linalg.index"]


def _body(op: ir.Operation) -> list[ir.Operation]:
    return [view.operation for view in op.regions[0].blocks[0].operations]


def _cost(op: ir.Operation) -> int:
    return sum(scalar_cost(each.name) for each in _body(op))


def _is_elementwise(op: ir.Operation) -> bool:
    """Tell whether each element of the one result is computed by itself, by plain arithmetic."""
    if len(op.results) != 1 or "reduction" in str(op.attributes["iterator_types"]):
        return False
    kinds = [value.type for value in op.operands]
    if not all(
        isinstance(kind, ir.RankedTensorType) and ir.RankedTensorType(kind).has_static_shape
        for kind in kinds
    ):
        return False
    rank = ir.RankedTensorType(op.results[0].type).rank
    if map_of(op, len(inputs_of(op))) != ir.AffineMap.get_identity(rank, op.context):
        return False
    if any(True for _ in op.regions[0].blocks[0].arguments[len(inputs_of(op))].uses):
        return False
    return all(
        each.name in ("linalg.index", "linalg.yield")
        or (each.name.startswith(("arith.", "math.")) and len(each.results) == 1)
        for each in _body(op)
    )


def _elements(value: ir.Value) -> int:
    return prod(ir.RankedTensorType(value.type).shape)


def _nbytes(value: ir.Value) -> int:
    kind = ir.RankedTensorType(value.type)
    if not kind.has_static_shape:
        return _LARGE
    width = 64 if isinstance(kind.element_type, ir.IndexType) else kind.element_type.width
    return int(prod(kind.shape)) * max(int(width) // 8, 1)
