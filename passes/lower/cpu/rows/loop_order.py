# SPDX-License-Identifier: MIT OR Apache-2.0
"""`loop-order`: puts the loop that reads and writes memory in sequence innermost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.kernel_function import operations_named
from xyntra.passes.lower.loops.access_strides import loop_extents, loop_strides
from xyntra.passes.lower.loops.loop_cost import best_order
from xyntra.passes.registry import register_pass


@register_pass
@dataclass(frozen=True)
class LoopOrder:
    """Permute the loops of every linalg.generic on memrefs into the order of `best_order`."""

    name: ClassVar[str] = "loop-order"

    def run(self, module: ir.Operation) -> None:
        """Rewrite the indexing maps, iterator types and linalg.index below `module`."""
        for generic in operations_named(module, "linalg.generic"):
            if any(isinstance(value.type, ir.RankedTensorType) for value in generic.operands):
                continue
            order = _order(generic)
            if order != sorted(order):
                _permute(generic, order)


def _order(generic: ir.Operation) -> list[int]:
    strides = loop_strides(generic)
    inputs = generic.attributes["operandSegmentSizes"][0]
    kinds = ["reduction" in str(kind) for kind in generic.attributes["iterator_types"]]
    return best_order(loop_extents(generic), kinds, strides[:inputs], strides[inputs:])


def _permute(generic: ir.Operation, order: Sequence[int]) -> None:
    """Make loop `order[i]` the new loop `i`."""
    new_place = {old: new for new, old in enumerate(order)}
    rank = len(order)
    renamed = ir.AffineMap.get(
        rank, 0, [ir.AffineExpr.get_dim(new_place[old]) for old in range(rank)]
    )
    maps = [ir.AffineMapAttr(each).value for each in generic.attributes["indexing_maps"]]
    permuted = [
        ir.AffineMap.get(rank, 0, [expression.compose(renamed) for expression in each.results])
        for each in maps
    ]
    generic.attributes["indexing_maps"] = ir.ArrayAttr.get(
        [ir.AffineMapAttr.get(each) for each in permuted]
    )
    kinds = list(generic.attributes["iterator_types"])
    generic.attributes["iterator_types"] = ir.ArrayAttr.get([kinds[old] for old in order])
    for index in operations_named(generic, "linalg.index"):
        dimension = ir.IntegerAttr(index.attributes["dim"])
        place = new_place[dimension.value]
        index.attributes["dim"] = ir.IntegerAttr.get(dimension.type, place)
