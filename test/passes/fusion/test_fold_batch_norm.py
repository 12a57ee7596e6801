# SPDX-License-Identifier: MIT OR Apache-2.0
"""Batch normalisation folded into weights: numbers against float64, and what is left to do."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper
from onnx_models import make_model
from pipeline_with import compile_with, largest_error

FOLD = "fold-batch-norm"
EPSILON = 1e-5


def weights(channels: int, per_group: int, taps: int) -> dict[str, np.ndarray]:
    generator = np.random.default_rng(channels)

    def normal(*shape: int) -> np.ndarray:
        return generator.standard_normal(shape).astype(np.float32)

    return {
        "w": normal(channels, per_group, taps, taps),
        "b": normal(channels),
        "gamma": normal(channels),
        "beta": normal(channels),
        "mean": normal(channels),
        "variance": generator.uniform(0.1, 4.0, channels).astype(np.float32),
    }


def spelled_out(values: dict[str, np.ndarray]) -> list[onnx.NodeProto]:
    """The definition, an operation at a time, on [channels, 1, 1] tensors."""
    for name in ("gamma", "beta", "mean", "variance"):
        values[name] = values[name].reshape(-1, 1, 1)
    values["epsilon"] = np.array(EPSILON, np.float32)
    steps = [
        ("Sub", ["c", "mean"], "d0"),
        ("Add", ["variance", "epsilon"], "d1"),
        ("Sqrt", ["d1"], "d2"),
        ("Div", ["d0", "d2"], "d3"),
        ("Mul", ["gamma", "d3"], "d4"),
        ("Add", ["d4", "beta"], "n"),
    ]
    return [helper.make_node(op, inputs, [output]) for op, inputs, output in steps]


def network(
    groups: int, spelling: str, bias: bool
) -> tuple[onnx.ModelProto, dict[str, np.ndarray]]:
    """relu(batch_norm(conv(x))) of 12 input and 12 output channels."""
    values = weights(12, 12 // groups, 3)
    inputs = ["x", "w", "b"] if bias else ["x", "w"]
    nodes = [helper.make_node("Conv", inputs, ["c"], group=groups, pads=[1, 1, 1, 1])]
    plain = {name: array.astype(float) for name, array in values.items()}
    if spelling == "node":
        names = ["c", "gamma", "beta", "mean", "variance"]
        nodes.append(helper.make_node("BatchNormalization", names, ["n"], epsilon=EPSILON))
    else:
        nodes += spelled_out(values)
    nodes.append(helper.make_node("Relu", ["n"], ["y"]))
    return make_model(nodes, {"x": [2, 12, 9, 7]}, ["y"], values), plain


def reference(x: np.ndarray, v: dict[str, np.ndarray], groups: int, bias: bool) -> np.ndarray:
    """The network in float64."""
    padded = np.pad(x.astype(float), ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
    size = 12 // groups
    parts = [
        np.einsum(
            "ncyxij,mcij->nmyx",
            windows[:, g * size : (g + 1) * size],
            v["w"][g * size : (g + 1) * size],
        )
        for g in range(groups)
    ]
    total = np.concatenate(parts, axis=1)
    column = {
        name: v[name].reshape(-1, 1, 1) for name in ("b", "gamma", "beta", "mean", "variance")
    }
    if bias:
        total += column["b"]
    normal = (total - column["mean"]) / np.sqrt(column["variance"] + EPSILON)
    return np.maximum(normal * column["gamma"] + column["beta"], 0)


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("spelling", ["node", "spelled out"])
@pytest.mark.parametrize("groups", [1, 3, 12])
def test_folding_keeps_the_numbers(groups: int, spelling: str, bias: bool, tmp_path: Path) -> None:
    model, values = network(groups, spelling, bias)
    x = np.random.default_rng(5).standard_normal((2, 12, 9, 7)).astype(np.float32)
    folded = compile_with(model, [FOLD], [], tmp_path)
    plain = compile_with(model, [], [FOLD], tmp_path)
    wanted = reference(x, values, groups, bias)
    result = folded.run({"x": x})["y"]
    assert largest_error(result, wanted) < 2e-6
    assert largest_error(plain.run({"x": x})["y"], wanted) < 2e-6
    assert not np.array_equal(result, plain.run({"x": x})["y"]), "nothing was folded"


def test_channels_of_no_variance_and_no_scale_stay_finite(tmp_path: Path) -> None:
    model, values = network(1, "node", bias=True)
    for tensor in model.graph.initializer:
        if tensor.name in ("gamma", "variance"):
            array = values[tensor.name].astype(np.float32).copy()
            array[:2] = 0
            values[tensor.name] = array.astype(float)
            tensor.CopyFrom(onnx.numpy_helper.from_array(array, tensor.name))
    x = np.random.default_rng(6).standard_normal((2, 12, 9, 7)).astype(np.float32)
    result = compile_with(model, [FOLD], [], tmp_path).run({"x": x})["y"]
    assert np.isfinite(result).all()
    assert largest_error(result, reference(x, values, 1, bias=True)) < 2e-6
