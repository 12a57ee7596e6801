# SPDX-License-Identifier: MIT OR Apache-2.0
"""`initialize-tensors`: gives tensors that are read before they are written a value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from math import prod
from typing import ClassVar

from xyntra.dialects import KernelFacts
from xyntra.dialects.builder import TensorBuilder
from xyntra.dialects.dtypes import default_dtype
from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.analysis.walking import nested_operations
from xyntra.passes.registry import register_pass
from xyntra.passes.safety.linalg_loops import extents_of, maps_of
from xyntra.passes.safety.zeros import zero_of

__all__ = ["InitializeTensors"]

_MOST_PARTS = 1000
Box = list[tuple[int, int]]
"""Begin and end along each dimension."""


@register_pass
@dataclass(frozen=True)
class InitializeTensors:
    """Fill a `tensor.empty` with zeros, unless it is overwritten before anything is read of it.

    That is so where linalg operations write every element and do not read the tensor, and where
    slices are inserted that do not overlap and leave nothing out.
    """

    name: ClassVar[str] = "initialize-tensors"

    def run(self, module: ir.Operation) -> None:
        """Rewrite every `tensor.empty` in `module` that is read."""
        found = [op for op in nested_operations(module) if op.name == "tensor.empty"]
        held = [op for op in found if 0 not in ir.RankedTensorType(op.results[0].type).shape]
        read = [op for op in held if not all(_overwrites(use) for use in op.results[0].uses)]
        has_kernels = any(
            view.operation.name == "func.func" and KernelFacts.of(view.operation) is not None
            for view in module.regions[0].blocks[0].operations
        )
        for op in read:
            outside = has_kernels and _is_caller(op.parent)
            op.results[0].replace_all_uses_with(_constant(op) if outside else _filled(op))
        for op in reversed(read):
            op.erase()


def _is_caller(op: ir.Operation) -> bool:
    """Tell whether `op` is the function that calls kernels: it computes nothing by itself."""
    return op.name == "func.func" and KernelFacts.of(op) is None


def _filled(op: ir.Operation) -> ir.Value:
    kind = ir.RankedTensorType(op.results[0].type)
    with op.context, op.location:
        builder = TensorBuilder(ir.InsertionPoint(op), op.location)
        return builder.fill(list(kind.shape), default_dtype(kind.element_type), 0)


def _constant(op: ir.Operation) -> ir.Value:
    kind = op.results[0].type
    with op.context, op.location, ir.InsertionPoint(op):
        return emit("arith.constant", [], kind, value=zero_of(kind))


def _overwrites(use: ir.OpOperand) -> bool:
    """Tell whether what uses a tensor reads nothing of it, and leaves nothing as it was."""
    op = use.owner.operation
    if op.name.startswith("linalg.") and len(op.regions):
        arguments = op.regions[0].blocks[0].arguments
        number = use.operand_number
        if number >= len(arguments) or next(iter(arguments[number].uses), None) is not None:
            return False
        # An input whose elements are not used gives a shape: the window of a pooling.
        return number < len(op.operands) - len(op.results) or _is_written(op, number)
    if op.name == "tensor.insert_slice" and use.operand_number == 1:
        return _is_covered(op)
    return False


def _is_written(op: ir.Operation, operand: int) -> bool:
    """Tell whether a linalg operation writes every element of an output, and does so only once.

    What writes an element several times is lowered as a reduction, which begins with what is there.
    """
    if "iterator_types" not in op.attributes or "reduction" in str(op.attributes["iterator_types"]):
        return False
    expressions = maps_of(op)[operand].results
    loops = {e.position for e in expressions if isinstance(e, ir.AffineDimExpr)}
    return len(loops) == len(expressions) and 0 not in extents_of(op)


def _is_covered(op: ir.Operation) -> bool:
    """Tell whether slices, inserted one after the other, write every element."""
    elements = prod(ir.RankedTensorType(op.results[0].type).shape)
    boxes: list[Box] = []
    written = 0
    while op.name == "tensor.insert_slice":
        box = _box(op)
        if box is None or len(boxes) == _MOST_PARTS:
            return False
        boxes.append(box)
        written += prod(end - begin for begin, end in box)
        if written == elements:
            return _are_disjoint(boxes)
        uses = list(op.results[0].uses)
        if len(uses) != 1 or uses[0].operand_number != 1:
            return False
        op = uses[0].owner.operation
    return False


def _box(op: ir.Operation) -> Box | None:
    offsets, sizes, strides = (
        list(ir.DenseI64ArrayAttr(op.attributes[f"static_{name}"]))
        for name in ("offsets", "sizes", "strides")
    )
    if min(offsets, default=0) < 0 or any(stride != 1 for stride in strides):
        return None
    return [(offset, offset + size) for offset, size in zip(offsets, sizes, strict=True)]


def _are_disjoint(boxes: Sequence[Box]) -> bool:
    neighbours = list(pairwise(boxes))
    for axis in range(len(boxes[0])):
        if all(one[axis][1] <= two[axis][0] for one, two in neighbours):
            return True  # a concatenation: each begins where the one before has ended
    return not any(_overlap(one, two) for one, two in combinations(boxes, 2))


def _overlap(one: Box, two: Box) -> bool:
    return all(a[0] < b[1] and b[0] < a[1] for a, b in zip(one, two, strict=True))
