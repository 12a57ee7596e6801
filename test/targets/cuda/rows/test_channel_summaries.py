# SPDX-License-Identifier: MIT OR Apache-2.0
"""Means and maxima over channels, as spatial attention asks for: one reading of the image."""

from __future__ import annotations

import numpy as np
import pytest
from text_model import KINDS, run

SUMMARY = """
<ir_version: 8, opset_import: ["" : 18]>
graph ({{T}}[{n},{h},{w},{c}] x) => ({{T}}[{n},2,{h},{w}] y)
<int64[1] channels = {{1}}>
{{{{
  t = Transpose<perm = [0, 3, 1, 2]>(x)
  a = ReduceMean(t, channels)
  m = ReduceMax(t, channels)
  y = Concat<axis = 1>(a, m)
}}}}
"""


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", [(2, 12, 9, 256), (2, 48, 50, 60), (1, 64, 65, 24)])
def test_rows_of_channels_are_read_once(shape: tuple[int, ...], kind: str) -> None:
    n, h, w, c = shape
    text = SUMMARY.format(n=n, h=h, w=w, c=c).replace("{1}", "{{1}}")
    found, right, images = run(text, kind)
    limit = 2e-3 if kind == "float16" else 1e-5
    np.testing.assert_allclose(found[0], right[0], rtol=limit, atol=limit)
    schedules = [launch.schedule for image in images for launch in image.launches]
    assert [schedule.split()[0] for schedule in schedules] == ["register-rows"]
