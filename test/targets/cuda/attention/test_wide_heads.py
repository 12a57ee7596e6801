# SPDX-License-Identifier: MIT OR Apache-2.0
"""Attention of heads too wide for its kernels: two products on tensor cores, and a softmax."""

from __future__ import annotations

import numpy as np
import pytest
from text_model import run

_TEXT = """
<ir_version: 8, opset_import: ["" : 17]>
graph ({{T}}[{heads}, 72, 272] q, {{T}}[{heads}, 80, 272] k, {{T}}[{heads}, 80, 272] v)
    => ({{T}}[{heads}, 72, 272] y) {{{{
  c = Constant<value_float = 0.06>()
  scale = CastLike(c, q)
  t = Transpose<perm = [0, 1, 3, 2]>(k)
  s = MatMul(q, t)
  n = Mul(s, scale)
  p = Softmax<axis = -1>(n)
  y = MatMul(p, v)
}}}}
"""


@pytest.mark.parametrize("heads", ["1, 1", "2, 1", "1, 3"])
def test_wide_heads(heads):
    (found,), (wanted,), images = run(_TEXT.format(heads=heads), "float16")
    np.testing.assert_allclose(found.astype(np.float64), wanted, 4e-3, 4e-3)
    launches = max((image.launches for image in images), key=len)  # beside those of the scale
    assert len(launches) == 3  # nothing is copied
    assert not any("simt" in launch.schedule for launch in launches)
