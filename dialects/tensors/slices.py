# SPDX-License-Identifier: MIT OR Apache-2.0
"""Tensors put together from others."""

from __future__ import annotations

from collections.abc import Sequence

from torch_mlir import ir

from xyntra.dialects.builder import Tensor, TensorBuilder


def insert_slice(
    b: TensorBuilder, source: Tensor, target: ir.Value, offsets: Sequence[int]
) -> Tensor:
    """`target` with `source`, which has the same rank, written at `offsets`."""
    source_sizes = list(source.shape)
    segments = {"operandSegmentSizes": ir.DenseI32ArrayAttr.get([1, 1, 0, 0, 0], b.context)}
    spans = {
        "static_offsets": list(offsets),
        "static_sizes": source_sizes,
        "static_strides": [1] * source.rank,
    }
    attributes = {k: ir.DenseI64ArrayAttr.get(v, b.context) for k, v in spans.items()}
    op = b.emit("tensor.insert_slice", [source.value, target], [target.type], segments | attributes)
    return Tensor(op.results[0], source.dtype)


def concatenate(b: TensorBuilder, parts: Sequence[Tensor], axis: int) -> Tensor:
    """`parts`, which differ in their sizes along `axis` only, one behind the other."""
    shape = list(parts[0].shape)
    shape[axis] = sum(part.shape[axis] for part in parts)
    filled = [part for part in parts if 0 not in part.shape]
    if len(filled) == 1:
        return filled[0]
    target, offsets = b.empty(shape, parts[0].dtype), [0] * len(shape)
    for part in filled:
        target = insert_slice(b, part, target, offsets).value
        offsets[axis] += part.shape[axis]
    return Tensor(target, parts[0].dtype)
