# SPDX-License-Identifier: MIT OR Apache-2.0
"""Attention and embeddings as onnxruntime's optimizer writes them, against onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from arrays import bytes_, integers, normal, scalar
from harness import Arrays, compare, node_model, reference, run
from refusals import check_invalid, check_unsupported

import xyntra

DOMAIN = "com.microsoft"
BATCH, LENGTH, HEADS, SIZE = 2, 5, 3, 4
HIDDEN = HEADS * SIZE


def check(
    op_type: str, inputs: Arrays, rtol: float = 1e-4, atol: float = 1e-5, **rest: Any
) -> None:
    model = node_model(op_type, inputs, domain=DOMAIN, **rest)
    compare(run(model, inputs), reference(model, inputs), rtol, atol)


def names(inputs: Arrays, *positions: str) -> list[str]:
    """The names at positions, "" where `inputs` lacks one."""
    return [name if name in inputs else "" for name in positions]


MASKS: dict[str, np.ndarray] = {
    "flags of keys": integers(0, 2, BATCH, LENGTH, dtype="int32"),
    "flags of all": integers(0, 2, BATCH, LENGTH, LENGTH, dtype="int32"),
    "ends": np.array([3, 5], "int32"),
    "ends and starts": np.array([3, 5, 1, 2], "int32"),
    "lengths and more": np.array([3, 5, 0, 3, 8, 0, 3, 8], "int32"),
}


def projected(**more: np.ndarray) -> dict[str, np.ndarray]:
    """Inputs of Attention."""
    own = {
        "x": normal(BATCH, LENGTH, 7),
        "w": normal(7, 3 * HIDDEN, seed=1),
        "bias": normal(3 * HIDDEN, seed=2),
    }
    return own | more


@pytest.mark.parametrize("unidirectional", [0, 1])
@pytest.mark.parametrize("mask", [None, *MASKS])
def test_attention(mask: str | None, unidirectional: int) -> None:
    inputs = projected(**({} if mask is None else {"mask": MASKS[mask]}))
    check("Attention", inputs, num_heads=HEADS, unidirectional=unidirectional)


def test_attention_with_sizes_bias_and_scale() -> None:
    sizes = [HIDDEN, HIDDEN, 2 * HIDDEN]
    inputs = {
        "x": normal(BATCH, LENGTH, 7),
        "w": normal(7, sum(sizes), seed=1),
        "bias": normal(sum(sizes), seed=2),
        "add": normal(1, HEADS, LENGTH, LENGTH, seed=3),
    }
    order = names(inputs, "x", "w", "bias", "mask", "past", "add")
    rest = {"qkv_hidden_sizes": sizes, "scale": 0.3, "names": order}
    check("Attention", inputs, num_heads=HEADS, **rest)


@pytest.mark.parametrize("unidirectional", [0, 1])
def test_attention_with_a_past(unidirectional: int) -> None:
    inputs = projected(past=normal(2, BATCH, HEADS, 3, SIZE, seed=4))
    order = names(inputs, "x", "w", "bias", "mask", "past")
    rest = {"unidirectional": unidirectional, "names": order}
    check("Attention", inputs, num_heads=HEADS, outputs=2, **rest)


def test_a_filter_of_ones_own() -> None:
    inputs = projected(mask=MASKS["flags of keys"])
    check("Attention", inputs, num_heads=HEADS, mask_filter_value=-1.5)


def separate(keys: int = LENGTH, **more: np.ndarray) -> dict[str, np.ndarray]:
    """Inputs of MultiHeadAttention."""
    own = {
        "q": normal(BATCH, LENGTH, HIDDEN),
        "k": normal(BATCH, keys, HIDDEN, seed=1),
        "v": normal(BATCH, keys, 2 * HIDDEN, seed=2),
    }
    return own | more


ORDER = ("q", "k", "v", "bias", "mask", "add", "past_k", "past_v")


@pytest.mark.parametrize("unidirectional", [0, 1])
@pytest.mark.parametrize("mask", [None, "flags of keys", "flags of all", "ends"])
def test_multi_head(mask: str | None, unidirectional: int) -> None:
    inputs = separate(**({} if mask is None else {"mask": MASKS[mask]}))
    order = names(inputs, *ORDER)[: 3 if mask is None else 5]
    rest = {"unidirectional": unidirectional, "names": order}
    check("MultiHeadAttention", inputs, num_heads=HEADS, **rest)


def test_multi_head_of_other_keys_with_a_bias() -> None:
    inputs = separate(9, bias=normal(4 * HIDDEN, seed=3), add=normal(BATCH, 1, LENGTH, 9, seed=4))
    order = names(inputs, *ORDER)[:6]
    check("MultiHeadAttention", inputs, num_heads=HEADS, scale=0.2, names=order)


def test_multi_head_with_keys_by_head() -> None:
    inputs = separate() | {
        "k": normal(BATCH, HEADS, 9, SIZE, seed=5),
        "v": normal(BATCH, HEADS, 9, SIZE, seed=6),
    }
    check("MultiHeadAttention", inputs, num_heads=HEADS)


@pytest.mark.parametrize("unidirectional", [0, 1])
def test_multi_head_with_a_past(unidirectional: int) -> None:
    past = (BATCH, HEADS, 3, SIZE)
    inputs = separate(past_k=normal(*past, seed=4), past_v=normal(*past, seed=5))
    inputs["v"] = normal(BATCH, LENGTH, HIDDEN, seed=2)
    order = names(inputs, *ORDER)
    rest = {"unidirectional": unidirectional, "outputs": 3, "names": order}
    check("MultiHeadAttention", inputs, num_heads=HEADS, **rest)


@pytest.mark.parametrize("packed", [2, 3])
def test_multi_head_of_packed_inputs(packed: int) -> None:
    """onnxruntime has these on GPUs only: the same as with the parts."""
    parts = {
        name: normal(BATCH, LENGTH, HEADS, SIZE, seed=i) for i, name in enumerate(("q", "k", "v"))
    }
    apart = {name: part.reshape(BATCH, LENGTH, HIDDEN) for name, part in parts.items()}
    together = np.stack(list(parts.values())[3 - packed :], 3)
    inputs = {"q": together} if packed == 3 else {"q": apart["q"], "k": together}
    model = node_model("MultiHeadAttention", inputs, domain=DOMAIN, num_heads=HEADS)
    plain = node_model("MultiHeadAttention", apart, domain=DOMAIN, num_heads=HEADS)
    compare(run(model, inputs), reference(plain, apart), 1e-4, 1e-5)


@pytest.mark.parametrize("column_scales", [False, True])
@pytest.mark.parametrize("dtype", ["uint8", "int8"])
def test_quantized_attention(dtype: str, *, column_scales: bool) -> None:
    scales = np.linspace(0.01, 0.03, 3 * HIDDEN, dtype="f4") if column_scales else scalar(0.02)
    zeros = np.full(3 * HIDDEN, 3, dtype) if column_scales else scalar(3, dtype)
    inputs = {
        "x": bytes_(BATCH, LENGTH, 8),
        # onnxruntime's products of int8 saturate at 16 bits where there is no VNNI.
        "w": integers(0 if dtype == "uint8" else -60, 60, 8, 3 * HIDDEN, dtype=dtype, seed=1),
        "bias": normal(3 * HIDDEN),
        "x_scale": scalar(0.01),
        "w_scale": scales,
        "mask": MASKS["flags of keys"],
        "x_zero": scalar(120, "uint8"),
        "w_zero": zeros,
    }
    check("QAttention", inputs, num_heads=HEADS, unidirectional=1)


@pytest.mark.parametrize("with_segments", [False, True])
@pytest.mark.parametrize("positions", [None, (1, LENGTH), (BATCH, LENGTH)])
def test_embedding(positions: tuple[int, int] | None, *, with_segments: bool) -> None:
    inputs = {
        "ids": integers(0, 20, BATCH, LENGTH, dtype="int32"),
        "words": normal(20, HIDDEN),
        "places": normal(8, HIDDEN, seed=1),
        "gamma": normal(HIDDEN, seed=2),
        "beta": normal(HIDDEN, seed=3),
        "mask": MASKS["flags of keys"],
    }
    if with_segments:
        inputs["segments"] = integers(0, 2, BATCH, LENGTH, dtype="int32")
        inputs["kinds"] = normal(2, HIDDEN, seed=4)
    if positions is not None:
        inputs["at"] = integers(0, 8, *positions, dtype="int32")
    order = names(
        inputs, "ids", "segments", "words", "places", "kinds", "gamma", "beta", "mask", "at"
    )
    check("EmbedLayerNormalization", inputs, outputs=3, names=order, epsilon=1e-5)


@pytest.mark.parametrize("interleaved", [0, 1])
@pytest.mark.parametrize("by_head", [False, True])
@pytest.mark.parametrize("offset", [False, True])
def test_rotary(interleaved: int, *, by_head: bool, offset: bool) -> None:
    shape = (BATCH, HEADS, LENGTH, 8) if by_head else (BATCH, LENGTH, HEADS * 8)
    inputs = {
        "x": normal(*shape),
        "at": np.array([2]) if offset else integers(0, 9, BATCH, LENGTH),
        "cos": normal(9, 4, seed=1),
        "sin": normal(9, 4, seed=2),
    }
    check("RotaryEmbedding", inputs, interleaved=interleaved)


def test_rotary_of_a_part() -> None:
    inputs = {
        "x": normal(BATCH, LENGTH, HEADS * 8),
        "at": integers(0, 9, BATCH, LENGTH),
        "cos": normal(9, 2, seed=1),
        "sin": normal(9, 2, seed=2),
    }
    check("RotaryEmbedding", inputs, num_heads=HEADS, rotary_embedding_dim=4)


@pytest.mark.parametrize(
    ("activation", "parameters"),
    [
        ("Relu", {}),
        ("Tanh", {}),
        ("Sigmoid", {}),
        ("LeakyRelu", {"activation_alpha": 0.3}),
        ("HardSigmoid", {"activation_alpha": 0.3, "activation_beta": 0.1}),
    ],
)
def test_gemm_with_an_activation(activation: str, parameters: dict[str, float]) -> None:
    inputs = {"a": normal(5, 6), "b": normal(7, 6, seed=1), "c": normal(7, seed=2)}
    check("FusedGemm", inputs, transB=1, alpha=0.5, activation=activation, **parameters)


@pytest.mark.parametrize(
    ("activation", "parameters"),
    [("Relu", []), ("LeakyRelu", [0.2]), ("Clip", [-0.5, 0.5]), ("HardSigmoid", [0.3, 0.1])],
)
@pytest.mark.parametrize("with_sum", [False, True])
def test_conv_with_an_activation(
    activation: str, parameters: list[float], *, with_sum: bool
) -> None:
    inputs = {"x": normal(1, 4, 8, 8), "w": normal(6, 4, 3, 3, seed=1), "b": normal(6, seed=2)}
    if with_sum:
        inputs["z"] = normal(1, 6, 8, 8, seed=3)
    rest = {"activation_params": parameters} if parameters else {}
    check("FusedConv", inputs, activation=activation, pads=[1, 1, 1, 1], **rest)


def test_sum_with_a_bias() -> None:
    """Only GPUs have it in onnxruntime."""
    inputs = {"x": normal(2, 3, 5), "b": normal(5, seed=1), "s": normal(2, 3, 5, seed=2)}
    (found,) = run(node_model("BiasAdd", inputs, domain=DOMAIN), inputs)
    np.testing.assert_allclose(found, inputs["x"] + inputs["b"] + inputs["s"], rtol=1e-6)


def test_norm_without_mean() -> None:
    """onnxruntime's name for it has no domain of its own."""
    inputs = {"x": normal(2, 5, 8), "scale": normal(8, seed=1)}
    model = node_model("SimplifiedLayerNormalization", inputs, epsilon=1e-3, axis=-1)
    compare(run(model, inputs), reference(model, inputs), 1e-5, 1e-6)


def test_refusals() -> None:
    heads = {"domain": DOMAIN, "num_heads": HEADS}
    check_unsupported("Attention", projected(), "do_rotary", do_rotary=1, **heads)
    wrong = projected(mask=np.ones((1, 1, 8, 8), "int32"))
    check_unsupported("Attention", wrong, "mask of shape", **heads)
    check_invalid("Attention", projected(), "does not split", domain=DOMAIN, num_heads=5)
    short = separate() | {"v": normal(BATCH, 4, HIDDEN)}
    check_invalid("MultiHeadAttention", short, "do not fit", **heads)
    angles = {"x": normal(1, 2, 2, 4), "at": np.array([0]), "c": normal(3, 4), "s": normal(3, 4)}
    check_invalid("RotaryEmbedding", angles, "do not fit heads", domain=DOMAIN)
    gemm = {"a": normal(2, 3), "b": normal(3, 4)}
    check_unsupported("FusedGemm", gemm, "activation", domain=DOMAIN, activation="Softmax")


@pytest.mark.parametrize("unidirectional", [0, 1])
@pytest.mark.parametrize("mask", [None, "flags of keys", "ends"])
def test_attention_is_one_kernel(mask: str | None, unidirectional: int) -> None:
    """Behind the projection; not a product, a softmax and a product."""
    inputs = projected(**({} if mask is None else {"mask": MASKS[mask]}))
    options = {"num_heads": HEADS, "unidirectional": unidirectional}
    model = node_model("Attention", inputs, domain=DOMAIN, **options)
    kinds = [kernel.kind for kernel in xyntra.compile(model).kernels]
    assert kinds.count("attention") == 1
    assert len(kinds) <= 3
