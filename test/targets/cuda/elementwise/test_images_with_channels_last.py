# SPDX-License-Identifier: MIT OR Apache-2.0
"""Emulates kernels between transposes that compute where they read: one launch each."""

from __future__ import annotations

import numpy as np
import pytest
from text_model import run

_MODEL = """
<ir_version: 10, opset_import: ["" : 20]>
graph ({{T}}[{shape}] x) => ({{T}}[n,h,w,c] r) <{constants}>
{{{{
    t = Transpose <perm: ints = [0, 3, 1, 2]> (x)
    {body}
    r = Transpose <perm: ints = [0, 2, 3, 1]> (y)
}}}}
"""
_BODIES = {
    "linear": 'y = Resize <mode: string = "linear"> (t, , s)',
    "corners": 'y = Resize <mode: string = "linear",'
    ' coordinate_transformation_mode: string = "align_corners"> (t, , s)',
    "cubic": 'y = Resize <mode: string = "cubic"> (t, , s)',
    "nearest": 'y = Resize <mode: string = "nearest", nearest_mode: string = "ceil"> (t, , s)',
    "reflect": 'y = Pad <mode: string = "reflect"> (t, p)',
    "joined": 'u = Resize <mode: string = "linear"> (t, , s)\n'
    'v = Resize <mode: string = "cubic"> (t, , s)\n y = Concat <axis: int = 1> (u, v)',
}


@pytest.mark.parametrize("kind", ["float16", "float"])
@pytest.mark.parametrize("body", list(_BODIES))
@pytest.mark.parametrize(("shape", "lanes"), [("2,5,7,16", True), ("1,6,4,3", False)])
def test_one_launch_without_transposes(shape: str, lanes: bool, body: str, kind: str) -> None:
    constants = "float[4] s = {{1.0, 1.0, 2.0, 3.0}}, int64[8] p = {{0, 0, 1, 2, 0, 0, 2, 1}}"
    text = _MODEL.format(shape=shape, constants=constants, body=_BODIES[body])
    found, right, images = run(text, kind)
    rounding = 2e-3 if kind == "float16" else 1e-5
    np.testing.assert_allclose(found[0].astype(np.float64), right[0], rounding, rounding)
    launches = [each for image in images for each in image.launches]
    assert len(launches) == 1
    assert not lanes or "vector" in launches[0].schedule


_PYRAMID = """
<ir_version: 10, opset_import: ["" : 20]>
graph ({{T}}[{shape}] x) => ({{T}}[n,c,h,w] r) <int64[4] s = {{{{2, 8, 12, 16}}}}>
{{{{
    a = GlobalAveragePool (x)
    p = Resize <mode: string = "linear"> (a, , , s)
    b = AveragePool <kernel_shape: ints = [6, 8], strides: ints = [6, 8]> (x)
    q = Resize <mode: string = "linear"> (b, , , s)
    d = AveragePool <kernel_shape: ints = [4, 5], strides: ints = [4, 5]> (x)
    u = Resize <mode: string = "linear"> (d, , , s)
    r = Concat <axis: int = 1> (x, p, q, u)
}}}}
"""


@pytest.mark.parametrize("kind", ["float16", "float"])
def test_pools_of_several_sizes_come_before_what_enlarges_them(kind: str) -> None:
    found, right, images = run(_PYRAMID.format(shape="2,8,12,16"), kind)
    rounding = 2e-3 if kind == "float16" else 1e-5
    np.testing.assert_allclose(found[0].astype(np.float64), right[0], rounding, rounding)
    launches = [each for image in images for each in image.launches]
    assert len(launches) == 4
