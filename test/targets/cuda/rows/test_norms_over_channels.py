# SPDX-License-Identifier: MIT OR Apache-2.0
"""Norms over the channels of images that have these first: rows side by side, one launch."""

from __future__ import annotations

import numpy as np
import pytest
from text_model import KINDS, run

CHANNELS = """
<ir_version: 8, opset_import: ["" : 18]>
graph ({{T}}[{n},{c},{h},{w}] x, {{T}}[{c}] s, {{T}}[{c}] b) => ({{T}}[{n},{c},{h},{w}] y)
{{{{
  t = Transpose<perm = [0, 2, 3, 1]>(x)
  m = LayerNormalization<axis = -1, epsilon = 0.00001>(t, s, b)
  y = Transpose<perm = [0, 3, 1, 2]>(m)
}}}}
"""
SOFTMAX = """
<ir_version: 8, opset_import: ["" : 18]>
graph ({{T}}[{n},{c},{h},{w}] x) => ({{T}}[{n},{c},{h},{w}] y)
{{{{
  t = Transpose<perm = [0, 2, 3, 1]>(x)
  m = Softmax<axis = -1>(t)
  y = Transpose<perm = [0, 3, 1, 2]>(m)
}}}}
"""


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("text", [CHANNELS, SOFTMAX])
@pytest.mark.parametrize("shape", [(2, 20, 7, 9), (3, 116, 8, 8), (2, 24, 24, 24), (1, 97, 79, 79)])
def test_results_are_written_in_the_order_of_images(
    shape: tuple[int, ...], text: str, kind: str
) -> None:
    n, c, h, w = shape
    found, right, images = run(text.format(n=n, c=c, h=h, w=w), kind, 2.0)
    limit = 1e-2 if kind == "float16" else 1e-4
    np.testing.assert_allclose(found[0], right[0], rtol=limit, atol=limit)
    assert sum(len(image.launches) for image in images) == 1
    assert not any(image.scratch for image in images)


def test_rows_of_neighbours_with_a_result_across_them() -> None:
    turned = CHANNELS.replace("t = Transpose<perm = [0, 2, 3, 1]>(x)", "t = Identity(x)")
    turned = turned.replace("graph ({{T}}[{n},{c},{h},{w}] x", "graph ({{T}}[{n},{h},{w},{c}] x")
    found, right, _ = run(turned.format(n=2, c=40, h=12, w=9), "float", 2.0)
    np.testing.assert_allclose(found[0], right[0], rtol=1e-4, atol=1e-4)


STATISTICS = """
<ir_version: 8, opset_import: ["" : 18]>
graph ({{T}}[{n},{c},{h},{w}] x) => ({{T}}[{n},{c},{h},{w}] y, {{T}}[{n},1,{h},{w}] v)
<int64[1] one = {{{{1}}}}>
{{{{
  m = ReduceMean(x, one)
  d = Sub(x, m)
  q = Mul(d, d)
  v = ReduceMean(q, one)
  e = Abs(v)
  r = Sqrt(e)
  y = Div(d, r)
}}}}
"""


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("shape", "launches"), [((2, 96, 61, 47), 1), ((1, 1030, 16, 33), 3), ((1, 5000, 6, 5), 6)]
)
def test_statistics_of_channels_as_models_spell_them(
    shape: tuple[int, ...], launches: int, kind: str
) -> None:
    n, c, h, w = shape
    found, right, images = run(STATISTICS.format(n=n, c=c, h=h, w=w), kind, 2.0)
    limit = 2e-2 if kind == "float16" else 1e-4
    for got, want in zip(found, right, strict=True):
        np.testing.assert_allclose(got, want, rtol=limit, atol=limit)
    assert sum(len(image.launches) for image in images) <= launches
