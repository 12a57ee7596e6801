# SPDX-License-Identifier: MIT OR Apache-2.0
"""Writing at computed positions, against onnxruntime, in range and out of range."""

from __future__ import annotations

import numpy as np
import pytest
from harness import check_node, node_model, run
from refusals import check_invalid

REDUCTIONS = ["none", "add", "mul", "max", "min"]


@pytest.fixture
def data() -> np.ndarray:
    return np.random.default_rng(8).standard_normal((3, 4, 5)).astype(np.float32)


def distinct(rng: np.random.Generator, size: int, shape: tuple[int, ...], axis: int) -> np.ndarray:
    """Indices below `size` that differ along `axis`."""
    rolled = np.argsort(rng.random((*np.delete(shape, axis), size)))[..., : shape[axis]]
    return np.moveaxis(rolled, -1, axis)


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_scatter_elements(axis: int, reduction: str, data: np.ndarray) -> None:
    rng = np.random.default_rng(1)
    shape = (2, 3, 4)
    indices = distinct(rng, data.shape[axis], shape, axis)
    indices[0, 0] -= data.shape[axis]
    feeds = {"d": data, "i": indices, "u": rng.standard_normal(shape).astype(np.float32)}
    check_node("ScatterElements", feeds, axis=axis, reduction=reduction)


def test_repeated_positions_accumulate(data: np.ndarray) -> None:
    indices = np.zeros((3, 4, 5), np.int64)
    feeds = {"d": data, "i": indices, "u": np.ones_like(data)}
    check_node("ScatterElements", feeds, axis=1, reduction="add")


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint8, np.float64, np.bool_])
def test_dtypes(dtype: type) -> None:
    data = np.arange(6).reshape(2, 3).astype(dtype)
    feeds = {
        "d": data,
        "i": np.array([[2, 0], [1, -1]]),
        "u": np.array([[9, 8], [7, 6]]).astype(dtype),
    }
    check_node("ScatterElements", feeds, axis=1)
    check_node("Scatter", feeds, axis=1, opset=9)


def test_constant_indices(data: np.ndarray) -> None:
    constants = {"i": np.array([[[0], [-1], [2], [1]]]), "u": np.ones((1, 4, 1), np.float32)}
    check_node("ScatterElements", {"d": data}, constants=constants, axis=0)


def test_writes_out_of_range_are_dropped(data: np.ndarray) -> None:
    indices = np.array([[[0, 99, -9, 2**40]]])
    feeds = {"d": data, "i": indices, "u": np.full((1, 1, 4), 5, np.float32)}
    wanted = data.copy()
    wanted[0, 0, 0] = 5
    (found,) = run(node_model("ScatterElements", feeds, axis=2), feeds)
    np.testing.assert_array_equal(found, wanted)


def test_inputs_stay_as_they_are(data: np.ndarray) -> None:
    before = data.copy()
    feeds = {"d": data, "i": np.zeros((1, 1, 1), np.int64), "u": np.ones((1, 1, 1), np.float32)}
    run(node_model("ScatterElements", feeds), feeds)
    np.testing.assert_array_equal(data, before)


def test_no_updates(data: np.ndarray) -> None:
    feeds = {"d": data, "i": np.zeros((0, 4, 5), np.int64), "u": np.zeros((0, 4, 5), np.float32)}
    (found,) = run(node_model("ScatterElements", feeds), feeds)
    np.testing.assert_array_equal(found, data)


@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_scatter_nd(depth: int, reduction: str, data: np.ndarray) -> None:
    rng = np.random.default_rng(2)
    flat = rng.permutation(np.prod(data.shape[:depth]))[:3]
    indices = np.stack(np.unravel_index(flat, data.shape[:depth]), -1)
    indices[1] -= data.shape[:depth]
    updates = rng.standard_normal((3, *data.shape[depth:])).astype(np.float32)
    check_node("ScatterND", {"d": data, "i": indices, "u": updates}, reduction=reduction)


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("constant", [False, True])
def test_one_element(reduction: str, constant: bool, data: np.ndarray) -> None:
    feeds = {"d": data, "i": np.zeros((1, 3), np.int64) - 1, "u": np.array([5], np.float32)}
    constants = {"i": feeds.pop("i")} if constant else None
    check_node("ScatterND", feeds, constants=constants, names=["d", "i", "u"], reduction=reduction)
    feeds = {"d": data, "i": np.ones((1, 1, 1), np.int64), "u": np.full((1, 1, 1), 5, np.float32)}
    check_node("ScatterElements", feeds, axis=1, reduction=reduction)


def test_scatter_nd_with_nested_indices(data: np.ndarray) -> None:
    indices = np.array([[[0, 1], [2, 3]], [[1, 0], [-1, -3]]])
    updates = np.arange(20, dtype=np.float32).reshape(2, 2, 5)
    check_node(
        "ScatterND", {"d": data, "u": updates}, constants={"i": indices}, names=["d", "i", "u"]
    )


def test_scatter_nd_out_of_range(data: np.ndarray) -> None:
    feeds = {"d": data, "i": np.array([[0, 9], [1, 1]]), "u": np.ones((2, 5), np.float32)}
    wanted = data.copy()
    wanted[1, 1] = 1
    np.testing.assert_array_equal(run(node_model("ScatterND", feeds), feeds)[0], wanted)


def test_refusals(data: np.ndarray) -> None:
    one = np.ones((1, 1, 1), np.float32)
    index = np.zeros((1, 1, 1), np.int64)
    check_invalid(
        "ScatterElements",
        {"d": data, "u": one},
        "index 3",
        constants={"i": index + 3},
        names=["d", "i", "u"],
    )
    check_invalid(
        "ScatterElements", {"d": data, "i": index, "u": one}, "reduction", reduction="avg"
    )
    check_invalid("ScatterElements", {"d": data, "i": index, "u": one[0]}, "do not fit")
    check_invalid("ScatterND", {"d": data, "i": index[0], "u": one}, "updates have shape")
    check_invalid(
        "ScatterND", {"d": data, "i": np.zeros((1, 4), np.int64), "u": one[0, 0]}, "do not fit"
    )


@pytest.mark.parametrize("mode", ["linear", "circular"])
def test_tensor_scatter_from_any_position(mode: str) -> None:
    cache, update = np.zeros((4, 2, 5, 3), np.float32), np.ones((4, 2, 2, 3), np.float32)
    starts = np.array([0, 4, -1, 2**40])
    feeds = {"c": cache, "u": update, "w": starts}
    (found,) = run(node_model("TensorScatter", feeds, opset=24, mode=mode), feeds)
    wanted = cache.copy()
    for element, start in enumerate(starts.tolist()):
        rows = [(start + n) % 5 if mode == "circular" else start + n for n in range(2)]
        wanted[element, :, [row for row in rows if 0 <= row < 5]] = 1
    np.testing.assert_array_equal(found, wanted)


def test_tensor_scatter_refuses() -> None:
    cache, update = np.zeros((4, 5, 3), np.float32), np.ones((4, 6, 3), np.float32)
    check_invalid("TensorScatter", {"c": cache, "u": update}, "does not fit", opset=24)
    check_invalid("TensorScatter", {"c": cache, "u": cache}, "'mode'", opset=24, mode="ring")
    feeds = {"c": cache, "u": cache, "w": np.zeros(3, np.int64)}
    check_invalid("TensorScatter", feeds, "write indices", opset=24)
