# SPDX-License-Identifier: MIT OR Apache-2.0
"""Arithmetic on arrays whose innermost dimension is too short for vectors, in the emulator."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx
import pytest
from emulator import run_artifact
from onnx import TensorProto, helper

import xyntra
from xyntra.targets.cuda.code.kernel_image import KernelImage


def check(model: onnx.ModelProto, inputs: Sequence[np.ndarray], wanted: np.ndarray) -> list[str]:
    """Compare results, and return the schedules of all launches."""
    artifact = xyntra.compile(model, target="cuda:sm_90a").artifact
    (found,) = run_artifact(artifact, list(inputs), {})
    np.testing.assert_allclose(found.astype("f8"), wanted, rtol=2e-3, atol=2e-3)
    images = [KernelImage.from_bytes(each) for each in artifact.objects.values()]
    return [str(launch.schedule) for image in images for launch in image.launches]


def model_of(nodes: list[onnx.NodeProto], inputs: dict[str, np.ndarray], kind: int) -> object:
    infos = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
        for name, x in inputs.items()
    ]
    graph = helper.make_graph(nodes, "g", infos, [helper.make_tensor_value_info("r", kind, None)])
    opsets = [helper.make_opsetid("", 20)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


@pytest.mark.parametrize(
    ("shape", "dtype", "schedule"),
    [
        ((2, 16, 24, 3), np.float16, "pointwise vector 8 own 3"),
        ((1, 5, 40, 2), np.float16, "pointwise vector 4 own 2"),
        ((64, 3), np.float32, "pointwise vector 4 own 3"),
        ((1000, 3), np.float16, "pointwise vector 8 own 3"),
        ((7, 20, 3), np.float32, "pointwise vector 4 own 3"),
        ((7, 5, 3), np.float32, ""),
        ((4, 6, 5), np.float32, ""),
    ],
)
def test_a_scale_for_each_of_a_few_channels(shape, dtype, schedule):
    rng = np.random.default_rng(1)
    x = rng.standard_normal(shape).astype(dtype)
    scale, shift = (rng.standard_normal(shape[-1:]).astype(dtype) for _ in range(2))
    nodes = [helper.make_node("Mul", ["x", "s"], ["m"]), helper.make_node("Add", ["m", "t"], ["r"])]
    inputs = {"x": x, "s": scale, "t": shift}
    model = model_of(nodes, inputs, helper.np_dtype_to_tensor_dtype(x.dtype))
    wanted = x.astype("f8") * scale.astype("f8") + shift.astype("f8")
    schedules = check(model, list(inputs.values()), wanted)
    assert schedules == [schedule] if schedule else "own" not in schedules[0]


@pytest.mark.parametrize("sides", [(8, 16), (7, 24)])
def test_pictures_of_bytes(sides):
    rng = np.random.default_rng(2)
    x = rng.integers(0, 256, (2, *sides, 3)).astype(np.uint8)
    mean, deviation = (rng.uniform(0.2, 0.8, 3).astype(np.float16) for _ in range(2))
    nodes = [
        helper.make_node("Cast", ["x"], ["c"], to=TensorProto.FLOAT16),
        helper.make_node("Div", ["c", "b"], ["d"]),
        helper.make_node("Sub", ["d", "mean"], ["e"]),
        helper.make_node("Div", ["e", "deviation"], ["r"]),
    ]
    inputs = {"x": x, "b": np.array([255], np.float16), "mean": mean, "deviation": deviation}
    model = model_of(nodes, inputs, TensorProto.FLOAT16)
    exact = (x / 255 - mean.astype("f8")) / deviation.astype("f8")
    # The quotient and the difference are rounded to f16.
    (schedule,) = check(model, list(inputs.values()), exact)
    assert schedule == "pointwise vector 8 own 3"


@pytest.mark.parametrize(
    ("scale", "channels", "dtype", "schedule"),
    [
        (2, 1, np.float16, "pointwise vector 4 own 2"),
        (3, 1, np.float16, "pointwise"),  # no store holds three times as many
        (4, 1, np.float16, "pointwise vector 2 own 4"),
        (2, 1, np.float32, "pointwise vector 2 own 2"),
        (4, 1, np.float32, "pointwise vector 4"),
        (4, 3, np.float32, "pointwise"),
    ],
)
def test_repeated_elements_are_stored_together(scale, channels, dtype, schedule):
    """A picture, channels last, enlarged by its nearest elements."""
    x = np.random.default_rng(3).standard_normal((2, 5, 24, channels)).astype(dtype)
    scales = onnx.numpy_helper.from_array(np.array([1, 1, scale, scale], np.float32), "s")
    told = {"nearest_mode": "floor", "coordinate_transformation_mode": "asymmetric"}
    nodes = [
        helper.make_node("Constant", [], ["s"], value=scales),
        helper.make_node("Transpose", ["x"], ["t"], perm=[0, 3, 1, 2]),
        helper.make_node("Resize", ["t", "", "s"], ["u"], mode="nearest", **told),
        helper.make_node("Transpose", ["u"], ["r"], perm=[0, 2, 3, 1]),
    ]
    model = model_of(nodes, {"x": x}, helper.np_dtype_to_tensor_dtype(x.dtype))
    wanted = x.astype("f8").repeat(scale, 1).repeat(scale, 2)
    assert check(model, [x], wanted) == [schedule]
