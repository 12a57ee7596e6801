# SPDX-License-Identifier: MIT OR Apache-2.0
"""Emulates threads that compute several places whose inputs, or places to look up, are the same."""

from __future__ import annotations

import numpy as np
import pytest
from text_model import run

from xyntra.passes.lower.gpu.elementwise import pointwise

_ROTATED = """
<ir_version: 10, opset_import: ["" : 20]>
graph ({{T}}[2,{heads},37,16] x, {{T}}[1,1,37,16] c, {{T}}[1,1,37,16] s) => ({{T}}[n,h,t,d] r)
    <int64[2] p = {{{{8, 8}}}}>
{{{{
    a, b = Split <axis: int = 3> (x, p)
    m = Neg (b)
    t = Concat <axis: int = 3> (m, a)
    y = Mul (x, c)
    z = Mul (t, s)
    r = Add (y, z)
}}}}
"""
_ENLARGED = """
<ir_version: 10, opset_import: ["" : 20]>
graph ({{T}}[2,{heads},5,7] x) => ({{T}}[n,c,h,w] r) <float[4] s = {{{{1.0, 1.0, 2.0, 3.0}}}}>
{{{{
    r = Resize <mode: string = "linear"> (x, , s)
}}}}
"""
_PADDED = """
<ir_version: 10, opset_import: ["" : 20]>
graph ({{T}}[2,{heads},5,7] x) => ({{T}}[n,c,h,w] r)
    <int64[8] p = {{{{0, 0, 1, 2, 0, 0, 2, 1}}}}>
{{{{
    r = Pad <mode: string = "edge"> (x, p)
}}}}
"""


@pytest.mark.parametrize("kind", ["float16", "float"])
@pytest.mark.parametrize(
    ("text", "heads", "told"),
    [
        (_ROTATED, 6, "reused 4"),
        (_ROTATED, 3, "reused 3"),
        (_ENLARGED, 3, "reused 3"),
        (_PADDED, 4, "reused 4"),
    ],
)
def test_threads_read_once_what_stays_the_same(
    text: str, heads: int, told: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pointwise, "_LEAST", 1)
    monkeypatch.setattr(pointwise, "_CACHED", 1)
    found, right, images = run(text.format(heads=heads), kind)
    rounding = 2e-3 if kind == "float16" else 1e-5
    np.testing.assert_allclose(found[0].astype(np.float64), right[0], rounding, rounding)
    schedules = [launch.schedule for image in images for launch in image.launches]
    assert any(told in each for each in schedules), schedules
