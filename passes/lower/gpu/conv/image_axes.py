# SPDX-License-Identifier: MIT OR Apache-2.0
"""Reads the geometry of a convolution from how its loops move through the image."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import gcd

from xyntra.passes.lower.gpu.conv.window import ImagePosition
from xyntra.passes.lower.loops.linear_nest import BufferOperand, LinearNest


@dataclass(frozen=True)
class ImageAxis:
    """A dimension of an image, along which outputs and taps of the filter lie.

    Output `i` and tap `j` meet at position `first + i * step + j * spread`.

    Attributes:
        row: loop of the outputs; None for a single one.
        outputs: how many.
        tap: loop of the taps; None for a single one.
        taps: how many.
        step: positions from one output to the next.
        spread: positions from one tap to the next.
        first: position of the first tap at the first output; negative in front of the image.
        size: positions of the image.
        stride: elements from one position to the next.
        shifts: other loops of the output that move all of this, with the positions of one step.
    """

    row: int | None
    outputs: int
    tap: int | None
    taps: int
    step: int
    spread: int
    first: int
    size: int
    stride: int
    shifts: tuple[tuple[int, int], ...] = ()

    @property
    def corners(self) -> tuple[int, int]:
        """The first tap's first position, and how far behind the image's last one it ends."""
        return self.first, self.first + (self.outputs - 1) * self.step + 1 - self.size

    @property
    def is_plain(self) -> bool:
        """Tell whether outputs simply lie behind each other, without taps."""
        return self.tap is None and self.corners == (0, 0) and self.step == 1 and not self.shifts

    def shifted(self, nest: LinearNest, loop: int, positions: int) -> ImageAxis:
        """Return the dimension with one more loop that moves outputs and taps by `positions`."""
        more = (nest.loops[loop].extent - 1) * positions
        return replace(self, shifts=(*self.shifts, (loop, positions)), size=self.size + more)


def image_axes(
    nest: LinearNest,
    access: BufferOperand,
    rows: Sequence[int],
    taps: Sequence[int],
    windows: Sequence[ImagePosition],
) -> list[ImageAxis] | None:
    """Return the dimensions of an image, those of rows in their order, innermost first.

    Args:
        nest: a convolution.
        access: the image.
        rows: loops of the outputs, outermost first; others that move the image shift it.
        taps: loops of the reduction but for that of the channels.
        windows: dimensions in which the image may be read outside of its memory.

    Returns:
        None where loops move through the image in a way that no filter does.
    """
    left, found = [*rows, *taps], []
    for window in windows:
        axis = _windowed(nest, access, rows, taps, window)
        own = [] if axis is None else [loop for loop in (axis.row, axis.tap) if loop is not None]
        if axis is None or any(loop not in left for loop in own):
            return None
        left = [loop for loop in left if loop not in (axis.row, axis.tap)]
        found.append(axis)
    if any(access.strides[loop] <= 0 for loop in left):
        return None
    inside = _inside(nest, access, _pairs(access, rows, left))
    axes: list[ImageAxis] | None = [*found, *inside]
    for loop in _shifting(nest, access, [*rows, *taps], windows):
        axes = None if axes is None else _with_shift(nest, access, axes, loop)
    if axes is None:
        return None
    order: dict[int | None, int] = {row: place for place, row in enumerate(reversed(rows))}
    return sorted(axes, key=lambda axis: order.get(axis.row, -1))


def _shifting(
    nest: LinearNest, access: BufferOperand, known: Sequence[int], windows: Sequence[ImagePosition]
) -> list[int]:
    """Return the loops of the output that move the image, and are not known yet."""
    found = [*known, *(loop for window in windows for loop, _ in window.steps)]
    loops = enumerate(nest.loops)
    return [
        i for i, loop in loops if not loop.is_reduction and access.strides[i] and i not in found
    ]


def _with_shift(
    nest: LinearNest, access: BufferOperand, axes: Sequence[ImageAxis], loop: int
) -> list[ImageAxis] | None:
    """Return dimensions without padding with one more loop that shifts one of them."""
    stride = access.strides[loop]
    fitting = [axis for axis in axes if axis.tap is not None and stride % axis.stride == 0]
    if not fitting or stride < 0:
        return None
    found = max(fitting, key=lambda axis: axis.stride)
    shifted = found.shifted(nest, loop, stride // found.stride)
    return [shifted if axis is found else axis for axis in axes]


def _windowed(
    nest: LinearNest,
    access: BufferOperand,
    rows: Sequence[int],
    known: Sequence[int],
    window: ImagePosition,
) -> ImageAxis | None:
    steps = dict(window.steps)
    outputs = [loop for loop in steps if loop in rows]
    taps = [loop for loop in steps if loop in known]
    shifts = tuple((loop, step) for loop, step in steps.items() if loop not in (*rows, *known))
    units = {access.strides[loop] // step for loop, step in steps.items()}
    exact = all(access.strides[loop] % step == 0 for loop, step in steps.items())
    if len(outputs) > 1 or len(taps) > 1 or len(units) != 1 or not exact:
        return None
    row, tap = next(iter(outputs), None), next(iter(taps), None)
    return ImageAxis(
        row,
        1 if row is None else nest.loops[row].extent,
        tap,
        1 if tap is None else nest.loops[tap].extent,
        1 if row is None else steps[row],
        1 if tap is None else steps[tap],
        window.first,
        window.size,
        units.pop(),
        shifts,
    )


def _pairs(
    access: BufferOperand, rows: Sequence[int], left: Sequence[int]
) -> list[tuple[int | None, int | None]]:
    """Join each tap with the outputs that move along the same dimension, if any."""
    waiting: list[int] = [loop for loop in left if loop in rows]
    pairs: list[tuple[int | None, int | None]] = []
    for tap in (loop for loop in left if loop not in rows):
        near = [row for row in waiting if _ratio(access, row, tap) is not None]
        row = min(near, key=lambda each: _ratio(access, each, tap) or 0, default=None)
        waiting = [each for each in waiting if each != row]
        pairs.append((row, tap))
    return pairs + [(row, None) for row in waiting]


def _ratio(access: BufferOperand, row: int, tap: int) -> int | None:
    """Return how much farther one loop moves than the other; None where neither divides."""
    one, other = sorted((access.strides[row], access.strides[tap]))
    return None if one <= 0 or other % one else other // one


def _inside(
    nest: LinearNest, access: BufferOperand, pairs: Sequence[tuple[int | None, int | None]]
) -> Iterator[ImageAxis]:
    """Yield dimensions that outputs and taps do not leave."""
    for row, tap in pairs:
        strides = [0 if loop is None else access.strides[loop] for loop in (row, tap)]
        outputs, taps = (1 if loop is None else nest.loops[loop].extent for loop in (row, tap))
        unit = max(gcd(*strides), 1)
        step, spread = (max(stride // unit, 1) for stride in strides)
        size = (outputs - 1) * step + (taps - 1) * spread + 1
        yield ImageAxis(row, outputs, tap, taps, step, spread, 0, size, unit)
