# SPDX-License-Identifier: MIT OR Apache-2.0
"""Operators that move elements without computing, against onnxruntime."""

from __future__ import annotations

import numpy as np
import pytest
from harness import check_node, node_model, run
from refusals import check_invalid, check_unsupported


@pytest.fixture
def x() -> np.ndarray:
    return np.arange(24, dtype=np.float32).reshape(2, 3, 4)


@pytest.mark.parametrize(
    "shape",
    [[24], [4, 6], [0, -1], [-1], [2, 0, 4], [0, 0, 2, 2], [1, 24, 1], [6, 4], [1, 2, 3, 4, 1]],
)
def test_reshape(shape: list[int], x: np.ndarray) -> None:
    check_node("Reshape", {"x": x}, constants={"shape": np.array(shape)})


def test_reshape_of_nothing_and_scalars() -> None:
    empty = np.zeros((0, 3), np.float32)
    check_node(
        "Reshape", {"x": empty}, constants={"shape": np.array([0, 7])}, opset=14, allowzero=1
    )
    check_node("Reshape", {"x": empty}, constants={"shape": np.array([3, 0, 2])}, allowzero=1)
    check_node(
        "Reshape", {"x": np.ones((1, 1), np.float32)}, constants={"shape": np.zeros(0, np.int64)}
    )
    check_node("Reshape", {"x": np.array(2.0, np.float32)}, constants={"shape": np.array([1, 1])})


@pytest.mark.parametrize(
    ("shape", "match"),
    [([5, 5], "cannot become"), ([-1, -1], "more than one"), ([-1, 7], "does not divide"),
     ([2, 3, 4, 0], "keeps a dimension"), ([-2, 12], "more than one")],
)  # fmt: skip
def test_reshape_refuses(shape: list[int], match: str, x: np.ndarray) -> None:
    check_invalid("Reshape", {"x": x}, match, constants={"shape": np.array(shape)})


def test_reshape_needs_a_constant_shape(x: np.ndarray) -> None:
    check_unsupported("Reshape", {"x": x, "shape": np.array([6, 4])}, "must be a constant")


@pytest.mark.parametrize("axis", [0, 1, 2, 3, -1, -3])
def test_flatten(axis: int, x: np.ndarray) -> None:
    check_node("Flatten", {"x": x}, axis=axis)


def test_flatten_refuses(x: np.ndarray) -> None:
    check_invalid("Flatten", {"x": x}, "outside", axis=4)


@pytest.mark.parametrize("opset", [11, 13])
def test_squeeze_and_unsqueeze(opset: int) -> None:
    x = np.arange(6, dtype=np.float32).reshape(1, 2, 1, 3)
    for axes in ([0], [-2], [0, 2]):
        options = {"axes": axes} if opset == 11 else {"constants": {"axes": np.array(axes)}}
        check_node("Squeeze", {"x": x}, opset=opset, **options)
        check_node("Unsqueeze", {"x": x}, opset=opset, **options)
    check_node("Squeeze", {"x": x}, opset=opset)
    check_node("Squeeze", {"x": np.ones((1, 1), np.float32)}, opset=opset)


def test_squeeze_and_unsqueeze_refuse(x: np.ndarray) -> None:
    check_invalid("Squeeze", {"x": x}, "size 1", constants={"axes": np.array([1])})
    check_invalid("Unsqueeze", {"x": x}, "twice", constants={"axes": np.array([0, 0])})
    check_invalid("Unsqueeze", {"x": x}, "outside", constants={"axes": np.array([5])})


@pytest.mark.parametrize("perm", [None, [0, 1, 2], [2, 0, 1], [1, 2, 0], [0, 2, 1]])
@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.bool_])
def test_transpose(perm: list[int] | None, dtype: type, x: np.ndarray) -> None:
    check_node("Transpose", {"x": x.astype(dtype)}, **({"perm": perm} if perm else {}))


def test_transpose_refuses(x: np.ndarray) -> None:
    check_invalid("Transpose", {"x": x}, "no permutation", perm=[0, 1, 1])


@pytest.mark.parametrize("shape", [[2, 3, 4], [4], [5, 1, 3, 1], [1, 1]])
def test_expand(shape: list[int]) -> None:
    x = np.arange(3, dtype=np.int64).reshape(3, 1)
    check_node("Expand", {"x": x}, constants={"shape": np.array([*shape[:-1], 1, 4])})
    check_node("Expand", {"x": x[:1, :1]}, constants={"shape": np.array(shape)})


def test_expand_a_large_constant() -> None:
    shape = np.array([80, 90])
    model = node_model("Expand", {}, constants={"x": np.array(3.5, np.float32), "shape": shape})
    np.testing.assert_array_equal(run(model, {})[0], np.full((80, 90), 3.5, np.float32))


@pytest.mark.parametrize("repeats", [[1, 1, 1], [2, 1, 3], [1, 4, 1], [0, 2, 1]])
def test_tile(repeats: list[int], x: np.ndarray) -> None:
    check_node("Tile", {"x": x}, constants={"r": np.array(repeats)})


def test_tile_refuses(x: np.ndarray) -> None:
    check_invalid("Tile", {"x": x}, "do not fit", constants={"r": np.array([1, 2])})


def test_shape_and_size(x: np.ndarray) -> None:
    check_node("Shape", {"x": x})
    check_node("Size", {"x": x})
    for start, end in ((0, 2), (1, 3), (-2, 9), (-9, -1), (2, 1)):
        check_node("Shape", {"x": x}, start=start, end=end)


def test_identity(x: np.ndarray) -> None:
    check_node("Identity", {"x": x})


@pytest.mark.parametrize("mode", ["DCR", "CRD"])
@pytest.mark.parametrize("block", [1, 2, 3])
def test_depth_to_space(mode: str, block: int) -> None:
    shape = (2, 2 * block * block, 3, 4)
    x = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    check_node("DepthToSpace", {"x": x}, blocksize=block, mode=mode)


@pytest.mark.parametrize("block", [1, 2, 3])
def test_space_to_depth(block: int) -> None:
    x = np.random.default_rng(0).standard_normal((2, 3, 2 * block, 5 * block)).astype(np.float32)
    check_node("SpaceToDepth", {"x": x}, blocksize=block)


def test_blocks_must_fit() -> None:
    x = np.ones((1, 6, 4, 4), np.float32)
    check_invalid("DepthToSpace", {"x": x}, "no multiple", blocksize=2)
    check_invalid("SpaceToDepth", {"x": x}, "no multiples", blocksize=3)
    check_invalid("DepthToSpace", {"x": x}, "not DCR or CRD", blocksize=1, mode="ABC")
    check_invalid("DepthToSpace", {"x": x[0]}, "rank 3", blocksize=1)
