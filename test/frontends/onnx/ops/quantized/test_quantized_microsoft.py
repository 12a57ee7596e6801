# SPDX-License-Identifier: MIT OR Apache-2.0
"""onnxruntime's operators on quantized tensors, against onnxruntime.

It computes some of them from tables or with other orders of rounding: results may be one apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from arrays import bytes_, integers, normal, positive, scalar
from harness import Arrays, node_model, reference, run
from refusals import check_invalid, check_unsupported

DOMAIN = "com.microsoft"


def check(
    op_type: str, inputs: Arrays, *, atol: float = 1, rtol: float = 0, **options: Any
) -> None:
    names: Sequence[str] = options.pop("names", list(inputs))
    model = node_model(op_type, inputs, domain=DOMAIN, names=names, **options)
    (found,), (wanted,) = run(model, inputs), reference(model, inputs)
    assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
    np.testing.assert_allclose(
        found.astype(np.float64), wanted.astype(np.float64), atol=atol, rtol=rtol
    )


def quantized(name: str, *shape: int, dtype: str = "uint8", seed: int = 0) -> dict[str, np.ndarray]:
    """A tensor with its scale and zero point."""
    return {
        name: bytes_(*shape, dtype=dtype, seed=seed),
        f"{name}_scale": scalar(0.03 * (seed + 1)),
        f"{name}_zero": scalar(100 + seed, dtype),
    }


def target(scale: float = 0.05, dtype: str = "uint8") -> dict[str, np.ndarray]:
    """The scale and the zero point of a result."""
    return {"y_scale": scalar(scale), "y_zero": scalar(90, dtype)}


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
@pytest.mark.parametrize("op_type", ["QLinearAdd", "QLinearMul"])
@pytest.mark.parametrize("shape", [(3, 4, 5), (5,), ()])
def test_pairs(op_type: str, dtype: str, shape: tuple[int, ...]) -> None:
    a, b = quantized("a", 3, 4, 5, dtype=dtype), quantized("b", *shape, dtype=dtype, seed=1)
    check(op_type, a | b | target(dtype=dtype))


def test_a_pair_without_zero_points() -> None:
    inputs = {
        "a": bytes_(3, 4),
        "a_scale": scalar(0.5),
        "b": bytes_(3, 4, seed=1),
        "b_scale": scalar(0.25),
        "y_scale": scalar(1),
    }
    # onnxruntime's type inference refuses this form, which the operator's definition has.
    names = ["a", "a_scale", "", "b", "b_scale", "", "y_scale"]
    (found,) = run(node_model("QLinearAdd", inputs, names=names, domain=DOMAIN), inputs)
    total = inputs["a"] * np.float32(0.5) + inputs["b"] * np.float32(0.25)
    np.testing.assert_array_equal(found, np.rint(total).astype(np.uint8))


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
@pytest.mark.parametrize(
    ("op_type", "options"),
    [
        ("QLinearSigmoid", {}),
        ("QLinearLeakyRelu", {"alpha": 0.2}),
    ],
)
def test_functions(op_type: str, dtype: str, options: dict[str, Any]) -> None:
    inputs = quantized("x", 3, 4, 5, dtype=dtype) | target(0.01, dtype)
    check(op_type, inputs, **options)


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
def test_softmax(dtype: str) -> None:
    inputs = quantized("x", 3, 4, 5, dtype=dtype) | target(0.01, dtype)
    model = node_model("QLinearSoftmax", inputs, domain=DOMAIN, axis=-1)
    model.graph.node[0].attribute.add(name="opset", type=2, i=13)
    (found,), (wanted,) = run(model, inputs), reference(model, inputs)
    np.testing.assert_allclose(found.astype(np.int32), wanted.astype(np.int32), atol=1)


@pytest.mark.parametrize("channels_last", [0, 1])
def test_pooling(channels_last: int) -> None:
    inputs = quantized("x", 1, 6, 7, 8) | target(0.04)
    window = {"kernel_shape": [3, 2], "strides": [2, 1], "pads": [1, 0, 1, 1]}
    check("QLinearAveragePool", inputs, channels_last=channels_last, **window)
    check("QLinearGlobalAveragePool", inputs, channels_last=channels_last)


def test_concatenation() -> None:
    parts = quantized("a", 2, 3) | quantized("b", 2, 4, seed=1)
    check("QLinearConcat", target() | parts, axis=1)
    message = "not a scale, a zero point and triples"
    check_invalid(
        "QLinearConcat",
        target() | quantized("a", 2, 3) | {"b": bytes_(2, 3)},
        message,
        axis=1,
        domain=DOMAIN,
    )


def test_choice() -> None:
    condition = {"condition": integers(0, 2, 3, 4).astype(bool)}
    check(
        "QLinearWhere", condition | quantized("a", 3, 4) | quantized("b", 3, 4, seed=1) | target()
    )


def test_scales_by_channel_are_unsupported() -> None:
    inputs = quantized("x", 3, 4) | {"y_scale": positive(4), "y_zero": bytes_(4)}
    check_unsupported("QLinearSigmoid", inputs, "scale or zero point of shape", domain=DOMAIN)


@pytest.mark.parametrize("columns", [False, True])
@pytest.mark.parametrize("a", ["uint8", "int8"])
def test_product_in_float(a: str, columns: bool) -> None:
    """Weights of 7 bits: onnxruntime's sums do not saturate with them."""
    shape = (5,) if columns else ()
    inputs = {
        "a": bytes_(2, 3, 4, dtype=a),
        "b": integers(-64, 64, 4, 5, dtype="int8", seed=1),
        "a_scale": scalar(0.1),
        "b_scale": positive(*shape),
        "a_zero": scalar(7, a),
        "b_zero": integers(-20, 20, *shape, dtype="int8", seed=2),
        "bias": normal(5),
    }
    check("MatMulIntegerToFloat", inputs, atol=1e-3, rtol=1e-5)


def test_product_with_dynamic_quantization() -> None:
    inputs = {
        "a": normal(2, 3, 4),
        "b": integers(-64, 64, 4, 5, dtype="int8", seed=1),
        "b_scale": positive(5),
        "b_zero": integers(-20, 20, 5, dtype="int8", seed=2),
        "bias": normal(5),
    }
    check("DynamicQuantizeMatMul", inputs, atol=1e-3, rtol=1e-5)
    small = {name: inputs[name] for name in ("a", "b", "b_scale")} | {"b_scale": scalar(0.2)}
    check("DynamicQuantizeMatMul", small, atol=1e-3, rtol=1e-5)


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize(("left", "right"), [(0, 0), (1, 1)])
def test_gemm(wide: bool, left: int, right: int) -> None:
    inputs = {
        "a": bytes_(*((4, 3) if left else (3, 4))),
        "a_scale": scalar(0.1),
        "a_zero": scalar(7, "uint8"),
        "b": bytes_(*((5, 4) if right else (4, 5)), seed=1),
        "b_scale": positive(5),
        "b_zero": bytes_(5, seed=2),
        "c": integers(-999, 999, 5, dtype="int32"),
    }
    if not wide:
        inputs |= target(20)
    check(
        "QGemm", inputs, atol=1e-3 if wide else 1, rtol=1e-5, transA=left, transB=right, alpha=0.5
    )


def test_conversions_of_the_domain() -> None:
    inputs = {"x": 50 * normal(3, 4), "scale": scalar(0.3), "zero": scalar(3, "uint16")}
    check("QuantizeLinear", inputs, atol=0)
    inputs["x"] = integers(0, 60000, 3, 4, dtype="uint16")
    check("DequantizeLinear", inputs, rtol=1e-6)


@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize("zeros", [False, True])
@pytest.mark.parametrize("steps", [64, 41])
def test_weights_of_few_bits(bits: int, zeros: bool, steps: int) -> None:
    block, columns = 16, 6
    blocks = -(-steps // block)
    inputs = {
        "a": normal(2, 3, steps),
        "b": bytes_(columns, blocks, block * bits // 8),
        "scales": positive(columns * blocks),
    }
    if zeros:
        inputs["zeros"] = bytes_(columns * -(-blocks * bits // 8), seed=3)
    options = {"K": steps, "N": columns, "bits": bits, "block_size": block}
    size = float(2 ** (bits - 4))
    check("MatMulNBits", inputs, atol=1e-3 * size, rtol=1e-4, **options)


def test_weights_of_three_bits_are_unsupported() -> None:
    inputs = {"a": normal(2, 16), "b": bytes_(6, 1, 6), "scales": positive(6)}
    options = {"K": 16, "N": 6, "bits": 3, "block_size": 16}
    check_unsupported("MatMulNBits", inputs, "3 bits", domain=DOMAIN, **options)
