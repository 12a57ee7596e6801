# SPDX-License-Identifier: MIT OR Apache-2.0
"""Random convolution networks keep their numbers when their tensors are stored channels last."""

from __future__ import annotations

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

import xyntra

FLOAT = TensorProto.FLOAT


class Network:
    """Adds layers at random to an image of [N, C, *spatial]."""

    def __init__(self, seed: int, rank: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.rank = rank
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []
        spatial = [int(self.rng.integers(7, 14)) for _ in range(rank)]
        self.shape = [int(self.rng.integers(1, 3)), int(self.rng.integers(1, 9)), *spatial]
        self.input = list(self.shape)
        self.last = "x"

    def weight(self, *shape: int) -> str:
        array = (self.rng.standard_normal(shape) / np.sqrt(np.prod(shape[1:]))).astype(np.float32)
        name = f"w{len(self.weights)}"
        self.weights.append(onnx.numpy_helper.from_array(array, name))
        return name

    def add(self, kind: str, *inputs: str, **attributes: object) -> None:
        name = f"t{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, [self.last, *inputs], [name], **attributes))
        self.last = name

    def window(self, most_dilation: int = 2) -> dict[str, list[int]]:
        """Attributes of a window that fits, with padding on either side."""
        found: dict[str, list[int]] = {"kernel_shape": [], "strides": [], "dilations": []}
        lows, highs = [], []
        for axis in range(self.rank):
            taps, stride = int(self.rng.integers(1, 4)), int(self.rng.integers(1, 3))
            dilation = int(self.rng.integers(1, most_dilation + 1))
            low, high = (int(n) for n in self.rng.integers(0, taps, 2))
            whole = self.shape[2 + axis] + low + high
            if whole < dilation * (taps - 1) + 1:
                taps, dilation = 1, 1
            found["kernel_shape"].append(taps)
            found["strides"].append(stride)
            found["dilations"].append(dilation)
            lows.append(low if taps > 1 else 0)
            highs.append(high if taps > 1 else 0)
            whole = self.shape[2 + axis] + lows[-1] + highs[-1]
            self.shape[2 + axis] = (whole - dilation * (taps - 1) - 1) // stride + 1
        return found | {"pads": [*lows, *highs]}

    def convolution(self) -> None:
        channels, kind = self.shape[1], int(self.rng.integers(0, 3))
        groups = 1 if kind == 0 else channels if kind == 1 else 2 if channels % 2 == 0 else 1
        outputs = groups * int(self.rng.integers(1, max(2, 71 // groups)))
        window = self.window()
        weight = self.weight(outputs, channels // groups, *window["kernel_shape"])
        self.add("Conv", weight, self.weight(outputs), group=groups, **window)
        self.shape[1] = outputs

    def pooling(self) -> None:
        if self.rng.integers(0, 2):
            self.add("MaxPool", **self.window())
        else:
            window = self.window(most_dilation=1)
            del window["dilations"]
            self.add("AveragePool", count_include_pad=int(self.rng.integers(0, 2)), **window)

    def activation(self) -> None:
        self.add(str(self.rng.choice(["Relu", "Sigmoid", "HardSwish"])))

    def squeeze(self) -> None:
        before, channels = self.last, self.shape[1]
        self.add("GlobalAveragePool")
        self.add("Conv", self.weight(channels, channels, *[1] * self.rank))
        self.add("Sigmoid")
        self.add("Mul", before)

    def joined(self) -> None:
        before = self.last
        self.activation()
        self.add("Concat", before, axis=1)
        self.shape[1] *= 2

    def model(self, layers: int) -> onnx.ModelProto:
        self.convolution()
        for _ in range(layers):
            choices = [self.convolution, self.pooling, self.activation, self.squeeze, self.joined]
            choices[int(self.rng.integers(0, len(choices)))]()
        graph = helper.make_graph(
            self.nodes,
            "network",
            [helper.make_tensor_value_info("x", FLOAT, self.input)],
            [helper.make_tensor_value_info(self.last, FLOAT, None)],
            self.weights,
        )
        opsets = [helper.make_opsetid("", 19)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=9)


@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("seed", range(6))
def test_networks(seed, rank):
    network = Network(seed, rank)
    model = network.model(layers=5)
    x = network.rng.standard_normal(network.input).astype(np.float32)
    expected = onnxruntime.InferenceSession(model.SerializeToString()).run(None, {"x": x})[0]
    result = xyntra.compile(model, config={"isolate": False, "jobs": 1, "cache": False})(x)
    assert result.shape == expected.shape
    assert np.allclose(result, expected, rtol=1e-3, atol=1e-4)


@pytest.mark.usefixtures("in_process")
@pytest.mark.parametrize(("channels", "extent"), [(64, 56), (512, 7), (96, 29)])
def test_a_convolution_alone_pays_for_both_copies(channels: int, extent: int) -> None:
    """Images come and go with channels first; the convolution between works on channels last."""
    rng = np.random.default_rng(channels)
    weight = rng.standard_normal((channels, channels, 3, 3)) / np.sqrt(9 * channels)
    bias = rng.standard_normal(channels)
    shape = [1, channels, extent, extent]
    arrays = {"w": weight.astype(np.float32), "b": bias.astype(np.float32)}
    constants = [onnx.numpy_helper.from_array(array, name) for name, array in arrays.items()]
    node = helper.make_node("Conv", ["x", "w", "b"], ["y"], pads=[1, 1, 1, 1])
    ports = [helper.make_tensor_value_info(name, FLOAT, shape) for name in "xy"]
    graph = helper.make_graph([node], "g", ports[:1], ports[1:], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    exe = xyntra.compile(model)
    convolution = next(kernel for kernel in exe.kernels if kernel.name.startswith("conv_"))
    assert f"-> tensor<1x{extent}x{extent}x{channels}xf32>" in convolution.source()
    x = rng.standard_normal(shape).astype(np.float32)
    session = onnxruntime.InferenceSession(model.SerializeToString())
    (expected,) = session.run(None, {"x": x})
    np.testing.assert_allclose(exe(x), expected, rtol=1e-4, atol=1e-4)


def test_zeros_that_are_a_value_and_a_destination() -> None:
    """The sum over nothing and what a pooling adds to are one fill, wanted in two orders."""
    rng = np.random.default_rng(6)
    weights = numpy_helper.from_array(rng.standard_normal((32, 4, 1, 2)).astype(np.float32), "w")
    axis = numpy_helper.from_array(np.array(-1, np.int32), "axis")
    axes = numpy_helper.from_array(np.array([-1]), "axes")
    nodes = [
        helper.make_node("AveragePool", ["x"], ["p"], auto_pad="SAME_LOWER", kernel_shape=[3, 3]),
        helper.make_node("CumSum", ["x", "axis"], ["c"], exclusive=1, reverse=1),
        helper.make_node("ReduceSum", ["c", "axes"], ["s"]),
        helper.make_node("Mul", ["c", "s"], ["m"]),
        helper.make_node("Add", ["m", "c"], ["a"]),
        helper.make_node("ConvTranspose", ["s", "w"], ["t"]),
    ]
    x = rng.standard_normal((1, 32, 3, 1)).astype(np.float32)
    given = [helper.make_tensor_value_info("x", TensorProto.FLOAT, x.shape)]
    outputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in "pat"]
    graph = helper.make_graph(nodes, "g", given, outputs, [weights, axis, axes])
    opsets = [helper.make_opsetid("", 20)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=10)
    session = onnxruntime.InferenceSession(model.SerializeToString())
    settings = {"isolate": False, "jobs": 1, "cache": False}
    exe = xyntra.compile(model, config=settings)
    for found, wanted in zip(exe(x), session.run(None, {"x": x}), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)
