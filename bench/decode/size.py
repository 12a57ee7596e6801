# SPDX-License-Identifier: MIT OR Apache-2.0
"""The sizes of a decoder, what it reads at every step, and its weights."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

__all__ = ["BASE", "Decoder", "rotation", "weights_of"]

Array = np.ndarray[Any, Any]
BASE = 500_000.0
"""Of rotary embeddings."""
_SCALE = 0.02
_DRAWN = 4_194_301  # a prime: no two rows of a weight begin alike


@dataclass(frozen=True)
class Decoder:
    """A Llama-like decoder, whose sizes are those of Llama 3.2 1B unless said otherwise.

    Attributes:
        layers: their number.
        hidden: elements of a position.
        heads: of queries.
        groups: heads of keys and values.
        size: elements of a head.
        inner: elements between the two products of the feed-forward network.
        vocabulary: tokens, for the product with the last position; 0 for none.
        dtype: "float16" or "float32".
    """

    layers: int = 4
    hidden: int = 2048
    heads: int = 32
    groups: int = 8
    size: int = 64
    inner: int = 8192
    vocabulary: int = 0
    dtype: str = "float16"

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shapes of the weights by name; those of layers begin with their number."""
        own = {
            "norm1": (self.hidden,),
            "q": (self.hidden, self.heads * self.size),
            "k": (self.hidden, self.groups * self.size),
            "v": (self.hidden, self.groups * self.size),
            "o": (self.heads * self.size, self.hidden),
            "norm2": (self.hidden,),
            "gate": (self.hidden, self.inner),
            "up": (self.hidden, self.inner),
            "down": (self.inner, self.hidden),
        }
        found = {f"{n}.{name}": shape for n in range(self.layers) for name, shape in own.items()}
        found["norm"] = (self.hidden,)
        if self.vocabulary:
            found["head"] = (self.hidden, self.vocabulary)
        return found

    @property
    def item_bytes(self) -> int:
        """Bytes of an element."""
        return np.dtype(self.dtype).itemsize

    def step_bytes(self, batch: int, length: int) -> int:
        """Bytes that a step has to read: all weights, and what the caches hold."""
        weights = sum(map(prod, self.shapes.values()))
        cache = 2 * self.layers * batch * self.groups * length * self.size
        return (weights + cache) * self.item_bytes


def weights_of(decoder: Decoder, seed: int = 0) -> dict[str, Array]:
    """Random weights by name, which repeat after some millions."""
    draw = np.random.default_rng(seed)
    drawn = (draw.standard_normal(_DRAWN, np.float32) * _SCALE).astype(decoder.dtype)
    return {
        name: np.ones(shape, decoder.dtype) if "norm" in name else np.resize(drawn[number:], shape)
        for number, (name, shape) in enumerate(decoder.shapes.items())
    }


def rotation(decoder: Decoder, positions: int) -> tuple[Array, Array]:
    """Cosines and sines of rotary embeddings, [positions, size / 2]."""
    powers = np.arange(0, decoder.size, 2) / decoder.size
    angles = np.arange(positions)[:, None] / BASE**powers
    return np.cos(angles).astype(decoder.dtype), np.sin(angles).astype(decoder.dtype)
