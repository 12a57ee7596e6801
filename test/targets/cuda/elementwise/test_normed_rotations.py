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


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("tokens", "heads", "width"), [(70, 4, 80), (33, 3, 64), (40, 5, 36)])
def test_rows_stay_in_registers(tokens: int, heads: int, width: int, kind: str) -> None:
    sizes = {"t": tokens, "h": heads, "d": width, "w": heads * width, "half": width // 2}
    found, right, images = run(PAIRS.format(**sizes), kind)
    limit = 1e-2 if kind == "float16" else 1e-4
    np.testing.assert_allclose(found[0], right[0], rtol=limit, atol=limit)
    schedules = [launch.schedule for image in images for launch in image.launches]
    assert len(schedules) == 2
    assert schedules[0].startswith("register-rows")
    # Both elements of a pair are one thread's.
    assert schedules[1].startswith("pointwise vector")
