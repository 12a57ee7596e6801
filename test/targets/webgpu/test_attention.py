# SPDX-License-Identifier: MIT OR Apache-2.0
"""Attention whose scores are not kept: masks, sizes of every kind, and rows without a number."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

import xyntra

_value = onnx.helper.make_tensor_value_info
_KINDS = {"float32": onnx.TensorProto.FLOAT, "float16": onnx.TensorProto.FLOAT16}
Arrays = dict[str, np.ndarray]


def _attention(feeds: Arrays, **attributes: float) -> onnx.ModelProto:
    kinds = {name: onnx.helper.np_dtype_to_tensor_dtype(x.dtype) for name, x in feeds.items()}
    node = onnx.helper.make_node("Attention", list(feeds), ["y"], **attributes)
    graph = onnx.helper.make_graph(
        [node],
        "attention",
        [_value(name, kinds[name], array.shape) for name, array in feeds.items()],
        [_value("y", kinds["q"], None)],
    )
    return onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 23)])


def _feeds(sizes: tuple[int, ...], dtype: str = "float32") -> Arrays:
    b, h, s, t, d, e = sizes
    rng = np.random.default_rng(0)
    shapes = {"q": (b, h, s, d), "k": (b, h, t, d), "v": (b, h, t, e)}
    return {name: rng.standard_normal(shape).astype(dtype) for name, shape in shapes.items()}


def _expected(feeds: Arrays, is_causal: bool = False, softcap: float = 0.0) -> np.ndarray:
    """Return what numpy computes in float64."""
    q, k, v = (feeds[name].astype(np.float64) for name in "qkv")
    scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    mask = feeds.get("m")
    if mask is not None:
        scores = np.where(mask, scores, -np.inf) if mask.dtype == bool else scores + mask
    if softcap:
        scores = softcap * np.tanh(scores / softcap)
    if is_causal:
        scores = np.where(np.tril(np.ones(scores.shape[-2:], bool)), scores, -np.inf)
    with np.errstate(invalid="ignore"):
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        return weights / weights.sum(-1, keepdims=True) @ v


def _run(feeds: Arrays, **attributes: float) -> np.ndarray:
    executable = xyntra.compile(_attention(feeds, **attributes), target="webgpu")
    assert "attention-rows" in executable.explain()
    (y,) = executable.run(feeds).values()
    return y


@pytest.mark.usefixtures("has_gpu")
@pytest.mark.parametrize(
    ("sizes", "dtype", "mask", "attributes"),
    [
        ((2, 3, 217, 211, 20, 36), "float32", "bool", {}),
        ((1, 1, 512, 515, 7, 3), "float32", "none", {"softcap": 5.0}),
        ((1, 2, 363, 363, 32, 32), "float32", "bias", {"is_causal": 1}),
        ((1, 1, 512, 512, 128, 128), "float32", "none", {}),
        ((1, 4, 256, 256, 16, 16), "float16", "none", {}),
    ],
)
def test_scores_are_weighted_without_a_matrix(
    sizes: tuple[int, ...], dtype: str, mask: str, attributes: dict[str, float]
) -> None:
    feeds, rng = _feeds(sizes, dtype), np.random.default_rng(1)
    b, h, s, t, *_ = sizes
    if mask == "bool":
        feeds["m"] = rng.random((b, 1, s, t)) < 0.7
    if mask == "bias":
        feeds["m"] = rng.standard_normal((b, h, s, t)).astype(dtype)
    bound = 2e-6 if dtype == "float32" else 2e-3
    expected = _expected(feeds, bool(attributes.get("is_causal")), attributes.get("softcap", 0.0))
    np.testing.assert_allclose(_run(feeds, **attributes), expected, rtol=bound, atol=bound)


@pytest.mark.usefixtures("has_gpu")
def test_nan_infinities_and_masked_rows_are_what_a_softmax_makes_of_them() -> None:
    feeds = _feeds((1, 1, 512, 512, 8, 8))
    feeds["m"] = np.zeros((1, 1, 512, 512), np.float32)
    feeds["m"][0, 0, 1] = -np.inf  # no key at all
    feeds["m"][0, 0, 2, 17:] = -np.inf
    feeds["m"][0, 0, 3, 5] = np.inf
    feeds["m"][0, 0, 4, 5] = np.nan
    feeds["q"][0, 0, 5] = np.nan
    found, expected = _run(feeds), _expected(feeds)
    is_nan = np.isnan(expected).all(-1)[0, 0]
    assert list(np.flatnonzero(is_nan)) == [1, 3, 4, 5]
    masked = np.arange(512) != 1  # onnxruntime gives 0 there, others NaN
    np.testing.assert_allclose(
        found[0, 0][masked], expected[0, 0][masked], rtol=2e-6, atol=2e-6, equal_nan=True
    )
