# SPDX-License-Identifier: MIT OR Apache-2.0
"""Draws the weights of a decoder in 4 bits, by blocks with scales around 8."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bench.decode.size import Decoder

__all__ = ["BLOCK", "PackedMatrix", "packed_weights_of"]

Array = np.ndarray[Any, Any]
BLOCK = 32
"""Steps of a product that share a scale."""
_SCALE = 0.02
_DEVIATION = 4.6  # of integers from 0 to 15


@dataclass(frozen=True)
class PackedMatrix:
    """A weight of N columns by K steps.

    Attributes:
        integers: bytes [N, blocks, 16], of two integers each, the low one first.
        scales: [N * blocks].
    """

    integers: Array
    scales: Array

    @property
    def nbytes(self) -> int:
        """Bytes of both."""
        return self.integers.nbytes + self.scales.nbytes

    @property
    def dequantized(self) -> Array:
        """The weight [K, N] in the type of the scales."""
        columns, blocks, _ = self.integers.shape
        halves = np.stack([self.integers & 15, self.integers >> 4], -1).reshape(columns, blocks, -1)
        values = (halves.astype(np.int8) - 8) * self.scales.reshape(columns, blocks, 1)
        return np.ascontiguousarray(values.reshape(columns, -1).T)


def packed_weights_of(decoder: Decoder, seed: int = 0) -> dict[str, Array | PackedMatrix]:
    """Random weights by name; vectors are 1, in the decoder's type, as scales are."""
    draw = np.random.default_rng(seed)
    found: dict[str, Array | PackedMatrix] = {}
    for name, shape in decoder.shapes.items():
        if len(shape) == 1:
            found[name] = np.ones(shape, decoder.dtype)
            continue
        steps, columns = shape
        integers = draw.integers(0, 256, (columns, steps // BLOCK, BLOCK // 2), np.uint8)
        scales = draw.uniform(0.5, 1.5, columns * steps // BLOCK) * (_SCALE / _DEVIATION)
        # Scales are those of f16 everywhere, so that all formats hold the same weights.
        found[name] = PackedMatrix(integers, scales.astype(np.float16).astype(decoder.dtype))
    return found
