# SPDX-License-Identifier: MIT OR Apache-2.0
"""Quantization operators against onnxruntime, and against numpy where it is not exact."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from arrays import bytes_, integers, normal, positive, scalar
from harness import check_node, node_model, run
from refusals import check_invalid, check_unsupported


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
@pytest.mark.parametrize(("scale", "axis"), [((), 1), ((1,), 1), ((4,), 1), ((3,), 0), ((5,), -1)])
def test_granularity(scale: tuple[int, ...], axis: int, dtype: str) -> None:
    parameters = {"scale": positive(*scale), "zero": bytes_(*scale, dtype=dtype)}
    check_node("QuantizeLinear", {"x": 50 * normal(3, 4, 5), **parameters}, axis=axis)
    check_node("DequantizeLinear", {"x": bytes_(3, 4, 5, dtype=dtype), **parameters}, axis=axis)


@pytest.mark.parametrize("axis", [1, 2])
def test_blocks(axis: int) -> None:
    shape = [3, 4, 5]
    shape[axis] = -(-shape[axis] // 2)
    parameters = {"scale": positive(*shape), "zero": bytes_(*shape, dtype="int8")}
    options = {"axis": axis, "block_size": 2, "opset": 21}
    check_node("QuantizeLinear", {"x": 50 * normal(3, 4, 5), **parameters}, **options)
    check_node("DequantizeLinear", {"x": bytes_(3, 4, 5, dtype="int8"), **parameters}, **options)


def test_without_a_zero_point() -> None:
    check_node("QuantizeLinear", {"x": 50 * normal(3, 4), "scale": scalar(0.5)})
    check_node(
        "QuantizeLinear", {"x": 50 * normal(3, 4), "scale": scalar(0.5)}, opset=21, output_dtype=3
    )
    check_node("DequantizeLinear", {"x": bytes_(3, 4), "scale": scalar(0.5)})


@pytest.mark.parametrize("dtype", ["uint16", "int16"])
def test_16_bits(dtype: str) -> None:
    zero = scalar(100, dtype)
    inputs = {"x": 50 * normal(3, 4), "scale": scalar(0.001), "zero": zero}
    check_node("QuantizeLinear", inputs, opset=21)
    x = integers(0, 30000, 3, 4, dtype=dtype)
    check_node("DequantizeLinear", {"x": x, "scale": scalar(0.5), "zero": zero}, opset=21)


def test_halves_round_to_even_and_results_saturate() -> None:
    x = np.array([0.5, 1.5, 2.5, -0.5, -1.5, 1e9, -1e9, np.inf, -np.inf, np.nan], np.float32)
    for dtype in ("uint8", "int8"):
        inputs = {"x": x, "scale": scalar(1), "zero": scalar(3, dtype)}
        check_node("QuantizeLinear", inputs, opset=13)


def test_float16() -> None:
    inputs = {
        "x": (50 * normal(3, 4)).astype(np.float16),
        "scale": scalar(0.3, "float16"),
        "zero": scalar(3, "uint8"),
    }
    check_node("QuantizeLinear", inputs, opset=21)
    inputs["x"] = bytes_(3, 4)
    check_node("DequantizeLinear", inputs, opset=21)
    inputs["scale"] = scalar(0.3)
    check_node("DequantizeLinear", inputs, opset=23, output_dtype=10)


def test_integers_to_floats_and_back() -> None:
    x = integers(-9999, 9999, 5, dtype="int32")
    check_node("DequantizeLinear", {"x": x, "scale": np.array([0.5], np.float32)})
    inputs = {"x": x, "scale": scalar(150), "zero": scalar(7, "uint8")}
    (found,) = run(node_model("QuantizeLinear", inputs, opset=13), inputs)
    np.testing.assert_array_equal(found, np.clip(np.rint(x / 150) + 7, 0, 255).astype(np.uint8))


@pytest.mark.parametrize("offset", [0.0, 200.0, -200.0])
def test_dynamic_quantization(offset: float) -> None:
    x = (50 * normal(3, 4) + offset).astype(np.float32)
    check_node("DynamicQuantizeLinear", {"x": x}, outputs=3)


def test_dynamic_quantization_of_zeros() -> None:
    check_node("DynamicQuantizeLinear", {"x": np.zeros((2, 3), np.float32)}, outputs=3)


def test_an_unknown_dtype_is_unsupported() -> None:
    inputs = {"x": normal(3, 4), "scale": scalar(1)}
    check_unsupported("QuantizeLinear", inputs, "complex64", opset=21, output_dtype=14)


@pytest.mark.parametrize(
    ("scale", "zero", "options", "message"),
    [
        ((3,), (3,), {}, "axis 1 has 4"),
        ((4,), (), {}, "differ"),
        ((3, 2), (3, 2), {"axis": 1, "block_size": 3, "opset": 21}, "blocks of 3"),
        ((4,), (4,), {"axis": 5}, "axis 5"),
    ],
)
def test_invalid(
    scale: tuple[int, ...], zero: tuple[int, ...], options: dict[str, Any], message: str
) -> None:
    options = {"opset": 13} | options
    inputs = {"x": normal(3, 4), "scale": positive(*scale), "zero": bytes_(*zero)}
    if scale == (3, 2):
        inputs["x"] = normal(3, 9)
    check_invalid("QuantizeLinear", inputs, message, **options)


@pytest.mark.parametrize("a", ["uint8", "int8"])
@pytest.mark.parametrize("b", ["uint8", "int8"])
@pytest.mark.parametrize(
    ("a_zero", "b_zero"), [(None, None), ((), ()), ((1,), (5,)), ((3,), (5,)), ((2, 3, 1), (1, 5))]
)
def test_matmul_integer_is_exact(
    a: str, b: str, a_zero: tuple[int, ...] | None, b_zero: tuple[int, ...] | None
) -> None:
    """onnxruntime's AVX2 kernels saturate pairs of products, so numpy is the reference."""
    x, y = bytes_(2, 3, 4, dtype=a), bytes_(4, 5, dtype=b, seed=1)
    inputs = {"a": x, "b": y}
    left, right = x.astype(np.int32), y.astype(np.int32)
    if a_zero is not None and b_zero is not None:
        inputs["a_zero"] = bytes_(*a_zero, dtype=a, seed=2)
        inputs["b_zero"] = bytes_(*b_zero, dtype=b, seed=3)
        rows = inputs["a_zero"].astype(np.int32)
        left = left - (rows[:, None] if a_zero == (3,) else rows)
        right = right - inputs["b_zero"].astype(np.int32)
    (found,) = run(node_model("MatMulInteger", inputs), inputs)
    np.testing.assert_array_equal(found, left @ right)


@pytest.mark.parametrize(("a", "b"), [("uint8", "int8"), ("uint8", "uint8"), ("int8", "int8")])
def test_matmul_integer_by_one_column(a: str, b: str) -> None:
    """Every length of the sum: processors with dot products of bytes once lost terms of some."""
    for depth in [*range(1, 41), 63, 64, 65, 128]:
        inputs = {"a": bytes_(3, depth, dtype=a), "b": bytes_(depth, 1, dtype=b, seed=1)}
        (found,) = run(node_model("MatMulInteger", inputs), inputs)
        wanted = inputs["a"].astype(np.int32) @ inputs["b"].astype(np.int32)
        np.testing.assert_array_equal(found, wanted, err_msg=str(depth))


@pytest.mark.parametrize(("a", "b"), [("uint8", "uint8"), ("int8", "int8")])
@pytest.mark.parametrize("columns", [False, True])
def test_qlinear_matmul(a: str, b: str, columns: bool) -> None:
    shape = (5,) if columns else ()
    inputs = {
        "a": bytes_(2, 3, 4, dtype=a),
        "a_scale": scalar(0.1),
        "a_zero": scalar(3, a),
        "b": bytes_(4, 5, dtype=b, seed=1),
        "b_scale": positive(*shape),
        "b_zero": bytes_(*shape, dtype=b, seed=2),
        "y_scale": scalar(7),
        "y_zero": scalar(5, a),
    }
    check_node("QLinearMatMul", inputs)


@pytest.mark.parametrize(("x", "w"), [("uint8", "uint8"), ("int8", "int8")])
@pytest.mark.parametrize("group", [1, 4])
def test_qlinear_conv(x: str, w: str, group: int) -> None:
    channels = (4,) if group == 4 else ()
    inputs = {
        "x": bytes_(2, 4, 7, 8, dtype=x),
        "x_scale": scalar(0.1),
        "x_zero": scalar(3, x),
        "w": bytes_(4, 4 // group, 3, 3, dtype=w, seed=1),
        "w_scale": positive(*channels),
        "w_zero": np.zeros(channels, w) if group == 4 else scalar(9, w),
        "y_scale": scalar(9),
        "y_zero": scalar(5, x),
        "bias": integers(-999, 999, 4, dtype="int32"),
    }
    check_node("QLinearConv", inputs, group=group, pads=[1, 0, 0, 1], strides=[2, 1])


def test_conv_integer() -> None:
    inputs = {"x": bytes_(2, 4, 7, 8), "w": bytes_(4, 2, 3, 3, seed=1)}
    check_node("ConvInteger", inputs, group=2)
    inputs |= {"x_zero": scalar(200, "uint8"), "w_zero": scalar(9, "uint8")}
    check_node("ConvInteger", inputs, group=2, pads=[1, 1, 1, 1])


def test_zero_points_by_channel_of_conv_integer() -> None:
    inputs = {"x": bytes_(1, 3, 2), "w": bytes_(4, 3, 1, seed=1)}
    inputs |= {"x_zero": scalar(200, "uint8"), "w_zero": bytes_(4, seed=2)}
    (found,) = run(node_model("ConvInteger", inputs), inputs)
    x, w = inputs["x"].astype(np.int32) - 200, inputs["w"].astype(np.int32)
    w = w - inputs["w_zero"].astype(np.int32)[:, None, None]
    np.testing.assert_array_equal(found[0], w[:, :, 0] @ x[0])


def test_invalid_zero_points() -> None:
    inputs = {"a": bytes_(3, 4), "b": bytes_(4, 5), "zero": bytes_(2)}
    check_invalid("MatMulInteger", inputs, "zero point|broadcast")
    convolution = {"x": bytes_(1, 3, 4), "w": bytes_(2, 3, 1), "zero": bytes_(2)}
    check_invalid("ConvInteger", convolution, "input's zero point")
