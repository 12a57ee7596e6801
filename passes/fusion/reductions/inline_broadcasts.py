# SPDX-License-Identifier: MIT OR Apache-2.0
"""`inline-broadcasts`: computes cheap operations on small tensors in larger ones that read them."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import ClassVar

from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.functions import function_blocks, weight_positions
from xyntra.passes.analysis.owners import owner_of
from xyntra.passes.analysis.views import TENSOR_VIEWS
from xyntra.passes.cost.work import scalar_cost
from xyntra.passes.fusion.graph.factors import inputs_of, map_of
from xyntra.passes.fusion.reductions.inlined_producer import with_producer
from xyntra.passes.recognize.dead_operations import erase_unused
from xyntra.passes.registry import register_pass

__all__ = ["InlineBroadcasts"]

_MOST_COST = 2  # instructions that every reader's element repeats
_MOST_INPUTS = 2
_LARGER = 8  # times as many elements, at least
_SCALAR = ("arith.", "linalg.yield")


@register_pass
@dataclass(frozen=True)
class InlineBroadcasts:
    """Move operations of an instruction or two into larger elementwise ones that read them.

    A scale of which one is added before it multiplies a whole image, or every token, would be a
    launch between the norm of these and what is done to them. What follows a contraction element by
    element, and what depends on weights alone, costs no launch and stays where it is.
    """

    name: ClassVar[str] = "inline-broadcasts"

    def run(self, module: ir.Operation) -> None:
        """Rewrite every function of `module`."""
        for block in function_blocks(module):
            weights = {block.arguments[position] for position in weight_positions(block)}
            replaced = []
            for op in [view.operation for view in block.operations]:
                if _is_cheap(op, weights):
                    replaced += _inline(op, block)
            erase_unused(replaced)


def _is_cheap(op: ir.Operation, weights: set[ir.Value]) -> bool:
    """Tell whether an operation is better repeated than launched."""
    if not _is_elementwise(op) or not 0 < len(inputs_of(op)) <= _MOST_INPUTS:
        return False
    body = [view.operation for view in op.regions[0].blocks[0].operations]
    if not all(each.name.startswith(_SCALAR) for each in body):
        return False
    if sum(scalar_cost(each.name) for each in body) > _MOST_COST:
        return False
    origins = [_origin(value) for value in inputs_of(op)]
    if all(origin in weights or owner_of(origin, "arith.constant") for origin in origins):
        return False
    return not any(_is_computed_alike(origin, op.results[0]) for origin in origins)


def _is_elementwise(op: ir.Operation) -> bool:
    """Tell whether an operation has one result, each element of which it computes by itself."""
    if op.name != "linalg.generic" or len(op.results) != 1:
        return False
    if "reduction" in str(op.attributes["iterator_types"]):
        return False
    kinds = [value.type for value in op.operands]
    if not all(isinstance(kind, ir.RankedTensorType) for kind in kinds):
        return False
    if not all(ir.RankedTensorType(kind).has_static_shape for kind in kinds):
        return False
    rank = ir.RankedTensorType(op.results[0].type).rank
    body = op.regions[0].blocks[0]
    is_read = any(True for _ in body.arguments[len(inputs_of(op))].uses)
    return map_of(op, len(inputs_of(op))) == ir.AffineMap.get_identity(rank) and not is_read


def _origin(value: ir.Value) -> ir.Value:
    """Return what a value is a view of."""
    while (op := owner_of(value, *TENSOR_VIEWS)) is not None:
        value = op.operands[0]
    return value


def _is_computed_alike(origin: ir.Value, result: ir.Value) -> bool:
    """Tell whether the kernel that computes an input could compute the result, too."""
    is_computed = not isinstance(origin.owner, ir.Block)
    return is_computed and _elements(origin) == _elements(result)


def _elements(value: ir.Value) -> int:
    kind = ir.RankedTensorType(value.type)
    return prod(kind.shape) if kind.has_static_shape else 0


def _inline(producer: ir.Operation, block: ir.Block) -> list[ir.Operation]:
    """Let all readers of an operation compute it, if they may; return what has no readers then."""
    uses = [(use.owner.operation, use.operand_number) for use in producer.results[0].uses]
    small = _elements(producer.results[0])
    for op, position in uses:
        is_input = op.block == block and _is_elementwise(op) and position < len(inputs_of(op))
        if not is_input or _elements(op.results[0]) < _LARGER * small:
            return []
    replaced = [producer]
    for op in dict.fromkeys(op for op, _ in uses):
        reader = op
        while (found := _position(reader, producer)) is not None:
            replaced.append(reader)
            reader = with_producer(reader, found, producer)
    return replaced


def _position(op: ir.Operation, producer: ir.Operation) -> int | None:
    """Return the first operand of `op` that `producer` gives; None where there is none."""
    inputs = inputs_of(op)
    return inputs.index(producer.results[0]) if producer.results[0] in inputs else None
