# SPDX-License-Identifier: MIT OR Apache-2.0
"""Norms of short rows with rotary embeddings behind them: rows in registers, and one rotation."""

from __future__ import annotations

import numpy as np
import pytest
from text_model import KINDS, run

PAIRS = """
<ir_version: 8, opset_import: ["" : 18]>
graph ({{T}}[1,{t},{w}] x, {{T}}[{d}] s, {{T}}[{t},{d}] u, {{T}}[{t},{d}] v)
  => (float[1,{h},{t},{d}] y)
<int64[4] heads = {{{{1, {t}, {h}, {d}}}}}, int64[5] pairs = {{{{1, {h}, {t}, {half}, 2}}}},
 int64[4] whole = {{{{1, {h}, {t}, {d}}}}}>
{{{{
  r = Reshape(x, heads)
  n = LayerNormalization<axis = -1, epsilon = 0.00001>(r, s)
  k = Transpose<perm = [0, 2, 1, 3]>(n)
  p = Reshape(k, pairs)
  a, b = Split<axis = -1, num_outputs = 2>(p)
  m = Neg(b)
  c = Concat<axis = -1>(m, a)
  o = Reshape(c, whole)
  kf = Cast<to = 1>(k)
  of = Cast<to = 1>(o)
  uf = Cast<to = 1>(u)
  vf = Cast<to = 1>(v)
  f = Mul(kf, uf)
  g = Mul(of, vf)
  y = Add(f, g)
}}}}
"""

HALVES = """
<ir_version: 8, opset_import: ["" : 18]>
graph ({{T}}[1,{t},{w}] x, {{T}}[{d}] s, {{T}}[{t},{d}] u, {{T}}[{t},{d}] v)
  => ({{T}}[1,{h},{t},{d}] y)
<int64[4] heads = {{{{1, {t}, {h}, {d}}}}}>
{{{{
  r = Reshape(x, heads)
  n = LayerNormalization<axis = -1, epsilon = 0.00001>(r, s)
  k = Transpose<perm = [0, 2, 1, 3]>(n)
  a, b = Split<axis = -1, num_outputs = 2>(k)
  m = Neg(b)
  c = Concat<axis = -1>(m, a)
  f = Mul(k, u)
  g = Mul(c, v)
  y = Add(f, g)
}}}}
"""
PARTS = """
<ir_version: 8, opset_import: ["" : 18]>
graph ({{T}}[1,{t},{w}] x, {{T}}[{d}] s, {{T}}[{t},{quarter}] u, {{T}}[{t},{quarter}] v)
  => ({{T}}[1,{h},{t},{d}] y)
<int64[4] heads = {{{{1, {t}, {h}, {d}}}}}, int64[3] parts = {{{{{quarter}, {quarter}, {rest}}}}}>
{{{{
  r = Reshape(x, heads)
  n = LayerNormalization<axis = -1, epsilon = 0.00001>(r, s)
  k = Transpose<perm = [0, 2, 1, 3]>(n)
  a, b, c = Split<axis = -1>(k, parts)
  au = Mul(a, u)
  bv = Mul(b, v)
  bu = Mul(b, u)
  av = Mul(a, v)
  d = Sub(au, bv)
  e = Add(bu, av)
  y = Concat<axis = -1>(d, e, c)
}}}}
"""


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("tokens", "heads", "width"), [(70, 4, 80), (33, 3, 64), (40, 5, 36)])
def test_rows_stay_in_registers(tokens: int, heads: int, width: int, kind: str) -> None:
    sizes = {"t": tokens, "h": heads, "d": width, "w": heads * width, "half": width // 2}
    found, right, images = run(PAIRS.format(**sizes), kind)
    limit = 1e-2 if kind == "float16" else 1e-4
    np.testing.assert_allclose(found[0], right[0], rtol=limit, atol=limit)
    (launch,) = (launch for image in images for launch in image.launches)
    assert launch.schedule.startswith("register-rows")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("heads", "width"), [(4, 80), (3, 64), (5, 36), (2, 512)])
def test_halves_are_rotated_where_they_are_normed(heads: int, width: int, kind: str) -> None:
    sizes = {"t": 33, "h": heads, "d": width, "w": heads * width, "half": width // 2}
    found, right, images = run(HALVES.format(**sizes), kind)
    limit = 1e-2 if kind == "float16" else 1e-4
    np.testing.assert_allclose(found[0], right[0], rtol=limit, atol=limit)
    (launch,) = (launch for image in images for launch in image.launches)
    assert launch.schedule.startswith("register-rows")


def test_a_part_of_a_row_is_rotated_where_all_of_it_is_normed() -> None:
    sizes = {"t": 9, "h": 3, "d": 64, "w": 192, "quarter": 16, "rest": 32}
    found, right, images = run(PARTS.format(**sizes), "float")
    np.testing.assert_allclose(found[0], right[0], rtol=1e-4, atol=1e-4)
    (launch,) = (launch for image in images for launch in image.launches)
    assert launch.schedule.startswith("register-rows")
