# SPDX-License-Identifier: MIT OR Apache-2.0
"""Named ops, decomposed and run, against float64 and onnxruntime."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable

import ml_dtypes
import numpy as np
import onnx
import onnxruntime
import pytest
import torch_mlir.dialects.torch  # noqa: F401  (registers refback-munge-memref-copy)
from torch_mlir.execution_engine import ExecutionEngine

from xyntra.dialects import make_context
from xyntra.dialects.mlir import ir
from xyntra.passes.manager import run_pipeline

Array = np.ndarray
BF16 = np.dtype(ml_dtypes.bfloat16)
ELEMENTS = {np.dtype("f8"): "f64", np.dtype("f4"): "f32", np.dtype("f2"): "f16", BF16: "bf16"}
# Half a unit in the last place is eps / 2; sums in another order cost a few more in f32 and f64.
TOLERANCE = {"f64": 1e-13, "f32": 2e-6, "f16": 2**-11 * 1.01, "bf16": 2**-8 * 1.01}
DTYPES = [pytest.param(dtype, id=name) for dtype, name in ELEMENTS.items()]

TO_LLVM = (
    "decompose-named-ops",
    "canonicalize",
    "one-shot-bufferize{bufferize-function-boundaries=1 "
    "function-boundary-type-conversion=identity-layout-map copy-before-write=1}",
    "func.func(refback-munge-memref-copy,convert-linalg-to-loops)",
    "func.func(arith-expand{include-bf16=1},expand-strided-metadata)",
    "lower-affine,convert-scf-to-cf,convert-math-to-llvm,convert-math-to-libm",
    "convert-arith-to-llvm,convert-index-to-llvm,finalize-memref-to-llvm",
    "convert-func-to-llvm,convert-cf-to-llvm,reconcile-unrealized-casts",
)


def run(op: str, *arrays: Array, **attributes: str) -> Array:
    """Run `xyntra.<op>` on `arrays`; the result is as the first one."""
    entries = [f"{name} = {text}" for name, text in attributes.items()]
    types = [f"{'x'.join([*map(str, a.shape), ELEMENTS[a.dtype]])}" for a in arrays]
    arguments = ", ".join(f"%a{i}: memref<{type_}>" for i, type_ in enumerate([*types, types[0]]))
    loads = [
        f"%t{i} = bufferization.to_tensor %a{i} restrict : memref<{type_}> to tensor<{type_}>"
        for i, type_ in enumerate(types)
    ]
    operands = ", ".join(f"%t{i}" for i in range(len(arrays)))
    signature = ", ".join(f"tensor<{type_}>" for type_ in types)
    text = f"""
    func.func @main({arguments}) attributes {{llvm.emit_c_interface}} {{
      {chr(10).join(loads)}
      %r = "xyntra.{op}"({operands}) {{{", ".join(entries)}}} : ({signature}) -> tensor<{types[0]}>
      bufferization.materialize_in_destination %r in restrict writable %a{len(arrays)}
        : (tensor<{types[0]}>, memref<{types[0]}>) -> ()
      return
    }}"""
    result = np.full_like(arrays[0], 7.0)
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        run_pipeline(module, TO_LLVM)
        engine = ExecutionEngine(module, opt_level=0)
        engine.invoke("main", *(_packed(array) for array in (*arrays, result)))
    return result


def _packed(array: Array) -> ctypes.c_void_p:
    """Return a pointer to a pointer to the memref descriptor of `array`."""
    strides = [stride // array.itemsize for stride in array.strides]
    fields = [array.ctypes.data, array.ctypes.data, 0, *array.shape, *strides]
    descriptor = (ctypes.c_int64 * len(fields))(*fields)
    pointer = ctypes.pointer(ctypes.cast(descriptor, ctypes.c_void_p))
    pointer.keep = descriptor  # type: ignore[attr-defined]
    return ctypes.cast(pointer, ctypes.POINTER(ctypes.c_void_p))


def random(*shape: int, dtype: np.dtype, scale: float = 3.0) -> Array:
    return (np.random.default_rng(1).standard_normal(shape) * scale).astype(dtype)


def assert_close(found: Array, wanted: Array, scale: float = 1.0) -> None:
    """Compare with float64; errors are relative to the value or to `scale`, whichever is larger."""
    tolerance = TOLERANCE[ELEMENTS[found.dtype]]
    error = np.abs(found.astype(np.float64) - wanted)
    assert np.isfinite(wanted).all()
    assert (error <= tolerance * np.maximum(np.abs(wanted), scale)).all(), error.max()


def softmax(x: Array, axis: int) -> Array:
    exponent = np.exp(x - x.max(axis, keepdims=True))
    return exponent / exponent.sum(axis, keepdims=True)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_softmax(dtype: np.dtype, axis: int) -> None:
    x = random(3, 4, 5, dtype=dtype)
    wanted = softmax(x.astype(np.float64), axis)
    assert_close(run("softmax", x, axis=str(axis)), wanted, scale=1e-3)


@pytest.mark.parametrize("dtype", DTYPES)
def test_log_softmax(dtype: np.dtype) -> None:
    x = random(3, 4, 5, dtype=dtype)
    wanted = np.log(softmax(x.astype(np.float64), 1))
    assert_close(run("log_softmax", x, axis="1"), wanted)


def test_softmax_does_not_overflow() -> None:
    x = np.array([[1e4, -1e4, 1e4], [-3e38, 0.0, 3e38]], np.float32)
    np.testing.assert_array_equal(run("softmax", x, axis="1"), [[0.5, 0, 0.5], [0, 0, 1]])
    np.testing.assert_allclose(run("log_softmax", x, axis="1")[0, 0], -math.log(2), rtol=1e-6)


@pytest.mark.parametrize("op", ["softmax", "log_softmax"])
def test_special_values_are_those_of_onnxruntime(op: str) -> None:
    inf, nan = np.inf, np.nan
    x = np.array([[nan, 1, 2], [-inf, 1, 2], [-inf, -inf, -inf], [inf, 1, 2]], np.float32)
    wanted = _onnxruntime({"softmax": "Softmax", "log_softmax": "LogSoftmax"}[op], x, axis=1)
    assert np.isnan(wanted[0]).all()
    np.testing.assert_allclose(run(op, x, axis="1"), wanted, rtol=1e-6)


def _onnxruntime(op: str, x: Array, **attributes: int) -> Array:
    kind = onnx.helper.np_dtype_to_tensor_dtype(x.dtype)
    value = [onnx.helper.make_tensor_value_info(name, kind, x.shape) for name in "xy"]
    node = onnx.helper.make_node(op, ["x"], ["y"], **attributes)
    graph = onnx.helper.make_graph([node], "test", value[:1], value[1:])
    opsets = [onnx.helper.make_opsetid("", 17)]
    model = onnx.helper.make_model(graph, opset_imports=opsets, ir_version=10)
    session = onnxruntime.InferenceSession(model.SerializeToString())
    result: Array = session.run(None, {"x": x})[0]
    return result


def layer_norm(x: Array, axes: tuple[int, ...], epsilon: float) -> Array:
    centred = x - x.mean(axes, keepdims=True)
    return centred / np.sqrt((centred**2).mean(axes, keepdims=True) + epsilon)


@pytest.mark.parametrize("dtype", DTYPES)
def test_layer_norm(dtype: np.dtype) -> None:
    x, scale, bias = (random(*shape, dtype=dtype) for shape in ((2, 3, 4), (3, 4), (4,)))
    found = run(
        "layer_norm", x, scale, bias,
        axis="1", epsilon="0.001 : f32", operandSegmentSizes="array<i32: 1, 1, 1>",
    )  # fmt: skip
    wide = layer_norm(x.astype(np.float64), (1, 2), float(np.float32(0.001)))
    assert_close(found, wide * scale.astype(np.float64) + bias.astype(np.float64), scale=4.0)


def test_layer_norm_without_scale() -> None:
    x, bias = random(4, 6, dtype=np.dtype("f4")), random(1, dtype=np.dtype("f4"))
    options = {"axis": "1", "epsilon": "0.0 : f32"}
    wanted = layer_norm(x.astype(np.float64), (1,), 0.0)
    plain = run("layer_norm", x, operandSegmentSizes="array<i32: 1, 0, 0>", **options)
    assert_close(plain, wanted)
    shifted = run("layer_norm", x, bias, operandSegmentSizes="array<i32: 1, 0, 1>", **options)
    assert_close(shifted, wanted + bias.astype(np.float64))


def test_layer_norm_of_a_large_mean_keeps_its_variance() -> None:
    x = (random(2, 64, dtype=np.dtype("f4"), scale=1.0) + 4096).astype(np.float32)
    found = run(
        "layer_norm", x, axis="1", epsilon="0.0 : f32", operandSegmentSizes="array<i32: 1, 0, 0>"
    )
    np.testing.assert_allclose(found, layer_norm(x.astype(np.float64), (1,), 0.0), atol=2e-3)


@pytest.mark.parametrize("dtype", DTYPES)
def test_rms_norm(dtype: np.dtype) -> None:
    x, scale = random(3, 8, dtype=dtype), random(8, dtype=dtype)
    found = run(
        "rms_norm", x, scale,
        axis="1", epsilon="0.001 : f32", operandSegmentSizes="array<i32: 1, 1>",
    )  # fmt: skip
    wide = x.astype(np.float64)
    mean = (wide**2).mean(1, keepdims=True) + float(np.float32(0.001))
    assert_close(found, wide / np.sqrt(mean) * scale.astype(np.float64))


def gelu(x: Array) -> Array:
    return x / 2 * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))


def gelu_tanh(x: Array) -> Array:
    return x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def silu(x: Array) -> Array:
    return x / (1 + np.exp(-x))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    ("op", "attributes", "reference"),
    [
        pytest.param("gelu", {"approximate": '"none"'}, gelu, id="gelu"),
        pytest.param("gelu", {"approximate": '"tanh"'}, gelu_tanh, id="gelu-tanh"),
        pytest.param("silu", {}, silu, id="silu"),
    ],
)
def test_activations(
    dtype: np.dtype, op: str, attributes: dict[str, str], reference: Callable[[Array], Array]
) -> None:
    x = np.concatenate([random(61, dtype=dtype), np.array([0.0, 20.0, -20.0], dtype)])
    assert_close(run(op, x, **attributes), reference(x.astype(np.float64)))


def test_silu_does_not_overflow() -> None:
    x = np.array([-1e4, 1e4], np.float32)
    np.testing.assert_array_equal(run("silu", x), [-0.0, 1e4])
