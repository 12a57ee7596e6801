# SPDX-License-Identifier: MIT OR Apache-2.0
"""Cumulative operators and TopK, against onnxruntime and numpy."""

from __future__ import annotations

import numpy as np
import pytest
from harness import check_compiled, check_node, node_model, run, run_compiled
from refusals import check_invalid, check_unsupported


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("exclusive", [0, 1])
@pytest.mark.parametrize("reverse", [0, 1])
def test_cum_sum(axis: int, exclusive: int, reverse: int) -> None:
    x = np.random.default_rng(0).standard_normal((3, 4, 5)).astype(np.float32)
    options = {"constants": {"a": np.array(axis)}, "exclusive": exclusive, "reverse": reverse}
    check_node("CumSum", {"x": x}, **options)


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float64])
def test_cum_sum_of_dtypes(dtype: type) -> None:
    check_node("CumSum", {"x": np.arange(9).astype(dtype)}, constants={"a": np.array(0, np.int32)})


def test_cum_sum_of_half_accumulates_wide() -> None:
    x = np.ones((4100,), np.float16)
    (found,) = run(node_model("CumSum", {"x": x}, opset=28, constants={"a": np.array(0)}), {"x": x})
    np.testing.assert_array_equal(found, np.arange(1, 4101).astype(np.float16))


@pytest.mark.parametrize("exclusive", [0, 1])
@pytest.mark.parametrize("reverse", [0, 1])
def test_cum_prod(exclusive: int, reverse: int) -> None:
    x = np.array([[2.0, 3.0, 4.0], [1.0, 0.5, -2.0]])
    options = {"constants": {"a": np.array(1)}, "exclusive": exclusive, "reverse": reverse}
    (found,) = run(node_model("CumProd", {"x": x}, opset=26, **options), {"x": x})
    turned = x[:, ::-1] if reverse else x
    wanted = np.cumprod(turned, axis=1)
    if exclusive:
        wanted = np.concatenate([np.ones((2, 1)), wanted[:, :-1]], axis=1)
    np.testing.assert_allclose(found, wanted[:, ::-1] if reverse else wanted)


@pytest.mark.parametrize("exclusive", [0, 1])
@pytest.mark.parametrize("reverse", [0, 1])
@pytest.mark.parametrize("shape", [(1,), (1, 1), (3, 1), (1, 3), (0,), (2, 0), (2, 1, 3)])
def test_cumulating_short_axes_in_fused_kernels(
    shape: tuple[int, ...], reverse: int, exclusive: int
) -> None:
    """Loops of one iteration, which are no loops any more once they are simplified."""
    x = np.random.default_rng(0).integers(-9, 9, shape)
    options = {"exclusive": exclusive, "reverse": reverse}
    for axis in range(-len(shape), len(shape)):
        axes = {"a": np.array(axis)}
        for dtype in (np.float32, np.float64, np.int32, np.int64):
            feeds = {"x": x.astype(dtype)}
            check_compiled(node_model("CumSum", feeds, constants=axes, **options), feeds)
        if x.shape[axis] == 1 and not reverse:
            feeds = {"x": x}
            model = node_model("CumProd", feeds, opset=26, constants=axes, **options)
            wanted = np.ones_like(x) if exclusive else x
            np.testing.assert_array_equal(run_compiled(model, feeds)[0], wanted)


def test_cumulating_nothing_and_wrongly() -> None:
    check_node("CumSum", {"x": np.zeros((0, 3), np.float32)}, constants={"a": np.array(1)})
    x = np.ones((2, 2), np.float32)
    check_invalid("CumSum", {"x": x}, "outside", constants={"a": np.array(2)})
    check_unsupported("CumSum", {"x": x, "a": np.array(0)}, "must be a constant")


@pytest.mark.parametrize("largest", [0, 1])
@pytest.mark.parametrize(("axis", "k"), [(-1, 1), (-1, 3), (1, 6), (0, 2), (2, 5)])
def test_top_k(axis: int, k: int, largest: int) -> None:
    x = np.random.default_rng(1).integers(0, 6, (3, 6, 5)).astype(np.float32)
    options = {"constants": {"k": np.array([k])}, "outputs": 2, "axis": axis, "largest": largest}
    check_node("TopK", {"x": x}, **options)
    check_node("TopK", {"x": x.astype(np.int64)}, **options)


def test_top_k_of_many() -> None:
    x = np.random.default_rng(2).standard_normal((2, 3000)).astype(np.float32)
    check_node("TopK", {"x": x}, constants={"k": np.array([50])}, outputs=2)


@pytest.mark.parametrize("length", [1, 2, 8, 9, 31, 33, 64, 100, 513])
@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int8, np.uint8, np.int32, np.uint32])
def test_sorting_whole_axes(length: int, dtype: type) -> None:
    generator = np.random.default_rng(length)
    x = generator.integers(0, 120, (2, length)).astype(dtype)
    if np.dtype(dtype).kind != "u":
        x -= np.array(60, dtype)
    for largest in (0, 1):
        options = {"constants": {"k": np.array([length])}, "outputs": 2, "largest": largest}
        values, places = run(node_model("TopK", {"x": x}, **options), {"x": x})
        wide = x.astype(np.float64)
        expected = np.argsort(-wide if largest else wide, axis=1, kind="stable")
        np.testing.assert_array_equal(places, expected)
        np.testing.assert_array_equal(values, np.take_along_axis(x, expected, 1))


def test_zeros_of_both_signs_are_equal() -> None:
    x = np.array([0.0, -0.0, 1, 0.0, -0.0], np.float32)
    values, places = run(
        node_model("TopK", {"x": x}, constants={"k": np.array([5])}, outputs=2), {"x": x}
    )
    assert places.tolist() == [2, 0, 1, 3, 4]
    assert np.signbit(values).tolist() == [False, False, True, False, True]


@pytest.mark.parametrize(("length", "k"), [(31, 3), (32, 1), (33, 5), (1000, 7)])
def test_the_best_of_many(length: int, k: int) -> None:
    x = np.random.default_rng(length).standard_normal((3, length)).astype(np.float32)
    x[0, ::3], x[1] = np.nan, np.nan
    options = {"constants": {"k": np.array([k])}, "outputs": 2}
    values, places = run(node_model("TopK", {"x": x}, **options), {"x": x})
    order = np.where(np.isnan(x), np.inf, -x)
    np.testing.assert_array_equal(places, np.argsort(order, axis=1, kind="stable")[:, :k])
    np.testing.assert_array_equal(values, np.take_along_axis(x, places, 1))


GATHERED = {
    "random": lambda g, shape: g.standard_normal(shape),
    "growing": lambda g, shape: np.broadcast_to(np.arange(shape[1]), shape),
    "falling": lambda g, shape: np.broadcast_to(-np.arange(shape[1]), shape),
    "few-values": lambda g, shape: g.integers(0, 3, shape),
    "one-value": lambda g, shape: np.ones(shape),
    "nan": lambda g, shape: np.where(g.random(shape) < 0.9, np.nan, g.standard_normal(shape)),
    "infinite": lambda g, shape: g.choice([np.inf, -np.inf, 0.0, -0.0, 1e-45, 3e38], shape),
}


@pytest.mark.parametrize("largest", [0, 1])
@pytest.mark.parametrize(("length", "k"), [(700, 100), (2500, 100), (4099, 130), (20000, 60)])
@pytest.mark.parametrize("values", GATHERED)
def test_gathering_the_best(values: str, length: int, k: int, largest: int) -> None:
    """Of thousands of elements a hundred, in orders in which few or all may be among them."""
    x = GATHERED[values](np.random.default_rng(length), (2, length)).astype(np.float32)
    options = {"constants": {"k": np.array([k])}, "outputs": 2, "largest": largest}
    found, places = run(node_model("TopK", {"x": x}, **options), {"x": x})
    order = np.where(np.isnan(x), np.inf, -x if largest else x)
    worst = np.isnan(x)  # behind infinities, which are as large in `order`
    expected = np.lexsort((np.broadcast_to(np.arange(length), x.shape), worst, order), axis=1)
    np.testing.assert_array_equal(places, expected[:, :k])
    np.testing.assert_array_equal(found, np.take_along_axis(x, places, 1))


@pytest.mark.parametrize("dtype", [np.float16, np.int8, np.int32, np.uint32])
def test_gathering_the_best_along_other_axes(dtype: type) -> None:
    x = np.random.default_rng(5).integers(0, 120, (2500, 3)).astype(dtype)
    options = {"constants": {"k": np.array([100])}, "outputs": 2, "axis": 0}
    found, places = run(node_model("TopK", {"x": x}, **options), {"x": x})
    np.testing.assert_array_equal(
        places, np.argsort(-x.astype(np.float64), axis=0, kind="stable")[:100]
    )
    np.testing.assert_array_equal(found, np.take_along_axis(x, places, 0))


def test_top_k_by_attribute() -> None:
    x = np.random.default_rng(3).standard_normal((4, 7)).astype(np.float32)
    check_node("TopK", {"x": x}, opset=9, outputs=2, k=2)


@pytest.mark.parametrize("largest", [0, 1])
def test_nan_is_worse_than_every_number(largest: int) -> None:
    x = np.array([np.nan, 1, np.inf, np.nan, -np.inf, 0], np.float32)
    options = {"constants": {"k": np.array([6])}, "outputs": 2, "largest": largest}
    values, places = run(node_model("TopK", {"x": x}, **options), {"x": x})
    assert places.tolist() == ([2, 1, 5, 4, 0, 3] if largest else [4, 5, 1, 2, 0, 3])
    np.testing.assert_array_equal(values, x[places])


def test_top_k_refuses() -> None:
    x = np.ones((2, 3), np.float32)
    check_invalid("TopK", {"x": x}, "has 3 elements", constants={"k": np.array([4])}, outputs=2)
    check_unsupported("TopK", {"x": x, "k": np.array([1])}, "must be a constant", outputs=2)
    check_node("TopK", {"x": x}, constants={"k": np.array([0])}, outputs=2)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "int8"])
@pytest.mark.parametrize("shape", [(1,), (1, 1), (3, 1)])
def test_top_k_of_one_element(dtype: str, shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(3).integers(-9, 9, shape).astype(dtype)
    model = node_model("TopK", {"x": x}, constants={"k": np.array([1])}, outputs=2)
    values, places = run_compiled(model, {"x": x})
    np.testing.assert_array_equal(values, x)
    np.testing.assert_array_equal(places, np.zeros(shape, np.int64))
