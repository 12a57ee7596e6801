# SPDX-License-Identifier: MIT OR Apache-2.0
"""Convolutions against onnxruntime: ranks, strides, pads, dilations, groups and dtypes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from arrays import normal, tolerance
from harness import check_node, compare, node_model, run
from refusals import check_invalid

Shape = tuple[int, ...]


def check(
    op: str, x: Shape, w: Shape, *, bias: int | None = None, dtype: str = "float32", **options: Any
) -> None:
    inputs = {"x": normal(*x, dtype=dtype), "w": normal(*w, dtype=dtype, seed=1)}
    if bias is not None:
        inputs["b"] = normal(bias, dtype=dtype, seed=2)
    options = {"opset": 22 if dtype == "bfloat16" else 20} | options
    check_node(op, inputs, **tolerance(dtype) | {"atol": 1e-4} | options)


CONVOLUTIONS: list[tuple[Shape, Shape, dict[str, Any]]] = [
    ((2, 3, 9, 11), (5, 3, 3, 3), {}),
    ((2, 3, 9, 11), (5, 3, 3, 2), {"pads": [1, 2, 0, 3], "strides": [2, 3], "dilations": [2, 1]}),
    ((2, 3, 9, 11), (5, 3, 3, 2), {"kernel_shape": [3, 2], "auto_pad": "NOTSET"}),
    ((2, 4, 9, 11), (6, 2, 3, 2), {"group": 2, "auto_pad": "SAME_UPPER", "strides": [2, 2]}),
    ((2, 4, 9, 11), (6, 2, 2, 2), {"group": 2, "auto_pad": "SAME_LOWER", "strides": [2, 1]}),
    ((2, 4, 9, 11), (4, 1, 3, 3), {"group": 4, "auto_pad": "VALID"}),
    ((2, 4, 9, 11), (8, 1, 3, 3), {"group": 4, "pads": [1, 1, 1, 1]}),
    ((2, 4, 9), (8, 4, 1), {"strides": [2]}),
    ((2, 4, 5, 7), (3, 4, 1, 1), {}),
    ((1, 2, 9), (3, 2, 4), {"pads": [3, 1], "dilations": [2]}),
    ((1, 1, 9, 5, 6), (2, 1, 1, 3, 2), {"strides": [2, 1, 1], "pads": [0, 1, 1, 0, 0, 1]}),
    ((0, 1, 9, 5), (2, 1, 1, 3), {}),
]


@pytest.mark.parametrize(("x", "w", "options"), CONVOLUTIONS)
def test_conv(x: Shape, w: Shape, options: dict[str, Any]) -> None:
    check("Conv", x, w, **options)


def test_conv_adds_its_bias() -> None:
    check("Conv", (1, 3, 6, 5), (4, 3, 3, 3), bias=4, pads=[1, 1, 1, 1])


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_conv_of_16_bits_rounds_once(dtype: str) -> None:
    check("Conv", (1, 8, 6, 6), (4, 8, 3, 3), bias=4, dtype=dtype, rtol=4e-3, atol=2e-2)


def test_conv_accumulates_16_bits_in_float32() -> None:
    """2048 + 1 + 1 … is 2048 in float16, where a sum is rounded after each addition."""
    x = np.ones((1, 64, 1, 1), np.float16)
    x[0, 0] = 2048
    w = np.ones((1, 64, 1, 1), np.float16)
    (y,) = run(node_model("Conv", {"x": x, "w": w}), {"x": x, "w": w})
    assert float(y.item()) == 2112  # 2111 to the nearest float16, of which the last bit is 2


TRANSPOSED: list[tuple[Shape, Shape, dict[str, Any]]] = [
    ((2, 3, 5, 4), (3, 2, 3, 3), {}),
    ((2, 3, 5, 4), (3, 2, 2, 2), {"strides": [2, 2]}),
    (
        (2, 3, 5, 4),
        (3, 2, 3, 4),
        {"strides": [2, 3], "pads": [1, 1, 0, 2], "output_padding": [1, 2]},
    ),
    ((2, 4, 5, 4), (4, 2, 3, 4), {"strides": [2, 3], "group": 2, "auto_pad": "SAME_UPPER"}),
    ((2, 4, 5, 4), (4, 2, 3, 4), {"strides": [2, 3], "group": 2, "auto_pad": "SAME_LOWER"}),
    ((2, 4, 5, 4), (4, 1, 3, 4), {"dilations": [2, 3], "group": 4, "pads": [1, 0, 1, 2]}),
    ((2, 4, 5, 4), (4, 1, 3, 2), {"dilations": [3, 2], "strides": [2, 4], "group": 4}),
    ((2, 3, 5), (3, 2, 1), {"strides": [3]}),
    ((1, 3, 5, 2, 3), (3, 2, 2, 3, 1), {"strides": [3, 2, 1]}),
    (
        (2, 3, 5, 4),
        (3, 2, 3, 3),
        {"strides": [3, 2], "output_shape": [10, 8], "output_padding": [1, 1]},
    ),
    (
        (2, 3, 5, 4),
        (3, 2, 3, 3),
        {"strides": [3, 2], "output_shape": [10, 8], "auto_pad": "SAME_UPPER"},
    ),
    ((1, 2, 3, 3), (2, 1, 3, 3), {"strides": [3, 2], "output_shape": [10, 8]}),
    ((2, 3, 5, 4), (3, 2, 4, 4), {"strides": [2, 2], "pads": [1, 1, 1, 1]}),
    ((1, 3, 5), (3, 2, 8), {"strides": [4], "pads": [2, 2]}),
    ((1, 3, 5), (3, 2, 8), {"strides": [4], "pads": [2, 1], "output_padding": [2]}),
    ((1, 3, 5), (3, 2, 10), {"strides": [5], "pads": [3, 3], "output_padding": [1]}),
    ((1, 4, 6), (4, 1, 5), {"strides": [6], "pads": [9, 7], "group": 4, "dilations": [4]}),
    ((1, 2, 7), (2, 3, 3), {"strides": [1], "pads": [4, 3]}),
    ((1, 2, 7), (2, 3, 2), {"strides": [1], "pads": [0, 1], "dilations": [3]}),
]


@pytest.mark.parametrize(("x", "w", "options"), TRANSPOSED)
def test_conv_transpose(x: Shape, w: Shape, options: dict[str, Any]) -> None:
    check("ConvTranspose", x, w, **options)


def test_conv_transpose_adds_its_bias() -> None:
    check("ConvTranspose", (1, 3, 4, 4), (3, 2, 2, 2), bias=2, strides=[2, 2])


def test_no_phase_multiplies_inserted_zeros() -> None:
    """An infinite input reaches only the outputs that it contributes to."""
    x = np.array([[[np.inf, 1.0]]], np.float32)
    w = np.array([[[2.0, 3.0]]], np.float32)
    found = run(node_model("ConvTranspose", {"x": x, "w": w}, strides=[2]), {"x": x, "w": w})
    compare(found, [np.array([[[np.inf, np.inf, 2.0, 3.0]]], np.float32)], 0, 0)


INVALID: list[tuple[str, Shape, Shape, dict[str, Any], str]] = [
    ("Conv", (1, 3, 5, 5), (4, 2, 3, 3), {}, "3 channels"),
    ("Conv", (1, 3, 5, 5), (4, 3, 3), {}, "do not fit"),
    ("Conv", (1, 3, 2, 2), (4, 3, 4, 4), {}, "spans 4 elements"),
    ("Conv", (1, 3, 5, 5), (4, 3, 3, 3), {"strides": [0, 1]}, "'strides'"),
    ("Conv", (1, 3, 5, 5), (4, 3, 3, 3), {"dilations": [1]}, "'dilations'"),
    ("Conv", (1, 3, 5, 5), (4, 3, 3, 3), {"pads": [1, 1]}, "'pads'"),
    ("Conv", (1, 3, 5, 5), (4, 3, 3, 3), {"pads": [-1, 0, 0, 0]}, "'pads'"),
    ("Conv", (1, 3, 5, 5), (4, 3, 3, 3), {"kernel_shape": [2, 3]}, "kernel_shape"),
    ("Conv", (1, 3, 5, 5), (4, 3, 3, 3), {"auto_pad": "SAME"}, "'auto_pad'"),
    ("Conv", (1, 3, 5, 5), (4, 1, 3, 3), {"group": 3}, "split"),
    ("Conv", (1, 3, 5, 5), (4, 1, 3, 3), {"group": 0}, "split"),
    ("ConvTranspose", (1, 3, 5, 5), (2, 3, 3, 3), {}, "3 channels"),
    ("ConvTranspose", (1, 3, 2, 2), (3, 1, 3, 3), {"output_shape": [9, 9]}, "more than all"),
    ("ConvTranspose", (1, 3, 2, 2), (3, 1, 1, 1), {"pads": [1, 1, 1, 1]}, "spatial shape"),
]


@pytest.mark.parametrize(("op", "x", "w", "options", "message"), INVALID)
def test_invalid(op: str, x: Shape, w: Shape, options: dict[str, Any], message: str) -> None:
    check_invalid(op, {"x": normal(*x), "w": normal(*w)}, message, **options)


def test_a_bias_has_one_element_a_channel() -> None:
    inputs = {"x": normal(1, 3, 5, 5), "w": normal(4, 3, 3, 3), "b": normal(3)}
    check_invalid("Conv", inputs, "bias")
