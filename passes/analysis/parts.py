# SPDX-License-Identifier: MIT OR Apache-2.0
"""Finds slices that are contiguous parts of a buffer, which a kernel can be called with."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from xyntra.dialects.dtypes import default_dtype, item_bytes
from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.views import RESHAPES, TENSOR_VIEWS

__all__ = ["PART_ALIGNMENT", "BufferPart", "buffer_of", "is_part", "part_of"]

PART_ALIGNMENT = 64
"""Bytes that the place of a part is a multiple of: what code may assume of temporaries."""

_SLICE = ("static_offsets", "static_sizes", "static_strides")


@dataclass(frozen=True)
class BufferPart:
    """A slice whose elements lie side by side in the tensor that it is taken of.

    Attributes:
        offset: of its first byte.
        nbytes: of it.
    """

    offset: int
    nbytes: int


def part_of(op: ir.Operation) -> BufferPart | None:
    """Return what `op` takes of its operand; None where it is no slice that is a part."""
    if op.name != "tensor.extract_slice" or len(op.operands) != 1:
        return None
    kind = ir.RankedTensorType(op.operands[0].type)
    if not kind.has_static_shape:
        return None
    shape = list(kind.shape)
    starts, sizes, steps = (list(op.attributes[name]) for name in _SLICE)
    if any(step != 1 and size > 1 for step, size in zip(steps, sizes, strict=True)):
        return None
    first = next((i for i, size in enumerate(sizes) if size != 1), len(sizes))
    if sizes[first + 1 :] != shape[first + 1 :]:
        return None
    item = item_bytes(default_dtype(kind.element_type))
    places = [start * prod(shape[i + 1 :]) for i, start in enumerate(starts)]
    found = BufferPart(sum(places) * item, prod(sizes) * item)
    fits = found.nbytes and found.offset + found.nbytes <= prod(shape) * item
    return found if fits and found.offset % PART_ALIGNMENT == 0 <= found.offset else None


def is_part(value: ir.Value) -> bool:
    """Tell whether `value` is a slice, or another shape of one."""
    while not isinstance(value.owner, ir.Block) and value.owner.name in TENSOR_VIEWS:
        if value.owner.name not in RESHAPES:
            return True
        value = value.owner.operands[0]
    return False


def buffer_of(value: ir.Value) -> ir.Value:
    """Return the value in whose buffer `value` lies: it is another shape, or a slice, of that."""
    while not isinstance(value.owner, ir.Block) and value.owner.name in TENSOR_VIEWS:
        value = value.owner.operands[0]
    return value
