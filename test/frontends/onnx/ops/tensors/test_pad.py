# SPDX-License-Identifier: MIT OR Apache-2.0
"""Padding, against onnxruntime."""

from __future__ import annotations

import numpy as np
import pytest
from harness import check_node, node_model, run
from refusals import check_invalid, check_unsupported

MODES = ["constant", "reflect", "edge", "wrap"]


@pytest.fixture
def x() -> np.ndarray:
    return np.arange(24, dtype=np.float32).reshape(2, 3, 4)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "pads", [[0, 1, 2, 0, 2, 3], [1, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0], [0, -1, 1, 0, 0, -1]]
)
def test_modes(mode: str, pads: list[int], x: np.ndarray) -> None:
    check_node("Pad", {"x": x}, constants={"p": np.array(pads)}, mode=mode)


def test_pads_longer_than_the_tensor(x: np.ndarray) -> None:
    pads = np.array([0, 7, 0, 0, 0, 9])
    wide = [(0, 0), (7, 0), (0, 9)]
    for mode in ("edge", "reflect", "wrap"):
        (found,) = run(node_model("Pad", {"x": x}, constants={"p": pads}, mode=mode), {"x": x})
        np.testing.assert_array_equal(found, np.pad(x, wide, mode=mode))


@pytest.mark.parametrize("dtype", [np.float64, np.int32, np.int64, np.uint8, np.bool_, np.float16])
def test_values_of_dtypes(dtype: type, x: np.ndarray) -> None:
    constants = {"p": np.array([0, 0, 1, 0, 2, 0]), "v": np.array(1, dtype)}
    check_node("Pad", {"x": x.astype(dtype)}, constants=constants)


def test_value_from_the_data(x: np.ndarray) -> None:
    feeds = {"x": x, "v": np.array(-3, np.float32)}
    check_node("Pad", feeds, constants={"p": np.array([1, 0, 0, 0, 0, 1])}, names=["x", "p", "v"])


def test_axes(x: np.ndarray) -> None:
    constants = {"p": np.array([1, 2, 0, 3]), "a": np.array([-1, 0])}
    for mode in MODES:
        if mode != "reflect":
            check_node("Pad", {"x": x}, constants=constants, names=["x", "p", "", "a"], mode=mode)


def test_attributes(x: np.ndarray) -> None:
    check_node("Pad", {"x": x}, opset=9, pads=[0, 0, 1, 1, 0, 0], value=2.5)
    check_node("Pad", {"x": x}, opset=9, pads=[0, 0, 1, 1, 0, 0], mode="edge")


def test_nothing_to_pad() -> None:
    empty = np.zeros((0, 2), np.float32)
    check_node("Pad", {"x": empty}, constants={"p": np.array([1, 0, 0, 1])})
    check_invalid(
        "Pad", {"x": empty}, "nothing to pad", constants={"p": np.array([1, 0, 0, 0])}, mode="edge"
    )


def test_refusals(x: np.ndarray) -> None:
    check_invalid("Pad", {"x": x}, "do not fit", constants={"p": np.array([1, 1])})
    check_invalid("Pad", {"x": x}, "remove more", constants={"p": np.array([-2, 0, 0, -1, 0, 0])})
    check_invalid("Pad", {"x": x}, "'mode'", constants={"p": np.zeros(6, np.int64)}, mode="mirror")
    check_unsupported("Pad", {"x": x, "p": np.zeros(6, np.int64)}, "must be a constant")
