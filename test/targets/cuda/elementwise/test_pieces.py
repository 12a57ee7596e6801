# SPDX-License-Identifier: MIT OR Apache-2.0
"""Concatenations, slices, paddings and rotations as index arithmetic of elementwise kernels."""

from __future__ import annotations

import re

import numpy as np
import pytest
from text_model import KINDS, run

HALVES = """
<ir_version: 8, opset_import: ["" : 18]>
graph ({T}[2,5,64] x, {T}[5,64] c, {T}[5,64] s) => ({T}[2,5,64] y)
<int64[2] half = {{32, 32}}>
{{
  a, b = Split<axis = 2>(x, half)
  n = Neg(b)
  r = Concat<axis = 2>(n, a)
  p = Mul(x, c)
  q = Mul(r, s)
  y = Add(p, q)
}}
"""
PARTLY = """
<ir_version: 8, opset_import: ["" : 18]>
graph ({T}[3,6,48] x, {T}[6,32] c) => ({T}[3,6,48] y)
<int64[2] parts = {{32, 16}}, int64[2] half = {{16, 16}}>
{{
  t, rest = Split<axis = 2>(x, parts)
  a, b = Split<axis = 2>(t, half)
  n = Neg(b)
  r = Concat<axis = 2>(n, a)
  q = Mul(r, c)
  y = Concat<axis = 2>(q, rest)
}}
"""
NEIGHBOURS = """
<ir_version: 8, opset_import: ["" : 18]>
graph ({T}[3,7,64] x, {T}[7,32] c, {T}[7,32] s) => ({T}[3,7,64] y)
<int64[1] zero = {{0}}, int64[1] one = {{1}}, int64[1] two = {{2}}, int64[1] end = {{64}},
 int64[1] last = {{2}}, int64[3] shape = {{3, 7, 64}}, int64[1] behind = {{-1}}>
{{
  a = Slice(x, zero, end, last, two)
  b = Slice(x, one, end, last, two)
  ac = Mul(a, c)
  bs = Mul(b, s)
  as = Mul(a, s)
  bc = Mul(b, c)
  u = Sub(ac, bs)
  v = Add(as, bc)
  p = Unsqueeze(u, behind)
  q = Unsqueeze(v, behind)
  r = Concat<axis = 3>(p, q)
  y = Reshape(r, shape)
}}
"""
ROLLED = """
<ir_version: 8, opset_import: ["" : 18]>
graph ({T}[2,14,14,24] x) => ({T}[2,14,14,24] y)
<int64[2] parts = {{3, 11}}>
{{
  a, b = Split<axis = 1>(x, parts)
  r = Concat<axis = 1>(b, a)
  c, d = Split<axis = 2>(r, parts)
  s = Concat<axis = 2>(d, c)
  y = Relu(s)
}}
"""
WINDOWS = """
<ir_version: 8, opset_import: ["" : 18]>
graph ({T}[2,14,14,8] x) => ({T}[2,2,2,7,7,8] y)
<int64[2] parts = {{3, 11}}, int64[6] shape = {{2, 2, 7, 2, 7, 8}}>
{{
  a, b = Split<axis = 1>(x, parts)
  r = Concat<axis = 1>(b, a)
  t = Reshape(r, shape)
  w = Transpose<perm = [0, 1, 3, 2, 4, 5]>(t)
  y = Relu(w)
}}
"""
PADDED = """
<ir_version: 8, opset_import: ["" : 18]>
graph ({T}[2,3,10,12] x) => ({T}[2,3,13,16] y)
<int64[8] pads = {{0, 0, 1, 2, 0, 0, 2, 2}}>
{{
  p = Pad(x, pads)
  y = Neg(p)
}}
"""
MERGED = """
<ir_version: 8, opset_import: ["" : 18]>
graph ({T}[2,6,6,16] x) => ({T}[2,3,3,64] y)
<int64[2] even = {{0, 0}}, int64[2] odd = {{1, 0}}, int64[2] third = {{0, 1}},
 int64[2] fourth = {{1, 1}}, int64[2] end = {{6, 6}}, int64[2] axes = {{1, 2}},
 int64[2] two = {{2, 2}}>
{{
  a = Slice(x, even, end, axes, two)
  b = Slice(x, odd, end, axes, two)
  c = Slice(x, third, end, axes, two)
  d = Slice(x, fourth, end, axes, two)
  y = Concat<axis = 3>(a, b, c, d)
}}
"""
FLIPPED = """
<ir_version: 8, opset_import: ["" : 18]>
graph ({T}[5,40] x) => ({T}[5,40] y)
<int64[1] start = {{39}}, int64[1] end = {{-100}}, int64[1] axis = {{1}}, int64[1] step = {{-1}}>
{{
  f = Slice(x, start, end, axis, step)
  y = Neg(f)
}}
"""
LATER = """
<ir_version: 8, opset_import: ["" : 18]>
graph ({T}[6,32] x) => ({T}[6,24] y)
<int64[1] start = {{3}}, int64[1] end = {{27}}, int64[1] axis = {{1}}>
{{
  f = Slice(x, start, end, axis)
  y = Neg(f)
}}
"""
TO_DEPTH = """
<ir_version: 8, opset_import: ["" : 18]>
graph ({T}[2,3,8,32] x) => ({T}[2,12,4,16] y) {{ y = SpaceToDepth<blocksize = 2>(x) }}
"""
TO_SPACE = """
<ir_version: 8, opset_import: ["" : 18]>
graph ({T}[2,8,4,16] x) => ({T}[2,2,8,32] y)
{{ y = DepthToSpace<blocksize = 2, mode = "CRD">(x) }}
"""
COLOURS = """
<ir_version: 8, opset_import: ["" : 18]>
graph ({T}[2,4,16,3] x) => ({T}[2,3,4,16] y) {{ y = Transpose<perm = [0, 3, 1, 2]>(x) }}
"""
RAGGED = """
<ir_version: 8, opset_import: ["" : 18]>
graph ({T}[7,13] x, {T}[7,6] z) => ({T}[7,19] y)
{{
  c = Concat<axis = 1>(x, z)
  y = Neg(c)
}}
"""
TWICE = """
<ir_version: 8, opset_import: ["" : 18]>
graph ({T}[4,16] x, {T}[4,8] z) => ({T}[4,24] y, {T}[24] m)
<int64[1] axis = {{0}}>
{{
  c = Concat<axis = 1>(x, z)
  y = Neg(c)
  m = ReduceMax<keepdims = 0>(c, axis)
}}
"""
FRAMES = """
<ir_version: 8, opset_import: ["" : 18]>
graph ({T}[2,80] x, {T}[20] w) => ({T}[2,6,20] y)
<int64[2] one = {{1, 79}}, int64[6,20] places = {{PLACES}}>
{{
  f, later = Split<axis = 1>(x, one)
  n = Neg(later)
  r = Concat<axis = 1>(f, n)
  g = Gather<axis = 1>(r, places)
  y = Mul(g, w)
}}
""".replace("PLACES", ", ".join(str(12 * frame + k) for frame in range(6) for k in range(20)))
MODELS = {
    "rotated halves": (HALVES, 1, True),
    "rotated in part": (PARTLY, 1, True),
    "rotated neighbours": (NEIGHBOURS, 1, True),
    "rolled in two dimensions": (ROLLED, 2, True),
    "windows of what is rolled": (WINDOWS, 1, True),
    "padded": (PADDED, 1, False),
    "patches merged": (MERGED, 1, True),
    "flipped": (FLIPPED, 1, True),
    "from a later element on": (LATER, 1, True),
    "space to depth": (TO_DEPTH, 1, True),
    "depth to space": (TO_SPACE, 1, True),
    "colours first": (COLOURS, 1, True),
    "ragged": (RAGGED, 1, False),
    "frames of a concatenation": (FRAMES, 1, False),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", MODELS)
def test_pieces_are_computed_where_they_are_read(name: str, kind: str) -> None:
    text, launches, in_vectors = MODELS[name]
    found, right, images = run(text, kind)
    for mine, wanted in zip(found, right, strict=True):
        np.testing.assert_allclose(mine, wanted, rtol=2e-3, atol=2e-3)
    assert sum(len(image.launches) for image in images) <= launches
    assert not any(image.scratch for image in images)
    touched = re.findall(r"(?:ld|st)\.global\S*", " ".join(image.ptx for image in images))
    assert touched
    if in_vectors:  # of 16 bytes; of what results are interleaved from, as much as that takes
        half = (
            [] if name not in ("depth to space", "rotated neighbours") else [".v2.b32", ".v4.b16"]
        )
        allowed = {"ld": (".v4.b32", *half), "st": (".v4.b32",)}
        assert all(each.endswith(allowed[each[:2]]) for each in touched), touched


def test_what_a_reduction_reads_stays_a_buffer() -> None:
    found, right, _ = run(TWICE, "float")
    for mine, wanted in zip(found, right, strict=True):
        np.testing.assert_array_equal(mine, wanted)
