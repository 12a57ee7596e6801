# SPDX-License-Identifier: MIT OR Apache-2.0
"""Norms and softmax between a transpose and the opposite one, against numpy in float64."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from onnx import parser

import xyntra

TEXT = """
<ir_version: 8, opset_import: ["" : 18]>
graph ({kind}[n,c,h,w] x, {kind}[c] s, {kind}[c] b) => ({kind}[n,c,h,w] y)
{{
  t = Transpose<perm = [0, 2, 3, 1]>(x)
  m = {rows}
  y = Transpose<perm = [0, 3, 1, 2]>(m)
}}
"""
SHAPES = [(1, 20, 7, 9), (2, 33, 5, 8), (3, 16, 3, 3), (2, 5, 2, 2), (1, 130, 16, 1), (0, 4, 5, 5)]


def layer_norm(x: np.ndarray, s: np.ndarray, b: np.ndarray) -> np.ndarray:
    centred = x - x.mean(1, keepdims=True)
    deviation = np.sqrt((centred**2).mean(1, keepdims=True) + 1e-5)
    return centred / deviation * s[:, None, None] + b[:, None, None]


def softmax(x: np.ndarray, s: np.ndarray, b: np.ndarray) -> np.ndarray:
    powers = np.exp(x - x.max(1, keepdims=True))
    return powers / powers.sum(1, keepdims=True)


def scaled_softmax(x: np.ndarray, s: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.tanh(softmax(x, s, b) * s[:, None, None] + b[:, None, None])


ROWS: dict[str, Callable[..., np.ndarray]] = {
    "LayerNormalization<axis = -1, epsilon = 0.00001>(t, s, b)": layer_norm,
    "Softmax<axis = -1>(t)": softmax,
    "Softmax<axis = -1>(t)\n  f = Mul(m0, s)\n  g = Add(f, b)\n  m = Tanh(g)": scaled_softmax,
}


def compiled(rows: str, kind: str, shape: tuple[int, ...]) -> xyntra.Executable:
    text = TEXT.format(kind=kind, rows=rows)
    if "m0" in rows:
        text = text.replace("m = Softmax", "m0 = Softmax")
    model = parser.parse_model(text)
    n, c, h, w = shape
    config = {"cache": False, "strict": True}
    return xyntra.compile(model, dims={"n": n, "c": c, "h": h, "w": w}, config=config)


def check(rows: str, x: np.ndarray, kind: str = "float", limit: float = 1e-5) -> xyntra.Executable:
    rng = np.random.default_rng(len(rows))
    s, b = (rng.standard_normal(x.shape[1]).astype(x.dtype) for _ in range(2))
    exe = compiled(rows, kind, x.shape)
    found = exe.run({"x": x, "s": s, "b": b})["y"]
    with np.errstate(all="ignore"):
        right = ROWS[rows](*(each.astype(np.float64) for each in (x, s, b))).astype(x.dtype)
    np.testing.assert_allclose(found, right, rtol=limit, atol=limit)
    return exe


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("rows", ROWS)
def test_images_of_channels_first(rows: str, shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32) * 3 + 1
    exe = check(rows, x)
    if shape[2] * shape[3] >= 8:
        assert not any(kernel.kind == "data" for kernel in exe.kernels)


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize(("kind", "limit"), [("float16", 4e-3), ("double", 1e-9)])
def test_other_dtypes(rows: str, kind: str, limit: float) -> None:
    dtype = {"float16": np.float16, "double": np.float64}[kind]
    x = np.random.default_rng(5).standard_normal((2, 19, 6, 7)).astype(dtype)
    check(rows, x, kind, limit)


@pytest.mark.parametrize("rows", ROWS)
def test_what_is_not_finite_stays_in_its_row(rows: str) -> None:
    x = np.random.default_rng(6).standard_normal((2, 17, 5, 9)).astype(np.float32)
    x[0, 3, 1, 2], x[1, 0, 4, 8], x[1, 16, 0, 0] = np.nan, np.inf, -np.inf
    check(rows, x)
