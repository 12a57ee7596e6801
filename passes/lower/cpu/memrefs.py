# SPDX-License-Identifier: MIT OR Apache-2.0
"""Small builders and questions about memrefs that several steps share."""

from __future__ import annotations

from xyntra.dialects.mlir import ir


def view_of_bytes(buffer: ir.Value, kind: ir.MemRefType) -> ir.Value:
    """Return a contiguous memref of the shape and element of `kind` at the start of `buffer`."""
    index = ir.IndexType.get()
    zero = ir.Operation.create(
        "arith.constant", results=[index], attributes={"value": ir.IntegerAttr.get(index, 0)}
    )
    view = ir.Operation.create(
        "memref.view",
        results=[ir.MemRefType.get(kind.shape, kind.element_type)],
        operands=[buffer, zero.result],
    )
    return view.result


def identity_map(rank: int) -> ir.AffineMapAttr:
    """Return the identity map of `rank` dimensions, which is also the contiguous layout."""
    return ir.AffineMapAttr.get(ir.AffineMap.get_identity(rank))


def is_contiguous(value: ir.Value) -> bool:
    """Tell whether a memref has the row-major contiguous layout and starts at its pointer."""
    kind = ir.MemRefType(value.type)
    return bool(kind.layout == identity_map(kind.rank))
