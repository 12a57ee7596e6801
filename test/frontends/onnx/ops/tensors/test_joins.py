# SPDX-License-Identifier: MIT OR Apache-2.0
"""Concat, Split and Slice, against onnxruntime."""

from __future__ import annotations

import numpy as np
import pytest
from harness import check_node, node_model, reference, run
from refusals import check_invalid, check_unsupported

from xyntra.frontends.onnx.ops.tensors.slice import clamp_slice

INT64 = np.iinfo(np.int64)


@pytest.fixture
def x() -> np.ndarray:
    return np.arange(60, dtype=np.float32).reshape(3, 4, 5)


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.uint8, np.bool_])
def test_concat(axis: int, dtype: type, x: np.ndarray) -> None:
    other = np.take(x, [0, 2], axis)
    empty = np.take(x, [], axis)
    feeds = {"a": x.astype(dtype), "b": empty.astype(dtype), "c": other.astype(dtype)}
    check_node("Concat", feeds, axis=axis)


def test_concat_of_one_and_of_constants(x: np.ndarray) -> None:
    check_node("Concat", {"a": x}, axis=0)
    check_node("Concat", {"a": x}, constants={"b": -x}, axis=1)
    empty = np.zeros((0, 2), np.float32)
    check_node("Concat", {"a": empty, "b": np.zeros((0, 3), np.float32)}, axis=1)


def test_concat_refuses(x: np.ndarray) -> None:
    check_invalid("Concat", {"a": x, "b": x[:, :1]}, "differ", axis=0)
    check_invalid("Concat", {"a": x, "b": x[0]}, "differ", axis=0)
    check_invalid("Concat", {"a": x}, "outside", axis=3)
    check_invalid("Concat", {"a": x}, "'axis' is missing")


def test_split_forms(x: np.ndarray) -> None:
    check_node("Split", {"x": x}, opset=11, outputs=2, axis=1)
    check_node("Split", {"x": x}, opset=11, outputs=3, axis=-1, split=[1, 0, 4])
    check_node("Split", {"x": x}, opset=13, outputs=2, axis=1, constants={"s": np.array([3, 1])})
    check_node("Split", {"x": x}, opset=13, outputs=3)
    check_node("Split", {"x": x}, opset=18, outputs=3, axis=2, num_outputs=3)
    check_node("Split", {"x": x}, opset=18, outputs=2, axis=2, num_outputs=2)


def test_split_refuses(x: np.ndarray) -> None:
    check_invalid("Split", {"x": x}, "equal parts", opset=13, outputs=2)
    check_invalid("Split", {"x": x}, "do not split", outputs=2, constants={"s": np.array([2, 2])})
    check_invalid("Split", {"x": x}, "number of outputs", outputs=2, num_outputs=3)


@pytest.mark.parametrize("step", [-3, -2, -1, 1, 2, 3])
@pytest.mark.parametrize("start", [-100, -4, -1, 0, 2, 100, INT64.max, INT64.min + 1])
def test_slices_clamp_as_in_onnxruntime(start: int, step: int, x: np.ndarray) -> None:
    for end in (-100, -2, 0, 3, 100, INT64.min + 1, *([INT64.max] if step > 0 else [])):
        values = {"s": [start], "e": [end], "a": [1], "t": [step]}
        constants = {name: np.array(value) for name, value in values.items()}
        (wanted,) = reference(node_model("Slice", {"x": x}, constants=constants), {"x": x})
        first, count = clamp_slice(start, end, step, x.shape[1])
        np.testing.assert_array_equal(x[:, [first + n * step for n in range(count)]], wanted)


def test_a_slice_backwards_to_beyond_the_end_is_empty() -> None:
    assert clamp_slice(-1, INT64.max, -1, 4) == (0, 0)


@pytest.mark.parametrize(
    ("starts", "ends", "axes", "steps"),
    [
        ([1], [3], None, None),
        ([0, -2], [2, 5], [0, 2], None),
        ([-1], [-100], [1], [-1]),
        ([3, 0], [0, 5], [1, -1], [-2, 3]),
        ([2], [2], [0], None),
        ([0, 0, 0], [3, 4, 5], None, [2, 3, 4]),
    ],
)
def test_slice(
    starts: list[int],
    ends: list[int],
    axes: list[int] | None,
    steps: list[int] | None,
    x: np.ndarray,
) -> None:
    given = {"s": starts, "e": ends, "a": axes, "t": steps}
    constants = {name: np.array(value) for name, value in given.items() if value is not None}
    names = ["x", *(name if given[name] is not None else "" for name in given)]
    check_node("Slice", {"x": x}, constants=constants, names=names)


def test_slice_by_attributes(x: np.ndarray) -> None:
    check_node("Slice", {"x": x}, opset=9, starts=[0, 1], ends=[2, -1], axes=[0, 2])
    check_node("Slice", {"x": x}, opset=9, starts=[1], ends=[1000])


def test_slice_refuses(x: np.ndarray) -> None:
    def constants(*values: list[int]) -> dict[str, np.ndarray]:
        return {name: np.array(value) for name, value in zip("seat", values, strict=False)}

    check_invalid("Slice", {"x": x}, "step is 0", constants=constants([0], [1], [0], [0]))
    check_invalid("Slice", {"x": x}, "do not fit", constants=constants([0, 0], [1], [0]))
    check_invalid("Slice", {"x": x}, "outside", constants=constants([0], [1], [3]))
    check_invalid("Slice", {"x": x}, "do not fit", constants=constants([0, 0], [1, 1], [0, 0]))
    feeds = {"x": x, "s": np.array([0])}
    check_unsupported("Slice", feeds, "must be a constant", constants={"e": np.array([1])})


def test_slices_do_not_share_memory_with_results(x: np.ndarray) -> None:
    model = node_model("Split", {"x": x}, opset=13, outputs=3)
    first, *_ = run(model, {"x": x})
    np.testing.assert_array_equal(first, x[:1])
