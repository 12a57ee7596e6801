# SPDX-License-Identifier: MIT OR Apache-2.0
"""Pooling on GPUs: one launch, whole vectors, no padded copy of the image."""

from __future__ import annotations

import re

import pytest
from gpu_code import assemble, compiled

POOLING = """
func.func @k(%x: tensor<2x{height}x9x{channels}xf16>) -> tensor<2x4x5x{channels}xf16> {{
  %low = arith.constant 0xFC00 : f16
  %y = tensor.pad %x low[0, 1, 1, 0] high[0, 1, 1, 0] {{
  ^bb0(%n: index, %i: index, %j: index, %c: index):
    tensor.yield {outside} : f16
  }} : tensor<2x{height}x9x{channels}xf16> to tensor<2x{padded}x11x{channels}xf16>
  %window = tensor.empty() : tensor<3x3xf16>
  %e = tensor.empty() : tensor<2x4x5x{channels}xf16>
  %f = linalg.fill ins(%low : f16) outs(%e : tensor<2x4x5x{channels}xf16>)
    -> tensor<2x4x5x{channels}xf16>
  %r = linalg.generic {{
    indexing_maps = [affine_map<(n, h, w, c, i, j) -> (n, h * 2 + i, w * 2 + j, c)>,
                     affine_map<(n, h, w, c, i, j) -> (i, j)>,
                     affine_map<(n, h, w, c, i, j) -> (n, h, w, c)>],
    iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction"]}}
    ins(%y, %window : tensor<2x{padded}x11x{channels}xf16>, tensor<3x3xf16>)
    outs(%f : tensor<2x4x5x{channels}xf16>) {{
  ^bb0(%u: f16, %v: f16, %o: f16):
    %m = arith.maximumf %o, %u : f16
    linalg.yield %m : f16
  }} -> tensor<2x4x5x{channels}xf16>
  return %r : tensor<2x4x5x{channels}xf16>
}}"""


def pooling(channels: int, outside: str = "%low") -> str:
    return POOLING.format(height=7, padded=9, channels=channels, outside=outside)


def test_a_padded_image_is_read_around_its_padding(tmp_path):
    image = compiled(pooling(16))
    (launch,) = image.launches
    assert launch.grid * launch.block >= 2 * 4 * 5 * 16 // 8
    assert image.scratch == ()
    assert len(re.findall(r"ld\.global\S*\.v4\.b32", image.ptx)) == 9
    assert "max.NaN.f16x2" in image.ptx
    report = assemble(image, "sm_90a", tmp_path)
    assert set(re.findall(r"(\d+) bytes spill", report)) == {"0"}


@pytest.mark.parametrize("channels", [5, 12])
def test_channels_that_are_no_multiple_of_a_vector_need_the_padded_copy(channels):
    image = compiled(pooling(channels))
    narrow = channels == 5
    assert (len(image.launches) > 1) == narrow
    assert bool(image.scratch) == narrow
