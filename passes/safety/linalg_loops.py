# SPDX-License-Identifier: MIT OR Apache-2.0
"""The loops of a linalg operation, named ones included."""

from __future__ import annotations

from xyntra.dialects.mlir import ir
from xyntra.passes.safety.affine_ranges import loop_extents

__all__ = ["extents_of", "maps_of", "shapes_of"]


def maps_of(op: ir.Operation) -> list[ir.AffineMap]:
    """Return how a linalg operation indexes each of its operands."""
    if "indexing_maps" in op.attributes:
        return [attribute.value for attribute in ir.ArrayAttr(op.attributes["indexing_maps"])]
    # The Python module of the dialect would load an embedded language with numpy.
    from torch_mlir._mlir_libs._mlirDialectsLinalg import get_indexing_maps

    return [attribute.value for attribute in get_indexing_maps(op) or ()]


def shapes_of(op: ir.Operation) -> list[tuple[int, ...]]:
    """Return the shape of each operand, () for scalars."""
    types = [value.type for value in op.operands]
    return [tuple(t.shape) if isinstance(t, ir.RankedTensorType) else () for t in types]


def extents_of(op: ir.Operation) -> list[int]:
    """Return how often each loop of a linalg operation runs; none where that is unknown."""
    return loop_extents(maps_of(op), shapes_of(op)) or []
