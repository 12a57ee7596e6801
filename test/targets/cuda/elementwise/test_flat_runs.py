# SPDX-License-Identifier: MIT OR Apache-2.0
"""Emulates threads that store contiguous elements across the ends of rows of odd lengths."""

from __future__ import annotations

import re

import numpy as np
import pytest
from text_model import run

from xyntra.passes.lower.gpu.elementwise import pointwise

_HEAD = '<ir_version: 10, opset_import: ["" : 20]>\n'
_PADDED = """
graph ({T}[2,3,SIZE] x) => ({T}[n,c,h,w] r) <int64[8] p = {{PADS}}>
{{ r = Pad(x, p) }}
"""
_FRAMED = """
graph ({T}[6,21] x) => ({T}[n,m] r) <int64[4] p = {{1, 3, 1, 0}}>
{{ r = Pad(x, p) }}
"""
_COMPUTED = """
graph ({T}[6,21] x) => ({T}[n,m] r) <int64[4] p = {{1, 3, 1, 0}}>
{{
  y = Pad(x, p)
  z = Neg(y)
  r = Sub(z, y)
}}
"""
_LONG = """
graph ({T}[1,63] x) => ({T}[n,m] r) <int64[4] p = {{0, 8, 0, 9}}>
{{ r = Pad(x, p) }}
"""
_CROPPED = """
graph ({T}[4,6,15] x) => ({T}[n,m,k] r)
<int64[2] from = {{1, 1}}, int64[2] to = {{5, 14}}, int64[2] axes = {{1, 2}}>
{{
  c = Slice(x, from, to, axes)
  r = Neg(c)
}}
"""
_JOINED = """
graph ({T}[8,5] x, {T}[8,12] y) => ({T}[n,m] r)
{{ r = Concat<axis = 1>(x, y) }}
"""
_SPREAD = """
graph ({T}[24,17] x, {T}[17] b, {T}[24,1] s) => ({T}[n,m] r)
{{
  y = Mul(x, s)
  r = Add(y, b)
}}
"""
_AROUND = _PADDED.replace("SIZE", "7,12").replace("PADS", "0, 0, 1, 1, 0, 0, 2, 2")
_BEHIND = _PADDED.replace("SIZE", "7,13").replace("PADS", "0, 0, 0, 0, 0, 0, 1, 3")
_OUTER = _PADDED.replace("SIZE", "3,9").replace("PADS", "0, 1, 1, 1, 1, 0, 0, 1")
_MODELS = {
    "padded all around, in vectors of four": (_AROUND, 4),
    "padded behind, to whole vectors": (_BEHIND, 8),
    "padded in all dimensions": (_OUTER, 8),
    "a padded matrix": (_FRAMED, 8),
    "a padded matrix, and arithmetic": (_COMPUTED, 8),
    "a padded row": (_LONG, 8),
    "cropped": (_CROPPED, 8),
    "concatenated": (_JOINED, 8),
    "with what rows and columns share": (_SPREAD, 8),
}


@pytest.mark.parametrize("name", _MODELS)
def test_threads_store_vectors_across_rows(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pointwise, "_LEAST", 1)
    text, lanes = _MODELS[name]
    found, right, images = run(_HEAD + text, "float16")
    np.testing.assert_allclose(found[0].astype(np.float64), right[0], 2e-3, 2e-3)
    (launch,) = [launch for image in images for launch in image.launches]
    assert launch.schedule == f"pointwise own {lanes}"
    stores = re.findall(r"st\.global\S*", " ".join(image.ptx for image in images))
    assert stores == [{4: "st.global.v4.b16", 8: "st.global.v4.b32"}[lanes]]


def test_elements_of_32_bits_are_stored_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pointwise, "_LEAST", 1)
    found, right, images = run(_HEAD + _AROUND, "float")
    np.testing.assert_array_equal(found[0], right[0].astype(np.float32))
    assert images[0].launches[0].schedule.startswith("side-by-side")
