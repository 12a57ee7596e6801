# SPDX-License-Identifier: MIT OR Apache-2.0
"""Describes a benchmark model: its source, its shapes, its inputs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

__all__ = ["Generator", "InputSpec", "ModelSpec", "integers", "prefix_mask"]

Generator = Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]


@dataclass(frozen=True)
class InputSpec:
    """One graph input with every dimension bound, and how to draw a random value for it.

    Attributes:
        name: the graph input's name.
        dtype: numpy name of the element type.
        shape: static shape to compile and run at.
        draw: makes an array from a random generator and the shape.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    draw: Generator

    def sample(self, rng: np.random.Generator) -> np.ndarray:
        """Return one random array of this input's shape and dtype."""
        return np.ascontiguousarray(self.draw(rng, self.shape), dtype=self.dtype)


@dataclass(frozen=True)
class ModelSpec:
    """One model of the benchmark table.

    Attributes:
        name: kebab-case; the file is `NAME.onnx`.
        title: for the table in the documentation.
        source: where the weights come from, for people.
        licence: licence of the weights as their publisher states it.
        inputs: the graph's inputs, in graph order.
        build: writes the model to the given path, atomically.
        from_wheel: True if `build` needs pip and the network only, False if it needs PyTorch.
        free_dimensions: inputs whose shape in the file is not static, so that a compiler has to
            be told the shape.
    """

    name: str
    title: str
    source: str
    licence: str
    inputs: tuple[InputSpec, ...]
    build: Callable[[Path], None] = field(repr=False)
    from_wheel: bool
    free_dimensions: tuple[str, ...] = ()

    @property
    def filename(self) -> str:
        """Name of the file inside the models folder."""
        return f"{self.name}.onnx"

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Shapes to bind for the inputs that the file leaves free; empty if none is."""
        return {i.name: i.shape for i in self.inputs if i.name in self.free_dimensions}

    def random_inputs(self, seed: int) -> dict[str, np.ndarray]:
        """Return one array for each input; equal seeds give equal arrays."""
        rng = np.random.default_rng(seed)
        return {spec.name: spec.sample(rng) for spec in self.inputs}


def integers(high: int) -> Generator:
    """Uniform integers in [0, high): token ids below a vocabulary's size, segment ids."""
    return lambda rng, shape: rng.integers(0, high, size=shape)


def prefix_mask() -> Generator:
    """Ones for a random number (at least one) of leading positions, then zeros: padding."""

    def draw(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        lengths = rng.integers(1, shape[-1] + 1, size=(*shape[:-1], 1))
        return (np.arange(shape[-1]) < lengths).astype(np.int64)

    return draw
