# SPDX-License-Identifier: MIT OR Apache-2.0
"""Types of a byte and less: every code, every rounding case, against ml_dtypes and onnx."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import onnx
import pytest
from arrays import normal
from harness import node_model, run, run_compiled
from onnx.reference import ReferenceEvaluator

from xyntra.errors import UnsupportedError

INTEGERS = ("int4", "uint4", "int2", "uint2")
FLOATS = ("float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float4_e2m1fn")
BITS = dict.fromkeys(INTEGERS, 4) | {"int2": 2, "uint2": 2, "float4_e2m1fn": 4}


def narrow(name: str) -> np.dtype:
    return np.dtype(getattr(ml_dtypes, name))


def every_code(name: str) -> np.ndarray:
    return np.arange(1 << BITS.get(name, 8), dtype=np.uint8).view(narrow(name))


def kind_of(dtype: str) -> int:
    return int(onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))


def cast(x: np.ndarray, dtype: str, **attributes: object) -> np.ndarray:
    (found,) = run(
        node_model("Cast", {"x": x}, opset=25, to=kind_of(dtype), **attributes), {"x": x}
    )
    assert found.dtype == np.dtype(dtype)
    return found


def same(found: np.ndarray, wanted: np.ndarray) -> None:
    """Equal bit by bit, but for the payload of NaN."""
    wide = wanted.astype(np.float64)
    kept = ~np.isnan(wide)
    np.testing.assert_array_equal(np.isnan(found.astype(np.float64)), ~kept)
    np.testing.assert_array_equal(found[kept].view(np.uint8), wanted[kept].view(np.uint8))


def awkward(dtype: str, name: str) -> np.ndarray:
    """Numbers at, between and just beside those of a format, beyond it, and specials."""
    codes = every_code(name).astype(np.float64)
    codes = np.unique(codes[np.isfinite(codes)])
    middles = (codes[1:] + codes[:-1]) / 2
    around = np.concatenate([codes, middles]).astype(dtype)
    beside = [np.nextafter(around, np.array(sign * np.inf, dtype)) for sign in (-1, 1)]
    ends = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 464, 465, 480, 6e4, 61440, 1e-9], dtype)
    return np.concatenate([around, *beside, ends, -ends])


@pytest.mark.parametrize("name", [*INTEGERS, *FLOATS, "float8_e8m0fnu"])
def test_every_code_is_decoded(name: str) -> None:
    codes = every_code(name)
    np.testing.assert_array_equal(cast(codes, "float32"), codes.astype(np.float32))
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(cast(codes, "float16"), codes.astype(np.float16))


def nearest(x: np.ndarray, name: str) -> np.ndarray:
    """The magnitudes of numbers within the range of a format, rounded to it, halves to even."""
    codes = every_code(name)[: 1 << (BITS.get(name, 8) - 1)].astype(np.float64)
    codes = codes[np.isfinite(codes)]
    middles = (codes[1:] + codes[:-1]) / 2
    below = np.searchsorted(middles, x, side="left")
    above = np.searchsorted(middles, x, side="right")
    even = np.where(below % 2 == 0, below, above)
    return codes[even]


@pytest.mark.parametrize("name", FLOATS)
def test_float64_is_rounded_once(name: str) -> None:
    """Numbers beside the middle of two codes by less than float32 tells apart."""
    largest = float(ml_dtypes.finfo(narrow(name)).max)
    x = np.abs(awkward("float64", name))
    x = x[np.isfinite(x) & (x <= largest)]
    np.testing.assert_array_equal(cast(x, name).astype(np.float64), nearest(x, name))


@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_floats_round_as_those_of_ml_dtypes(name: str, dtype: str) -> None:
    x = awkward(dtype, name)
    with np.errstate(all="ignore"):
        same(cast(x, name, saturate=0), x.astype(narrow(name)))
        limits = ml_dtypes.finfo(narrow(name))
        held = np.clip(x, dtype_of(limits.min, dtype), dtype_of(limits.max, dtype))
        same(cast(x, name), held.astype(narrow(name)))


def dtype_of(value: object, dtype: str) -> np.ndarray:
    return np.asarray(value).astype(dtype)


@pytest.mark.parametrize("name", INTEGERS)
def test_integers_keep_their_low_bits(name: str) -> None:
    for dtype in ("int8", "uint8", "int64"):
        x = np.arange(256).astype(dtype)
        same(cast(x, name), x.astype(narrow(name)))
    x = np.array([0.5, 7.9, -7.9, 8.5, -9.5, 15.7, 300, 1e10, -1e10, np.inf, np.nan], np.float32)
    with np.errstate(all="ignore"):
        same(cast(x, name), x.astype(narrow(name)))


@pytest.mark.parametrize("round_mode", ["up", "down", "nearest"])
@pytest.mark.parametrize("saturate", [0, 1])
def test_exponents(round_mode: str, saturate: int) -> None:
    powers = 2.0 ** np.arange(-127, 128)
    x = np.concatenate([powers * f for f in (1, 1.25, 1.5, 1.75)]).astype(np.float32)
    x = np.concatenate([x, np.array([np.inf, np.nan, 0, 1e-45, 3.4e38], np.float32)])
    wanted = onnx.numpy_helper.to_float8e8m0(x, bool(saturate), round_mode)
    same(cast(x, "float8_e8m0fnu", saturate=saturate, round_mode=round_mode), wanted)


@pytest.mark.parametrize("name", ["int4", "float8_e5m2", "float4_e2m1fn"])
@pytest.mark.parametrize("shape", [(), (1,), (3, 0, 2), (5, 7)])
def test_they_are_moved(name: str, shape: tuple[int, ...]) -> None:
    x = normal(*shape).astype(narrow(name))
    for op_type in ("Identity", "Flatten", "Transpose"):
        if op_type == "Flatten" and not shape:
            continue
        model = node_model(op_type, {"x": x}, opset=25)
        same(run(model, {"x": x})[0], ReferenceEvaluator(model).run(None, {"x": x})[0])


@pytest.mark.parametrize("name", [*INTEGERS, *FLOATS])
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_quantize_and_back(name: str, dtype: str) -> None:
    x = np.concatenate([3 * normal(6, 9), [[np.inf, -np.inf, 1e4, -1e4, 0, -0.0, 0.5, 1.5, 2.5]]])
    x = x.astype(dtype)
    if name == "float4_e2m1fn":
        x[6, :2] = 1e3
    scale = np.abs(normal(7, seed=1)).astype(dtype) + np.array(0.25, dtype)
    zero = np.zeros(7, narrow(name)) if name in FLOATS else np.arange(7).astype(narrow(name))
    given = {"x": x, "s": scale, "z": zero}
    model = node_model("QuantizeLinear", given, opset=25, axis=0)
    with np.errstate(all="ignore"):
        wanted = ReferenceEvaluator(model).run(None, given)[0]
    finite = np.isfinite(x.astype(np.float64))
    (found,) = run(model, given)
    same(found[finite], wanted[finite])
    back = node_model("DequantizeLinear", {**given, "x": found}, opset=25, axis=0)
    wanted = ReferenceEvaluator(back).run(None, {**given, "x": found})[0]
    np.testing.assert_allclose(run(back, {**given, "x": found})[0], wanted, rtol=1e-3)


@pytest.mark.parametrize("name", ["int4", "uint4"])
def test_blocks_of_a_weight(name: str) -> None:
    """A weight of 2 KiB in halves of bytes, which stays in the file, and is not a constant.

    onnxruntime rounds the other factor to 8 bits there.
    """
    weight = np.random.default_rng(0).integers(0, 16, (64, 64)).astype(np.uint8).view(narrow(name))
    nodes = [
        onnx.helper.make_node("DequantizeLinear", ["w", "s"], ["d"], axis=0, block_size=16),
        onnx.helper.make_node("MatMul", ["x", "d"], ["y"]),
    ]
    x, scale = normal(3, 64), np.abs(normal(4, 64, seed=1))
    kind = kind_of(name)
    packed = onnx.TensorProto(name="w", data_type=kind, dims=[64, 64])
    packed.raw_data = onnx.numpy_helper.from_array(weight).raw_data
    graph = onnx.helper.make_graph(
        nodes,
        "weights",
        [onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [3, 64])],
        [onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [3, 64])],
        [packed, onnx.numpy_helper.from_array(scale, "s")],
    )
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 21)])
    model.ir_version = 10
    (found,) = run_compiled(model, {"x": x})
    factor = weight.astype(np.float64) * np.repeat(scale, 16, axis=0)
    np.testing.assert_allclose(found, x @ factor, rtol=1e-4, atol=1e-4)


def test_an_executable_takes_and_gives_them() -> None:
    x = normal(4, 5).astype(ml_dtypes.float8_e4m3fn)
    (found,) = run_compiled(node_model("Transpose", {"x": x}, opset=25), {"x": x})
    assert found.dtype == x.dtype
    same(found, x.T)


def test_nothing_computes_with_them() -> None:
    x = normal(4).astype(ml_dtypes.int4)
    with pytest.raises(UnsupportedError, match="int4 are converted and moved"):
        run(node_model("Gelu", {"x": x}, domain="com.microsoft"), {"x": x})
