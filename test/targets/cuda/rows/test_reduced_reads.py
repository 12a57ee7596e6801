# SPDX-License-Identifier: MIT OR Apache-2.0
"""Reductions over leading dimensions or everything, and scans, compute what they read."""

from __future__ import annotations

import numpy as np
import pytest
from text_model import KINDS, run

from xyntra.passes.fusion.reductions import reduced_reads
from xyntra.passes.lower.gpu.stages import split_long_reductions

SQUARES = """
<ir_version: 8, opset_import: ["" : 18]>
graph ({T}[3,37,5,70] x, {T}[3,37,5,70] y) => ({T}[1,1,1,1] m)
{{
  d = Sub(x, y)
  s = Mul(d, d)
  m = ReduceMean(s)
}}
"""
EXPONENTIALS = """
<ir_version: 8, opset_import: ["" : 18]>
graph ({T}[2048,24] x) => ({T}[24] e)
<int64[1] axis = {{0}}>
{{
  e = ReduceLogSumExp<keepdims = 0>(x, axis)
}}
"""
DECIBELS = """
<ir_version: 8, opset_import: ["" : 18]>
graph ({T}[3,80,31] x) => ({T}[3,80,31] y)
<int64[2] axes = {{1, 2}}>
{{
  a = Abs(x)
  b = Sqrt(a)
  m = ReduceMax<keepdims = 1>(b, axes)
  y = Sub(b, m)
}}
"""
DEVIATIONS = """
<ir_version: 8, opset_import: ["" : 18]>
graph ({T}[2048,24] x) => ({T}[24] m, {T}[24] v)
<int64[1] axis = {{0}}>
{{
  m = ReduceMean<keepdims = 0>(x, axis)
  w = Abs(x)
  n = ReduceMean<keepdims = 1>(w, axis)
  d = Sub(w, n)
  s = Mul(d, d)
  v = ReduceMean<keepdims = 0>(s, axis)
}}
"""


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reduced_reads, "_SMALL_BYTES", 0)
    monkeypatch.setattr(split_long_reductions, "_MIN_ELEMENTS", 1 << 12)
    monkeypatch.setattr(split_long_reductions, "_MIN_PART", 64)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("text", "kernels", "launches"),
    [(SQUARES, 1, 2), (EXPONENTIALS, 1, 4), (DECIBELS, 1, 1), (DEVIATIONS, 1, 6)],
)
def test_nothing_is_stored_in_between(text: str, kernels: int, launches: int, kind: str) -> None:
    found, right, images = run(text, kind)
    limit = 2e-2 if kind == "float16" else 1e-4
    for mine, wanted in zip(found, right, strict=True):
        np.testing.assert_allclose(mine, wanted, rtol=limit, atol=limit * np.abs(wanted).max())
    assert len(images) == kernels
    assert sum(len(image.launches) for image in images) == launches


@pytest.mark.parametrize(("shape", "axis"), [("9,700", 1), ("300,20", 0), ("40,3", 0)])
def test_a_scan_converts_what_it_reads(shape: str, axis: int) -> None:
    text = f"""
    <ir_version: 8, opset_import: ["" : 18]>
    graph (float16[{shape}] x) => (float[{shape}] y)
    <int64 axis = {{{{{axis}}}}}>
    {{{{
      w = Cast<to = 1>(x)
      y = CumSum(w, axis)
    }}}}
    """
    found, right, images = run(text, "float16")
    np.testing.assert_allclose(found[0], right[0], rtol=1e-4, atol=1e-4)
    assert len(images) == 1


MASKED = """
<ir_version: 8, opset_import: ["" : 18]>
graph ({T}[4,21,48] x, {T}[4,21,1] m) => ({T}[4,48] y)
<int64[1] axis = {{1}}>
{{
  w = Mul(x, m)
  y = ReduceSum<keepdims = 0>(w, axis)
}}
"""


@pytest.mark.parametrize("kind", ["float16", "float"])
def test_weighted_sums_of_a_batch_are_no_products(kind: str) -> None:
    found, right, images = run(MASKED, kind)
    rounding = 4e-3 if kind == "float16" else 1e-5
    np.testing.assert_allclose(found[0].astype(np.float64), right[0], rounding, 10 * rounding)
    (launch,) = [launch for image in images for launch in image.launches]
    assert launch.schedule.startswith("columns")
