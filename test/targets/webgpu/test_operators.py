# SPDX-License-Identifier: MIT OR Apache-2.0
"""Operators on a GPU behind WebGPU compute what onnxruntime does."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from harness import (
    check_compiled,
    compare,
    graph_model,
    node_model,
    operators_model,
    reference,
    run_compiled,
)

import xyntra
from xyntra.errors import InputError

pytestmark = pytest.mark.usefixtures("has_gpu")
RNG = np.random.default_rng(7)
HARD = np.array(
    [np.inf, -np.inf, np.nan, 0.0, -0.0, 3.4e38, -3.4e38, 1e-30, 88.5, -88.5, 104.0, 0.5, -0.5],
    np.float32,
)
FUNCTIONS = (
    "Exp Log Tanh Erf Sigmoid Softplus Sin Cos Tan Atan Sinh Cosh Sqrt Reciprocal Floor Round Ceil "
    "Abs Neg Sign Elu Gelu HardSigmoid IsNaN IsInf Relu"
).split()


def normal(*shape: int, dtype: Any = np.float32) -> np.ndarray:
    return RNG.standard_normal(shape).astype(dtype)


def check(model: onnx.ModelProto, feeds: Mapping[str, np.ndarray], **tolerances: float) -> None:
    check_compiled(model, feeds, target="webgpu", strict=True, **tolerances)


def test_functions_of_random_and_hard_numbers() -> None:
    x = np.concatenate([HARD, 3 * normal(1000)])
    check(operators_model(FUNCTIONS, {"x": x}), {"x": x}, rtol=2e-6, atol=2e-6)


@pytest.mark.parametrize("op", ["Add", "Sub", "Mul", "Div", "Pow", "Max", "Min"])
@pytest.mark.parametrize("shapes", [((7, 33), (33,)), ((5, 1, 3), (4, 1)), ((0, 3), (3,))], ids=str)
def test_broadcasting(op: str, shapes: tuple[tuple[int, ...], ...]) -> None:
    feeds = {name: abs(normal(*shape)) + 0.1 for name, shape in zip("ab", shapes, strict=True)}
    check(node_model(op, feeds), feeds)


def test_rows_without_elements_are_fused() -> None:
    x = normal(32, 1, 0)
    nodes = [
        onnx.helper.make_node("Softmax", ["x"], ["p"]),
        onnx.helper.make_node("Mul", ["p", "p"], ["y"]),
    ]
    check(graph_model(nodes, {"x": x}, ["y"]), {"x": x})


def test_rows_whose_elements_lie_apart_have_room() -> None:
    feeds = {"x": normal(2, 3, 4, 2), "w": normal(1, 1, 1, 3)}
    nodes = [
        onnx.helper.make_node("Transpose", ["x"], ["t"], perm=[0, 3, 2, 1]),
        onnx.helper.make_node("Mul", ["t", "w"], ["p"]),
        onnx.helper.make_node("ReduceSum", ["p", "axes"], ["s"], keepdims=1),
        onnx.helper.make_node("Add", ["p", "s"], ["y"]),
    ]
    check(graph_model(nodes, feeds, ["y"], {"axes": np.arange(3)}), feeds)


def test_exponentials_of_large_numbers_keep_their_digits() -> None:
    x = np.linspace(-87, 88, 501, dtype=np.float32)
    check(node_model("Exp", {"x": x}), {"x": x}, rtol=5e-7, atol=0)


def test_comparisons_know_nan() -> None:
    values = np.array([np.nan, 1.0, -1.0, np.inf, -np.inf, 0.0, -0.0], np.float32)
    feeds = {"a": np.repeat(values, 7), "b": np.tile(values, 7)}
    check(operators_model("Less LessOrEqual Greater GreaterOrEqual Equal".split(), feeds), feeds)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.int64])
def test_integers(dtype: Any) -> None:
    info = np.iinfo(dtype)
    a = RNG.integers(info.min, info.max, 257, dtype, endpoint=True)
    b = RNG.integers(1, info.max, 257, dtype, endpoint=True)
    a[:2] = info.min, info.max
    feeds = {"a": a, "b": b}
    names = ["Add", "Sub", "Mul"] + (["Div", "Max", "Less", "Equal"] if info.bits > 16 else [])
    check(operators_model(names, feeds), feeds)
    casts = [
        onnx.helper.make_node("Cast", ["a"], [f"y{kind}"], to=kind)
        for kind in (onnx.TensorProto.FLOAT, onnx.TensorProto.INT64, onnx.TensorProto.BOOL)
    ]
    check(graph_model(casts, {"a": a}, [each.output[0] for each in casts]), {"a": a})


def test_remainders_of_floats() -> None:
    a = np.concatenate([HARD, np.float32([5.5, 1e8, 123456.7, 1e30, 1e-40, 7, 3]), 90 * normal(99)])
    b = np.concatenate([np.float32([2, -3, 0.1, 1e-42, np.inf, 0]), normal(50)])
    feeds = {"a": np.repeat(a, b.size), "b": np.tile(b, a.size)}
    found = run_compiled(node_model("Mod", feeds, fmod=1), feeds, target="webgpu", strict=True)
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(found[0], np.fmod(feeds["a"], feeds["b"]))


def test_wide_integers_are_exact() -> None:
    big = np.array([2**62 + 12345, -(2**62) - 99, 2**40 + 7, -1, 0, 2**31, -(2**31), 5], np.int64)
    feeds = {"a": np.repeat(big, 8), "b": np.tile(big + (big == 0), 8)}
    check(operators_model("Add Sub Mul Div Mod Less Equal Max".split(), feeds), feeds)


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_rows_and_reductions(dtype: Any) -> None:
    x = normal(9, 5, 333, dtype=dtype)
    loose = {"rtol": 2e-3, "atol": 2e-3} if dtype == np.float16 else {}
    for op, given in {
        "Softmax": {"axis": -1},
        "LogSoftmax": {"axis": 1},
        "ReduceSum": {"keepdims": 0},
        "ReduceMax": {"keepdims": 1},
        "ArgMax": {"axis": 2},
    }.items():
        check(node_model(op, {"x": x}, **given), {"x": x}, **loose)  # type: ignore[arg-type]


def test_long_and_many_rows() -> None:
    x = normal(3, 70_000)
    check(node_model("Softmax", {"x": x}), {"x": x})
    x = normal(70_000, 5)
    check(node_model("ReduceMean", {"x": x}, constants={"a": np.array([1])}), {"x": x})


@pytest.mark.parametrize("sizes", [(33, 65, 17), (1, 128, 64), (70, 1, 70)], ids=str)
def test_products(sizes: tuple[int, int, int]) -> None:
    m, k, n = sizes
    feeds = {"a": normal(m, k), "b": normal(k, n)}
    check(node_model("MatMul", feeds), feeds, rtol=1e-4, atol=1e-4)


def test_convolution_and_pooling() -> None:
    feeds = {"x": normal(2, 6, 19, 23), "w": normal(8, 3, 3, 3)}
    check(node_model("Conv", feeds, group=2, pads=[1, 1, 1, 1], strides=[2, 1]), feeds, atol=1e-4)
    x = {"x": feeds["x"]}
    check(node_model("MaxPool", x, kernel_shape=[3, 3], pads=[1, 1, 1, 1]), x)
    check(node_model("AveragePool", x, kernel_shape=[2, 2], strides=[2, 2]), x)


def test_gather_scatter_sort_and_scan() -> None:
    x, at = normal(20, 9), np.array([[3, -1], [0, 19]], np.int64)
    check(node_model("Gather", {"x": x, "i": at}), {"x": x, "i": at})
    to = np.argsort(normal(20, 9), axis=0)
    feeds = {"x": x, "i": to, "u": normal(20, 9)}
    check(node_model("ScatterElements", feeds), feeds)
    check(node_model("TopK", {"x": x}, constants={"k": np.array([4])}, outputs=2), {"x": x})
    check(node_model("CumSum", {"x": x}, constants={"a": np.array(0)}), {"x": x}, atol=1e-5)


def test_attention() -> None:
    feeds = {name: normal(2, 3, 37, 16) for name in "qkv"}
    check(node_model("Attention", feeds, opset=23), feeds, atol=1e-5)


@pytest.mark.parametrize("op", ["Concat", "Sum"])
def test_more_tensors_than_can_be_bound(op: str) -> None:
    feeds = {f"x{number}": normal(5, 7) for number in range(14)}
    check(node_model(op, feeds, **({"axis": 1} if op == "Concat" else {})), feeds)


def test_bytes_that_threads_share_words_of() -> None:
    x = normal(999)
    check(node_model("Cast", {"x": x}, to=onnx.TensorProto.BOOL), {"x": x})
    feeds = {"x": RNG.integers(0, 255, (13, 7), np.uint8)}
    check(node_model("Transpose", feeds), feeds)


def test_calls_of_a_saved_model(tmp_path: Path) -> None:
    x, w = normal(5, 64), normal(64, 3)
    nodes = [
        onnx.helper.make_node("MatMul", ["x", "w"], ["a"]),
        onnx.helper.make_node("Relu", ["a"], ["y"]),
    ]
    model = graph_model(nodes, {"x": x}, ["y"], {"w": w})
    wanted = reference(model, {"x": x})
    xyntra.compile(model, target="webgpu", config={"isolate": False}).save(tmp_path / "m.xyn")
    loaded = xyntra.load(tmp_path / "m.xyn")
    for _ in range(2):
        compare([loaded(x)], wanted, 1e-4, 1e-5)
    out = np.empty((5, 3), np.float32)
    assert loaded(x, out=[out])[0] is out or np.array_equal(out, loaded(x))
    compare([out], wanted, 1e-4, 1e-5)
    assert all(each >= 0 for each in loaded.time_kernels({"x": x}))
    with pytest.raises(InputError, match="has the shape"):
        loaded(x[:2])


def test_padding_is_divided_by_and_multiplied_with_as_a_number() -> None:
    feeds = {"x": normal(2, 5), "a": np.array([[1.0], [-np.inf]], np.float32)}
    nodes = [
        onnx.helper.make_node("Pad", ["x", "pads"], ["p"]),
        onnx.helper.make_node("Div", ["a", "p"], ["quotient"]),
        onnx.helper.make_node("Mul", ["a", "p"], ["product"]),
    ]
    pads = {"pads": np.array([0, 2, 0, 1])}
    check(graph_model(nodes, feeds, ["quotient", "product"], pads), feeds)


def test_many_reductions_of_single_numbers_are_not_begun_in_one_launch() -> None:
    x = normal(1)
    nodes = [onnx.helper.make_node("LogSoftmax", [a], [b], axis=0) for a, b in ("xa", "ab", "bc")]
    nodes.append(onnx.helper.make_node("ReduceSum", ["c"], ["y"]))
    check(graph_model(nodes, {"x": x}, ["y"]), {"x": x})
