# SPDX-License-Identifier: MIT OR Apache-2.0
"""Products of f32 whose factors are copied to longer rows first, in the emulator."""

from __future__ import annotations

import numpy as np
import pytest
from text_model import run

from xyntra.passes.lower.cuda.matmul import select

_TEXT = """
<ir_version: 8, opset_import: ["" : 17]>
graph ({{T}}[{a}] a, {{T}}[{b}] b) => ({{T}}[37, 77] y) {{{{
  l = Transpose<perm = [{left}]>(a)
  r = Transpose<perm = [{right}]>(b)
  y = MatMul(l, r)
}}}}
"""
_AS_IT_IS, _TURNED = "0, 1", "1, 0"


@pytest.mark.parametrize(
    ("depth", "left", "right", "launches"),
    [
        (40, _AS_IT_IS, _AS_IT_IS, 2),
        (41, _TURNED, _AS_IT_IS, 2),  # both factors, side by side
        (40, _TURNED, _AS_IT_IS, 2),
        (42, _AS_IT_IS, _TURNED, 1),  # steps that lie side by side are copied one by one anyway
    ],
)
def test_rows_that_are_no_whole_vectors(depth, left, right, launches, monkeypatch):
    monkeypatch.setattr(select, "_SINGLE_F32", 50.0)
    a = (37, depth) if left == _AS_IT_IS else (depth, 37)
    b = (depth, 77) if right == _AS_IT_IS else (77, depth)
    shapes = {"a": f"{a[0]}, {a[1]}", "b": f"{b[0]}, {b[1]}"}
    (found,), (wanted,), images = run(_TEXT.format(left=left, right=right, **shapes), "float")
    np.testing.assert_allclose(found, wanted, 1e-5, 1e-5)
    (image,) = images
    assert len(image.launches) == launches
    assert "fma.rn.f32" in image.ptx
