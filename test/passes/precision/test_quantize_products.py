# SPDX-License-Identifier: MIT OR Apache-2.0
"""Models of f32 with products in 8 bits: numbers, ranges, budgets, files and refusals."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

import xyntra
from xyntra.compiler.calibration.histogram import Histogram
from xyntra.compiler.calibration.search import output_error
from xyntra.errors import ConfigError, InputError, UnsupportedError
from xyntra.tools.cli import run

RNG = np.random.default_rng(5)
Arrays = dict[str, np.ndarray]


def model(
    nodes: list[onnx.NodeProto], inputs: Arrays, weights: Arrays, opset: int = 20
) -> onnx.ModelProto:
    info = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes,
        "test",
        [info(name, TensorProto.FLOAT, array.shape) for name, array in inputs.items()],
        [info(nodes[-1].output[0], TensorProto.FLOAT, None)],
        [numpy_helper.from_array(array, name) for name, array in weights.items()],
    )
    opsets = [helper.make_opsetid("", opset)]
    return onnx.shape_inference.infer_shapes(
        helper.make_model(graph, opset_imports=opsets, ir_version=9)
    )


def normal(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


def two_products() -> tuple[onnx.ModelProto, list[Arrays], Arrays]:
    """Two products, the second one of a factor that is never negative."""
    weights = {"w": normal(48, 80) / 7, "b": normal(80), "v": normal(80, 24) / 9}
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["h"], name="first"),
        helper.make_node("Add", ["h", "b"], ["a"], name="bias"),
        helper.make_node("Relu", ["a"], ["r"], name="relu"),
        helper.make_node("MatMul", ["r", "v"], ["y"], name="second"),
    ]
    samples = [{"x": normal(3, 5, 48)} for _ in range(4)]
    return model(nodes, samples[0], weights), samples, weights


def convolutions() -> tuple[onnx.ModelProto, list[Arrays]]:
    """A padded convolution with a norm behind it, a grouped and a strided one, and a `Gemm`."""
    weights = {
        "f": normal(16, 12, 3, 3) / 10, "g": normal(16, 4, 5, 5) / 9, "d": normal(8, 16, 3, 3) / 9,
        "bias": normal(16), "scale": np.abs(normal(16)) + 0.5, "shift": normal(16),
        "mean": normal(16) / 4, "variance": np.abs(normal(16)) + 0.5, "m": normal(20, 72) / 8,
    }  # fmt: skip
    norm = ["c", "scale", "shift", "mean", "variance"]
    nodes = [
        helper.make_node("Conv", ["x", "f", "bias"], ["c"], name="padded", pads=[1, 1, 1, 1]),
        helper.make_node("BatchNormalization", norm, ["n"], name="norm"),
        helper.make_node("Relu", ["n"], ["r"], name="relu"),
        helper.make_node("Conv", ["r", "g"], ["h"], name="grouped", group=4, pads=[1, 2, 2, 1]),
        helper.make_node("Conv", ["h", "d"], ["s"], name="strided", strides=[2, 2]),
        helper.make_node("Flatten", ["s"], ["t"], name="flat"),
        helper.make_node("Gemm", ["t", "m"], ["y"], name="gemm", transB=1),
    ]
    samples = [{"x": normal(2, 12, 8, 8) + 0.7} for _ in range(4)]
    return model(nodes, samples[0], weights), samples


def relative(found: np.ndarray, exact: np.ndarray) -> float:
    difference = found.astype(np.float64) - exact.astype(np.float64)
    return float(np.sqrt(np.square(difference).mean() / np.square(exact).mean()))


def in_8_bits(
    x: np.ndarray, weight: np.ndarray, samples: np.ndarray, symmetric: bool
) -> np.ndarray:
    """The product as whole numbers give it, with the range of `samples`, in float64."""
    low, high = min(0.0, float(samples.min())), max(0.0, float(samples.max()))
    scale = np.float32(max(-low, high) / 127 if symmetric else (high - low) / 255)
    zero = 0 if symmetric else round(-low / float(scale))
    limits = (-128, 127) if symmetric else (0, 255)
    integers = np.clip(np.rint(x * np.float32(1 / scale)) + zero, *limits) - zero
    steps = (np.abs(weight).max(0) / np.float32(127)).astype(np.float64)
    return (integers @ np.rint(weight / steps.astype(np.float32))) * float(scale) * steps


@pytest.mark.parametrize("symmetric", [False, True])
def test_products_are_those_of_integers(symmetric: bool) -> None:
    source, samples, weights = two_products()
    config = {"symmetric": symmetric, "tolerance": 1.0, "calibration": "minmax"}
    exe = xyntra.compile(source, precision="int8", samples=samples, target="cpu", config=config)
    seen = np.concatenate([each["x"] for each in samples])
    middle = np.maximum(seen.astype(np.float64) @ weights["w"] + weights["b"], 0)
    for x in (samples[1]["x"], normal(3, 5, 48) * 3):  # beyond the range of samples, too
        first = np.maximum(in_8_bits(x, weights["w"], seen, symmetric) + weights["b"], 0)
        expected = in_8_bits(first.astype(np.float32), weights["v"], middle, symmetric)
        # A sum on the edge between two integers may be rounded to either.
        assert relative(exe(x), expected) < 2e-3
    assert "2 products in int8" in exe.explain()


def test_the_budget_keeps_products_in_f32() -> None:
    source, samples, weights = two_products()
    x = samples[0]["x"]
    exact = np.maximum(x.astype(np.float64) @ weights["w"] + weights["b"], 0) @ weights["v"]
    whole = xyntra.compile(source, precision="int8", samples=samples, target="cpu")
    error = relative(whole(x), exact)
    assert 1e-3 < error < 0.03
    part = xyntra.compile(
        source, precision="int8", samples=samples, target="cpu", tolerance=error * 0.6
    )
    assert relative(part(x), exact) < error * 0.65
    assert "1 products in int8" in part.explain()
    assert "by more than the tolerance of" in part.explain()
    none = xyntra.compile(source, precision="int8", samples=samples, target="cpu", tolerance=1e-9)
    assert relative(none(x), exact) < 1e-6


def outlier_rows() -> tuple[onnx.ModelProto, list[Arrays], Arrays]:
    """Products of rows of very different magnitudes, which are the same again afterwards."""
    s = np.float32(10) ** np.linspace(-3, 3, 12, dtype=np.float32)
    weights = {"w": normal(64, 40) / 8, "u": normal(64, 40) / 8}
    weights |= {"s": s.reshape(2, 6, 1), "t": s.reshape(12, 1)}
    nodes = [
        helper.make_node("Mul", ["x", "s"], ["f"], name="scale"),
        helper.make_node("Reshape", ["f", "shape"], ["r"], name="flat"),
        helper.make_node("MatMul", ["r", "w"], ["g"], name="first"),
        helper.make_node("MatMul", ["r", "u"], ["h"], name="second"),
        helper.make_node("Relu", ["h"], ["k"], name="relu"),
        helper.make_node("Add", ["g", "k"], ["a"], name="sum"),
        helper.make_node("Div", ["a", "t"], ["y"], name="back"),
    ]
    samples = [{"x": normal(2, 6, 64)} for _ in range(3)]
    source = model(nodes, samples[0], weights)
    source.graph.initializer.append(numpy_helper.from_array(np.array([12, 64], np.int64), "shape"))
    return source, samples, weights


def test_rows_have_scales_of_their_own_where_one_is_not_enough() -> None:
    source, samples, weights = outlier_rows()
    x = normal(2, 6, 64)
    x[0, 1] = 0  # a row of zeros, and one of tiny values
    x[0, 2] *= 1e-38
    exe = xyntra.compile(source, precision="int8", samples=samples, target="cpu", tolerance=0.03)
    assert "in int8 by rows" in exe.explain()
    assert "in f32, because" not in exe.explain()
    rows = (x.astype(np.float64) * weights["s"]).reshape(12, 64)
    exact = (rows @ weights["w"] + np.maximum(rows @ weights["u"], 0)) / weights["t"]
    expected = exe(x)
    assert relative(expected, exact) < 0.03
    for value in (np.inf, np.nan):
        bad = x.copy()
        bad[1, 0, 5] = value
        found = exe(bad)
        rest = np.arange(12) != 6
        assert not np.isfinite(found[6]).any()
        np.testing.assert_array_equal(found[rest], expected[rest])


def test_probabilities_keep_their_largest_one() -> None:
    exact = {"y": np.array([[0.5, 0.5], [0.9, 0.1], [0.45, 0.55]] * 6, np.float32)}
    near = {"y": np.array([[0.51, 0.49], [0.9, 0.1], [0.45, 0.55]] * 6, np.float32)}
    error = output_error([near], [exact])
    assert relative(near["y"], exact["y"]) < 0.02 < 0.1 < error  # the first row may be either
    sure = {"y": np.array([[0.9, 0.1], [0.95, 0.05], [0.2, 0.8]], np.float32)}
    same = {"y": np.array([[0.899, 0.101], [0.95, 0.05], [0.2, 0.8]], np.float32)}
    assert relative(same["y"], sure["y"]) <= output_error([same], [sure]) < 0.01
    assert output_error([{"y": exact["y"] * 2.02}], [{"y": exact["y"] * 2}]) < 0.02


@pytest.mark.parametrize("make", [lambda: two_products()[:2], convolutions])
def test_the_emitted_model_computes_the_same(
    make: Callable[[], tuple[onnx.ModelProto, list[Arrays]]], tmp_path: Path
) -> None:
    source, samples = make()
    onnx.save(source, tmp_path / "m.onnx")
    (tmp_path / "calls").mkdir()
    for number, sample in enumerate(samples):
        np.savez(tmp_path / "calls" / f"{number}.npz", **sample)
    exe = xyntra.compile(source, precision="int8", samples=samples, target="cpu")
    written = str(tmp_path / "q.onnx")
    given = ["--precision", "int8", "--samples", str(tmp_path / "calls"), "--target", "cpu"]
    command = ["compile", str(tmp_path / "m.onnx"), *given, "--emit", "onnx", "-o", written]
    assert run(command) == 0
    onnx.checker.check_model(onnx.load(written), full_check=True)
    quantized = onnx.load(written)
    assert all(each.data_type != 1 or len(each.dims) < 2 for each in quantized.graph.initializer)
    x = samples[2]["x"]
    settings = onnxruntime.SessionOptions()
    settings.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(written, settings, ["CPUExecutionProvider"])
    (expected,) = session.run(None, {"x": x})
    assert relative(exe(x), expected) < 4e-3
    assert relative(xyntra.compile(written, target="cpu")(x), expected) < 4e-3
    exact = xyntra.compile(source, target="cpu")(x)
    assert 1e-4 < relative(exe(x), exact) < 0.05


def test_bad_samples_and_models(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, samples, _ = two_products()

    def compiled(**given: object) -> object:
        return xyntra.compile(source, precision="int8", target="cpu", **given)  # type: ignore[arg-type]

    with pytest.raises(InputError, match="needs samples"):
        compiled()
    with pytest.raises(InputError, match="shape") as error:
        compiled(samples=[samples[0], {"x": normal(3, 5, 47)}])
    assert "sample 1" in str(error.value)
    with pytest.raises(ConfigError, match="tolerance"):
        compiled(samples=samples, tolerance=0.0)
    with pytest.raises(UnsupportedError, match="fuse"):
        compiled(samples=samples, config={"fuse": False})
    broken = compiled(samples=[{"x": np.full((3, 5, 48), np.nan, np.float32)}])
    assert "not finite" in broken.explain()  # type: ignore[attr-defined]
    onnx.save(source, tmp_path / "m.onnx")
    assert run(["compile", str(tmp_path / "m.onnx"), "--precision", "int8", "--emit", "onnx",
                 "-o", str(tmp_path / "q.onnx")]) != 0  # fmt: skip
    assert "needs samples" in capsys.readouterr().err


def test_quantized_models_are_refused() -> None:
    nodes = [helper.make_node("MatMulInteger", ["x", "w"], ["y"], name="integers")]
    weights = {"w": RNG.integers(-9, 9, (64, 64)).astype(np.int8)}
    x = RNG.integers(0, 9, (2, 64)).astype(np.uint8)
    info = helper.make_tensor_value_info
    inputs = [info("x", TensorProto.UINT8, x.shape)]
    outputs = [info("y", TensorProto.INT32, [2, 64])]
    stored = [numpy_helper.from_array(array, name) for name, array in weights.items()]
    graph = helper.make_graph(nodes, "t", inputs, outputs, stored)
    source = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
    with pytest.raises(UnsupportedError, match="quantized already"):
        xyntra.compile(source, precision="int8", samples=[{"x": x}], target="cpu")


def test_ranges_of_values() -> None:
    values = normal(100_000)
    values[7] = 60.0  # an outlier
    histogram = Histogram()
    for part in np.array_split(values, 9):
        histogram.add(part)
    wide = histogram.range_of("minmax", symmetric=False)
    assert wide.scale == pytest.approx((60 - float(values.min())) / 255, rel=1e-6)
    near = histogram.range_of("percentile", symmetric=True)
    assert near.scale == pytest.approx(float(np.quantile(np.abs(values), 0.9999)) / 127, rel=0.1)

    def error(scale: float) -> float:
        rounded = np.clip(np.rint(values / scale), -128, 127) * scale
        return float(np.square(rounded - values).sum())

    best = histogram.range_of("mse", symmetric=True)
    others = [error(60 / 127 * part) for part in np.linspace(0.2, 1, 33)]
    assert error(best.scale) <= 1.02 * min(others)
    empty = Histogram()
    empty.add(np.zeros(5, np.float32))
    assert empty.range_of("mse", symmetric=False).scale == 1.0
    empty.add(np.array([np.inf, 1.0], np.float32))
    assert not empty.is_finite
