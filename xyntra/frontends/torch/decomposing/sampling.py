# SPDX-License-Identifier: MIT OR Apache-2.0
"""The gradient of reading an image between its pixels, as `grid_sample` does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any

import torch
from torch import Tensor

__all__ = ["grid_sampler_gradient"]

_LINEAR, _NEAREST = 0, 1
_ZEROS, _BORDER = 0, 1


@dataclass(frozen=True)
class _Corner:
    """A pixel that each point of the grid reads.

    Attributes:
        place: [N, P], flat in its image.
        weight: [N, P], its share; 0 outside of the image.
        slopes: the derivatives of the share by the coordinates x, y (and z).
    """

    place: Tensor
    weight: Tensor
    slopes: Sequence[Tensor]


def grid_sampler_gradient(
    grad: Tensor,
    x: Tensor,
    grid: Tensor,
    interpolation_mode: int,
    padding_mode: int,
    align_corners: bool,
    output_mask: Sequence[bool],
) -> Any:
    """The gradients of the image [N, C, *sizes] and of the grid [N, *points, len(sizes)].

    Cubic interpolation is left to PyTorch.
    """
    if interpolation_mode not in (_LINEAR, _NEAREST) or 0 in grad.shape or 0 in x.shape:
        return NotImplemented
    batch, channels, sizes = x.shape[0], x.shape[1], x.shape[2:]
    points = grid.reshape(batch, -1, len(sizes))
    flat = grad.reshape(batch, channels, -1)
    found = [
        _pixels(points[..., d], size, padding_mode, align_corners)
        for d, size in enumerate(reversed(sizes))
    ]
    coordinates, steps = zip(*found, strict=True)
    corners = _corners(coordinates, sizes, interpolation_mode)
    of_image = _of_image(flat, x, corners) if output_mask[0] else None
    if interpolation_mode == _NEAREST:
        return of_image, torch.zeros_like(grid)
    image = x.reshape(batch, channels, -1)
    slopes = [flat.new_zeros(points.shape[:2]) for _ in sizes]
    for corner in corners:
        places = corner.place.unsqueeze(1).expand(flat.shape)
        value = (image.gather(2, places) * flat).sum(1)
        slopes = [total + value * own for total, own in zip(slopes, corner.slopes, strict=True)]
    by_axis = [total * step for total, step in zip(slopes, steps, strict=True)]
    return of_image, torch.stack(by_axis, -1).reshape(grid.shape)


def _of_image(flat: Tensor, x: Tensor, corners: Sequence[_Corner]) -> Tensor:
    """Add the shares of all points up at the pixels that they read."""
    places = torch.cat([each.place for each in corners], 1).unsqueeze(1)
    shares = torch.cat([flat * each.weight.unsqueeze(1) for each in corners], 2)
    empty = x.new_zeros([*x.shape[:2], prod(x.shape[2:])])
    return empty.scatter_add(2, places.expand(shares.shape), shares).reshape(x.shape)


def _pixels(
    points: Tensor, size: int, padding_mode: int, align_corners: bool
) -> tuple[Tensor, Any]:
    """Coordinates in pixels of those from -1 to 1, and the derivative of one by the other."""
    step: Any = (size - 1) / 2 if align_corners else size / 2
    found = (points + 1) * step - (0 if align_corners else 0.5)
    if padding_mode == _ZEROS:
        return found, step
    if padding_mode != _BORDER:
        low, high = (0.0, size - 1.0) if align_corners else (-0.5, size - 0.5)
        found, sign = _reflected(found, low, high)
        step = step * sign
    inside = (found > 0) & (found < size - 1)
    return found.clamp(0, size - 1), torch.where(inside, step, 0.0)


def _reflected(points: Tensor, low: float, high: float) -> tuple[Tensor, Tensor]:
    """Coordinates mirrored at both ends, again and again, and 1 or -1 as they now run."""
    span = high - low
    if not span:
        return torch.zeros_like(points), torch.zeros_like(points)
    far = points - low
    sign = torch.where(far < 0, -1.0, 1.0).to(points.dtype)
    far = far.abs()
    turns = (far / span).floor()
    rest = far - turns * span
    is_even = torch.fmod(turns, 2) == 0
    return torch.where(is_even, rest, span - rest) + low, torch.where(is_even, sign, -sign)


def _corners(coordinates: Sequence[Tensor], sizes: Sequence[int], mode: int) -> list[_Corner]:
    """The pixels around each point: x, the last dimension, comes first in `coordinates`."""
    axes = list(zip(coordinates, reversed(sizes), strict=True))
    sides = [_sides(points, mode) for points, _ in axes]
    found = []
    for chosen in product(*sides):
        place, inside = None, None
        step = 1
        for (at, _, _), (_, size) in zip(chosen, axes, strict=True):
            own = at.clamp(0, size - 1).to(torch.int64) * step
            held = (at >= 0) & (at <= size - 1)
            place, inside = (own, held) if place is None else (place + own, inside & held)
            step *= size
        weights = [torch.where(inside, weight, 0.0) for _, weight, _ in chosen]
        slopes = [
            prod(weights[:d] + weights[d + 1 :], start=torch.where(inside, slope, 0.0))
            for d, (_, _, slope) in enumerate(chosen)
        ]
        found.append(_Corner(place, prod(weights[1:], start=weights[0]), slopes))
    return found


def _sides(points: Tensor, mode: int) -> list[tuple[Tensor, Tensor, Tensor]]:
    """The pixels that points lie between in one dimension: place, share, and its derivative."""
    one = torch.ones_like(points)
    if mode == _NEAREST:
        return [(points.round(), one, torch.zeros_like(points))]
    low = points.floor()
    share = points - low
    return [(low, one - share, -one), (low + 1, share, one)]
