# SPDX-License-Identifier: MIT OR Apache-2.0
"""Norms of few long rows: statistics of parts, what these give, and arithmetic."""

from __future__ import annotations

import numpy as np
import pytest
from text_model import KINDS, run

IMAGE = """
<ir_version: 10, opset_import: ["" : 21]>
graph ({{T}}[{shape}] x, {{T}}[{channels}] s, {{T}}[{channels}] b) => ({{T}}[{shape}] y)
{{{{
  y = GroupNormalization<num_groups = 1, epsilon = 0.00001>(x, s, b)
}}}}
"""
ROWS = """
<ir_version: 8, opset_import: ["" : 18]>
graph ({{T}}[{shape}] x, {{T}}[{channels}] s, {{T}}[{channels}] b) => ({{T}}[{shape}] y)
{{{{
  z = Transpose<perm = [0, 2, 1]>(x)
  n = LayerNormalization<axis = 1, epsilon = 0.00001>(z, s, b)
  y = Transpose<perm = [0, 2, 1]>(n)
}}}}
"""
CHANNELS_LAST = """
<ir_version: 8, opset_import: ["" : 18]>
graph ({{T}}[{shape}] x, {{T}}[{channels},1] s, {{T}}[{channels},1] b) => ({{T}}[{shape}] y)
<int64[3] whole = {{{{0, 1, -1}}}}, int64[3] image = {{{{0, {channels}, -1}}}},
 float[1] f = {{{{1}}}}, float[1] z = {{{{0}}}}>
{{{{
  one = CastLike(f, x)
  zero = CastLike(z, x)
  t = Transpose<perm = [0, 2, 1]>(x)
  r = Reshape(t, whole)
  n = InstanceNormalization<epsilon = 0.00001>(r, one, zero)
  i = Reshape(n, image)
  m = Mul(i, s)
  a = Add(m, b)
  g = Sigmoid(a)
  h = Mul(a, g)
  y = Transpose<perm = [0, 2, 1]>(h)
}}}}
"""


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("text", "shape", "channels", "shift"),
    [
        (IMAGE, (1, 20, 160, 128), 20, 0.0),
        (IMAGE, (1, 7, 257, 303), 7, 100.0),
        (ROWS, (2, 60, 5000), 60, 30.0),
        (CHANNELS_LAST, (2, 5000, 60), 60, 3.0),
    ],
)
def test_long_rows_are_read_in_parts(
    text: str, shape: tuple[int, ...], channels: int, shift: float, kind: str
) -> None:
    given = text.format(shape=",".join(map(str, shape)), channels=channels)
    found, right, images = run(given, kind, shift)
    limit = (4e-3 if kind == "float16" else 5e-5) * (1 + shift)
    np.testing.assert_allclose(found[0], right[0], rtol=limit, atol=limit)
    assert sum(len(image.launches) for image in images) == 3
    # Nothing as long as a row is written but the result.
    assert not any(nbytes > 1 << 16 for image in images for nbytes in image.scratch)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("text", "shape"), [(ROWS, (2, 12, 50)), (CHANNELS_LAST, (3, 50, 12))])
def test_short_rows_that_are_moved(text: str, shape: tuple[int, ...], kind: str) -> None:
    given = text.format(shape=",".join(map(str, shape)), channels=12)
    found, right, _ = run(given, kind, 3.0)
    limit = 1e-2 if kind == "float16" else 1e-4
    np.testing.assert_allclose(found[0].astype(np.float64), right[0], rtol=limit, atol=limit)


POOLED = """
<ir_version: 8, opset_import: ["" : 19]>
graph ({{T}}[{n},{h},{w},{c}] x, {{T}}[{c},1,1] s) => ({{T}}[{n},{h},{w},{c}] y)
<int64[3] whole = {{{{0, 1, -1}}}}, int64[4] image = {{{{0, {c}, {h}, {w}}}}},
 float[1] f = {{{{1}}}}, float[1] z = {{{{0}}}}>
{{{{
  one = CastLike(f, x)
  zero = CastLike(z, x)
  t = Transpose<perm = [0, 3, 1, 2]>(x)
  r = Reshape(t, whole)
  n = InstanceNormalization<epsilon = 0.00001>(r, one, zero)
  i = Reshape(n, image)
  m = Mul(i, s)
  p = AveragePool<kernel_shape = [3, 3], pads = [1, 1, 1, 1]>(m)
  d = Sub(p, m)
  a = Add(t, d)
  y = Transpose<perm = [0, 2, 3, 1]>(a)
}}}}
"""


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("sizes", [(2, 9, 7, 24), (3, 8, 8, 16), (1, 5, 6, 33)])
def test_whole_images_with_channels_last_are_no_moved_rows(
    sizes: tuple[int, ...], kind: str
) -> None:
    given = POOLED.format(**dict(zip("nhwc", sizes, strict=True)))
    found, right, images = run(given, kind, 2.0)
    tolerance = 2e-2 if kind == "float16" else 2e-5
    np.testing.assert_allclose(found[0].astype(np.float64), right[0], tolerance, tolerance)
    launches = [launch for image in images for launch in image.launches]
    assert not any("transposed" in launch.schedule for launch in launches)
