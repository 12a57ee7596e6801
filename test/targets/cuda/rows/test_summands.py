# SPDX-License-Identifier: MIT OR Apache-2.0
"""Reductions over leading dimensions compute in their loops what they add up."""

from __future__ import annotations

import numpy as np
import pytest
from text_model import KINDS, run

DEVIATIONS = """
<ir_version: 8, opset_import: ["" : 18]>
graph ({T}[2060,24] x) => ({T}[1,24] m, {T}[24] v)
<int64[1] axis = {{0}}>
{{
  m = ReduceMean<keepdims = 1>(x, axis)
  d = Sub(x, m)
  s = Mul(d, d)
  v = ReduceMean<keepdims = 0>(s, axis)
}}
"""
GRADIENTS = """
<ir_version: 8, opset_import: ["" : 18]>
graph ({T}[515,40] g, {T}[515,40] x) => ({T}[40] w, {T}[40] b)
<int64[1] axis = {{0}}>
{{
  p = Mul(g, x)
  w = ReduceSum<keepdims = 0>(p, axis)
  b = ReduceSum<keepdims = 0>(g, axis)
}}
"""
IMAGES = """
<ir_version: 8, opset_import: ["" : 18]>
graph ({T}[4,6,9,10] x) => ({T}[6] v)
<int64[3] axes = {{0, 2, 3}}>
{{
  m = ReduceMean<keepdims = 1>(x, axes)
  d = Sub(x, m)
  s = Mul(d, d)
  v = ReduceMean<keepdims = 0>(s, axes)
}}
"""


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("text", "kernels"), [(DEVIATIONS, 2), (GRADIENTS, 2), (IMAGES, 2)])
def test_what_is_added_up_is_computed_in_the_loop(text: str, kernels: int, kind: str) -> None:
    found, right, images = run(text, kind)
    for mine, wanted in zip(found, right, strict=True):
        limit = 2e-2 if kind == "float16" else 1e-4
        np.testing.assert_allclose(mine, wanted, rtol=limit, atol=limit * np.abs(wanted).max())
    assert len(images) <= kernels
    widest = max((nbytes for image in images for nbytes in image.scratch), default=0)
    assert widest <= 64 * 1024


def test_long_sums_of_products_are_split() -> None:
    text = GRADIENTS.replace("515", "16384")
    found, right, images = run(text, "float")
    for mine, wanted in zip(found, right, strict=True):
        np.testing.assert_allclose(mine, wanted, rtol=1e-4, atol=1e-2)
    assert sum(len(image.launches) for image in images) == 4
