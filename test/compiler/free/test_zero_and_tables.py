# SPDX-License-Identifier: MIT OR Apache-2.0
"""Free dimensions that may be 0, and tables that are computed of sizes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import onnx
import pytest
from onnx_models import make_model

import xyntra
from xyntra.errors import InputError
from xyntra.executable import Executable

Array = np.ndarray[Any, Any]
HEADS, SIZE = 2, 8
RANGES = {"batch": range(1, 4), "seq": range(1, 33), "past": range(65)}


def _decoder() -> onnx.ModelProto:
    """Attention of new positions to those of a past and to themselves."""
    node = onnx.helper.make_node
    past = ["batch", HEADS, "past", SIZE]
    return make_model(
        [
            node("Reshape", ["x", "split"], ["x1"]),
            node("Transpose", ["x1"], ["x2"], perm=[0, 2, 1, 3]),
            node("Concat", ["keys", "x2"], ["all_keys"], axis=2),
            node("Concat", ["values", "x2"], ["all_values"], axis=2),
            node("Transpose", ["all_keys"], ["turned"], perm=[0, 1, 3, 2]),
            node("MatMul", ["x2", "turned"], ["s1"]),
            node("Add", ["s1", "mask"], ["s2"]),
            node("Softmax", ["s2"], ["s3"], axis=-1),
            node("MatMul", ["s3", "all_values"], ["y1"]),
            node("Transpose", ["y1"], ["y2"], perm=[0, 2, 1, 3]),
            node("Reshape", ["y2", "joined"], ["y"]),
        ],
        {
            "x": ["batch", "seq", HEADS * SIZE],
            "keys": past,
            "values": past,
            "mask": ["batch", 1, "seq", "past + seq"],
        },
        ["y", "all_keys", "all_values"],
        {"split": np.array([0, 0, HEADS, SIZE]), "joined": np.array([0, 0, HEADS * SIZE])},
    )


def _inputs(batch: int, seq: int, past: int) -> tuple[Array, ...]:
    rng = np.random.default_rng(batch * 1000 + seq * 10 + past)
    shapes = (batch, seq, HEADS * SIZE), *[(batch, HEADS, past, SIZE)] * 2
    mask = np.where(rng.random((batch, 1, seq, past + seq)) < 0.2, -1e4, 0)
    return *(rng.standard_normal(shape).astype(np.float32) for shape in shapes), np.float32(mask)


def _expected(x: Array, keys: Array, values: Array, mask: Array) -> tuple[Array, ...]:
    heads = x.reshape(*x.shape[:2], HEADS, SIZE).swapaxes(1, 2)
    keys, values = (np.concatenate([each, heads], 2) for each in (keys, values))
    scores = heads.astype(np.float64) @ keys.swapaxes(2, 3) + mask
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    return (weights @ values).swapaxes(1, 2).reshape(x.shape), keys, values


@pytest.mark.parametrize(
    ("row", "past", "seq"), [(0, range(48), range(1, 7)), (-1, range(1, 48), range(7))]
)
def test_a_row_of_a_concatenation_may_be_of_either_part(row: int, past: range, seq: range) -> None:
    node = onnx.helper.make_node
    model = make_model(
        [
            node("Concat", ["past", "x"], ["all"], axis=0),
            node("Gather", ["all", "row"], ["one"], axis=0),
            node("Sigmoid", ["one"], ["y"]),
        ],
        {"past": ["past", 8], "x": ["seq", 8]},
        ["y"],
        {"row": np.array(row)},
    )
    settings = {"cache": False, "strict": True}
    exe = xyntra.compile(model, target="cpu", dims={"past": past, "seq": seq}, config=settings)
    rng = np.random.default_rng(0)
    for sizes in ((past[0], seq[0]), (past[0], 6), (1, 1), (47, seq[0])):
        parts = [rng.standard_normal((size, 8)).astype(np.float32) for size in sizes]
        found = exe(*parts)
        np.testing.assert_allclose(found, 1 / (1 + np.exp(-np.vstack(parts)[row])), rtol=1e-5)


@pytest.fixture(scope="module")
def decoder() -> Executable:
    settings = {"cache": False, "strict": True}
    return xyntra.compile(_decoder(), target="cpu", dims=RANGES, config=settings)


@pytest.mark.parametrize(
    ("batch", "seq", "past"), [(1, 1, 0), (3, 32, 0), (2, 7, 0), (2, 1, 1), (1, 1, 64), (3, 5, 17)]
)
def test_prompts_and_later_tokens_take_one_compilation(
    decoder: Executable, batch: int, seq: int, past: int
) -> None:
    given = _inputs(batch, seq, past)
    for found, expected in zip(decoder(*given), _expected(*given), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_attention_to_a_past_is_blocked_for_all_sizes(decoder: Executable) -> None:
    assert decoder.plan.free is not None
    assert not any("loops" in each.words for each in decoder.plan.free.kernels)


def test_what_has_no_elements_is_not_computed(decoder: Executable) -> None:
    given = _inputs(1, 3, 0)
    assert len(decoder.time_kernels(dict(zip("x keys values mask".split(), given, strict=True))))
    with pytest.raises(InputError, match="seq = 0 is not in its range"):
        decoder(*_inputs(1, 0, 3))


@pytest.mark.parametrize("n", [0, 1, 11])
def test_sums_of_nothing_are_zero(n: int, sums: Executable) -> None:
    x = np.random.default_rng(n).standard_normal((n, 24)).astype(np.float32)
    rows, columns, product, same = sums(x)
    np.testing.assert_allclose(rows, x.sum(1), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(columns, x.sum(0), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(product, x.T @ x, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(same, np.tanh(x), rtol=1e-5, atol=1e-6)


@pytest.fixture(scope="module")
def sums() -> Executable:
    node = onnx.helper.make_node
    nodes = [
        node("ReduceSum", ["x", "one"], ["rows"], keepdims=0),
        node("ReduceSum", ["x", "zero"], ["columns"], keepdims=0),
        node("Transpose", ["x"], ["t"], perm=[1, 0]),
        node("MatMul", ["t", "x"], ["product"]),
        node("Tanh", ["x"], ["same"]),
    ]
    axes = {"zero": np.array([0]), "one": np.array([1])}
    model = make_model(nodes, {"x": ["n", 24]}, ["rows", "columns", "product", "same"], axes)
    settings = {"cache": False, "strict": True}
    return xyntra.compile(model, target="cpu", dims={"n": range(80)}, config=settings)


def test_what_is_computed_of_weights_and_sizes_is_not_prepared() -> None:
    """A table of positions is a value of weights and of a size, which a kernel reads as such."""
    weights = np.random.default_rng(5).standard_normal((16, 24)).astype(np.float32)
    node = onnx.helper.make_node
    nodes = [
        node("MatMul", ["x", "w"], ["y"]),
        node("Shape", ["x"], ["shape"], start=0, end=1),
        node("Squeeze", ["shape"], ["count"]),
        node("Range", ["from", "count", "step"], ["places"]),
        node("Cast", ["places"], ["floats"], to=1),
        node("Unsqueeze", ["floats", "axis"], ["column"]),
        node("Sin", ["column"], ["sines"]),
        node("Add", ["y", "sines"], ["z"]),
    ]
    held = {"w": weights, "from": np.array(0), "step": np.array(1), "axis": np.array([1])}
    model = make_model(nodes, {"x": ["n", 16]}, ["z"], held)
    settings = {"cache": False, "strict": True}
    exe = xyntra.compile(model, target="cpu", dims={"n": range(1, 80)}, config=settings)
    for n in (1, 5, 37):
        x = np.random.default_rng(n).standard_normal((n, 16)).astype(np.float32)
        expected = x @ weights + np.sin(np.arange(n))[:, None]
        np.testing.assert_allclose(exe(x), expected, rtol=1e-4, atol=1e-5)


def test_tables_with_a_size_among_their_elements_are_computed_in_calls() -> None:
    """Where each row of a flat array begins is a table of fixed size, with sizes in it."""
    node = onnx.helper.make_node
    nodes = [
        node("Shape", ["x"], ["n"], start=1, end=2),
        node("Mul", ["numbers", "n"], ["begins"]),
        node("Squeeze", ["n"], ["count"]),
        node("Range", ["from", "count", "step"], ["places"]),
        node("Unsqueeze", ["places", "axis"], ["column"]),
        node("Add", ["column", "begins"], ["where"]),
        node("Reshape", ["x", "flat"], ["all"]),
        node("Gather", ["all", "where"], ["y"]),
    ]
    held = {"numbers": np.array([0, 1, 2]), "from": np.array(0), "step": np.array(1)}
    held |= {"axis": np.array([1]), "flat": np.array([-1])}
    model = make_model(nodes, {"x": [3, "n"]}, ["y"], held)
    settings = {"cache": False, "strict": True}
    exe = xyntra.compile(model, target="cpu", dims={"n": range(1, 80)}, config=settings)
    for n in (1, 5, 37):
        x = np.random.default_rng(n).standard_normal((3, n)).astype(np.float32)
        np.testing.assert_array_equal(exe(x), x.T)


def test_numbers_divided_by_a_size_are_told() -> None:
    """A factor that is folded into that of a mean is a constant at each size."""
    node = onnx.helper.make_node
    nodes = [
        node("ReduceMean", ["x", "axis"], ["m"], keepdims=0),
        node("Mul", ["m", "half"], ["h"]),
        node("Erf", ["h"], ["e"]),
        node("Mul", ["m", "e"], ["y"]),
    ]
    held = {"axis": np.array([1]), "half": np.float32(0.7071)}
    model = make_model(nodes, {"x": [8, "n", 24]}, ["y"], held)
    settings = {"cache": False, "strict": True}
    exe = xyntra.compile(model, target="cpu", dims={"n": range(1, 80)}, config=settings)
    for n in (1, 5, 37):
        x = np.random.default_rng(n).random((8, n, 24), np.float32)
        means = x.mean(1)
        erf = np.vectorize(math.erf)(0.7071 * means.astype(np.float64))
        np.testing.assert_allclose(exe(x), means * erf, rtol=1e-5, atol=1e-6)
