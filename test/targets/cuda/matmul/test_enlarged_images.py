# SPDX-License-Identifier: MIT OR Apache-2.0
"""Emulates convolutions of enlarged images, which are enlarged by vectors or tiles, unpadded."""

from __future__ import annotations

import numpy as np
import pytest
from text_model import run

from xyntra.passes.lower.gpu.elementwise import transposed_tiles

_FIRST = """
<ir_version: 10, opset_import: ["" : 20]>
graph ({{T}}[1,{c},6,7] x, {{T}}[16,{c},3,3] w, {{T}}[16] b) => ({{T}}[n,o,h,v] r)
    <float[4] s = {{{{1.0, 1.0, {scale}.0, {scale}.0}}}}>
{{{{
    y = Resize <mode: string = "nearest", coordinate_transformation_mode: string = "asymmetric",
                nearest_mode: string = "floor"> (x, , s)
    r = Conv <pads: ints = [1, 1, 1, 1]> (y, w, b)
}}}}
"""
_LAST = """
<ir_version: 10, opset_import: ["" : 20]>
graph ({{T}}[1,6,7,{c}] x, {{T}}[16,{c},3,3] w, {{T}}[16] b) => ({{T}}[n,h,v,o] r)
    <float[4] s = {{{{1.0, 1.0, {scale}.0, {scale}.0}}}}>
{{{{
    t = Transpose <perm: ints = [0, 3, 1, 2]> (x)
    y = Resize <mode: string = "nearest", coordinate_transformation_mode: string = "asymmetric",
                nearest_mode: string = "floor"> (t, , s)
    u = Conv <pads: ints = [1, 1, 1, 1]> (y, w, b)
    r = Transpose <perm: ints = [0, 2, 3, 1]> (u)
}}}}
"""


@pytest.mark.parametrize(
    ("text", "scale", "kind", "emitter"),
    [
        (_FIRST, 2, "float16", "transposed"),
        (_FIRST, 3, "float", "transposed"),
        (_LAST, 3, "float16", "pointwise vector"),
        (_LAST, 2, "float", "pointwise vector"),
    ],
)
def test_enlarged_images_are_convolved(
    text: str, scale: int, kind: str, emitter: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transposed_tiles, "_MIN_ELEMENTS", 1)
    found, (right,), images = run(text.format(c=32, scale=scale), kind)
    rounding = 2e-3 if kind == "float16" else 1e-5
    far = np.abs(found[0].astype(np.float64) - right).max()
    assert far < rounding * np.abs(right).max()
    schedules = [launch.schedule for image in images for launch in image.launches]
    assert len(schedules) == 2 + (text == _FIRST)
    assert not any(each.startswith("outputs") for each in schedules)
    assert any(each.startswith(emitter) for each in schedules)
