# SPDX-License-Identifier: MIT OR Apache-2.0
"""Recognises convolutions and poolings, and which of their dimensions are channels."""

from __future__ import annotations

from dataclasses import dataclass

from xyntra.dialects.mlir import ir
from xyntra.passes.views.structured import Interned, Item, Map, body_uses


@dataclass(frozen=True)
class Window:
    """A convolution or pooling over [N, channels, spatial dimensions].

    Attributes:
        inputs: how many dimensions of what it reads are channels; they follow the first dimension.
        outputs: the same of what it writes.
        mixes: whether it sums over channels.
    """

    inputs: int
    outputs: int
    mixes: bool


def window_of(op: ir.Operation, interned: Interned) -> Window | None:
    """What `op`, a linalg.generic with reductions, is; None if it is no window over channels."""
    maps = interned.maps_of(op).items
    if len(maps) != 3 or len(op.results) != 1 or body_uses(op, "linalg.index"):
        return None
    read, weights, written = maps
    if not read or not written or not all(isinstance(item, int) for item in written):
        return None
    batch = written[0]
    weight_loops = _loops(weights)
    if read[0] != batch or batch in weight_loops:
        return None
    if not list(op.regions[0].blocks[0].arguments[1].uses):
        return Window(1, 1, mixes=False) if _slides(read, written) else None
    spatial = {item for item in written[1:] if item not in weight_loops} & _loops(read)
    inputs, outputs = _before(read, spatial), _before(written, spatial)
    if inputs < 1 or outputs < 1:
        return None
    channels = read[1 : 1 + inputs]
    if not all(isinstance(item, int) for item in channels):
        return None
    reductions = interned.reductions_of(op)
    mixes = any(isinstance(item, int) and reductions[item] for item in channels)
    if not mixes and channels != written[1 : 1 + outputs]:
        return None
    return Window(inputs, outputs, mixes)


def _slides(read: Map, written: Map) -> bool:
    """Whether a pooling keeps its first two dimensions and slides over all others."""
    return len(read) == len(written) >= 3 and read[1] == written[1]


def _before(items: Map, spatial: set[Item]) -> int:
    """How many dimensions stand between the first and the first that has a spatial loop."""
    for position, item in enumerate(items[1:]):
        if loops_in(item) & spatial:
            return position
    return 0


def _loops(items: Map) -> set[Item]:
    return {loop for item in items for loop in loops_in(item)}


def loops_in(item: Item) -> set[Item]:
    """The loops that an index is computed from."""
    if item is None or isinstance(item, int):
        return {item} - {None}
    if isinstance(item, ir.AffineDimExpr):
        return {item.position}
    if isinstance(item, ir.AffineBinaryExpr):
        return loops_in(item.lhs) | loops_in(item.rhs)
    return set()
