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


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("text", "shape", "channels", "shift"),
    [
        (IMAGE, (1, 20, 160, 128), 20, 0.0),
        (IMAGE, (1, 7, 257, 303), 7, 100.0),
        (ROWS, (2, 60, 5000), 60, 30.0),
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
