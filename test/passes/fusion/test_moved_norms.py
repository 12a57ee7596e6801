# SPDX-License-Identifier: MIT OR Apache-2.0
"""Norms of groups of channels that lie innermost, against numpy in float64."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import parser

import xyntra

TEXT = """
<ir_version: 10, opset_import: ["" : 21]>
graph ({kind}[n,h,w,c] x, {kind}[c] s, {kind}[c] b) => ({kind}[n,h,w,c] y)
{{
  t = Transpose<perm = [0, 3, 1, 2]>(x)
  m = GroupNormalization<num_groups = {groups}, epsilon = 0.00001>(t, s, b)
  y = Transpose<perm = [0, 2, 3, 1]>(m)
}}
"""


def group_norm(x: np.ndarray, s: np.ndarray, b: np.ndarray, groups: int) -> np.ndarray:
    n, h, w, c = x.shape
    split = x.astype(np.float64).reshape(n, h * w, groups, c // groups)
    centred = split - split.mean((1, 3), keepdims=True)
    variance = (centred**2).mean((1, 3), keepdims=True)
    return (centred / np.sqrt(variance + 1e-5)).reshape(x.shape) * s + b


def check(x: np.ndarray, groups: int, kind: str = "float", limit: float = 2e-5) -> list[str]:
    """Compare with numpy, and return the kinds of kernels that there are."""
    rng = np.random.default_rng(groups)
    n, h, w, c = x.shape
    s, b = (rng.standard_normal(c).astype(x.dtype) for _ in range(2))
    model = parser.parse_model(TEXT.format(kind=kind, groups=groups))
    sizes = {"n": n, "c": c, "h": h, "w": w}
    exe = xyntra.compile(model, dims=sizes, config={"cache": False, "strict": True})
    found = exe.run({"x": x, "s": s, "b": b})["y"]
    with np.errstate(all="ignore"):
        right = group_norm(x, s, b, groups).astype(x.dtype)
    np.testing.assert_allclose(found, right, rtol=limit, atol=limit)
    return [kernel.kind for kernel in exe.kernels]


# Of 37 * 31 places no divisor is a column; 32 * 32 are two columns of 512.
@pytest.mark.parametrize(
    ("shape", "groups"),
    [
        ((2, 9, 7, 40), 4),
        ((1, 37, 31, 33), 11),
        ((1, 32, 32, 48), 48),
        ((2, 5, 3, 24), 1),
        ((1, 6, 5, 10), 5),
        ((0, 4, 4, 32), 8),
    ],
)
def test_channels_last(shape: tuple[int, ...], groups: int) -> None:
    x = np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32) * 3 + 1
    kinds = check(x, groups)
    if x.size and shape[-1] >= 16:
        assert "data" not in kinds  # nothing is transposed


@pytest.mark.parametrize(("kind", "limit"), [("float16", 4e-3), ("double", 1e-9)])
def test_other_dtypes(kind: str, limit: float) -> None:
    x = np.random.default_rng(5).standard_normal((2, 6, 5, 32))
    check(x.astype("float64" if kind == "double" else kind), 4, kind, limit)


def test_means_far_above_deviations() -> None:
    x = np.random.default_rng(6).standard_normal((1, 40, 30, 32)) + 3000
    check(x.astype(np.float32), 8, limit=4e-3)


def test_nan_stays_in_its_group() -> None:
    x = np.random.default_rng(7).standard_normal((2, 6, 5, 32)).astype(np.float32)
    x[0, 2, 1, 3], x[1, 0, 0, 31] = np.nan, np.inf
    check(x, 4)
