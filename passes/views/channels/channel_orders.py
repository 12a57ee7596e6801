# SPDX-License-Identifier: MIT OR Apache-2.0
"""Decides which tensors of a block are stored with their channels innermost.

Tensors that operations tie to each other (an elementwise operation its operands and result, a
padding what it reads and writes) are stored alike. Such a group is stored with channels innermost
if the convolutions and poolings at it gain more than the copies cost where it meets tensors that
cannot be stored so: arguments, results, and what operations without indexing maps compute.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod

from xyntra.dialects.dtypes import ITEM_BYTES
from xyntra.dialects.mlir import ir
from xyntra.passes import winograd
from xyntra.passes.analysis.views import RESHAPES
from xyntra.passes.fusion.weights.weights import StaticValues
from xyntra.passes.targets.target import Target
from xyntra.passes.views.channels.ties import Ties
from xyntra.passes.views.computed_reads import user_in
from xyntra.passes.views.layout import Layout
from xyntra.passes.views.sliding_windows import (
    SlidingWindow,
    has_dense_taps,
    interleaves_phases,
    moves_in_steps,
    slid_dimensions,
)
from xyntra.passes.views.structured import Interned, loops_in

Order = tuple[int, ...]
"""Dimension i of the stored tensor is dimension `order[i]` of the tensor."""

_FLOPS_PER_NS = 70.0
_MIN_CHANNELS = 8  # fewer fill no vector
_VECTOR = 16  # output channels, of which fewer are computed as well where they lie apart
_PLANE, _VOLUME = 2, 3  # dimensions
_MOST_TAPS = 16  # of a row, for which there are vectors of channels


_TILE_COLUMNS = 128  # of a product, that share what is loaded
# Of a GPU, in the nanoseconds of the processor that the rates above are of, whose memory is a
# thousand times slower: on an H200, a thousand single loads took 2.9 to 5.3 ns more than copies.
_LOAD_NS, _LAUNCH_NS = 1.7, 1.5e6
# Small products wait for their loads, step by step: on an H100, one of 800x128 and 36 steps took
# 36 us, and one of 196x32 and 18 steps 22.
_STEP_NS, _STEP, _SMALL_TILE, _SHARES = 0.8e6, 32, 32 * 32, 8
_BLOCKS = 128  # that run at once


def channels_last(rank: int, channels: int) -> Order:
    """The order that has the `channels` dimensions behind the first one at the end."""
    return (0, *range(channels + 1, rank), *range(1, channels + 1))


@dataclass
class _Group:
    """Tensors that are stored alike.

    Attributes:
        channels: for every tensor how many of its dimensions are channels.
        copied: tensors, in or outside, that are copied where the group is stored in another order.
        gain: nanoseconds that windows gain.
        valid: whether all tensors can be stored in another order at all.
    """

    channels: dict[ir.Value, int] = field(default_factory=dict)
    copied: set[ir.Value] = field(default_factory=set)
    gain: float = 0.0
    valid: bool = True


class ChannelOrders:
    """The decisions for one block.

    Args:
        block: the body of a function.
        target: what the code is for. Where tiles of a matmul are brought by asynchronous copies,
            these need some contiguous bytes: where windows slide along the innermost dimension,
            16-bit floats are loaded one by one.
    """

    def __init__(self, block: ir.Block, target: Target) -> None:
        self.block = block
        self.rates = target.layouts
        self.copies_tiles = target.copies_tiles
        self.interned = Interned()
        self.ties = Ties(block, self.interned)
        self.static = StaticValues(block)

    def found(self) -> dict[ir.Value, Order]:
        """The tensors to store in another order."""
        seeds: list[tuple[ir.Value, int]] = []
        for view in self.block.operations:
            window = self.ties.window(view.operation)
            if window is not None:
                op = view.operation
                seeds += [(op.results[0], window.outputs), (op.operands[0], window.inputs)]
        if not seeds:
            return {}
        for index, view in enumerate(self.block.operations):
            self.static.add(index, view.operation, view.operation.name)
        orders: dict[ir.Value, Order] = {}
        seen: set[ir.Value] = set()
        for value, channels in seeds:
            if value in seen or not self._can_change(value):
                continue
            group = self._grown(value, channels)
            seen |= group.channels.keys()
            if group.valid and group.gain > self._cost(group):
                for member, count in group.channels.items():
                    orders[member] = channels_last(len(member.type.shape), count)
        return orders

    def _grown(self, value: ir.Value, channels: int) -> _Group:
        group = _Group({value: channels})
        stack = [value]
        while stack:
            member = stack.pop()
            uses = {user_in(self.block, use): None for use in member.uses}
            for op in [member.owner.operation, *uses]:
                stack += self._across(group, op, member)
        return group

    def _across(self, group: _Group, op: ir.Operation, value: ir.Value) -> list[ir.Value]:
        """Return what joins `group` because `op` reads or writes `value`, one of it."""
        channels = group.channels[value]
        if op.block != self.block:
            group.valid = False
            return []
        if op.name in RESHAPES:
            return self._across_reshape(group, op, value, channels)
        window = self.ties.window(op)
        if window is not None:
            group.gain += self._window_gain(op, window, value)
        joined = []
        for other in self.ties.tied(op, value):
            if other in group.channels:
                group.valid &= group.channels[other] == channels
            elif self._can_change(other):
                group.channels[other] = channels
                joined.append(other)
            else:
                group.copied.add(other)
        is_in_maps = self.ties.has_maps(op) and value in [*op.operands, *op.results]
        if not is_in_maps and not self.ties.tied(op, value):
            group.copied.add(value)
        return joined

    def _across_reshape(
        self, group: _Group, op: ir.Operation, value: ir.Value, channels: int
    ) -> list[ir.Value]:
        other = op.results[0] if value == op.operands[0] else op.operands[0]
        count = self._through_reshape(value, other, channels)
        if count is None or (count and not self._can_change(other)):
            group.copied.add(value)
            return []
        if other in group.channels:
            group.valid &= group.channels[other] == count
            return []
        if not count:
            return []
        group.channels[other] = count
        return [other]

    def _through_reshape(self, value: ir.Value, other: ir.Value, channels: int) -> int | None:
        """How many dimensions of `other`, a reshape of `value`, are channels; None for a copy."""
        shape, target = self.interned.shape_of(value), self.interned.shape_of(other)
        if shape is None or target is None:
            return None
        layout = stored_layout(shape, channels_last(len(shape), channels)).reshaped(target)
        if layout is None:
            return None
        if layout.is_row_major:
            return 0
        for count in range(1, len(target) - 1):
            order = channels_last(len(target), count)
            if layout.gathered(order, [target[d] for d in order]).is_row_major:
                return count
        return None

    def _can_change(self, value: ir.Value) -> bool:
        """Tell whether what makes `value` can write it in another order."""
        if isinstance(value.owner, ir.Block) or self.interned.shape_of(value) is None:
            return False
        return len(value.type.shape) >= 3 and self.ties.can_write(value.owner.operation)

    def _window_gain(self, op: ir.Operation, window: SlidingWindow, value: ir.Value) -> float:
        if value not in (op.operands[0], op.results[0]):
            return 0.0
        shape = tuple(value.type.shape)
        count = window.inputs if value == op.operands[0] else window.outputs
        if prod(shape[1 : 1 + count]) < _MIN_CHANNELS:
            return 0.0
        written = tuple(op.results[0].type.shape)
        if not window.mixes:
            return self._sliding_gain(op, value)
        if written[window.outputs] < self._least_outputs(op):
            return 0.0
        steps = prod(op.operands[1].type.shape) // prod(written[1 : 1 + window.outputs])
        flops: int = 2 * prod(written) * steps
        gain = flops / _FLOPS_PER_NS * self._share(op, window)
        if self.copies_tiles and value == op.operands[0]:
            gain += self._loads_gain(op, window, steps)
        return gain

    def _least_outputs(self, op: ir.Operation) -> int:
        """Output channels of a group, of which fewer gain nothing."""
        phases = interleaves_phases(op, self.interned)
        return min(self.rates.outputs, _MIN_CHANNELS) if phases else self.rates.outputs

    def _sliding_gain(self, op: ir.Operation, value: ir.Value) -> float:
        """Nanoseconds that a window over each channel gains."""
        row = op.operands[1].type.shape[-1]
        dimensions = slid_dimensions(op, self.interned)
        if self.rates.taps is None or dimensions < _PLANE or row > _MOST_TAPS:
            return _bytes(value) / self.rates.window
        taps = prod(op.operands[1].type.shape)
        if list(op.regions[0].blocks[0].arguments[1].uses):
            taps //= prod(op.results[0].type.shape[1:2])
        each = self.rates.taps[moves_in_steps(op, self.interned)]
        return float(each * taps * prod(op.results[0].type.shape))

    def _share(self, op: ir.Operation, window: SlidingWindow) -> float:
        """Return what part of its time a convolution gains from each of its two tensors."""
        if self._suits_winograd(op, window):
            return self.rates.winograd
        if interleaves_phases(op, self.interned):
            return self.rates.phases
        dimensions = slid_dimensions(op, self.interned)
        if dimensions >= _VOLUME:
            return self.rates.volume
        if dimensions < _PLANE or window.outputs > 1:
            return self.rates.line
        return self.rates.steps if moves_in_steps(op, self.interned) else self.rates.gain

    def _loads_gain(self, op: ir.Operation, window: SlidingWindow, steps: int) -> float:
        """Nanoseconds for loads of single elements that are copies where channels are innermost."""
        read, weights = self.interned.maps_of(op).items[:2]
        reductions = self.interned.reductions_of(op)
        image, factor = (value.type for value in op.operands[:2])
        if str(image.element_type) not in ("f16", "bf16") or isinstance(read[-1], int):
            return 0.0
        sizes = zip(read[1 : 1 + window.inputs], image.shape[1:], strict=False)
        summed = prod(size for loop, size in sizes if isinstance(loop, int) and reductions[loop])
        if summed < _MIN_CHANNELS:
            return 0.0
        own = {loop for item in read for loop in loops_in(item)}
        columns = prod(
            size
            for loop, size in zip(weights, factor.shape, strict=True)
            if isinstance(loop, int) and not reductions[loop] and loop not in own
        )
        rows = prod(op.results[0].type.shape) // columns
        loads: int = rows * steps * -(-columns // _TILE_COLUMNS)
        waiting = _steps_in_turn(rows, columns, steps) * _STEP_NS
        return max(0.0, max(loads * _LOAD_NS, waiting) - _LAUNCH_NS)

    def _suits_winograd(self, op: ir.Operation, window: SlidingWindow) -> bool:
        if op.operands[1] not in self.static:
            return False
        read, written = (value.type.shape for value in (op.operands[0], op.results[0]))
        channels = prod(read[1 : 1 + window.inputs]), prod(written[1 : 1 + window.outputs])
        enough = min(channels) >= winograd.MIN_CHANNELS
        return enough and has_dense_taps(op, self.interned, winograd.TAPS)

    def _cost(self, group: _Group) -> float:
        """Nanoseconds that the copies take."""
        total = 0.0
        for value in group.copied:
            shape = self.interned.shape_of(value)
            if shape is None or value in self.static:
                continue
            order = channels_last(len(shape), group.channels.get(value, 1))
            if not stored_layout(shape, order).is_row_major:
                total += self.rates.copy(_bytes(value))
        return total


def _steps_in_turn(rows: int, columns: int, steps: int) -> int:
    """Return how many parts of its reduction a block of a small product takes one by one."""
    blocks = max(rows * columns // _SMALL_TILE, 1)
    return -(-steps // (_STEP * min(max(_BLOCKS // blocks, 1), _SHARES)))


def stored_layout(shape: tuple[int, ...], order: Order) -> Layout:
    """Return how a tensor of `shape` lies in one of row-major order that stores it in `order`."""
    stored = Layout.row_major([shape[d] for d in order])
    return stored.gathered([order.index(d) for d in range(len(order))], shape)


def _bytes(value: ir.Value) -> int:
    size: int = prod(value.type.shape)
    return size * ITEM_BYTES[str(value.type.element_type)]
