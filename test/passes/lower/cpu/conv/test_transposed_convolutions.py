# SPDX-License-Identifier: MIT OR Apache-2.0
"""Transposed convolutions of many channels against onnxruntime, and of infinities."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

import xyntra

Settings = dict[str, object]
RNG = np.random.default_rng(71)


def _model(shape: list[int], weight: np.ndarray, **attributes: Any) -> onnx.ModelProto:
    """A transposed convolution with a bias, then a rectifier."""
    outputs = weight.shape[1] * int(attributes.get("group", 1))
    bias = RNG.standard_normal(outputs).astype(np.float32)
    nodes = [
        helper.make_node("ConvTranspose", ["x", "w", "b"], ["z"], **attributes),
        helper.make_node("LeakyRelu", ["z"], ["y"], alpha=0.25),
    ]
    graph = helper.make_graph(
        nodes,
        "transposed",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(weight, "w"), numpy_helper.from_array(bias, "b")],
    )
    opsets = [helper.make_opsetid("", 19)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=9)


def _check(model: onnx.ModelProto, x: np.ndarray, settings: Settings) -> None:
    expected = onnxruntime.InferenceSession(model.SerializeToString()).run(None, {"x": x})[0]
    found = xyntra.compile(model, config=settings)(x)
    assert found.shape == expected.shape
    assert np.allclose(found, expected, rtol=1e-4, atol=1e-4, equal_nan=True)


def _weight(*shape: int) -> np.ndarray:
    return (RNG.standard_normal(shape) / np.sqrt(shape[0])).astype(np.float32)


CASES: list[tuple[list[int], tuple[int, ...], dict[str, Any]]] = [
    ([1, 72, 7, 9], (72, 40, 2, 2), {"strides": [2, 2]}),
    (
        [2, 64, 6, 11],
        (64, 24, 3, 3),
        {"strides": [2, 2], "pads": [1, 1, 1, 1], "output_padding": [1, 1]},
    ),
    ([1, 48, 9, 14], (48, 17, 4, 4), {"strides": [2, 2], "pads": [1, 1, 1, 1]}),
    ([1, 40, 5, 5], (40, 20, 8, 8), {"strides": [4, 4], "pads": [2, 2, 2, 2]}),
    ([1, 64, 6, 7], (64, 32, 3, 5), {"strides": [3, 2], "pads": [0, 2, 1, 1]}),
    ([1, 96, 5, 6], (96, 16, 5, 5), {"strides": [2, 3], "group": 2, "pads": [2, 2, 2, 2]}),
    ([1, 64, 6, 6], (64, 24, 3, 2), {"strides": [2, 2], "dilations": [2, 3]}),
    ([1, 48, 7, 7], (48, 24, 3, 3), {"pads": [1, 1, 1, 1]}),
    ([1, 128, 37], (128, 33, 16), {"strides": [8], "pads": [4, 4]}),
    ([3, 64, 21], (64, 24, 3), {"strides": [2], "pads": [1, 1], "output_padding": [1]}),
    ([1, 80, 19], (80, 8, 7), {"strides": [5], "pads": [3, 1]}),
    ([1, 48, 3, 4, 5], (48, 16, 2, 2, 2), {"strides": [2, 2, 2]}),
    ([1, 32, 3, 4, 5], (32, 16, 3, 3, 3), {"strides": [2, 1, 2], "pads": [1] * 6}),
    ([1, 80, 9, 9], (80, 3, 4, 4), {"strides": [2, 2], "pads": [1, 1, 1, 1]}),
]


@pytest.mark.parametrize(("shape", "weight", "attributes"), CASES)
def test_numbers(
    shape: list[int], weight: tuple[int, ...], attributes: dict[str, Any], settings: Settings
) -> None:
    model = _model(shape, _weight(*weight), **attributes)
    _check(model, RNG.standard_normal(shape).astype(np.float32), settings)


def test_phases_without_a_tap_do_not_meet_an_infinity(settings: Settings) -> None:
    weight = np.abs(_weight(64, 32, 3, 3))
    model = _model([1, 64, 8, 8], weight, strides=[2, 2], pads=[1] * 4, output_padding=[1, 1])
    x = RNG.standard_normal((1, 64, 8, 8)).astype(np.float32)
    x[0, 5, 3, 4] = np.inf
    _check(model, x, settings)


@pytest.mark.parametrize("zero", [0.0, -0.0])
def test_weights_that_are_zero(zero: float, settings: Settings) -> None:
    weight = _weight(64, 24, 4, 4)
    weight[:, :, 1] = zero
    model = _model([1, 64, 6, 5], weight, strides=[2, 2])
    _check(model, RNG.standard_normal((1, 64, 6, 5)).astype(np.float32), settings)
