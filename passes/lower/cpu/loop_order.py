# SPDX-License-Identifier: MIT OR Apache-2.0
"""`loop-order`: puts the loop that reads and writes memory in sequence innermost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from xyntra.dialects.mlir import ir
from xyntra.passes.lower.cpu.access_strides import loop_extents, loop_strides
from xyntra.passes.lower.cpu.kernel_function import operations_named
from xyntra.passes.registry import register_pass

_SEQUENTIAL_STRIDE = 8  # elements: beyond it every access is a cache line, or a lane of a gather
_STORE_WEIGHT = 2
_SHORT_LOOP = 8.0  # iterations that pay for entering a loop


@register_pass
@dataclass(frozen=True)
class LoopOrder:
    """Permute the loops of every linalg.generic on memrefs.

    Innermost comes the loop with the cheapest accesses: usually the last dimension of the output;
    the reduction where only that is contiguous. Around it come the reductions, and outermost the
    parallel loops in the order in which they walk through the output.
    """

    name: ClassVar[str] = "loop-order"

    def run(self, module: ir.Operation) -> None:
        """Rewrite the indexing maps, iterator types and linalg.index below `module`."""
        for generic in operations_named(module, "linalg.generic"):
            order = _best_order(generic)
            if order != sorted(order):
                _permute(generic, order)


def _best_order(generic: ir.Operation) -> list[int]:
    extents = loop_extents(generic)
    strides = loop_strides(generic)
    outputs = generic.attributes["operandSegmentSizes"][1]
    is_reduction = ["reduction" in str(kind) for kind in generic.attributes["iterator_types"]]
    loops = range(len(extents))

    def cost(loop: int) -> float:
        reads = sum(_access_cost(operand[loop]) for operand in strides[:-outputs])
        writes = sum(_access_cost(operand[loop]) for operand in strides[-outputs:])
        # A reduction combines the lanes of its accumulator once at its end.
        base = 0.5 + reads + _STORE_WEIGHT * writes
        return base * (1 + _SHORT_LOOP / max(extents[loop], 1))

    def walk(loop: int) -> tuple[bool, int]:
        operands = strides[:-outputs] if is_reduction[loop] else strides[-outputs:]
        return is_reduction[loop], -max((operand[loop] for operand in operands), default=0)

    order = sorted(loops, key=walk)
    candidates = [loop for loop in reversed(order) if extents[loop] > 1]
    if not candidates:
        return order
    innermost = min(candidates, key=cost)
    return [loop for loop in order if loop != innermost] + [innermost]


def _access_cost(stride: int) -> int:
    return min(abs(stride), _SEQUENTIAL_STRIDE)


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
