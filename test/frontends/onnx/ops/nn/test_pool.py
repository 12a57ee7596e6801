# SPDX-License-Identifier: MIT OR Apache-2.0
"""Pooling against onnxruntime: windows, pads, rounding up, dtypes, indices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from arrays import bytes_, integers, normal, tolerance
from harness import check_node, compare, node_model, run
from refusals import check_invalid, check_unsupported

WINDOWS: list[dict[str, Any]] = [
    {"kernel_shape": [3, 2]},
    {"kernel_shape": [3, 2], "strides": [2, 3], "pads": [1, 0, 2, 1]},
    {"kernel_shape": [3, 2], "strides": [2, 3], "pads": [1, 0, 2, 1], "ceil_mode": 1},
    {"kernel_shape": [3, 3], "strides": [3, 3], "pads": [1, 1, 1, 1], "ceil_mode": 1},
    {"kernel_shape": [2, 3], "strides": [3, 3], "pads": [1, 1, 1, 1], "dilations": [2, 1]},
    {"kernel_shape": [2, 3], "strides": [3, 2], "dilations": [2, 3], "ceil_mode": 1},
    {"kernel_shape": [3, 2], "strides": [2, 3], "auto_pad": "SAME_UPPER"},
    {"kernel_shape": [3, 2], "strides": [2, 3], "auto_pad": "SAME_LOWER"},
    {"kernel_shape": [3, 2], "strides": [3, 2], "auto_pad": "VALID"},
]


@pytest.mark.parametrize("options", WINDOWS)
@pytest.mark.parametrize("op", ["MaxPool", "AveragePool", "LpPool"])
def test_windows(op: str, options: dict[str, Any]) -> None:
    check_node(op, {"x": normal(2, 3, 9, 11)}, **options)


@pytest.mark.parametrize("options", WINDOWS[1:5])
def test_average_that_counts_pads(options: dict[str, Any]) -> None:
    check_node("AveragePool", {"x": normal(2, 3, 9, 11)}, count_include_pad=1, **options)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_orders_of_lp_pool(order: int) -> None:
    check_node("LpPool", {"x": normal(1, 2, 5, 6)}, kernel_shape=[2, 3], p=order)
    check_node("GlobalLpPool", {"x": normal(1, 2, 5, 6)}, p=order)


@pytest.mark.parametrize("op", ["MaxPool", "AveragePool"])
def test_ranks(op: str) -> None:
    check_node(op, {"x": normal(2, 3, 9)}, kernel_shape=[4], strides=[3], ceil_mode=1)
    check_node(op, {"x": normal(1, 2, 5, 4, 6)}, kernel_shape=[2, 3, 2], strides=[1, 1, 2])


@pytest.mark.parametrize("dtype", ["float16", "float64"])
def test_float_dtypes(dtype: str) -> None:
    x = normal(1, 2, 9, 8, dtype=dtype)
    check_node("MaxPool", {"x": x}, kernel_shape=[3, 3])
    if dtype == "float16":
        check_node("AveragePool", {"x": x}, kernel_shape=[3, 3], **tolerance(dtype))


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_integer_maximum_pads_with_the_smallest(dtype: str) -> None:
    check_node("MaxPool", {"x": bytes_(1, 2, 5, 6, dtype=dtype)}, kernel_shape=[3, 3], pads=[1] * 4)


def test_maximum_propagates_nan_and_keeps_infinities() -> None:
    x = np.array([[[np.nan, 1, 2, -np.inf, -np.inf]]], np.float32)
    found = run(node_model("MaxPool", {"x": x}, kernel_shape=[2]), {"x": x})
    compare(found, [np.array([[[np.nan, 2, 2, -np.inf]]], np.float32)], 0, 0)


@pytest.mark.parametrize("storage_order", [0, 1])
@pytest.mark.parametrize("options", [WINDOWS[0], WINDOWS[1], WINDOWS[4]])
def test_indices_are_those_of_the_first_maximum(
    options: dict[str, Any], storage_order: int
) -> None:
    x = integers(0, 4, 2, 3, 9, 11, dtype="float32")
    check_node("MaxPool", {"x": x}, outputs=2, storage_order=storage_order, **options)


def test_indices_of_rows_and_volumes() -> None:
    check_node(
        "MaxPool", {"x": integers(0, 3, 2, 2, 9, dtype="float32")}, outputs=2, kernel_shape=[3]
    )
    x = integers(0, 3, 1, 2, 4, 3, 5, dtype="float32")
    check_node("MaxPool", {"x": x}, outputs=2, kernel_shape=[2, 2, 2], storage_order=1)


def test_indices_find_minus_infinity() -> None:
    x = np.full((1, 1, 4), -np.inf, np.float32)
    model = node_model("MaxPool", {"x": x}, outputs=2, kernel_shape=[3], pads=[1, 1])
    found = run(model, {"x": x})[1]
    np.testing.assert_array_equal(found, [[[0, 0, 1, 2]]])


@pytest.mark.parametrize("op", ["GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"])
@pytest.mark.parametrize("shape", [(2, 3, 5), (2, 3, 5, 7), (1, 2, 3, 4, 2)])
def test_global(op: str, shape: tuple[int, ...]) -> None:
    check_node(op, {"x": normal(*shape)})


@pytest.mark.parametrize("op", ["GlobalAveragePool", "GlobalMaxPool"])
def test_global_of_16_bits(op: str) -> None:
    check_node(op, {"x": normal(1, 2, 5, 7, dtype="float16")}, **tolerance("float16"))


@pytest.mark.parametrize(
    ("op", "options", "message"),
    [
        ("MaxPool", {"kernel_shape": [3]}, "'kernel_shape'"),
        ("MaxPool", {"kernel_shape": [0, 1]}, "'kernel_shape'"),
        ("MaxPool", {"kernel_shape": [9, 9]}, "spans 9 elements"),
        ("MaxPool", {"kernel_shape": [2, 2], "strides": [-1, 1]}, "'strides'"),
        ("LpPool", {"kernel_shape": [2, 2], "p": 0}, "'p'"),
        ("AveragePool", {"kernel_shape": [2, 2], "pads": [1, 1, 1]}, "'pads'"),
    ],
)
def test_invalid(op: str, options: dict[str, Any], message: str) -> None:
    check_invalid(op, {"x": normal(1, 2, 5, 6)}, message, **options)


def test_an_input_without_spatial_dimensions_is_invalid() -> None:
    check_invalid("GlobalMaxPool", {"x": normal(2, 3)}, "spatial")


def test_absurd_pads_are_refused_before_any_memory_is_taken() -> None:
    options = {"kernel_shape": [2, 2], "pads": [2**40, 0, 0, 0]}
    check_unsupported("AveragePool", {"x": normal(1, 1, 2, 2)}, "padding", **options)
    options["kernel_shape"], options["pads"] = [2**24, 1], [2**23, 0, 2**23, 0]
    (found,) = run(
        node_model("AveragePool", {"x": normal(1, 1, 1, 1)}, **options), {"x": normal(1, 1, 1, 1)}
    )
    assert found.shape == (1, 1, 2, 1)
