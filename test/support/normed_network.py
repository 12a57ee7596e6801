# SPDX-License-Identifier: MIT OR Apache-2.0
"""A norm between products of 16-bit floats, and what it gives in float64."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import onnx
from onnx import TensorProto, helper
from onnx_models import make_model

__all__ = ["DTYPES", "LAYER", "RMS", "Network", "errors"]

Arrays = dict[str, np.ndarray]
LAYER, RMS = "LayerNormalization", "RMSNormalization"
DTYPES = {
    "float16": (np.dtype(np.float16), TensorProto.FLOAT16),
    "bfloat16": (np.dtype(ml_dtypes.bfloat16), TensorProto.BFLOAT16),
}


class Network:
    """x = a w0 + r; h = norm(x) w1 + b1; y = relu(h) w2 + norm(x) (or + x), all of `dtype`."""

    def __init__(self, rows: int, columns: int, hidden: int, dtype: str = "float16") -> None:
        self.rows, self.columns, self.hidden = rows, columns, hidden
        self.kind, self.onnx_type = DTYPES[dtype]
        self.norm, self.epsilon, self.post = LAYER, 1e-5, True
        self.random = np.random.default_rng(rows + columns)
        shapes = {"w0": (columns, columns), "w1": (columns, hidden), "w2": (hidden, columns)}
        self.weights = {name: self.normal(*shape) / 16 for name, shape in shapes.items()}
        self.weights["b1"] = self.normal(hidden)
        self.weights["scale"] = 1 + 0.3 * self.normal(columns)
        self.weights["bias"] = self.normal(columns)

    def normal(self, *shape: int) -> np.ndarray:
        return self.random.standard_normal(shape)

    def rounded(self) -> Arrays:
        return {name: array.astype(self.kind) for name, array in self.weights.items()}

    def model(self) -> onnx.ModelProto:
        vectors = ["scale", "bias"] if self.norm == LAYER else ["scale"]
        norm = helper.make_node(self.norm, ["x", *vectors], ["n"], axis=-1, epsilon=self.epsilon)
        nodes = [
            ("MatMul", ["a", "w0"], ["p"]),
            ("Add", ["p", "r"], ["x"]),
            norm,
            ("MatMul", ["n", "w1"], ["q"]),
            ("Add", ["q", "b1"], ["h"]),
            ("Relu", ["h"], ["z"]),
            ("MatMul", ["z", "w2"], ["s"]),
            ("Add", ["s", "n" if self.post else "x"], ["y"]),
        ]
        shape = [self.rows, self.columns]
        inputs = {"a": shape, "r": shape}
        weights = {name: self.tensor(name, array) for name, array in self.rounded().items()}
        model = make_model(nodes, inputs, ["x", "h", "y"], {}, dtype=self.onnx_type, opset=23)
        model.graph.initializer.extend(weights.values())
        return model

    def tensor(self, name: str, array: np.ndarray) -> onnx.TensorProto:
        return helper.make_tensor(name, self.onnx_type, array.shape, array.tobytes(), raw=True)

    def inputs(self, residual: np.ndarray | float = 0.0) -> list[np.ndarray]:
        shape = self.rows, self.columns
        a, r = self.normal(*shape), self.normal(*shape) + residual
        return [a.astype(self.kind), r.astype(self.kind)]

    def expected(self, x: np.ndarray) -> list[np.ndarray]:
        """`h` and `y` in float64, from `x` as it was stored."""
        weights = {name: array.astype(float) for name, array in self.rounded().items()}
        wide = x.astype(float)
        mean = wide.mean(-1, keepdims=True) if self.norm == LAYER else 0.0
        square = ((wide - mean) ** 2).mean(-1, keepdims=True)
        normed = (wide - mean) / np.sqrt(square + self.epsilon) * weights["scale"]
        normed = normed + weights["bias"] if self.norm == LAYER else normed
        h = normed @ weights["w1"] + weights["b1"]
        return [h, np.maximum(h, 0) @ weights["w2"] + (normed if self.post else wide)]


def errors(network: Network, outputs: list[np.ndarray]) -> list[float]:
    """Root mean squares of what `h` and `y` are wrong by, relative to their size."""
    x, *found = outputs
    return [
        float(np.sqrt(np.mean((got.astype(float) - want) ** 2) / np.mean(want**2)))
        for got, want in zip(found, network.expected(x), strict=True)
    ]
