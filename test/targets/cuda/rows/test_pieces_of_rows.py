# SPDX-License-Identifier: MIT OR Apache-2.0
"""Emulates rows whose results are pieces of one array, such as a mean beside a deviation."""

from __future__ import annotations

import numpy as np
import pytest
from text_model import run

_STATISTICS = """
<ir_version: 8, opset_import: ["" : 18]>
graph ({T}[3,5,48] x) => ({T}[n,c] y)
<int64[1] axis = {{2}}>
{{
  m = ReduceMean<keepdims = 1>(x, axis)
  d = Sub(x, m)
  s = Mul(d, d)
  v = ReduceMean<keepdims = 0>(s, axis)
  e = Sqrt(v)
  k = ReduceMean<keepdims = 0>(x, axis)
  y = Concat<axis = 1>(k, e)
}}
"""
_PLANES = """
<ir_version: 8, opset_import: ["" : 18]>
graph ({T}[3,7,64] x) => ({T}[n,h,c] y)
<int64[1] axis = {{2}}>
{{
  m = ReduceMax<keepdims = 1>(x, axis)
  k = ReduceMean<keepdims = 1>(x, axis)
  y = Concat<axis = 2>(m, k)
}}
"""
_BESIDE = """
<ir_version: 8, opset_import: ["" : 18]>
graph ({T}[12,64] x) => ({T}[n,c] y)
{{
  s = Softmax<axis = 1>(x)
  y = Concat<axis = 1>(s, x)
}}
"""
_ROWS = """
<ir_version: 8, opset_import: ["" : 18]>
graph ({T}[12,64] x) => ({T}[n,c] y)
{{
  s = Softmax<axis = 1>(x)
  l = LogSoftmax<axis = 1>(x)
  y = Concat<axis = 0>(s, l)
}}
"""
_READ = """
<ir_version: 8, opset_import: ["" : 18]>
graph ({T}[12,64] x) => ({T}[n,c] y, {T}[n] z)
<int64[1] axis = {{1}}>
{{
  s = Softmax<axis = 1>(x)
  y = Concat<axis = 1>(s, x)
  z = ReduceMax<keepdims = 0>(y, axis)
}}
"""
_MODELS = {
    "mean and deviation": (_STATISTICS, 1),
    "largest and mean": (_PLANES, 1),
    "rows beside what they are made of": (_BESIDE, 1),
    "rows behind others": (_ROWS, 1),
    "pieces that a reduction reads": (_READ, 3),
}


@pytest.mark.parametrize("kind", ["float16", "float"])
@pytest.mark.parametrize("name", _MODELS)
def test_pieces_of_one_array(name: str, kind: str) -> None:
    text, launches = _MODELS[name]
    found, right, images = run(text, kind)
    rounding = 4e-3 if kind == "float16" else 2e-5
    for mine, wanted in zip(found, right, strict=True):
        np.testing.assert_allclose(mine.astype(np.float64), wanted, rounding, rounding)
    assert sum(len(image.launches) for image in images) <= launches
