# SPDX-License-Identifier: MIT OR Apache-2.0
"""Attention and the fused operators of onnxruntime's own domain, against onnxruntime."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from arrays import normal, tolerance
from harness import check_node, compare, node_model, run, run_compiled
from refusals import check_invalid, check_unsupported

Shape = tuple[int, ...]


def qkv(q: Shape, k: Shape, v: Shape, dtype: str = "float32") -> dict[str, np.ndarray]:
    shapes = {"q": q, "k": k, "v": v}
    return {name: normal(*s, dtype=dtype, seed=i) for i, (name, s) in enumerate(shapes.items())}


def softmax(x: np.ndarray) -> np.ndarray:
    with np.errstate(invalid="ignore"):
        e = np.exp(x - x.max(-1, keepdims=True))
    return np.asarray(e / e.sum(-1, keepdims=True))


@pytest.mark.parametrize(
    "options",
    [{}, {"is_causal": 1}, {"scale": 0.3}, {"softcap": 2.0}, {"softcap": 2.0, "is_causal": 1}],
)
def test_options(options: dict[str, Any]) -> None:
    inputs = qkv((2, 3, 4, 8), (2, 3, 6, 8), (2, 3, 6, 5))
    check_node("Attention", inputs, opset=23, **tolerance("float32"), **options)


@pytest.mark.parametrize("groups", [1, 2, 4])
def test_three_dimensions_and_grouped_queries(groups: int) -> None:
    inputs = qkv((2, 3, 4 * 8), (2, 6, groups * 8), (2, 6, groups * 5))
    options = {"q_num_heads": 4, "kv_num_heads": groups}
    check_node("Attention", inputs, opset=23, **tolerance("float32"), **options)
    inputs = qkv((2, 4, 3, 8), (2, groups, 6, 8), (2, groups, 6, 5))
    check_node("Attention", inputs, opset=23, **tolerance("float32"))


@pytest.mark.parametrize("shape", [(4, 6), (2, 1, 4, 6), (2, 3, 4, 6), (3, 4, 6)])
@pytest.mark.parametrize("kind", ["bool", "float32"])
def test_masks(shape: Shape, kind: str) -> None:
    mask = normal(*shape, seed=9)
    inputs = qkv((2, 3, 4, 8), (2, 3, 6, 8), (2, 3, 6, 5))
    inputs["mask"] = mask > -1 if kind == "bool" else mask
    check_node("Attention", inputs, opset=23, **tolerance("float32"))


def test_a_constant_mask_of_bfloat16() -> None:
    bf16 = np.dtype(ml_dtypes.bfloat16)
    inputs = qkv((1, 2, 4, 8), (1, 2, 6, 8), (1, 2, 6, 8))
    inputs = {name: array.astype(bf16) for name, array in inputs.items()}
    mask = normal(4, 6, seed=9).astype(bf16)
    model = node_model("Attention", inputs, opset=23, constants={"mask": mask})
    (found,) = run_compiled(model, inputs, strict=True)
    q, k, v = (array.astype(np.float64) for array in inputs.values())
    scores = q @ k.swapaxes(2, 3) / np.sqrt(8) + mask.astype(np.float64)
    compare([found.astype(np.float64)], [softmax(scores) @ v], 2e-2, 2e-2)


def test_a_row_that_sees_nothing_is_zero() -> None:
    inputs = qkv((1, 1, 2, 4), (1, 1, 3, 4), (1, 1, 3, 4))
    inputs["mask"] = np.array([[False, False, False], [True, False, True]])
    (found,) = run(node_model("Attention", inputs, opset=23), inputs)
    np.testing.assert_array_equal(found[0, 0, 0], 0)
    score = inputs["q"][0, 0, 1] @ inputs["k"][0, 0, [0, 2]].T / 2
    compare([found[0, 0, 1]], [softmax(score) @ inputs["v"][0, 0, [0, 2]]], 1e-5, 1e-6)


def test_the_cache_comes_before_the_keys() -> None:
    inputs = qkv((1, 2, 3, 8), (1, 2, 3, 8), (1, 2, 3, 5))
    inputs |= {"past_k": normal(1, 2, 4, 8, seed=7), "past_v": normal(1, 2, 4, 5, seed=8)}
    names = ["q", "k", "v", "", "past_k", "past_v"]
    options = {"names": names, "outputs": 3, "is_causal": 1}
    found = run(node_model("Attention", inputs, opset=24, **options), inputs)
    key = np.concatenate([inputs["past_k"], inputs["k"]], 2)
    value = np.concatenate([inputs["past_v"], inputs["v"]], 2)
    score = inputs["q"] @ key.swapaxes(2, 3) / np.sqrt(np.float32(8))
    score = np.where(np.arange(7) <= np.arange(3)[:, None] + 4, score, -np.inf)
    compare(found, [softmax(score) @ value, key, value], 1e-4, 1e-5)


@pytest.mark.parametrize("mode", [0, 1, 2, 3])
def test_scores_are_an_output(mode: int) -> None:
    inputs = qkv((1, 4, 3, 8), (1, 2, 5, 8), (1, 2, 5, 8))
    inputs["mask"] = normal(3, 5, seed=9)
    options = {"outputs": ["y", "", "", "scores"], "qk_matmul_output_mode": mode, "softcap": 3.0}
    y, scores = run(node_model("Attention", inputs, opset=23, **options), inputs)
    key, value = np.repeat(inputs["k"], 2, 1), np.repeat(inputs["v"], 2, 1)
    raw = inputs["q"] @ key.swapaxes(2, 3) / np.sqrt(np.float32(8))
    capped = 3 * np.tanh(raw / 3)
    biased = capped + inputs["mask"]
    stages = [raw, capped, biased, softmax(biased)]
    compare([y, scores], [stages[3] @ value, stages[mode]], 1e-4, 1e-5)


def test_16_bits_keep_float32_scores() -> None:
    """Scores beyond the range of float16 do not overflow."""
    inputs = {name: np.full((1, 1, 2, 64), 40, np.float16) for name in "qkv"}
    (found,) = run(node_model("Attention", inputs, opset=23, scale=1.0), inputs)
    np.testing.assert_array_equal(found, np.float16(40))


def test_softmax_precision() -> None:
    inputs = qkv((1, 2, 3, 8), (1, 2, 5, 8), (1, 2, 5, 8), "float16")
    check_node("Attention", inputs, opset=23, softmax_precision=1, rtol=4e-3, atol=4e-3)


@pytest.mark.parametrize(
    ("shapes", "options", "message"),
    [
        ([(1, 2, 3, 4), (1, 2, 3, 5), (1, 2, 3, 4)], {}, "do not agree"),
        ([(1, 3, 3, 4), (1, 2, 3, 4), (1, 2, 3, 4)], {}, "3 query heads"),
        ([(1, 3, 8), (1, 3, 8), (1, 3, 8)], {}, "q_num_heads"),
        ([(1, 3, 8), (1, 3, 8), (1, 3, 8)], {"q_num_heads": 3, "kv_num_heads": 3}, "3 heads"),
        ([(3, 8), (3, 8), (3, 8)], {}, "inputs have shapes"),
    ],
)
def test_invalid(shapes: list[Shape], options: dict[str, Any], message: str) -> None:
    check_invalid("Attention", qkv(*shapes), message, opset=23, **options)


MICROSOFT: list[tuple[str, list[Shape], dict[str, Any]]] = [
    ("Gelu", [(3, 4)], {}),
    ("BiasGelu", [(2, 3, 4), (4,)], {}),
    ("FastGelu", [(2, 3, 4)], {}),
    ("FastGelu", [(2, 3, 4), (4,)], {}),
    ("QuickGelu", [(3, 4)], {"alpha": 0.7}),
    ("FusedMatMul", [(2, 3, 4), (2, 4, 5)], {"alpha": 0.3}),
    ("FusedMatMul", [(2, 4, 3), (2, 5, 4)], {"transA": 1, "transB": 1}),
    ("SkipLayerNormalization", [(2, 3, 4), (2, 3, 4), (4,), (4,)], {}),
    ("SkipLayerNormalization", [(2, 3, 4), (3, 4), (4,)], {"epsilon": 0.1}),
    (
        "SkipLayerNormalization",
        [(2, 3, 4), (2, 3, 4), (4,), (4,), (4,)],
        {"outputs": ["y", "", "", "sum"]},
    ),
    (
        "SkipSimplifiedLayerNormalization",
        [(2, 3, 4), (2, 3, 4), (4,), (4,)],
        {"outputs": ["y", "", "", "sum"]},
    ),
]


@pytest.mark.parametrize(("op", "shapes", "options"), MICROSOFT)
def test_microsoft(op: str, shapes: list[Shape], options: dict[str, Any]) -> None:
    inputs = {f"x{i}": normal(*shape, seed=i) for i, shape in enumerate(shapes)}
    options = options | {"domain": "com.microsoft"}
    check_node(op, inputs, **tolerance("float32"), **options)


def test_transposed_batches_are_unsupported() -> None:
    inputs = {"a": normal(2, 3, 4), "b": normal(2, 4, 5)}
    options = {"domain": "com.microsoft", "transBatchA": 1}
    check_unsupported("FusedMatMul", inputs, "batch", **options)
