# SPDX-License-Identifier: MIT OR Apache-2.0
"""Builds an ONNX graph node by node, and knows the shapes of its values."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

__all__ = ["Maker", "Shape"]

Shape = tuple[int | str, ...]
"""Sizes are numbers, or named; a name such as "s+1" is one of its own."""


@dataclass
class Maker:
    """A graph that grows."""

    random: Random
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    weights: list[onnx.TensorProto] = field(default_factory=list)
    inputs: dict[str, Shape] = field(default_factory=dict)
    tensors: list[tuple[str, Shape]] = field(default_factory=list)

    def node(self, kind: str, *inputs: str, unread: int = 0, **attributes: Any) -> str:
        """Add a node whose result is not picked, and more that nothing reads; returns its name."""
        name = f"t{len(self.nodes)}"
        names = [name, *(f"{name}_{number}" for number in range(unread))]
        node = helper.make_node(kind, inputs, names, name=f"{kind}_{name}", **attributes)
        self.nodes.append(node)
        return name

    def op(self, kind: str, inputs: list[str], shape: Shape, **attributes: Any) -> None:
        """Add a node whose result has a shape, and may be picked."""
        self.tensors.append((self.node(kind, *inputs, **attributes), shape))

    def weight(self, values: np.ndarray[Any, Any] | np.float32) -> str:
        """Add a constant."""
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.asarray(values), name))
        return name

    def drawn(self, *shape: int) -> str:
        """Add a weight, which keeps the size of what it multiplies."""
        rng = np.random.default_rng(self.random.randrange(1 << 30))
        values = rng.standard_normal(shape) / np.sqrt(shape[0] if shape else 1)
        return self.weight(values.astype(np.float32))

    def numbers(self, *values: int) -> str:
        """Add a constant vector of integers."""
        return self.weight(np.array(values, np.int64))

    def scalar(self, value: float) -> str:
        """Add a constant."""
        return self.weight(np.float32(value))

    def size(self, name: str, axis: int) -> str:
        """Add the size of a dimension, a vector of one element."""
        return self.node("Shape", name, start=axis, end=axis + 1)

    def pick(self) -> tuple[str, Shape]:
        """Return a value: mostly what has just been computed, so that chains are long."""
        if self.random.random() < 0.7:
            return self.tensors[-1]
        return self.random.choice(self.tensors)
