# SPDX-License-Identifier: MIT OR Apache-2.0
"""Unique, of elements and of slices, against numpy and onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from arrays import integers
from harness import compare, node_model, reference, run_compiled

DTYPES = ("float32", "float64", "float16", "int8", "uint8", "int64", "uint64", "bool")


def check(x: np.ndarray, **options: Any) -> None:
    model = node_model("Unique", {"x": x}, outputs=4, **options)
    compare(run_compiled(model, {"x": x}), wanted_of(x, **options), 0, 0)


def wanted_of(x: np.ndarray, sorted: int = 1, axis: int | None = None) -> list[np.ndarray]:  # noqa: A002
    """By numpy; where the order is that of the input, onnx's reference knows vectors alone."""
    values, first, inverse, counts = np.unique(x, True, True, True, axis)
    inverse = inverse.reshape(-1)
    if not sorted:
        order = np.argsort(first)
        values = np.take(values, order, 0 if axis is None else axis)
        first, counts, inverse = first[order], counts[order], np.argsort(order)[inverse]
    return [values, first, inverse, counts]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("is_sorted", [0, 1])
def test_elements(dtype: str, is_sorted: int) -> None:
    x = integers(0, 7, 3, 11).astype(dtype)
    if np.dtype(dtype).kind in "if":
        x -= np.array(3, dtype)
    check(x, sorted=is_sorted)


@pytest.mark.parametrize("shape", [(1,), (2,), (1, 1), (333,)])
def test_lengths(shape: tuple[int, ...]) -> None:
    check(integers(0, 40, *shape))
    check(np.zeros(shape, np.float32), sorted=0)


def test_no_elements() -> None:
    x = np.zeros((0,), np.int64)
    found = run_compiled(node_model("Unique", {"x": x}, outputs=4), {"x": x})
    assert [each.shape for each in found] == [(0,)] * 4


@pytest.mark.parametrize("dtype", ["int64", "uint64", "float64"])
def test_halves_of_64_bits(dtype: str) -> None:
    """Numbers that differ in the high half alone, or in the low one, or in their sign."""
    high, low = np.meshgrid([0, 1, 2**31 - 1], [0, 5, 2**32 - 1])
    x = ((high.astype(np.uint64) << np.uint64(32)) | low.astype(np.uint64)).reshape(-1)
    x = np.concatenate([x, x[::-1]]).astype(dtype)
    check(np.concatenate([x, -x]) if dtype != "uint64" else x)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_nan_is_one_element_and_the_last(dtype: str) -> None:
    x = np.array([np.nan, 1, -0.0, np.inf, np.nan, 0.0, -np.inf, 1, -np.nan], dtype)
    check(x)


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("dtype", ["float32", "int64", "uint8"])
@pytest.mark.parametrize("is_sorted", [0, 1])
def test_slices(axis: int, dtype: str, is_sorted: int) -> None:
    check(integers(0, 2, 9, 3, 2).astype(dtype), axis=axis, sorted=is_sorted)


def test_slices_of_onnxruntime() -> None:
    x = integers(0, 2, 40, 3).astype(np.float32)
    model = node_model("Unique", {"x": x}, outputs=4, axis=0)
    compare(run_compiled(model, {"x": x}), reference(model, {"x": x}), 0, 0)


def test_an_axis_of_one_slice_and_of_slices_of_one() -> None:
    check(integers(0, 5, 1, 6), axis=0)
    check(integers(0, 5, 6, 1), axis=0)
