# SPDX-License-Identifier: MIT OR Apache-2.0
"""Reading at computed positions, against onnxruntime, in range and out of range."""

from __future__ import annotations

import numpy as np
import pytest
from harness import check_node, node_model, reference, run
from refusals import check_invalid


@pytest.fixture
def x() -> np.ndarray:
    return np.random.default_rng(3).standard_normal((3, 4, 5)).astype(np.float32)


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("index_type", [np.int32, np.int64])
@pytest.mark.parametrize("shape", [(), (4,), (2, 3), (0,)])
def test_gather(axis: int, index_type: type, shape: tuple[int, ...], x: np.ndarray) -> None:
    size = x.shape[axis]
    indices = np.random.default_rng(0).integers(-size, size, shape).astype(index_type)
    indices = np.asarray(indices, index_type)
    check_node("Gather", {"x": x, "i": indices}, axis=axis)
    check_node("Gather", {"x": x}, constants={"i": indices}, axis=axis)


@pytest.mark.parametrize("indices", [[0, 2], [3, 2, 1, 0], [-1, -3], [1, 1], [2], [0, 1, 3]])
def test_gather_of_constant_positions(indices: list[int], x: np.ndarray) -> None:
    check_node("Gather", {"x": x}, constants={"i": np.array(indices)}, axis=1)
    check_node("Gather", {"x": x}, constants={"i": np.array([indices])}, axis=1)


@pytest.mark.parametrize("dtype", [np.float64, np.float16, np.int8, np.uint64, np.bool_])
def test_gather_of_dtypes(dtype: type) -> None:
    x = np.arange(12).reshape(4, 3).astype(dtype)
    check_node("Gather", {"x": x, "i": np.array([3, -4, 0])})


def test_out_of_range_reads_nothing(x: np.ndarray) -> None:
    indices = np.array([1, 3, -4, 2**40, -(2**62), np.iinfo(np.int64).min])
    feeds = {"x": x, "i": indices}
    (found,) = run(node_model("Gather", feeds, axis=0), feeds)
    np.testing.assert_array_equal(found[0], x[1])
    assert np.isnan(found[1:]).all()
    whole = {"x": np.arange(5) + 7, "i": indices}
    (found,) = run(node_model("Gather", whole, axis=0), whole)
    assert found.tolist() == [8, 10, 8, 0, 0, 0]


def test_constant_index_out_of_range(x: np.ndarray) -> None:
    for index in (3, -4):
        check_invalid(
            "Gather", {"x": x}, f"index {index} is out", constants={"i": np.array([index])}
        )
    constants = {"i": np.full((3, 4, 5), 5)}
    check_invalid("GatherElements", {"x": x}, "index 5", constants=constants, axis=2)
    check_invalid("GatherND", {"x": x}, "index 4", constants={"i": np.array([[0, 4]])})


def test_nothing_to_gather_from() -> None:
    empty = np.zeros((0, 3), np.float32)
    feeds = {"x": empty, "i": np.array([0])}
    check_invalid("Gather", feeds, "nothing to gather")
    check_node("Gather", {"x": empty, "i": np.array([1])}, axis=1)
    check_node("Gather", {"x": empty, "i": np.zeros((0, 2), np.int64)})


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
@pytest.mark.parametrize("index_type", [np.int32, np.int64])
def test_gather_elements(axis: int, index_type: type, x: np.ndarray) -> None:
    size = x.shape[axis]
    shape = [2 if d != axis % 3 else 7 for d in range(3)]
    indices = np.random.default_rng(1).integers(-size, size, shape).astype(index_type)
    check_node("GatherElements", {"x": x, "i": indices}, axis=axis)
    check_node("GatherElements", {"x": x}, constants={"i": indices}, axis=axis)


def test_gather_elements_refuses(x: np.ndarray) -> None:
    check_invalid(
        "GatherElements", {"x": x, "i": np.zeros((4, 1, 1), np.int64)}, "do not fit", axis=1
    )
    check_invalid("GatherElements", {"x": x, "i": np.zeros((2, 2), np.int64)}, "do not fit")


@pytest.mark.parametrize(
    ("shape", "batch"), [((2, 1), 0), ((2, 2), 0), ((2, 3), 0), ((4, 2, 3), 0), ((3, 2, 1), 1),
                         ((3, 4, 1), 2), ((3, 1), 1), ((3,), 0)]
)  # fmt: skip
def test_gather_nd(shape: tuple[int, ...], batch: int, x: np.ndarray) -> None:
    sizes = np.array(x.shape[batch : batch + shape[-1]])
    indices = np.random.default_rng(2).integers(-sizes, sizes, shape)
    check_node("GatherND", {"x": x, "i": indices}, batch_dims=batch)
    check_node("GatherND", {"x": x}, constants={"i": indices}, batch_dims=batch)


def test_gather_nd_out_of_range(x: np.ndarray) -> None:
    feeds = {"x": x, "i": np.array([[0, 1], [0, 99], [-7, 0], [2, -4]])}
    (found,) = run(node_model("GatherND", feeds), feeds)
    np.testing.assert_array_equal(found[[0, 3]], np.stack([x[0, 1], x[2, 0]]))
    assert np.isnan(found[1:3]).all()


def test_gather_nd_refuses(x: np.ndarray) -> None:
    check_invalid("GatherND", {"x": x, "i": np.zeros((2, 4), np.int64)}, "do not fit")
    check_invalid("GatherND", {"x": x, "i": np.zeros((2, 1), np.int64)}, "batch", batch_dims=1)


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
def test_compress(axis: int | None, x: np.ndarray) -> None:
    condition = np.array([False, True, True])
    options = {} if axis is None else {"axis": axis}
    check_node("Compress", {"x": x}, constants={"c": condition}, **options)


def test_compress_refuses(x: np.ndarray) -> None:
    check_invalid("Compress", {"x": x}, "longer", constants={"c": np.ones(4, bool)}, axis=0)


@pytest.mark.parametrize(("time", "batch"), [(0, 1), (1, 0)])
def test_reverse_sequence(time: int, batch: int, x: np.ndarray) -> None:
    lengths = np.random.default_rng(4).integers(1, x.shape[time] + 1, x.shape[batch])
    feeds = {"x": x, "l": lengths}
    check_node("ReverseSequence", feeds, time_axis=time, batch_axis=batch)


def test_reverse_sequence_clamps_lengths(x: np.ndarray) -> None:
    feeds = {"x": x, "l": np.array([99, -3, 0, 1])}
    (found,) = run(node_model("ReverseSequence", feeds), feeds)
    np.testing.assert_array_equal(found[:, 0], x[::-1, 0])
    np.testing.assert_array_equal(found[:, 1:], x[:, 1:])


def test_indices_feed_later_gathers(x: np.ndarray) -> None:
    feeds = {"x": x, "i": np.array([[2, 0], [1, -1]])}
    model = node_model("Gather", feeds, axis=2)
    np.testing.assert_array_equal(run(model, feeds)[0], reference(model, feeds)[0])
