# SPDX-License-Identifier: MIT OR Apache-2.0
"""Models that dequantize before they multiply: integers are multiplied, and numbers stay right."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import NodeProto, helper, numpy_helper

import xyntra

RNG = np.random.default_rng(41)
Arrays = dict[str, np.ndarray]


def numbers(dtype: str, *shape: int) -> np.ndarray:
    limits = np.iinfo(dtype)
    return RNG.integers(limits.min, limits.max + 1, shape).astype(dtype)


def dequantize(name: str, axis: int | None = None) -> NodeProto:
    """Make the float tensor NAME_f of NAME, NAME_scale and NAME_zero."""
    attributes = {} if axis is None else {"axis": axis}
    inputs = [name, f"{name}_scale", f"{name}_zero"]
    return helper.make_node("DequantizeLinear", inputs, [f"{name}_f"], **attributes)


def real(arrays: Arrays, name: str, axis: int | None = None) -> np.ndarray:
    """What `dequantize` means."""
    scale, zero = (arrays[f"{name}_{part}"].astype(np.float64) for part in ("scale", "zero"))
    if axis is not None:
        shape = [-1 if d == axis else 1 for d in range(arrays[name].ndim)]
        scale, zero = scale.reshape(shape), zero.reshape(shape)
    values: np.ndarray = (arrays[name].astype(np.float64) - zero) * scale
    return values


def result(nodes: Sequence[NodeProto], inputs: Arrays, weights: Arrays, folder: Path) -> np.ndarray:
    """What a model gives for `inputs`."""
    graph = helper.make_graph(
        list(nodes),
        "graph",
        [
            helper.make_tensor_value_info(
                name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape
            )
            for name, array in inputs.items()
        ],
        [onnx.ValueInfoProto(name="y")],
        [numpy_helper.from_array(array, name) for name, array in weights.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    config = {"cache_dir": str(folder), "isolate": False}
    executable = xyntra.compile(model, config=config)
    found: np.ndarray = executable.run(inputs)["y"]
    return found


def close(found: np.ndarray, wanted: np.ndarray, size: np.ndarray) -> None:
    """Rounding of the conversion and the scales: a few units in the last place of `size`."""
    assert (np.abs(found - wanted) <= 1e-6 * np.abs(size) + 1e-30).all()


@pytest.mark.parametrize(("a", "b"), [("uint8", "int8"), ("int8", "uint8")])
@pytest.mark.parametrize("by_column", [False, True])
@pytest.mark.parametrize("zeros", ["zero", "extreme", "vector"])
def test_products(a: str, b: str, by_column: bool, zeros: str, tmp_path: Path) -> None:
    columns = (9,) if by_column else ()
    limits = np.iinfo(a), np.iinfo(b)
    points = {"zero": (0, 0), "extreme": (limits[0].max, limits[1].min), "vector": (3, 7)}[zeros]
    b_zero = np.full(columns, points[1], b)
    if zeros == "vector" and by_column:
        b_zero = numbers(b, 9)
    arrays = {
        "a": numbers(a, 2, 7, 33),
        "a_scale": np.float32(0.02),
        "a_zero": np.array(points[0], a),
        "b": numbers(b, 33, 9),
        "b_scale": (0.01 + RNG.random(columns)).astype(np.float32),
        "b_zero": b_zero,
    }
    arrays = {name: np.asarray(array) for name, array in arrays.items()}
    axis = 1 if by_column else None
    nodes = [
        dequantize("a"),
        dequantize("b", axis),
        helper.make_node("MatMul", ["a_f", "b_f"], ["y"]),
    ]
    weights = {name: array for name, array in arrays.items() if name != "a"}
    found = result(nodes, {"a": arrays["a"]}, weights, tmp_path)
    left, right = real(arrays, "a"), real(arrays, "b", axis)
    close(found, left @ right, np.abs(left) @ np.abs(right))


def test_two_inputs(tmp_path: Path) -> None:
    """Both factors are known only when the model runs, and have zero points."""
    arrays = {
        "a": numbers("uint8", 3, 7, 33),
        "a_scale": np.asarray(np.float32(0.02)),
        "a_zero": np.array(200, np.uint8),
        "b": numbers("int8", 3, 33, 12),
        "b_scale": np.asarray(np.float32(0.5)),
        "b_zero": np.array(-100, np.int8),
    }
    nodes = [dequantize("a"), dequantize("b"), helper.make_node("MatMul", ["a_f", "b_f"], ["y"])]
    inputs = {name: arrays[name] for name in ("a", "b")}
    weights = {name: array for name, array in arrays.items() if name not in inputs}
    left, right = real(arrays, "a"), real(arrays, "b")
    found = result(nodes, inputs, weights, tmp_path)
    close(found, left @ right, np.abs(left) @ np.abs(right))
    # Scales and zero points that are inputs as well.
    found = result(nodes, arrays, {}, tmp_path)
    close(found, left @ right, np.abs(left) @ np.abs(right))


@pytest.mark.parametrize("group", [1, 2, 4])
@pytest.mark.parametrize(("zero", "w_zero"), [(0, 0), (130, 0), (255, -3), (0, 5)])
def test_convolutions(group: int, zero: int, w_zero: int, tmp_path: Path) -> None:
    arrays = {
        "x": numbers("uint8", 1, 4, 9, 8),
        "x_scale": np.asarray(np.float32(0.03)),
        "x_zero": np.array(zero, np.uint8),
        "w": numbers("int8", 8, 4 // group, 3, 3),
        "w_scale": (0.01 + RNG.random(8)).astype(np.float32),
        "w_zero": np.full(8, w_zero, np.int8),
        "c": RNG.standard_normal(8).astype(np.float32),
    }
    convolution = helper.make_node(
        "Conv", ["x_f", "w_f", "c"], ["y"], pads=[1, 0, 1, 2], strides=[2, 1], group=group
    )
    nodes = [dequantize("x"), dequantize("w", 0), convolution]
    weights = {name: array for name, array in arrays.items() if name != "x"}
    found = result(nodes, {"x": arrays["x"]}, weights, tmp_path)
    x, w = real(arrays, "x"), real(arrays, "w", 0)
    x = np.pad(x, ((0, 0), (0, 0), (1, 1), (0, 2)))
    shift = arrays["c"].astype(np.float64)[:, None, None]
    size = convolved(np.abs(x), np.abs(w), group) + 1 + np.abs(shift)
    close(found, convolved(x, w, group) + shift, size)


def convolved(x: np.ndarray, w: np.ndarray, groups: int) -> np.ndarray:
    """A convolution with strides of 2 and 1; shapes (1, C, H, W) and (M, C / groups, 3, 3)."""
    windows = np.lib.stride_tricks.sliding_window_view(x[0], (3, 3), (1, 2))[:, ::2]
    parts = zip(np.split(windows, groups), np.split(w, groups), strict=True)
    return np.concatenate([np.einsum("chwij,mcij->mhw", a, b) for a, b in parts])[None]


@pytest.mark.parametrize("zero", [0, 3, 255])
def test_results_are_quantized_and_saturate(zero: int, tmp_path: Path) -> None:
    arrays = {
        "a": numbers("uint8", 7, 33),
        "a_scale": np.asarray(np.float32(1)),
        "a_zero": np.array(128, np.uint8),
        "b": numbers("int8", 33, 24),
        "b_scale": np.asarray(np.float32(1)),
        "b_zero": np.array(0, np.int8),
        "y_scale": np.asarray(np.float32(256)),
        "y_zero": np.array(zero, np.uint8),
    }
    nodes = [
        dequantize("a"),
        dequantize("b"),
        helper.make_node("MatMul", ["a_f", "b_f"], ["s"]),
        helper.make_node("QuantizeLinear", ["s", "y_scale", "y_zero"], ["y"]),
    ]
    weights = {name: array for name, array in arrays.items() if name != "a"}
    found = result(nodes, {"a": arrays["a"]}, weights, tmp_path)
    total = (arrays["a"].astype(np.int64) - 128) @ arrays["b"].astype(np.int64)
    wanted = np.clip(np.rint(total / 256) + zero, 0, 255).astype(np.uint8)
    np.testing.assert_array_equal(found, wanted)
    assert {0, 255} <= set(found.ravel()) or zero


@pytest.mark.parametrize(
    ("kinds", "largest"),
    [(("float8_e4m3fn", "float8_e4m3fn"), 448), (("float8_e5m2", "float8_e4m3fn"), 57344)],
)
def test_floats_of_8_bits(kinds, largest, tmp_path):
    """What is too large is limited; a row of zeros stays one, and a NaN fills its row."""
    left, right = (np.dtype(getattr(ml_dtypes, name)) for name in kinds)
    x = RNG.standard_normal((6, 40)).astype(np.float32)
    x[0], x[1, 3], x[2, 4] = 0, 1e9, np.nan
    x[3, 5], scale = -np.inf, np.float32(0.01)
    weights = {
        "x_scale": scale,
        "x_zero": np.zeros((), left),
        "w": (RNG.standard_normal((40, 24)) * 100).astype(right),
        "w_scale": RNG.uniform(0.01, 0.02, 24).astype(np.float32),
        "w_zero": np.zeros(24, right),
    }
    nodes = [
        helper.make_node("QuantizeLinear", ["r", "x_scale", "x_zero"], ["x"]),
        dequantize("x"),
        dequantize("w", axis=1),
        helper.make_node("MatMul", ["x_f", "w_f"], ["y"]),
    ]
    found = result(nodes, {"r": x}, weights, tmp_path)
    narrow = np.clip(x / scale, -largest, largest).astype(left)
    wanted = narrow.astype(np.float64) * scale @ real(weights, "w", axis=1)
    assert np.isnan(found[2]).all()
    assert not found[0].any()
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-3)
