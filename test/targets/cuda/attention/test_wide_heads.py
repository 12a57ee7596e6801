# SPDX-License-Identifier: MIT OR Apache-2.0
"""Attention of heads too wide for its kernels: two products on tensor cores, and a softmax."""

from __future__ import annotations

import numpy as np
import pytest
from text_model import run

_TEXT = """
<ir_version: 11, opset_import: ["" : 23]>
graph ({{T}}[{heads}, 72, 272] q, {{T}}[{heads}, 80, 272] k, {{T}}[{heads}, 80, 272] v)
    => ({{T}}[{heads}, 72, 272] y) {{{{
  y = Attention<is_causal = {causal}>(q, k, v)
}}}}
"""


@pytest.mark.parametrize(("heads", "causal"), [("1, 1", 0), ("2, 1", 1), ("1, 3", 1)])
def test_wide_heads(heads, causal):
    given = _TEXT.format(heads=heads, causal=causal)
    (found,), (wanted,), (image,) = run(given, "float16")
    np.testing.assert_allclose(found.astype(np.float64), wanted, 4e-3, 4e-3)
    assert len(image.launches) == 3  # nothing is copied
    assert not any("simt" in launch.schedule for launch in image.launches)
