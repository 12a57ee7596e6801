# SPDX-License-Identifier: MIT OR Apache-2.0
"""Small models of many families, in the forms in which exporters write them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

__all__ = ["FAMILIES", "Graph"]

Value = str | np.ndarray


class Graph:
    """An ONNX model under construction; what is drawn at random depends on the order alone."""

    def __init__(self) -> None:
        self.random = np.random.default_rng(0)
        self.nodes: list[onnx.NodeProto] = []
        self.feeds: dict[str, np.ndarray] = {}
        self.weights: dict[str, np.ndarray] = {}
        self.results: list[str] = []
        self.count = 0

    def op(self, kind: str, *inputs: Value, outputs: int = 1, **attributes: Any) -> Any:
        """Add a node; arrays among its inputs become initializers. Returns its outputs."""
        names = [self._name() for _ in range(outputs)]
        given = [each if isinstance(each, str) else self._initializer(each) for each in inputs]
        self.nodes.append(helper.make_node(kind, given, names, name=names[0], **attributes))
        return names[0] if outputs == 1 else names

    def x(self, *shape: int) -> str:
        """An input of float32."""
        name = self._name()
        self.feeds[name] = self.random.standard_normal(shape).astype(np.float32)
        return name

    def w(self, *shape: int) -> str:
        """A weight."""
        return self._initializer(self.random.standard_normal(shape).astype(np.float32) / 4)

    def reshape(self, x: str, *shape: int) -> Any:
        return self.op("Reshape", x, np.array(shape))

    def transpose(self, x: str, *order: int) -> Any:
        return self.op("Transpose", x, perm=order)

    def linear(self, x: Value, inner: int, outer: int) -> Any:
        return self.op("Add", self.op("MatMul", x, self.w(inner, outer)), self.w(outer))

    def norm(self, x: str, size: int) -> Any:
        return self.op("LayerNormalization", x, self.w(size), self.w(size), axis=-1)

    def conv(self, x: str, inner: int, outer: int, taps: int = 3, group: int = 1) -> Any:
        weight = self.w(outer, inner // group, taps, taps)
        return self.op("Conv", x, weight, self.w(outer), pads=[taps // 2] * 4, group=group)

    def silu(self, x: str) -> Any:
        return self.op("Mul", x, self.op("Sigmoid", x))

    def group_norm(self, x: str, shape: Sequence[int], groups: int) -> Any:
        """As exporters of PyTorch write it."""
        flat = self.reshape(x, 0, groups, -1)
        one, zero = np.ones(groups, np.float32), np.zeros(groups, np.float32)
        plain = self.reshape(self.op("InstanceNormalization", flat, one, zero), *shape)
        return self.op("Add", self.op("Mul", plain, self.w(shape[1], 1, 1)), self.w(shape[1], 1, 1))

    def attend(self, q: str, k: str, v: str, heads: int, size: int, bias: str = "") -> Any:
        """Attention of [batch, length, heads * size]."""
        q, k, v = (
            self.transpose(self.reshape(z, 0, -1, heads, size), 0, 2, 1, 3) for z in (q, k, v)
        )
        scores = self.op("MatMul", q, self.transpose(k, 0, 1, 3, 2))
        scores = self.op("Mul", scores, np.float32(size**-0.5))
        scores = self.op("Add", scores, bias) if bias else scores
        mixed = self.op("MatMul", self.op("Softmax", scores, axis=-1), v)
        return self.reshape(self.transpose(mixed, 0, 2, 1, 3), 0, -1, heads * size)

    def give(self, *names: str) -> None:
        """Return tensors."""
        self.results += names

    def model(self) -> onnx.ModelProto:
        graph = helper.make_graph(
            self.nodes,
            "graph",
            [
                helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, array.shape)
                for name, array in self.feeds.items()
            ],
            [onnx.ValueInfoProto(name=name) for name in self.results],
            [numpy_helper.from_array(array, name) for name, array in self.weights.items()],
        )
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)

    def _initializer(self, array: np.ndarray) -> str:
        name = self._name()
        self.weights[name] = np.asarray(array)
        return name

    def _name(self) -> str:
        self.count += 1
        return f"t{self.count}"


def interactions(g: Graph) -> None:
    """DLRM: pairs of features, gathered from a flattened product."""
    dense = g.op("Relu", g.linear(g.x(3, 13), 13, 8))
    features = g.reshape(g.op("Concat", dense, *[g.x(3, 8) for _ in range(4)], axis=1), 3, 5, 8)
    product = g.op("MatMul", features, g.transpose(features, 0, 2, 1))
    flat = g.op("Flatten", g.transpose(product, 1, 2, 0), axis=2)
    pairs = np.array([i * 5 + j for i in range(5) for j in range(i)])
    picked = g.transpose(g.op("Gather", flat, pairs), 1, 0)
    g.give(g.op("Sigmoid", g.linear(g.op("Concat", dense, picked, axis=1), 18, 1)))


def mixed_feed_forward(g: Graph) -> None:
    """SegFormer: a depthwise convolution between the two products."""
    x = g.x(2, 15, 8)
    image = g.reshape(g.transpose(g.linear(x, 8, 16), 0, 2, 1), 2, 16, 3, 5)
    mixed = g.reshape(g.conv(image, 16, 16, group=16), 2, 16, 15)
    tokens = g.op("Gelu", g.transpose(mixed, 0, 2, 1))
    g.give(g.op("Add", x, g.linear(tokens, 16, 8)))


def reduced_attention(g: Graph) -> None:
    """PVT: keys and values of an image that a strided convolution has reduced."""
    x = g.x(1, 64, 16)
    image = g.reshape(g.transpose(x, 0, 2, 1), 1, 16, 8, 8)
    small = g.op("Conv", image, g.w(16, 16, 2, 2), g.w(16), strides=[2, 2])
    tokens = g.norm(g.transpose(g.reshape(small, 1, 16, 16), 0, 2, 1), 16)
    k, v = g.op("Split", g.linear(tokens, 16, 32), outputs=2, axis=2, num_outputs=2)
    g.give(g.attend(g.linear(x, 16, 16), k, v, 2, 8))


def shifted_windows(g: Graph) -> None:
    """Swin: rolled windows, with a bias gathered by relative position."""
    x = g.x(1, 8, 8, 16)
    y = g.norm(x, 16)
    for axis in (1, 2):
        parts = g.op("Split", y, np.array([2, 6]), outputs=2, axis=axis)
        y = g.op("Concat", *reversed(parts), axis=axis)
    y = g.transpose(g.reshape(y, 1, 2, 4, 2, 4, 16), 0, 1, 3, 2, 4, 5)
    y = g.linear(g.reshape(y, 4, 16, 16), 16, 48)
    q, k, v = g.op("Split", y, outputs=3, axis=2, num_outputs=3)
    where = g.random.integers(0, 49, 256)
    bias = g.transpose(g.reshape(g.op("Gather", g.w(49, 2), where), 16, 16, 2), 2, 0, 1)
    y = g.reshape(g.linear(g.attend(q, k, v, 2, 8, bias), 16, 16), 1, 2, 2, 4, 4, 16)
    y = g.reshape(g.transpose(y, 0, 1, 3, 2, 4, 5), 1, 8, 8, 16)
    g.give(g.op("Add", x, y))


def cross_attention(g: Graph) -> None:
    """A diffusion model's: 77 keys, heads of 40."""
    x, text = g.x(1, 16, 80), g.x(1, 77, 24)
    mixed = g.attend(g.linear(x, 80, 80), g.linear(text, 24, 80), g.linear(text, 24, 80), 2, 40)
    g.give(g.op("Add", x, g.linear(mixed, 80, 80)))


def spatial_transformer(g: Graph) -> None:
    """A norm over channels first, tokens, and back."""
    x = g.conv(g.x(2, 4, 4, 5), 4, 8)
    tokens = g.transpose(g.reshape(g.group_norm(x, (2, 8, 4, 5), 4), 2, 8, 20), 0, 2, 1)
    q, k, v = (g.linear(tokens, 8, 8) for _ in range(3))
    back = g.linear(g.attend(q, k, v, 2, 4), 8, 8)
    image = g.reshape(g.transpose(back, 0, 2, 1), 2, 8, 4, 5)
    y = g.silu(g.group_norm(g.op("Add", x, image), (2, 8, 4, 5), 2))
    g.give(g.conv(y, 8, 4))


def experts(g: Graph) -> None:
    """A mixture of experts that are parts of two weights, all of them computed."""
    x = g.x(6, 16)
    shares = g.op("Softmax", g.op("MatMul", x, g.w(16, 4)), axis=-1)
    top, where = g.op("TopK", shares, np.array([2]), outputs=2, axis=-1)
    top = g.op("Div", top, g.op("ReduceSum", top, np.array([1])))
    hot = g.op("OneHot", where, np.array(4), np.array([0, 1], np.float32))
    weighted = g.op("Mul", hot, g.op("Unsqueeze", top, np.array([2])))
    gate = g.op("ReduceSum", weighted, np.array([1]), keepdims=0)
    first, second = g.w(4, 16, 24), g.w(4, 24, 16)
    parts = []
    for number in range(4):
        inner = g.op("MatMul", x, g.op("Gather", first, np.array(number)))
        outer = g.op("MatMul", g.op("Gelu", inner), g.op("Gather", second, np.array(number)))
        spans = np.array([number]), np.array([number + 1]), np.array([1])
        parts.append(g.op("Mul", outer, g.op("Slice", gate, *spans)))
    g.give(g.op("Sum", *parts))


def shuffled_channels(g: Graph) -> None:
    """ShuffleNet, with a squeeze-and-excitation block and a pixel shuffle behind it."""
    x = g.x(1, 8, 5, 6)
    a, b = g.op("Split", x, outputs=2, axis=1, num_outputs=2)
    b = g.conv(g.op("Relu", g.conv(b, 4, 4, taps=1)), 4, 4, group=4)
    y = g.reshape(g.op("Concat", a, b, axis=1), 1, 2, 4, 5, 6)
    y = g.reshape(g.transpose(y, 0, 2, 1, 3, 4), 1, 8, 5, 6)
    squeezed = g.op("Relu", g.conv(g.op("GlobalAveragePool", y), 8, 2, taps=1))
    y = g.op("Mul", y, g.op("HardSigmoid", g.conv(squeezed, 2, 8, taps=1)))
    y = g.op("DepthToSpace", g.conv(y, 8, 12), blocksize=2, mode="CRD")
    g.give(g.op("Sigmoid", g.conv(y, 3, 3)))


def adapted_weights(g: Graph) -> None:
    """Low-rank updates, normalised weights and an embedding that is also the last product."""
    table, x = g.w(50, 16), g.x(5, 16)
    update = g.op("MatMul", g.w(16, 4), g.w(4, 16))
    y = g.op("MatMul", x, g.op("Add", g.w(16, 16), update))
    direction = g.w(16, 16)
    length = g.op("ReduceL2", direction, np.array([1]))
    scaled = g.op("Mul", g.op("Div", direction, length), g.w(16, 1))
    y = g.norm(g.op("Gemm", y, scaled, g.w(16), transB=1), 16)
    logits = g.op("MatMul", y, g.transpose(table, 1, 0))
    g.give(logits, g.op("ArgMax", logits, axis=-1))


def pyramid(g: Graph) -> None:
    """A decoder that resizes features of several scales, and gives classes of pixels."""
    scaled = []
    for channels, size in ((4, 8), (6, 4), (8, 2)):
        image = g.reshape(g.x(1, channels, size, size), 1, channels, size * size)
        tokens = g.linear(g.transpose(image, 0, 2, 1), channels, 8)
        image = g.reshape(g.transpose(tokens, 0, 2, 1), 1, 8, size, size)
        wanted = np.array([1, 8, 8, 8])
        scaled.append(g.op("Resize", image, "", "", wanted, mode="linear"))
    y = g.conv(g.op("Relu", g.conv(g.op("Concat", *scaled, axis=1), 24, 8, taps=1)), 8, 5, taps=1)
    g.give(y, g.op("ArgMax", y, axis=1))


def state_space(g: Graph) -> None:
    """Mamba: a causal depthwise convolution and an unrolled scan."""
    x = g.x(1, 4, 6)
    weight, bias = g.w(6, 1, 4), g.w(6)
    h = g.op("Conv", g.transpose(x, 0, 2, 1), weight, bias, group=6, pads=[3, 0])
    h = g.silu(g.transpose(h, 0, 2, 1))
    step = g.op("Unsqueeze", g.op("Softplus", g.linear(h, 6, 6)), np.array([3]))
    decay = g.op("Exp", g.op("Mul", step, g.op("Neg", g.op("Exp", g.w(6, 3)))))
    gain = g.op("Mul", step, g.op("Unsqueeze", g.op("MatMul", h, g.w(6, 3)), np.array([2])))
    state = ""
    rows = []
    for number in range(4):
        kept, added = (g.op("Gather", z, np.array(number), axis=1) for z in (decay, gain))
        state = g.op("Add", g.op("Mul", kept, state), added) if state else added
        rows.append(g.op("ReduceSum", state, np.array([2]), keepdims=0))
    g.give(g.linear(g.reshape(g.op("Concat", *rows, axis=1), 1, 4, 6), 6, 6))


FAMILIES: list[Callable[[Graph], None]] = [
    interactions,
    mixed_feed_forward,
    reduced_attention,
    shifted_windows,
    cross_attention,
    spatial_transformer,
    experts,
    shuffled_channels,
    adapted_weights,
    pyramid,
    state_space,
]
