# SPDX-License-Identifier: MIT OR Apache-2.0
"""Reads a reduction over windows of an image as tiles of an image in shared memory want it.

Convolutions of each channel by itself, or of few channels of a group, and poolings: every output
combines a window of one image, and neighbouring outputs have most of their windows in common. Those
of one group of channels have all of it in common.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import gcd, prod

from xyntra.passes.analysis.sizes.size import hint_of
from xyntra.passes.lower.gpu.conv.image import used_inputs
from xyntra.passes.lower.gpu.conv.image_axes import ImageAxis, image_axes
from xyntra.passes.lower.gpu.conv.window_group import WindowGroup
from xyntra.passes.lower.gpu.emit.vectors import coalesced_order, item_bytes, lanes_along
from xyntra.passes.lower.loops.linear_nest import BufferOperand, LinearNest
from xyntra.passes.lower.loops.vector_body import is_vectorizable

_NOTHING = ImageAxis(None, 1, None, 1, 1, 1, 0, 1, 0)
_MOST_OUTER = 16  # taps for each of which a tile of the image is brought
_MOST_SHARED = 64  # outputs that have a window in common
_NEAR = 4  # elements between neighbours in a row of the image at most
_MOST_INPUTS = 16  # channels of a group that a thread sums over


@dataclass(frozen=True)
class SlidingWindows:
    """A reduction over windows of an image.

    Attributes:
        group: the reduction and what follows.
        image: number of the input that is the image.
        weights: number of the input that the image is combined with; None for none.
        inner: the loop along which outputs are contiguous in memory.
        across: the dimension of the image along which a tile has columns.
        down: the one along which it has rows.
        outer: further dimensions with taps or padding; for each of their taps, a tile of the image
            is brought.
        planes: the other loops of the output, outermost first.
        lanes: contiguous outputs that can be stored at once.
        groups: the loop over groups of channels, each with windows of its own; `inner` where every
            channel is by itself; None where columns are contiguous in memory.
        depth: the loop over the channels of a group, which are summed over; None where a group has
            one, or where columns are contiguous in memory.
    """

    group: WindowGroup
    image: int
    weights: int | None
    inner: int
    across: ImageAxis
    down: ImageAxis
    outer: tuple[ImageAxis, ...]
    planes: tuple[int, ...]
    lanes: int
    groups: int | None = None
    depth: int | None = None

    @property
    def nest(self) -> LinearNest:
        """The reduction."""
        return self.group.nest

    @property
    def access(self) -> BufferOperand:
        """The image."""
        return self.nest.inputs[self.image]

    @property
    def item(self) -> int:
        """Bytes of an element of the image."""
        return item_bytes(self.access)

    @property
    def axes(self) -> tuple[ImageAxis, ...]:
        """The dimensions of the image with taps or padding."""
        return (self.across, self.down, *self.outer)

    @property
    def slides_inside(self) -> bool:
        """Whether windows overlap along the memory of the output: channels are not innermost."""
        return self.inner == self.across.row

    @property
    def is_turned(self) -> bool:
        """Tell whether neighbours in the image are columns, and in the output channels."""
        return not self.slides_inside and self.channel_stride != 1

    @property
    def shared(self) -> int:
        """Neighbouring outputs that read the same windows: those of a group of channels."""
        return 1 if self.groups in (None, self.inner) else self.extent(self.inner)

    @property
    def inputs(self) -> int:
        """Channels of a group that are summed over."""
        return 1 if self.depth is None else self.extent(self.depth)

    @property
    def outputs(self) -> int:
        """Channels of the result; 1 where columns are contiguous in memory."""
        return 1 if self.groups is None else self.extent(self.groups) * self.shared

    @property
    def channels(self) -> int:
        """Channels of the image; 1 where columns are contiguous in memory."""
        return 1 if self.groups is None else self.extent(self.groups) * self.inputs

    @property
    def channel_stride(self) -> int:
        """Elements from one channel of the image to the next."""
        loop = self.groups if self.depth is None else self.depth
        return 0 if loop is None else int(self.access.strides[loop])

    @property
    def taps(self) -> int:
        """Taps of a tile of the image."""
        return self.across.taps * self.down.taps

    @property
    def outer_taps(self) -> int:
        """Times that a tile of the image is brought."""
        return prod(axis.taps for axis in self.outer)

    @property
    def plane_count(self) -> int:
        """Iterations of `planes` together."""
        return prod(self.extent(loop) for loop in self.planes)

    @property
    def base(self) -> int:
        """The element at position 0 of every dimension, from where the image's memory is viewed."""
        return self.access.offset - sum(axis.first * axis.stride for axis in self.axes)

    def extent(self, loop: int) -> int:
        """Iterations of a loop."""
        return int(self.nest.loops[loop].extent)


def sliding_windows(group: WindowGroup) -> SlidingWindows | None:
    """Return `group` as a reduction over windows; None where it is something else."""
    nest = group.nest
    if group.slices or group.values is not None or group.partials is not None or nest.indices:
        return None
    if not nest.reductions or len(nest.outputs) != 1 or not is_vectorizable(nest.body):
        return None
    found, order = _factors(group), coalesced_order(nest)
    lanes = _lanes(group, order[-1]) if order else 0
    if found is None or not lanes:
        return None
    number, weights = found
    access, inner = nest.inputs[number], order[-1]
    rows = [loop for loop in order if access.strides[loop]]
    if any(access.strides[loop] <= 0 for loop in (*rows, *nest.reductions)):
        return None
    factor = None if weights is None else nest.inputs[weights]
    groups, depth = _channels(group, access, factor, inner)
    taps = [loop for loop in nest.reductions if loop != depth]
    axes = image_axes(nest, access, rows, taps, group.windows)
    mixes = groups != inner and depth is not None
    chosen = None if axes is None else _chosen(axes, groups, mixes=mixes)
    if chosen is None:
        return None
    across, down, outer = chosen
    taken = [inner, across.row, down.row, groups]
    planes = tuple(loop for loop in order if loop not in taken)
    slides = across.row == groups
    if slides and (groups != inner or depth is not None):
        return None
    windows = SlidingWindows(
        group,
        number,
        weights,
        inner,
        across,
        down,
        outer,
        planes,
        lanes,
        None if slides else groups,
        depth,
    )
    return windows if _is_suited(windows) else None


def _channels(
    group: WindowGroup, image: BufferOperand, weights: BufferOperand | None, inner: int
) -> tuple[int, int | None]:
    """Return the loop over groups of channels, and the one over the channels of a group, if any.

    Where outputs along `inner` read the same windows, they are those of one group. Then groups are
    along the only loop of the output that moves both factors.
    """
    nest, groups = group.nest, inner
    if weights is None:
        return groups, None
    if not image.strides[inner]:
        both = [
            loop
            for loop in range(len(nest.loops))
            if loop not in nest.reductions and image.strides[loop] and weights.strides[loop]
        ]
        if len(both) != 1:
            return groups, None
        groups = both[0]
    taps = [loop for window in group.windows for loop, _ in window.steps]
    found = [
        loop
        for loop in nest.reductions
        if loop not in taps
        and image.strides[loop] * nest.loops[loop].extent == image.strides[groups]
        and nest.loops[loop].extent <= _MOST_INPUTS
    ]
    return groups, found[0] if found and weights.strides[groups] else None


def _factors(group: WindowGroup) -> tuple[int, int | None] | None:
    """Return the numbers of the image and of the weights."""
    nest = group.nest
    used = used_inputs(nest)
    moved = [number for number in used if not nest.inputs[number].is_scalar]
    if len(moved) != len(used) or not 1 <= len(used) <= 2:
        return None

    def positions(number: int) -> int:
        strides = nest.inputs[number].strides
        loops = enumerate(nest.loops)
        found: int = prod(loop.extent for i, loop in loops if not loop.is_reduction and strides[i])
        usual: int = hint_of(found)  # either may be: no size has to be ruled out
        return usual

    image = max(used, key=positions)
    if group.image not in (None, image) or not all(item_bytes(nest.inputs[i]) for i in used):
        return None
    return image, next((number for number in used if number != image), None)


def _lanes(group: WindowGroup, inner: int) -> int:
    """Return how many contiguous outputs can be stored at once; 0 for none, not even one."""
    nest, epilogue = group.nest, group.epilogue
    inputs: list[BufferOperand] = []
    outputs = list(nest.outputs)
    if epilogue is not None:
        if not is_vectorizable(epilogue.body):
            return 0
        kept = [] if epilogue.result is None else [epilogue.result]
        inputs = [each for each in epilogue.inputs if each is not None]
        outputs = [*epilogue.outputs, *kept]
    if not all(each.is_scalar or item_bytes(each) for each in (*inputs, *outputs)):
        return 0
    if any(each.strides[inner] != 1 for each in outputs):
        return 0
    return lanes_along(replace(nest, inputs=tuple(inputs), outputs=tuple(outputs)), inner)


def _chosen(
    axes: Sequence[ImageAxis], groups: int, *, mixes: bool
) -> tuple[ImageAxis, ImageAxis, tuple[ImageAxis, ...]] | None:
    """Return the dimensions of columns, of rows, and what else has taps or padding.

    Args:
        axes: of the image.
        groups: the loop over groups of channels, or the one along which outputs are contiguous.
        mixes: whether groups have several outputs, and sum over channels: also without taps.
    """
    own = next((axis for axis in axes if axis.row == groups), None)
    if own is None:
        return None
    slides = own.tap is not None or not own.is_plain
    others = [axis for axis in axes if axis is not own and not axis.is_plain]
    others.sort(key=lambda axis: (axis.row is None, axis.stride))
    tapped = [axis for axis in others if axis.tap is not None]
    if slides:
        across = own
        tapped = [axis for axis in tapped if axis.row is not None]
    elif tapped:
        across, tapped = tapped[0], tapped[1:]
    else:
        rows = [axis for axis in axes if mixes and axis is not own and axis.row is not None]
        if not rows:
            return None
        across = max(rows, key=lambda axis: axis.outputs)
    down = tapped[0] if tapped else _NOTHING
    outer = tuple(axis for axis in others if axis is not across and axis is not down)
    return across, down, outer


def _is_suited(windows: SlidingWindows) -> bool:
    """Tell whether threads that share a tile of the image read what they need from it."""
    nest = windows.nest
    tiled = [each for each in (windows.across.row, windows.down.row) if each is not None]
    if windows.weights is not None:
        weights = nest.inputs[windows.weights]
        fixed = [*tiled, windows.inner] if windows.slides_inside else tiled
        if any(weights.strides[loop] for loop in fixed):
            return False
    near = windows.across.stride <= _NEAR
    if windows.slides_inside:
        is_near = near
    else:
        is_near = windows.channel_stride == 1 or windows.across.stride == 1
    strides = windows.access.strides
    shared = prod(windows.extent(loop) for loop in windows.planes if not strides[loop])
    mixes = 1 < windows.shared <= _MOST_SHARED and windows.inputs > 1
    slides = any(map(_overlaps, windows.axes)) or mixes
    return is_near and slides and windows.outer_taps <= _MOST_OUTER and shared <= _MOST_SHARED


def _overlaps(axis: ImageAxis) -> bool:
    """Tell whether neighbouring outputs read elements in common, as rows of a product do not."""
    if axis.tap is None or axis.row is None:
        return False
    common = gcd(axis.step, axis.spread)
    return axis.spread // common < axis.outputs and axis.step // common < axis.taps
