# SPDX-License-Identifier: MIT OR Apache-2.0
"""Emulates rows of several runs of memory, as those of merged patches, which registers hold."""

from __future__ import annotations

import numpy as np
import pytest
from text_model import run

_MERGED = """
<ir_version: 8, opset_import: ["" : 18]>
graph ({T}[2,SIZE,WIDTH] x, {T}[ROW] w, {T}[ROW] v) => ({T}[n,h,k,c] y)
<int64[2] even = {{0, 0}}, int64[2] odd = {{1, 0}}, int64[2] third = {{0, 1}},
 int64[2] fourth = {{1, 1}}, int64[2] end = {{100, 100}}, int64[2] axes = {{1, 2}},
 int64[2] two = {{2, 2}}>
{{
  a = Slice(x, even, end, axes, two)
  b = Slice(x, odd, end, axes, two)
  c = Slice(x, third, end, axes, two)
  d = Slice(x, fourth, end, axes, two)
  m = Concat<axis = 3>(ORDER)
  y = NORM
}}
"""
_HALVES = """
<ir_version: 8, opset_import: ["" : 18]>
graph ({T}[3,5,64] x, {T}[64] w, {T}[64] v) => ({T}[n,h,c] y)
<int64[2] half = {{32, 32}}>
{{
  a, b = Split<axis = 2>(x, half)
  m = Concat<axis = 2>(b, a)
  y = LayerNormalization<axis = -1>(m, w, v)
}}
"""
_PERMUTED = """
<ir_version: 8, opset_import: ["" : 18]>
graph ({T}[2,6,8,16] x, {T}[64] w, {T}[64] v) => ({T}[n,h,k,c] y)
<int64[6] apart = {{2, 3, 2, 4, 2, 16}}, int64[4] whole = {{2, 3, 4, 64}}>
{{
  s = Reshape(x, apart)
  t = Transpose<perm = [0, 1, 3, 4, 2, 5]>(s)
  m = Reshape(t, whole)
  y = LayerNormalization<axis = -1>(m, w, v)
}}
"""
_NORM = "LayerNormalization<axis = -1>(m, w, v)"
_SOFTMAX = "Softmax<axis = -1>(m)"


def _merged(size: str, width: int, order: str = "a, b, c, d", norm: str = _NORM) -> str:
    text = _MERGED.replace("SIZE", size).replace("WIDTH", str(width))
    row = width * len(order.split(","))
    return text.replace("ROW", str(row)).replace("ORDER", order).replace("NORM", norm)


_MODELS = {
    "patches": (_merged("6,8", 16), True),
    "patches, row by row": (_merged("6,8", 16, "a, c, b, d"), True),
    "patches of odd widths": (_merged("4,6", 17), True),
    "wide patches": (_merged("4,4", 96), True),
    "softmax of patches": (_merged("6,8", 16, norm=_SOFTMAX), True),
    "two of four": (_merged("6,8", 16, "a, d"), True),
    "two, the later one first": (_merged("6,8", 16, "d, b"), True),
    "at no even distances": (_merged("6,8", 16, "a, b, d"), False),
    "one of them twice": (_merged("6,8", 16, "a, b, b, a"), False),
    "halves the other way round": (_HALVES, True),
    "permuted": (_PERMUTED, True),
}


@pytest.mark.parametrize("kind", ["float16", "float"])
@pytest.mark.parametrize("name", _MODELS)
def test_norms_of_rows_in_several_runs(name: str, kind: str) -> None:
    text, in_registers = _MODELS[name]
    found, right, images = run(text, kind)
    rounding = 4e-3 if kind == "float16" else 2e-5
    np.testing.assert_allclose(found[0].astype(np.float64), right[0], rounding, rounding)
    (launch,) = [launch for image in images for launch in image.launches]
    assert launch.schedule.startswith("register-rows") == in_registers, launch.schedule


_BINS = """
<ir_version: 8, opset_import: ["" : 18]>
graph ({T}[2,5,SIDE,SIDE] x) => ({T}[n,c,h,w] y)
<int64[6] bins = {{2, 5, COUNT, WIDTH, COUNT, WIDTH}}, int64[2] windows = {{3, 5}}>
{{
  s = Reshape(x, bins)
  y = ReduceMean<keepdims = 0>(s, windows)
}}
"""


@pytest.mark.parametrize("kind", ["float16", "float"])
@pytest.mark.parametrize(("count", "width"), [(2, 12), (3, 8), (6, 4), (4, 5)])
def test_means_of_windows_side_by_side(count: int, width: int, kind: str) -> None:
    sizes = {"SIDE": count * width, "COUNT": count, "WIDTH": width}
    text = _BINS
    for name, size in sizes.items():
        text = text.replace(name, str(size))
    found, right, images = run(text, kind)
    rounding = 4e-3 if kind == "float16" else 2e-5
    np.testing.assert_allclose(found[0].astype(np.float64), right[0], rounding, rounding)
    (launch,) = [launch for image in images for launch in image.launches]
    assert launch.schedule.startswith("register-rows")
