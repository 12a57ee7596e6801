# SPDX-License-Identifier: MIT OR Apache-2.0
"""Tensors without elements in every family of operators, with fusion, against onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from arrays import normal, positive
from harness import check_compiled, node_model, run_compiled
from refusals import check_invalid

EMPTY = [(0, 2, 3, 4), (2, 0, 3, 4), (2, 2, 0, 4), (2, 2, 3, 0), (0, 0, 0, 0)]


def _check(op: str, shape: tuple[int, ...], *more: np.ndarray, **options: Any) -> None:
    arrays = [normal(*shape), *more]
    feeds = dict(zip("xyzuv", arrays, strict=False))
    check_compiled(node_model(op, feeds, **options), feeds)


def _check_norm(op: str, shape: tuple[int, ...], *more: np.ndarray, **options: Any) -> None:
    """The result is as empty as the input; onnxruntime refuses some."""
    feeds = dict(zip("xyzuv", [normal(*shape), *more], strict=False))
    (found,) = run_compiled(node_model(op, feeds, **options), feeds)
    assert (found.shape, found.dtype) == (shape, np.float32)


@pytest.mark.parametrize("shape", EMPTY)
def test_norms(shape: tuple[int, ...]) -> None:
    channels = [normal(shape[1], seed=seed) for seed in range(2)]
    _check_norm("InstanceNormalization", shape, *channels)
    _check_norm("GroupNormalization", shape, *channels, num_groups=2, opset=21)
    _check_norm("BatchNormalization", shape, *channels, normal(shape[1]), positive(shape[1]))
    for axis in (-1, 1):
        part = normal(*shape[axis:])
        _check_norm("LayerNormalization", shape, part, part, axis=axis, opset=17)
        _check_norm("RMSNormalization", shape, part, axis=axis, opset=23)
        _check_norm("LpNormalization", shape, axis=axis)
        _check_norm("LogSoftmax", shape, axis=axis)
    _check_norm("MeanVarianceNormalization", shape)
    _check_norm("LRN", shape, size=3)


@pytest.mark.parametrize("shape", EMPTY)
def test_reductions_and_products(shape: tuple[int, ...]) -> None:
    for op in ("ReduceMax", "ReduceProd", "ReduceLogSumExp"):
        _check(op, shape, constants={"a": np.array([1, 3])})
    _check("MatMul", shape, normal(shape[3], 5))
    _check("Einsum", shape, normal(shape[3], 2), equation="abcd,de->abe")
    if 0 not in shape[1:]:  # onnxruntime refuses images without channels or pixels
        _check("Conv", shape, normal(3, shape[1], 1, 1))


@pytest.mark.parametrize("shape", EMPTY)
def test_movements(shape: tuple[int, ...]) -> None:
    _check("Transpose", shape, perm=[3, 1, 0, 2])
    _check("Pad", shape, constants={"p": np.array([1, 0, 0, 1, 0, 1, 0, 1])})
    _check("Concat", shape, normal(*shape), axis=1)
    _check("GatherElements", shape, np.zeros(shape, np.int64), axis=0)
    _check("ScatterND", shape, np.zeros((0, 2), np.int64), normal(0, *shape[2:]))
    _check("CumSum", shape, constants={"a": np.array(1)})
    _check("TopK", shape, constants={"k": np.array([min(1, shape[1])])}, axis=1, outputs=2)


@pytest.mark.parametrize("op", ["ArgMax", "ArgMin"])
def test_extremes_of_no_rows(op: str) -> None:
    for shape, axis in (((0, 3), 1), ((3, 0), 0), ((0, 0), 1)):
        x = {"x": normal(*shape)}
        for keepdims in (0, 1):
            (found,) = run_compiled(node_model(op, x, axis=axis, keepdims=keepdims), x)
            assert found.dtype == np.int64
            assert found.shape == x["x"].sum(axis, keepdims=bool(keepdims)).shape
    check_invalid(op, {"x": normal(2, 0)}, "no elements", axis=1)


def test_samples_of_no_images() -> None:
    for image, grid in (((0, 2, 0, 3), (0, 2, 2, 2)), ((2, 2, 0, 3), (2, 0, 2, 2))):
        x = {"x": normal(*image), "y": normal(*grid)}
        (found,) = run_compiled(node_model("GridSample", x), x)
        assert found.shape == (*image[:2], *grid[1:3])
    x = {"x": normal(0, 2, 2, 2), "y": np.zeros((0, 2, 2, 2), np.int64)}
    (found,) = run_compiled(node_model("MaxUnpool", x, kernel_shape=[2, 2]), x)
    assert found.shape == (0, 2, 3, 3)


@pytest.mark.parametrize(("op", "gates", "states"), [("LSTM", 4, 2), ("GRU", 3, 1), ("RNN", 1, 1)])
def test_recurrence_over_no_steps(op: str, gates: int, states: int) -> None:
    """The last states are the initial ones."""
    x = {"x": normal(0, 2, 3), "w": normal(2, gates * 4, 3), "r": normal(2, gates * 4, 4)}
    initial = {f"h{i}": normal(2, 2, 4, seed=i) for i in range(states)}
    names = [*x, "", "", *initial]
    options = {"names": names, "outputs": 1 + states, "direction": "bidirectional"}
    model = node_model(op, x | initial, hidden_size=4, **options)
    outputs, *last = run_compiled(model, x | initial)
    assert outputs.shape == (0, 2, 2, 4)
    for found, wanted in zip(last, initial.values(), strict=True):
        np.testing.assert_array_equal(found, wanted)
