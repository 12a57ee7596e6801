# SPDX-License-Identifier: MIT OR Apache-2.0
"""Lets elementwise operations read what a copy with an affine map would give them."""

from __future__ import annotations

from xyntra.dialects.mlir import ir
from xyntra.passes.views.structured import Interned, Item, Map, Structured, affine_map


def fold_resampling(copies: list[ir.Operation], block: ir.Block, interned: Interned) -> None:
    """Fold copies with indices such as `d2 floordiv 2` or `-d0 + 7` into elementwise readers.

    `copies` are in the order of the block.
    """
    for op in copies:
        if op.name == "linalg.generic":
            with op.location:
                _fold(op, block, interned)
    for op in reversed(copies):
        if next(iter(op.results[0].uses), None) is None:
            op.erase()


def _fold(copy: ir.Operation, block: ir.Block, interned: Interned) -> None:
    map_ = interned.maps_of(copy).items[0]
    readers = {use.owner.operation: None for use in copy.results[0].uses}
    for op in readers:
        if op.block != block or op.name != "linalg.generic" or any(interned.reductions_of(op)):
            continue
        reader = Structured(op, interned)
        for position in range(reader.inputs):
            if reader.operands[position] == copy.results[0]:
                read = _composed(map_, reader.maps[position], reader.loops)
                reader.set_operand(position, copy.operands[0], read)
        reader.commit()


def _composed(inner: Map, outer: Map, loops: int) -> Map:
    """`inner` after `outer`, which is over `loops` loops."""
    map_ = affine_map(loops, outer)

    def compose(item: Item) -> Item:
        if isinstance(item, int):
            return outer[item]
        return None if item is None else item.compose(map_)

    return tuple(compose(item) for item in inner)
