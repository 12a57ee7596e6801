# SPDX-License-Identifier: MIT OR Apache-2.0
"""Finds views in regions whose elements lie side by side in the tensor that is viewed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xyntra.dialects.builder import Tensor, TensorBuilder
from xyntra.dialects.dtypes import default_dtype, item_bytes
from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.parts import PART_ALIGNMENT
from xyntra.passes.analysis.views import RESHAPES, TENSOR_VIEWS
from xyntra.passes.views.layout import Dimension, Layout
from xyntra.passes.views.slicing import Spans

__all__ = ["ViewedPart", "viewed_part"]


@dataclass(frozen=True)
class ViewedPart:
    """A slice in a region that is a part of a tensor from around it, whatever lies in between.

    Slices of slices and of other shapes are looked through: the steps of one direction of a layer
    are rows of half of the columns of a tensor, which is a contiguous part for a single sequence.

    Attributes:
        op: the slice.
        base: the tensor from around the region.
        start: the number of its first element there.
    """

    op: ir.Operation
    base: ir.Value
    start: int

    def make(self, builder: TensorBuilder) -> ir.Value:
        """Return the same elements as a contiguous slice of the tensor, made by `builder`."""
        base = Tensor.of(self.base)
        shape = list(ir.RankedTensorType(self.op.results[0].type).shape)
        flat = builder.reshape(base, [prod(base.shape)])
        return builder.reshape(builder.slice(flat, [self.start], [prod(shape)], [1]), shape).value


def viewed_part(op: ir.Operation) -> ViewedPart | None:
    """Return what `op`, of a region's block, is; None where it is no slice that is a part."""
    if op.name != "tensor.extract_slice" or len(op.operands) != 1:
        return None
    chain, value = [op], op.operands[0]
    while not isinstance(value.owner, ir.Block) and value.owner.operation.block == op.block:
        owner = value.owner.operation
        if owner.name not in TENSOR_VIEWS or len(owner.operands) != 1:
            return None
        chain.append(owner)
        value = owner.operands[0]
    base, shown = ir.RankedTensorType(value.type), ir.RankedTensorType(op.results[0].type)
    if not base.has_static_shape or not shown.has_static_shape or 0 in (*base.shape, *shown.shape):
        return None
    start = _first_element(list(base.shape), chain[::-1])
    if start is None or start * item_bytes(default_dtype(base.element_type)) % PART_ALIGNMENT:
        return None
    return ViewedPart(op, value, start)


def _first_element(shape: Sequence[int], chain: Sequence[ir.Operation]) -> int | None:
    """Return where a view of a tensor of `shape` begins; None where its elements lie apart."""
    layout, start = Layout.row_major(shape), 0
    for op in chain:
        found: Layout | None
        if op.name in RESHAPES:
            found = layout.reshaped(list(ir.RankedTensorType(op.results[0].type).shape))
        else:
            found, start = _sliced(layout, Spans.of(op), start)
        if found is None:
            return None
        layout = found
    return start if layout.is_row_major else None


def _sliced(layout: Layout, spans: Spans, start: int) -> tuple[Layout | None, int]:
    """Return what a slice leaves of a view that begins at `start`, and where that begins."""
    merged = layout.merged()
    dimensions: list[Dimension] = []
    for dimension, extent, first, size, step in zip(
        merged.dimensions, merged.shape, spans.starts, spans.sizes, spans.steps, strict=True
    ):
        if (first, size) == (0, extent):
            dimensions.append(dimension)
            continue
        if len(dimension) != 1:
            return None, 0
        stride = dimension[0][1]
        start += first * stride
        dimensions.append(((size, stride * step),) if size > 1 else ())
    return Layout(tuple(dimensions)), start
