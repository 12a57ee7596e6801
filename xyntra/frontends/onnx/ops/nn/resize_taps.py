# SPDX-License-Identifier: MIT OR Apache-2.0
"""Computes which input elements, with which weights, make up each output of a resized dimension.

Coordinates are computed in float32, as onnxruntime does: the rounding decides which neighbour is
nearest where a coordinate lies between two.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

import numpy as np


@dataclass(frozen=True)
class ResizedAxis:
    """One dimension to resize.

    Attributes:
        size: number of inputs.
        output: number of outputs.
        scale: outputs an input; `size * scale` may be fractional where `output` is not.
        exact: the scale is output / size and known only as that quotient.
        start: begin of the region of interest, as a fraction of the input.
        end: its end.
    """

    size: int
    output: int
    scale: float
    start: float = 0.0
    end: float = 1.0
    exact: bool = False


@dataclass(frozen=True)
class Filter:
    """The filter that combines adjacent elements.

    Attributes:
        mode: "nearest", "linear" or "cubic".
        nearest_mode: how "nearest" rounds; "simple" is what it did before opset 11.
        cubic_a: coefficient of the cubic kernel.
        exclude_outside: renormalise over the neighbours that exist, instead of repeating the edge.
        antialias: widen the kernel when shrinking.
    """

    mode: str
    nearest_mode: str = "round_prefer_floor"
    cubic_a: float = -0.75
    exclude_outside: bool = False
    antialias: bool = False


@dataclass(frozen=True)
class Taps:
    """`indices` and `weights` [output, taps] of every output, and which outputs have no input."""

    indices: np.ndarray
    weights: np.ndarray
    outside: np.ndarray

    @property
    def count(self) -> int:
        """The number of taps of every output."""
        return int(self.indices.shape[1])


def coordinates(axis: ResizedAxis, mode: str) -> np.ndarray:
    """The position in the input of each output; ValueError for an unknown `mode`."""
    x = np.arange(axis.output, dtype=np.float32)
    scale, half = np.float32(axis.scale), np.float32(0.5)
    last, steps = np.float32(axis.size - 1), np.float32(axis.output - 1)
    match mode:
        case "half_pixel":
            return np.asarray((x + half) / scale - half)
        case "pytorch_half_pixel":
            return np.asarray((x + half) / scale - half) if axis.output > 1 else np.zeros_like(x)
        case "tf_half_pixel_for_nn":
            return np.asarray((x + half) / scale)
        case "asymmetric" if axis.exact:
            return np.asarray(np.arange(axis.output) * axis.size / axis.output)
        case "asymmetric":
            return np.asarray(x / scale)
        case "align_corners":
            return np.asarray(x * last / steps) if axis.output > 1 else np.zeros_like(x)
        case "half_pixel_symmetric":
            stretched = np.float32(axis.output) / (scale * np.float32(axis.size))
            offset = np.float32(axis.size) / 2 * (1 - stretched)
            plain = (np.arange(axis.output) + 0.5) / float(scale) - 0.5
            return np.asarray(offset + plain, np.float32)
        case "tf_crop_and_resize":
            start, end = np.float32(axis.start), np.float32(axis.end)
            if axis.output > 1:
                return np.asarray(start * last + x * (end - start) * last / steps)
            return np.full_like(x, half * (start + end) * last)
    raise ValueError(f"coordinate transformation '{mode}' is not known")


def taps_of(axis: ResizedAxis, mode: str, how: Filter) -> Taps:
    """The taps of one dimension under a coordinate transformation and a filter."""
    x = coordinates(axis, mode).astype(np.float64)
    outside = np.zeros(x.shape, bool)
    if mode == "tf_crop_and_resize":
        outside = (x < 0) | (x > axis.size - 1)
    if how.mode == "nearest":
        indices = _nearest(x, how.nearest_mode, axis.scale < 1)[:, None]
        weights = np.ones(indices.shape)
    else:
        indices, weights = _weighted(x, axis, how)
    return Taps(np.clip(indices, 0, axis.size - 1).astype(np.int32), weights, outside)


def _nearest(x: np.ndarray, mode: str, shrinking: bool) -> np.ndarray:
    match mode:
        case "round_prefer_floor":
            return np.asarray(np.ceil(x - 0.5))
        case "round_prefer_ceil":
            return np.asarray(np.floor(x + 0.5))
        case "floor":
            return np.asarray(np.floor(x))
        case "ceil":
            return np.asarray(np.ceil(x))
        case "simple":
            return np.asarray(np.ceil(x) if shrinking else np.floor(x))
    raise ValueError(f"nearest mode '{mode}' is not known")


def _weighted(x: np.ndarray, axis: ResizedAxis, how: Filter) -> tuple[np.ndarray, np.ndarray]:
    reach = 1 if how.mode == "linear" else 2
    shrink = min(1.0, float(np.float32(axis.scale))) if how.antialias else 1.0
    first, last = 1 - ceil(reach / shrink), ceil(reach / shrink)
    indices = np.floor(x)[:, None] + np.arange(first, last + 1)
    distance = np.abs(indices - x[:, None]) * shrink
    weights = np.maximum(0, 1 - distance) if reach == 1 else _cubic(distance, how.cubic_a)
    if how.exclude_outside:
        weights = np.where((indices >= 0) & (indices < axis.size), weights, 0)
    if how.exclude_outside or how.antialias:
        total = weights.sum(axis=1, keepdims=True)
        weights = weights / np.where(total == 0, 1, total)
    return indices, weights


def _cubic(distance: np.ndarray, a: float) -> np.ndarray:
    """Equation (4) of Keys, Cubic convolution interpolation for digital image processing, 1981."""
    near = ((a + 2) * distance - (a + 3)) * distance * distance + 1
    far = ((a * distance - 5 * a) * distance + 8 * a) * distance - 4 * a
    return np.asarray(np.where(distance <= 1, near, np.where(distance < 2, far, 0)))
