# SPDX-License-Identifier: MIT OR Apache-2.0
"""Models of f32 with weights of 4 and 8 bits: numbers, bytes, files and reports."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest

import xyntra
from xyntra.errors import InputError, ModelError, UnsupportedError
from xyntra.observe.precision.costs import memory_of
from xyntra.passes.precision.weight_part import BLOCK, WeightPart
from xyntra.plan.check_plan import PlanError, check_plan
from xyntra.plan.plan import Buffer, Plan
from xyntra.plan.quantized import quantized_weight

RNG = np.random.default_rng(3)
STEPS, COLUMNS = 300, 260


def matrices() -> dict[str, np.ndarray]:
    shapes = {"w": (STEPS, COLUMNS), "v": (COLUMNS, 200), "table": (50, STEPS)}
    found = {name: RNG.standard_normal(shape) for name, shape in shapes.items()}
    found["v"] += 2  # blocks of one sign have zero points
    return {name: array.astype(np.float32) for name, array in found.items()}


def model(weights: dict[str, np.ndarray]) -> onnx.ModelProto:
    """An embedding, then two products with a GELU in between."""
    make = onnx.helper.make_node
    nodes = [
        make("Gather", ["table", "i"], ["x"], name="embedding"),
        make("MatMul", ["x", "w"], ["h"], name="first"),
        make("Gelu", ["h"], ["g"], name="gelu"),
        make("MatMul", ["g", "v"], ["y"], name="second"),
    ]
    info = onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph(
        nodes,
        "test",
        [info("i", onnx.TensorProto.INT64, [2, 3])],
        [info("y", onnx.TensorProto.FLOAT, [2, 3, 200])],
        [onnx.numpy_helper.from_array(array, name) for name, array in weights.items()],
    )
    return onnx.helper.make_model(
        graph, opset_imports=[onnx.helper.make_opsetid("", 20)], ir_version=9
    )


def dequantized(weight: np.ndarray, bits: int, *, turned: bool = False) -> np.ndarray:
    """The weight in float64, as its parts stand for it."""
    parts = quantized_weight("w", weight, bits, turned=turned)
    integers = parts["integers"]
    if bits == 4:
        integers = np.stack([integers & 15, integers >> 4], -1).reshape(*integers.shape[:2], -1)
    zeros = parts["zeros"].astype(np.float64) if bits == 4 else np.full(parts["scales"].shape, 128)
    values = (integers - zeros[..., None]) * parts["scales"].astype(np.float64)[..., None]
    steps = weight.shape[0] if turned else weight.shape[1]
    found = values.reshape(values.shape[0], -1)[:, :steps]
    return found.T if turned else found


@pytest.mark.parametrize("bits", [4, 8])
def test_blocks_are_as_near_as_their_integers(bits: int) -> None:
    weight = RNG.standard_normal((9, 75)).astype(np.float32) * 10.0 ** RNG.integers(-3, 3, (9, 1))
    weight[4] = np.abs(weight[4]) + 1
    weight[5] = 0
    found = dequantized(weight.astype(np.float32), bits)
    for start in range(0, 75, BLOCK):
        part, own = weight[:, start : start + BLOCK], found[:, start : start + BLOCK]
        low, high = np.minimum(part.min(-1), 0), np.maximum(part.max(-1), 0)
        reach = np.abs(part).max(-1) / (8 if bits == 4 else 127)
        error = np.abs(own - part).max(-1)
        # With the symmetric integers -8 to 7, the other end may be a whole step away.
        assert (error <= np.maximum((high - low) / 15, reach) * 1.01 + 1e-7).all()
    np.testing.assert_array_equal(found[5], 0)
    np.testing.assert_array_equal(
        dequantized(weight.T.astype(np.float32), bits, turned=True).T, found
    )


def test_zero_points_where_they_are_nearer() -> None:
    weight = RNG.uniform(5, 6, (4, BLOCK)).astype(np.float32)
    weight[1:] -= 5.5
    zeros = quantized_weight("w", weight, 4, turned=False)["zeros"]
    assert zeros[0] in (0, 8)
    symmetric = np.rint(weight[1] / np.abs(weight[1]).max() * 7) * np.abs(weight[1]).max() / 7
    error = np.square(dequantized(weight, 4)[1] - weight[1]).sum()
    assert error <= np.square(symmetric - weight[1]).sum()


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e9])
def test_values_that_no_scale_holds(value: float) -> None:
    weight = np.ones((2, BLOCK), np.float32)
    weight[1, 3] = value
    with pytest.raises(ModelError) as caught:
        quantized_weight("w", weight, 4, turned=False)
    assert caught.value.code == "weight-overflow"


@pytest.mark.parametrize("precision", ["w8", "w4"])
def test_a_model(precision: str, tmp_path: Path) -> None:
    weights = matrices()
    executable = xyntra.compile(model(weights), precision=precision)
    places = RNG.integers(0, 50, (2, 3))
    found = executable(places)
    bits = int(precision[1:])
    rows = weights["table"].astype(np.float64)[places] @ dequantized(
        weights["w"], bits, turned=True
    )
    rows = gelu(rows) @ dequantized(weights["v"], bits, turned=True)
    assert np.abs(found - rows).max() <= 2e-5 * np.abs(rows).max()

    elements = 260 * 320 + 200 * 288  # whole blocks
    small = elements * bits // 8 + elements // BLOCK * (3 if bits == 4 else 2)
    small += weights["table"].nbytes
    assert small <= memory_of(executable.plan) < small + 8192
    path = tmp_path / "m.xyn"
    executable.save(path)
    assert path.stat().st_size < small + 65536
    np.testing.assert_array_equal(xyntra.load(path)(places), found)
    text = executable.explain()
    assert f"precision: 2 products in {precision}; 2 weights in {precision}" in text
    assert "no matrix product reads it as it is: weight table" in text

    executable.save(path, weights=False)
    np.testing.assert_array_equal(xyntra.load(path, weights=weights)(places), found)
    np.testing.assert_array_equal(xyntra.load(path, weights=executable.weights)(places), found)
    with pytest.raises(InputError, match="'w' does not fit"):
        xyntra.load(path, weights=weights | {"w": np.ones(3, np.float32)})
    with pytest.raises(InputError, match="'w' does not fit"):
        xyntra.load(path, weights=weights | {"w": weights["w"][1:]})


def test_rows_of_8_bits() -> None:
    weights, places = matrices(), RNG.integers(0, 50, (2, 3))
    exact = xyntra.compile(model(weights), precision="w4")(places)
    executable = xyntra.compile(model(weights), precision="w4a8")
    found = executable(places)
    assert 0 < np.sqrt(np.square(found - exact).mean()) < 0.01 * np.sqrt(np.square(exact).mean())
    assert "precision: 2 products in w4a8; 2 weights in w4" in executable.explain()
    with pytest.raises(UnsupportedError) as caught:
        xyntra.compile(model(weights), precision="w4a8", target="cuda:sm_90a")
    assert "w4a8" in caught.value.message


def gelu(x: np.ndarray) -> np.ndarray:
    from math import erf

    return x * (1 + np.vectorize(erf)(x / np.sqrt(2))) / 2


@pytest.mark.parametrize("text", ["w4.integers.3x4", "w8.scales.30x1.turned", "w4.zeros.1x1"])
def test_names_of_parts(text: str) -> None:
    assert str(WeightPart.read(text)) == text


@pytest.mark.parametrize(
    "text", ["", "w5.integers.3x4", "w4", "w4.other.3x4", "w4.scales.x", "w4.zeros.3x-4", 3, None]
)
def test_what_is_no_name_of_a_part(text: object) -> None:
    assert WeightPart.read(text) is None


@pytest.mark.parametrize(
    ("source", "part"), [("w", ""), ("", "w4.zeros.1x1"), ("w", "w3.zeros.1x1")]
)
def test_plans_whose_parts_are_damaged(source: str, part: str) -> None:
    buffer = Buffer("parameter", 4, name="p", source=source, part=part)
    with pytest.raises(PlanError, match="is part of no weight"):
        check_plan(Plan((), (), (buffer,), ()))
    check_plan(Plan((), (), (replace(buffer, source="w", part="w4.zeros.1x1"),), ()))


@pytest.mark.parametrize("rows", [1, 24])
def test_models_of_f16(rows: int) -> None:
    weight = RNG.standard_normal((256, 192)).astype(np.float16)
    make, info = onnx.helper.make_node, onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph(
        [make("Gemm", ["x", "w"], ["y"], transB=1, name="product")],
        "test",
        [info("x", onnx.TensorProto.FLOAT16, [rows, 192])],
        [info("y", onnx.TensorProto.FLOAT16, [rows, 256])],
        [onnx.numpy_helper.from_array(weight, "w")],
    )
    opsets = [onnx.helper.make_opsetid("", 20)]
    narrow = onnx.helper.make_model(graph, opset_imports=opsets, ir_version=9)
    executable = xyntra.compile(narrow, precision="w4")
    assert memory_of(executable.plan) < 256 * 192 * 0.61
    x = RNG.standard_normal((rows, 192)).astype(np.float16)
    wanted = x.astype(np.float64) @ dequantized(weight.astype(np.float32), 4).T
    np.testing.assert_allclose(executable(x), wanted, rtol=2e-3, atol=2e-3)
