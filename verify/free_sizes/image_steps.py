# SPDX-License-Identifier: MIT OR Apache-2.0
"""Operators on signals and images, `(batch, channels, places...)`, of free sizes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from verify.free_sizes.maker import Maker, Shape

__all__ = ["IMAGE_STEPS"]

_CHANNELS = (3, 8, 16, 24)
_MOST_HALVES = 3


def _is_image(shape: Shape) -> bool:
    return len(shape) in (3, 4) and isinstance(shape[1], int) and not isinstance(shape[2], int)


def _can_halve(shape: Shape) -> bool:
    return all(
        isinstance(size, str) and size[0] in "hv" and size.count("/2") < _MOST_HALVES
        for size in shape[2:]
    )


def _halved(shape: Shape, channels: int) -> Shape:
    return (shape[0], channels, *(f"{size}/2" for size in shape[2:]))


def _convolved(maker: Maker, name: str, shape: Shape) -> None:
    if not _is_image(shape):
        return
    inner, rank = int(shape[1]), len(shape) - 2
    outer = maker.random.choice(_CHANNELS)
    settings: dict[str, Any] = {"strides": [1] * rank}
    result: Shape = (shape[0], outer, *shape[2:])
    width, dilation = maker.random.choice(((1, 1), (3, 1), (3, 1), (5, 1), (3, 2)))
    if width == 3 and dilation == 1 and _can_halve(shape) and maker.random.random() < 0.5:
        settings["strides"] = [2] * rank
        result = _halved(shape, outer)
    pad = dilation * (width // 2)
    settings |= {"pads": [pad] * (2 * rank), "dilations": [dilation] * rank}
    weights = [maker.drawn(outer, inner, *[width] * rank), maker.drawn(outer)]
    maker.op("Conv", [name, *weights], result, **settings)


def _by_channel(maker: Maker, name: str, shape: Shape) -> None:
    if _is_image(shape):
        channels, rank = int(shape[1]), len(shape) - 2
        weight = maker.drawn(channels, 1, *[3] * rank)
        maker.op("Conv", [name, weight], shape, group=channels, pads=[1] * (2 * rank))


def _pooled(maker: Maker, name: str, shape: Shape) -> None:
    if not _is_image(shape):
        return
    rank = len(shape) - 2
    kind = maker.random.choice(("MaxPool", "AveragePool"))
    if _can_halve(shape) and maker.random.random() < 0.5:
        result = _halved(shape, int(shape[1]))
        maker.op(kind, [name], result, kernel_shape=[2] * rank, strides=[2] * rank)
    else:
        maker.op(kind, [name], shape, kernel_shape=[3] * rank, pads=[1] * (2 * rank))


def _enlarged(maker: Maker, name: str, shape: Shape) -> None:
    if _is_image(shape) and str(shape[2]).endswith("/2"):
        rank = len(shape) - 2
        mode = maker.random.choice(("nearest", "linear"))
        scales = maker.weight(np.array([1, 1, *[2] * rank], np.float32))
        larger = tuple(str(size).removesuffix("/2") for size in shape[2:])
        maker.op("Resize", [name, "", scales], (*shape[:2], *larger), mode=mode)


def _squeezed(maker: Maker, name: str, shape: Shape) -> None:
    """Scale channels by their means."""
    if _is_image(shape):
        means = maker.node("GlobalAveragePool", name)
        maker.op("Mul", [name, maker.node("Sigmoid", means)], shape)


def _normed(maker: Maker, name: str, shape: Shape) -> None:
    if _is_image(shape):
        channels = int(shape[1])
        maker.op(
            "InstanceNormalization", [name, maker.drawn(channels), maker.drawn(channels)], shape
        )


def _shuffled(maker: Maker, name: str, shape: Shape) -> None:
    """Take pixels apart into channels."""
    if len(shape) == 4 and _is_image(shape) and _can_halve(shape):
        maker.op("SpaceToDepth", [name], _halved(shape, 4 * int(shape[1])), blocksize=2)


def _rows(maker: Maker, name: str, shape: Shape) -> None:
    """Make a sequence of the pixels."""
    if len(shape) == 4 and _is_image(shape):
        count = f"{shape[2]}*{shape[3]}"
        flat = maker.node("Reshape", name, maker.numbers(0, int(shape[1]), -1))
        maker.op("Transpose", [flat], (shape[0], count, shape[1]), perm=[0, 2, 1])


IMAGE_STEPS: tuple[Callable[[Maker, str, Shape], None], ...] = (
    _convolved, _convolved, _convolved, _by_channel, _pooled, _enlarged, _squeezed, _normed,
    _shuffled, _rows,
)  # fmt: skip
