# SPDX-License-Identifier: MIT OR Apache-2.0
"""Sampling an image at positions that a second tensor holds.

Positions are normalised, padded and interpolated as ONNX's GridSample says. The cubic kernel is
Keys', "Cubic convolution interpolation for digital image processing" (1981), with a = -0.75.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import product

from torch_mlir import ir

from xyntra.dialects.builder import Tensor
from xyntra.dialects.scalar import Scalar, constant
from xyntra.frontends.onnx.node import Node, handles
from xyntra.frontends.onnx.ops.elementwise.precision import accumulator_of

_CUBIC = -0.75
_MOST_EXACT = 1 << 24  # elements, whose numbers 32-bit floats tell apart
_MODES = {"bilinear": "linear", "bicubic": "cubic", "linear": "linear", "cubic": "cubic"}


@dataclass(frozen=True)
class _Tap:
    """One element that an output is made from, along one dimension."""

    address: Scalar
    weight: Scalar | None
    inside: Scalar | None


@dataclass(frozen=True)
class _Axis:
    """The sampling of one dimension of `size` elements."""

    size: int
    mode: str
    padding: str
    align_corners: bool

    @property
    def border(self) -> tuple[float, float]:
        """The coordinates beyond which the image is padded."""
        return (0.0, self.size - 1.0) if self.align_corners else (-0.5, self.size - 0.5)

    def taps(self, normalized: Scalar) -> Iterator[_Tap]:
        """The elements to combine for a coordinate from -1 to 1."""
        if self.align_corners:
            x = (normalized + 1) / 2 * (self.size - 1)
        else:
            x = ((normalized + 1) * self.size - 1) / 2
        if self.mode == "nearest":
            yield self._tap(self._padded(x.math("roundeven")), None)
            return
        if self.mode == "linear":
            x = self._padded(x)
        first = x.math("floor")
        for offset, weight in _weights(x - first, self.mode):
            yield self._tap(first + offset, weight)

    def _padded(self, x: Scalar) -> Scalar:
        """A coordinate of the image for one that may lie outside."""
        low, high = self.border
        outside = (x < low) | (x > high)
        if self.padding == "border":
            limit = constant(self.size - 1, x.dtype)
            return outside.select(
                (x < 0).select(constant(0, x.dtype), (x > limit).select(limit, x)), x
            )
        if self.padding == "reflection":
            return outside.select(self._reflected(x), x)
        return x

    def _reflected(self, x: Scalar) -> Scalar:
        """`x` mirrored at the borders as often as it takes: a triangle wave."""
        low, high = self.border
        span = high - low
        if not span:
            return constant(low, x.dtype)
        phase = (x - low).absolute() % (2 * span)
        return (phase <= span).select(phase, constant(2 * span, x.dtype) - phase) + low

    def _tap(self, x: Scalar, weight: Scalar | None) -> _Tap:
        """The element at the whole coordinate `x`, always at an address that exists."""
        inside = None
        if self.padding == "zeros":
            inside = (x >= 0) & (x < self.size)
        elif self.padding == "reflection":
            x = self._reflected(x)
        # Mode border needs nothing more: the nearest element that exists is the one it asks for.
        return _Tap(_place(x, self.size), weight, inside)


def _place(x: Scalar, size: int) -> Scalar:
    """The number of the element at the whole coordinate `x`, or of the nearest that exists."""
    if size > _MOST_EXACT:
        return x.cast("int64").maximum(0).minimum(size - 1).cast("index")
    at_least = (x > 0).select(x, 0)  # 0 for what is no number
    near = (at_least < size - 1).select(at_least, size - 1)
    return near.cast("int32").cast("index")


def _weights(t: Scalar, mode: str) -> list[tuple[int, Scalar]]:
    """Offsets of the taps from the element before, and their weights at distance `t` from it."""
    one = constant(1, t.dtype)
    if mode == "linear":
        return [(0, one - t), (1, t)]
    distances = [t + 1, t, one - t, constant(2, t.dtype) - t]
    return [
        (offset, _cubic_near(d) if offset in (0, 1) else _cubic_far(d))
        for offset, d in zip((-1, 0, 1, 2), distances, strict=True)
    ]


def _cubic_near(d: Scalar) -> Scalar:
    return (d * (_CUBIC + 2) - (_CUBIC + 3)) * d * d + 1


def _cubic_far(d: Scalar) -> Scalar:
    return ((d * _CUBIC - 5 * _CUBIC) * d + 8 * _CUBIC) * d - 4 * _CUBIC


@handles("GridSample")
def grid_sample(node: Node) -> Tensor:
    """Input [N, C, spatial…] and grid [N, out…, spatial rank] -> [N, C, out…]."""
    x, grid, b = node.tensor(0), node.tensor(1), node.b
    axes = _axes(node, x.shape, grid.shape)
    rank, shape = len(axes), [*x.shape[:2], *grid.shape[1:-1]]
    with b.location:
        dims = [ir.AffineDimExpr.get(d) for d in range(rank + 2) if d != 1]
        columns = [ir.AffineConstantExpr.get(rank - 1 - n) for n in range(rank)]
        reads = [(grid, ir.AffineMap.get(rank + 2, 0, [*dims, column])) for column in columns]

    def value(chosen: Sequence[_Tap], wide: str) -> Scalar:
        result = b.extract(x, [b.index(0), b.index(1), *(tap.address for tap in chosen)])
        # Weights and bounds are the same in every channel, and so are their products.
        inside = [tap.inside for tap in chosen if tap.inside is not None]
        weights = [tap.weight for tap in chosen if tap.weight is not None]
        if inside:
            result = reduce(lambda a, b: a & b, inside).select(result, 0)
        if weights:
            result = result.cast(wide) * reduce(lambda a, b: a * b, weights)
        return result

    def body(*scalars: Scalar) -> Scalar:
        wide = accumulator_of(grid.dtype)
        taps = [list(axis.taps(s.cast(wide))) for axis, s in zip(axes, scalars[:-1], strict=True)]
        values = [value(chosen, wide) for chosen in product(*taps)]
        return reduce(lambda total, v: total + v, values).cast(x.dtype)

    output = (b.empty(shape, x.dtype), x.dtype, b.identity(rank + 2))
    return b.generic(reads, [output], ["parallel"] * (rank + 2), body)[0]


def _axes(node: Node, image: tuple[int, ...], grid: tuple[int, ...]) -> list[_Axis]:
    rank = len(image) - 2
    if rank < 1 or len(grid) != rank + 2 or grid[-1] != rank or grid[0] != image[0]:
        raise node.invalid(f"a grid of shape {grid} does not fit an input of shape {image}")
    if 0 in image[2:] and 0 not in (*image[:2], *grid):
        raise node.invalid(f"there is nothing to sample in shape {image}")
    mode = node.attribute("mode", "bilinear")
    padding = node.attribute("padding_mode", "zeros")
    if mode != "nearest" and mode not in _MODES:
        raise node.invalid(f"attribute 'mode' is '{mode}'")
    if padding not in ("zeros", "border", "reflection"):
        raise node.invalid(f"attribute 'padding_mode' is '{padding}'")
    if rank > 3 or (_MODES.get(mode) == "cubic" and rank > 2):
        raise node.unsupported(f"mode '{mode}' over {rank} dimensions is not supported")
    corners = bool(node.attribute("align_corners", 0))
    return [_Axis(size, _MODES.get(mode, mode), padding, corners) for size in image[2:]]
