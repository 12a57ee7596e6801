# SPDX-License-Identifier: MIT OR Apache-2.0
"""Example images, tokens and sounds."""

from __future__ import annotations

from typing import Any

__all__ = ["images", "masks", "sounds", "tokens"]


def images(*shape: int) -> Any:
    """Smooth random pictures with noise: (…, channels, height, width), about -1 to 1."""
    import torch

    *leading, height, width = shape
    coarse = torch.randn((1, max(1, _size(leading)), -(-height // 8), -(-width // 8)))
    smooth = torch.nn.functional.interpolate(coarse, size=(height, width), mode="bilinear")
    return (smooth.reshape(shape) + 0.2 * torch.randn(shape)).contiguous()


def tokens(batch: int, length: int, vocabulary: int) -> Any:
    """Random token numbers from 3 on, of int64: the first ones are often reserved."""
    import torch

    return torch.randint(3, vocabulary, (batch, length))


def masks(batch: int, length: int) -> Any:
    """Ones, but zeros for the last quarter of the last sequence: padding (int64)."""
    import torch

    mask = torch.ones((batch, length), dtype=torch.int64)
    if batch > 1:
        mask[-1, length - length // 4 :] = 0
    return mask


def sounds(batch: int, samples: int) -> Any:
    """Sums of sine waves with noise: (batch, samples), about -1 to 1."""
    import torch

    time = torch.arange(samples) / 16000.0
    pitch = 100.0 + 900.0 * torch.rand((batch, 4, 1))
    waves = torch.sin(6.2831853 * pitch * time).mean(1)
    return waves + 0.1 * torch.randn((batch, samples))


def _size(shape: list[int]) -> int:
    product = 1
    for extent in shape:
        product *= extent
    return product
