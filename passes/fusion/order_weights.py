# SPDX-License-Identifier: MIT OR Apache-2.0
"""`order-weights`: weights of convolutions are stored in the order in which images are read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from xyntra.dialects.builder import Tensor, TensorBuilder
from xyntra.dialects.dtypes import default_dtype
from xyntra.dialects.mlir import ir
from xyntra.passes.fusion.functions import function_blocks
from xyntra.passes.fusion.weights import StaticValues, erase_with_unused
from xyntra.passes.registry import register_pass

__all__ = ["OrderWeights"]


@register_pass
@dataclass(frozen=True)
class OrderWeights:
    """Store weights so that what is summed over is innermost, as the other factor has it.

    Where an image has its channels innermost, weights get them innermost too: a tile of either
    factor is then made of contiguous pieces. The weights are brought into that order once, when
    the model is loaded. Matrix products, which sum over one dimension, stay as they are.
    """

    name: ClassVar[str] = "order-weights"

    def run(self, module: ir.Operation) -> None:
        """Rewrite every function of `module`."""
        replaced = []
        for block in function_blocks(module):
            static = StaticValues(block)
            for index, view in enumerate(list(block.operations)):
                op = view.operation
                static.add(index, op, op.name)
                if op.name == "linalg.generic" and static.reductions.has(op):
                    replaced += _ordered(op, static)
        erase_with_unused(replaced)


def _ordered(op: ir.Operation, static: StaticValues) -> list[ir.Operation]:
    """Replace `op` by one whose weights have another order; returns what is replaced."""
    if list(op.attributes["operandSegmentSizes"]) != [2, 1]:
        return []
    maps = [ir.AffineMapAttr(each).value for each in op.attributes["indexing_maps"]]
    sums = [
        number
        for number, kind in enumerate(op.attributes["iterator_types"])
        if "reduction" in str(kind)
    ]
    for weight in (0, 1):
        value = op.operands[weight]
        if value not in static or op.operands[1 - weight] in static:
            continue
        order = _order(maps[weight], maps[1 - weight], sums, value.type.shape)
        if order is not None:
            return [_with_order(op, weight, order)]
    return []


def _order(
    weight: ir.AffineMap, image: ir.AffineMap, sums: Sequence[int], shape: Sequence[int]
) -> list[int] | None:
    """Return which dimension of the weights goes where; None where they stay."""
    loops = [_loop(each) for each in weight.results]
    inner = _loop(image.results[len(image.results) - 1])
    if None in loops or inner not in sums or inner not in loops:
        return None
    dimensions = range(len(loops))
    others = [i for i in dimensions if loops[i] not in sums]
    taps = [i for i in dimensions if loops[i] in sums and loops[i] != inner]
    if all(shape[i] == 1 for i in taps):
        return None
    order = [*others, *taps, loops.index(inner)]
    return None if order == list(dimensions) else order


def _loop(expression: ir.AffineExpr) -> int | None:
    if not isinstance(expression, ir.AffineDimExpr):
        return None
    return int(expression.position)


def _with_order(op: ir.Operation, weight: int, order: Sequence[int]) -> ir.Operation:
    """Build `op` anew on weights whose dimension `i` was `order[i]`; returns the old one."""
    old = op.operands[weight]
    builder = TensorBuilder(ir.InsertionPoint(op), op.location)
    dtype = default_dtype(ir.RankedTensorType(old.type).element_type)
    ordered = builder.transpose(Tensor(old, dtype), order).value
    with ir.InsertionPoint(op):
        clone = op.clone().operation
    clone.operands[weight] = ordered
    maps = list(op.attributes["indexing_maps"])
    read = ir.AffineMapAttr(maps[weight]).value
    results = [read.results[position] for position in order]
    with op.context:
        maps[weight] = ir.AffineMapAttr.get(ir.AffineMap.get(read.n_dims, 0, results))
        clone.attributes["indexing_maps"] = ir.ArrayAttr.get(maps)
    op.results[0].replace_all_uses_with(clone.results[0])
    return op
