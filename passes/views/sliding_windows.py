# SPDX-License-Identifier: MIT OR Apache-2.0
"""Recognises convolutions and poolings, and which of their dimensions are channels."""

from __future__ import annotations

from dataclasses import dataclass

from xyntra.dialects.mlir import ir
from xyntra.passes.views.structured import Interned, Item, Map, body_uses, loops_in


@dataclass(frozen=True)
class SlidingWindow:
    """A convolution or pooling over [N, channels, spatial dimensions].

    Attributes:
        inputs: how many dimensions of what it reads are channels; they follow the first dimension.
        outputs: the same of what it writes.
        mixes: whether it sums over channels.
    """

    inputs: int
    outputs: int
    mixes: bool


def window_of(op: ir.Operation, interned: Interned) -> SlidingWindow | None:
    """What `op`, a linalg.generic with reductions, is; None if it is no window over channels."""
    window = _window_of_maps(op, interned)
    return None if window is None or body_uses(op, "linalg.index") else window


def _window_of_maps(op: ir.Operation, interned: Interned) -> SlidingWindow | None:
    maps = interned.maps_of(op).items
    if len(maps) != 3 or len(op.results) != 1:
        return None
    read, weights, written = maps
    if not read or not written or not all(isinstance(item, int) for item in written):
        return None
    batch = written[0]
    weight_loops = _loops(weights)
    if read[0] != batch or batch in weight_loops:
        return None
    if not list(op.regions[0].blocks[0].arguments[1].uses):
        return SlidingWindow(1, 1, mixes=False) if _slides(read, written) else None
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
    return SlidingWindow(inputs, outputs, mixes)


def _slides(read: Map, written: Map) -> bool:
    """Tell whether a pooling keeps its first two dimensions and slides over all others."""
    return len(read) == len(written) >= 3 and read[1] == written[1]


def _before(items: Map, spatial: set[Item]) -> int:
    """Return how many dimensions stand between the first and the first that has a spatial loop."""
    for position, item in enumerate(items[1:]):
        if loops_in(item) & spatial:
            return position
    return 0


def _loops(items: Map) -> set[Item]:
    return {loop for item in items for loop in loops_in(item)}


def has_dense_taps(op: ir.Operation, interned: Interned, extent: int) -> bool:
    """Tell whether a convolution slides over two dimensions in steps of 1, with `extent` taps each.

    Args:
        op: a window that mixes channels.
        interned: attributes that were read before.
        extent: taps along each of the two dimensions.
    """
    read = interned.maps_of(op).items[0]
    reductions = interned.reductions_of(op)
    sizes = _tap_extents(op, interned)
    slid = [item for item in read if item is not None and not isinstance(item, int)]
    taps = [_tap(item, reductions) for item in slid]
    return len(taps) == 2 and all(tap is not None and sizes.get(tap) == extent for tap in taps)


def interleaves_phases(op: ir.Operation, interned: Interned) -> bool:
    """Tell whether neighbouring outputs have other weights, as in a transposed convolution.

    Args:
        op: a window that mixes channels, in front of the dimensions that it slides along.
        interned: attributes that were read before.
    """
    _, weights, written = interned.maps_of(op).items
    return written[-1] in _loops(weights)


def slid_dimensions(op: ir.Operation, interned: Interned) -> int:
    """Count the dimensions that a window of several taps, or in steps, slides along.

    One along which it neither has taps nor steps counts where there are others.
    """
    read = interned.maps_of(op).items[0]
    moves = any(isinstance(item, ir.AffineBinaryExpr) for item in read)
    reductions = interned.reductions_of(op)
    spatial = [item for item in read[2:] if not (isinstance(item, int) and reductions[item])]
    return len(spatial) if moves else 0


def moves_in_steps(op: ir.Operation, interned: Interned) -> bool:
    """Tell whether neighbouring outputs of a window are more than one input apart."""
    read, reductions = interned.maps_of(op).items[0], interned.reductions_of(op)
    item = read[-1]
    if not isinstance(item, ir.AffineBinaryExpr):
        return False
    parts = [item.lhs, item.rhs] if isinstance(item, ir.AffineAddExpr) else [item]
    steps = [part.lhs for part in parts if isinstance(part, ir.AffineMulExpr)]
    return any(isinstance(s, ir.AffineDimExpr) and not reductions[s.position] for s in steps)


def writes_channel_vectors(op: ir.Operation, interned: Interned) -> bool:
    """Tell whether `op` slides along an image or has phases, and writes its channels last.

    Args:
        op: a linalg.generic with reductions.
        interned: attributes that were read before.
    """
    maps = interned.maps_of(op).items
    if len(maps) != 3 or not maps[0] or not maps[2]:
        return False
    read, weights, written = maps
    own = _loops(weights)
    if any(isinstance(item, ir.AffineAddExpr) for item in read):
        by_itself = isinstance(read[-1], int) and read[-1] == written[-1]
        return by_itself or (written[-1] in own and written[-1] not in _loops(read))
    kinds = ["phase" if item in own else "place" for item in written[1:-1]]
    return written[-1] in own and kinds == ["place", "phase"] * (len(kinds) // 2) and len(kinds) > 2


def mixes_channels_last(op: ir.Operation, interned: Interned) -> bool:
    """Tell whether `op` sums products over windows, and both tensors have their channels last.

    Args:
        op: a linalg.generic with reductions.
        interned: attributes that were read before.
    """
    maps = interned.maps_of(op).items
    if len(maps) != 3 or not maps[0] or not maps[2]:
        return False
    read, weights, written = maps
    slides = any(isinstance(item, ir.AffineAddExpr) for item in read)
    channel, column = read[-1], written[-1]
    if not slides or not isinstance(channel, int) or not isinstance(column, int):
        return False
    own = _loops(weights)
    return interned.reductions_of(op)[channel] and {channel, column} <= own


def _tap(item: Item, reductions: tuple[bool, ...]) -> int | None:
    """The loop over taps in the index `place + tap`; None for any other index."""
    if not isinstance(item, ir.AffineAddExpr):
        return None
    parts = [side.position for side in (item.lhs, item.rhs) if isinstance(side, ir.AffineDimExpr)]
    found = [loop for loop in parts if reductions[loop]]
    return found[0] if len(parts) == 2 and len(found) == 1 else None


def _tap_extents(op: ir.Operation, interned: Interned) -> dict[Item, int]:
    weights = interned.maps_of(op).items[1]
    return dict(zip(weights, op.operands[1].type.shape, strict=True))
