# SPDX-License-Identifier: MIT OR Apache-2.0
"""Means and variances of long columns: parts in one launch, which another one combines."""

from __future__ import annotations

import numpy as np
import pytest
from text_model import run

from xyntra.passes.fusion.reductions import split_variances

STATISTICS = """
<ir_version: 8, opset_import: ["" : 18]>
graph (float[{rows},{columns}] x) => (float[1,{columns}] m, float[1,{columns}] v)
<int64[1] axis = {{{{0}}}}>
{{{{
  m = ReduceMean(x, axis)
  d = Sub(x, m)
  q = Mul(d, d)
  v = ReduceMean(q, axis)
}}}}
"""


@pytest.mark.parametrize(("rows", "columns"), [(4500, 40), (9728, 9), (3000, 130)])
@pytest.mark.parametrize("shift", [0.0, 300.0])
def test_columns_are_read_once(rows: int, columns: int, shift: float) -> None:
    found, right, images = run(STATISTICS.format(rows=rows, columns=columns), "float", shift)
    for mine, wanted in zip(found, right, strict=True):
        np.testing.assert_allclose(mine, wanted, rtol=2e-5, atol=2e-6)
    launches = [launch for image in images for launch in image.launches]
    assert len(launches) == 2
    assert launches[0].grid > 40


def test_columns_without_equal_parts() -> None:
    found, right, _ = run(STATISTICS.format(rows=4001, columns=16), "float", 3.0)
    for mine, wanted in zip(found, right, strict=True):
        np.testing.assert_allclose(mine, wanted, rtol=2e-5, atol=2e-6)


CHANNELS = """
<ir_version: 8, opset_import: ["" : 18]>
graph ({{T}}[{shape}] x) => (float[1,c,1,1] m, float[1,c,1,1] v)
<int64[3] axes = {{{{0, 2, 3}}}}>
{{{{
  f = Cast<to = 1>(x)
  m = ReduceMean(f, axes)
  d = Sub(f, m)
  q = Mul(d, d)
  v = ReduceMean(q, axes)
}}}}
"""


@pytest.mark.parametrize("kind", ["float", "float16"])
@pytest.mark.parametrize(("shape", "launches"), [("3,4,64,72", 2), ("2,5,61,67", 0)])
def test_channels_of_a_batch_are_read_once(
    shape: str, launches: int, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(split_variances, "_ENOUGH_ROWS", 40)
    found, right, images = run(CHANNELS.format(shape=shape), kind, 30.0)
    for mine, wanted in zip(found, right, strict=True):
        np.testing.assert_allclose(mine, wanted, rtol=2e-3 if kind == "float16" else 2e-5)
    every = [launch for image in images for launch in image.launches]
    assert not launches or len(every) == launches
