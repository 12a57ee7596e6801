# SPDX-License-Identifier: MIT OR Apache-2.0
"""Norms of groups of channels, with scales of each channel, activations and sums: one launch."""

from __future__ import annotations

import numpy as np
import pytest
from text_model import KINDS, run

NORM = """
<ir_version: 10, opset_import: ["" : 21]>
graph ({{T}}[2,12,{h},{w}] x, {{T}}[2,12,{h},{w}] z, {{T}}[2,12,1,1] e, {{T}}[12] s, {{T}}[12] b)
  => ({{T}}[2,12,{h},{w}] y)
{{{{
  r = Add(x, z)
  t = Add(r, e)
  n = GroupNormalization<num_groups = 4, epsilon = 0.00001>(t, s, b)
  g = Sigmoid(n)
  y = Mul(n, g)
}}}}
"""
CHANNELS = """
<ir_version: 8, opset_import: ["" : 18]>
graph ({{T}}[2,6,{h},{w}] x, {{T}}[6] s, {{T}}[6] b) => ({{T}}[2,6,{h},{w}] y)
{{{{
  n = InstanceNormalization<epsilon = 0.00001>(x, s, b)
  y = Relu(n)
}}}}
"""


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("height", "width"), [(8, 8), (5, 6), (7, 7), (40, 48)])
@pytest.mark.parametrize("text", [NORM, CHANNELS])
def test_scales_of_channels_are_part_of_the_row(
    text: str, height: int, width: int, kind: str
) -> None:
    found, right, images = run(text.format(h=height, w=width), kind)
    np.testing.assert_allclose(found[0], right[0], rtol=8e-3, atol=8e-3)
    assert [len(image.launches) for image in images] == [1]
    assert not any(image.scratch for image in images)
