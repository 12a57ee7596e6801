# SPDX-License-Identifier: MIT OR Apache-2.0
"""Recognises operations that only move data."""

from __future__ import annotations

from collections.abc import Sequence

from xyntra.dialects.mlir import ir
from xyntra.passes.views.structured import Interned, Map, only_moves

Sources = Sequence[int | None]
"""For every dimension of a result the dimension of the operand, or None where it is broadcast."""


def is_copy(op: ir.Operation, interned: Interned) -> bool:
    """Tell whether `op` only moves data."""
    name = op.name
    if name == "linalg.generic":
        return _moving_map(op, interned) is not None
    return bool(name == "linalg.transpose") and len(op.results) == 1


def move_of(op: ir.Operation, interned: Interned) -> Sources | None:
    """Return how `op`, a copy, rearranges the dimensions of what it reads; None if it does more."""
    if op.name == "linalg.transpose":
        return list(op.attributes["permutation"])
    map_ = moving_map(op, interned)
    if map_ is None:
        return None
    source = interned.shape_of(op.operands[0])
    result = interned.shape_of(op.results[0])
    if source is None or result is None:
        return None
    if any(
        size > 1 if item is None else not isinstance(item, int)
        for item, size in zip(map_, source, strict=True)
    ):
        return None
    loops = [item for item in map_ if item is not None]
    if len(set(loops)) != len(loops):
        return None
    return [map_.index(loop) if loop in map_ else None for loop in range(len(result))]


def moving_map(op: ir.Operation, interned: Interned) -> Map | None:
    """The map by which `op`, a linalg.generic, reads the only tensor that it copies."""
    return _moving_map(op, interned) if op.name == "linalg.generic" else None


def _moving_map(op: ir.Operation, interned: Interned) -> Map | None:
    maps = interned.maps_of(op)
    if not maps.moving or any(interned.reductions_of(op)) or len(op.results) != 1:
        return None
    if op.attributes["operandSegmentSizes"][0] != 1 or not only_moves(op):
        return None
    return maps.items[0]
