# SPDX-License-Identifier: MIT OR Apache-2.0
"""Builds ONNX networks with named dimensions: an encoder, a decoder and the like.

They are written out operator by operator, with weights drawn from a seed, so that neither PyTorch
nor a download is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

__all__ = ["DIMS", "MODELS"]

_VOCABULARY = 8192
_POSITIONS = 1024
_HEAD = 64
DIMS = {
    "encoder": {"batch": range(1, 17), "seq": range(1, 513)},
    "decoder": {"batch": range(1, 9), "seq": range(1, 513)},
    "convolutions": {"batch": range(1, 33)},
    "reductions": {"batch": range(1, 17), "seq": range(1, 513)},
}
"""Ranges of the free dimensions of each model."""


class _Network:
    """An ONNX graph that grows operator by operator."""

    def __init__(self, seed: int = 0) -> None:
        self._rng = np.random.default_rng(seed)
        self._nodes: list[onnx.NodeProto] = []
        self._weights: list[onnx.TensorProto] = []

    def op(self, kind: str, *inputs: str, **attributes: Any) -> str:
        """Add an operator; returns its output."""
        name = f"{kind.lower()}{len(self._nodes)}"
        self._nodes.append(helper.make_node(kind, inputs, [name], name=name, **attributes))
        return name

    def held(self, array: Any) -> str:
        """Add a constant."""
        name = f"w{len(self._weights)}"
        self._weights.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def drawn(self, *shape: int, scale: float | None = None) -> str:
        """Add a weight, which keeps the size of what it multiplies."""
        size = 1 / np.sqrt(np.prod(shape[:-1])) if scale is None else scale
        values = self._rng.standard_normal(shape, np.float32) * np.float32(size)
        return self.held(values)

    def linear(self, x: str, inner: int, outer: int) -> str:
        """Add a product with a bias."""
        product = self.op("MatMul", x, self.drawn(inner, outer))
        return self.op("Add", product, self.drawn(outer, scale=0.02))

    def norm(self, x: str, width: int) -> str:
        """Add a norm of rows."""
        scale, bias = self.held(np.ones(width, np.float32)), self.drawn(width, scale=0.02)
        return self.op("LayerNormalization", x, scale, bias, axis=-1, epsilon=1e-5)

    def gelu(self, x: str) -> str:
        """Add GELU, written out."""
        erf = self.op("Erf", self.op("Mul", x, self.held(np.float32(0.5**0.5))))
        half = self.op("Mul", x, self.held(np.float32(0.5)))
        return self.op("Mul", half, self.op("Add", erf, self.held(np.float32(1))))

    def attention(self, x: str, width: int, mask: str) -> str:
        """Add attention of all heads, with a mask that is added to the scores."""
        heads = width // _HEAD
        split = self.held(np.array([0, 0, heads, _HEAD], np.int64))
        parts = []
        for order in ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3]):
            part = self.op("Reshape", self.linear(x, width, width), split)
            parts.append(self.op("Transpose", part, perm=order))
        query, key, value = parts
        scores = self.op("Mul", self.op("MatMul", query, key), self.held(np.float32(_HEAD**-0.5)))
        weights = self.op("Softmax", self.op("Add", scores, mask), axis=-1)
        mixed = self.op("Transpose", self.op("MatMul", weights, value), perm=[0, 2, 1, 3])
        joined = self.op("Reshape", mixed, self.held(np.array([0, 0, width], np.int64)))
        return self.linear(joined, width, width)

    def feed_forward(self, x: str, width: int) -> str:
        """Add two products with GELU between."""
        return self.linear(self.gelu(self.linear(x, width, 4 * width)), 4 * width, width)

    def embedded(self, width: int, tokens: str = "ids") -> str:
        """Add the embeddings of tokens and of their places."""
        words = self.op("Gather", self.drawn(_VOCABULARY, width, scale=0.05), tokens, axis=0)
        length = self.op("Gather", self.op("Shape", tokens), self.held(np.array([1])), axis=0)
        table, zero = self.drawn(_POSITIONS, width, scale=0.05), self.held(np.array([0]))
        return self.op("Add", words, self.op("Slice", table, zero, length, zero))

    def model(self, inputs: Sequence[onnx.ValueInfoProto], output: str) -> onnx.ModelProto:
        """Return what has been built."""
        result = helper.make_tensor_value_info(output, TensorProto.FLOAT, None)
        graph = helper.make_graph(self._nodes, "network", inputs, [result], self._weights)
        opset = [helper.make_opsetid("", 17)]
        return helper.make_model(graph, opset_imports=opset, ir_version=8)


def encoder(layers: int = 12, width: int = 768) -> onnx.ModelProto:
    """Return an encoder as BERT is one: `ids` of tokens, and a `mask` of 0 and 1."""
    net = _Network()
    mask = net.op("Unsqueeze", "mask", net.held(np.array([1, 2])))
    away = net.op("Sub", net.held(np.float32(1)), net.op("Cast", mask, to=TensorProto.FLOAT))
    bias = net.op("Mul", away, net.held(np.float32(-1e4)))
    x = net.norm(net.embedded(width), width)
    for _ in range(layers):
        x = net.norm(net.op("Add", x, net.attention(x, width, bias)), width)
        x = net.norm(net.op("Add", x, net.feed_forward(x, width)), width)
    inputs = [_tokens("ids"), _tokens("mask")]
    return net.model(inputs, x)


def decoder(layers: int = 12, width: int = 768) -> onnx.ModelProto:
    """Return a decoder as GPT-2 is one, whose tokens see those before them: `ids` of tokens."""
    net = _Network()
    square = np.triu(np.full((_POSITIONS, _POSITIONS), -1e4, np.float32), 1)[None, None]
    length = net.op("Gather", net.op("Shape", "ids"), net.held(np.array([1])), axis=0)
    ends = net.op("Concat", length, length, axis=0)
    zeros, axes = net.held(np.array([0, 0])), net.held(np.array([2, 3]))
    bias = net.op("Slice", net.held(square), zeros, ends, axes)
    x = net.embedded(width)
    for _ in range(layers):
        x = net.op("Add", x, net.attention(net.norm(x, width), width, bias))
        x = net.op("Add", x, net.feed_forward(net.norm(x, width), width))
    return net.model([_tokens("ids")], net.norm(x, width))


def convolutions(widths: Sequence[int] = (64, 128, 256, 512), size: int = 224) -> onnx.ModelProto:
    """Return residual blocks of convolutions, and a classifier: pictures `x`."""
    net = _Network()

    def conv(x: str, inner: int, outer: int, stride: int = 1) -> str:
        weight = net.drawn(outer, inner, 3, 3, scale=(4.5 * inner) ** -0.5)
        return net.op(
            "Conv",
            x,
            weight,
            net.drawn(outer, scale=0.02),
            pads=[1, 1, 1, 1],
            strides=[stride, stride],
        )

    x, inner = "x", 3
    for width in widths:
        x = net.op("Relu", conv(x, inner, width, stride=2))
        y = net.op("Relu", conv(x, width, width))
        x, inner = net.op("Relu", net.op("Add", x, conv(y, width, width))), width
    flat = net.op("Flatten", net.op("GlobalAveragePool", x))
    shape: list[int | str | None] = ["batch", 3, size, size]
    picture = helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)
    return net.model([picture], net.linear(flat, inner, 1000))


def reductions(width: int = 768) -> onnx.ModelProto:
    """Return the mean of the places of `x`, weighted by a softmax of `scores` along them."""
    net = _Network()
    weights = net.op("Softmax", "scores", axis=1)
    column = net.op("Unsqueeze", weights, net.held(np.array([2])))
    mean = net.op("ReduceMean", net.op("Mul", column, "x"), axes=[1], keepdims=0)
    shapes: dict[str, list[int | str | None]] = {"x": ["batch", "seq", width]}
    shapes["scores"] = ["batch", "seq"]
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
        for name, shape in shapes.items()
    ]
    return net.model(inputs, mean)


def _tokens(name: str) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "seq"])


MODELS: dict[str, Callable[[], onnx.ModelProto]] = {
    "encoder": encoder,
    "decoder": decoder,
    "convolutions": convolutions,
    "reductions": reductions,
}
"""By name."""
