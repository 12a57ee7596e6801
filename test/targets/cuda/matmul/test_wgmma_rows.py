# SPDX-License-Identifier: MIT OR Apache-2.0
"""Products on warpgroups whose rows TMA cannot write: threads write neighbours."""

from __future__ import annotations

import re

import pytest
from gpu_code import assemble, compiled

PRODUCT = """
func.func @k(%x: tensor<4096x768xf16>, %w: tensor<{n}x768xf16>) -> tensor<4096x{n}x{out}> {{
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4096x{n}xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<4096x{n}xf32>) -> tensor<4096x{n}xf32>
  %r = linalg.generic {{
    indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (j, k)>,
      affine_map<(i, j, k) -> (i, j)>],
    iterator_types = ["parallel", "parallel", "reduction"]}}
    ins(%x, %w : tensor<4096x768xf16>, tensor<{n}x768xf16>)
    outs(%f : tensor<4096x{n}xf32>) {{
  ^bb0(%p: f16, %q: f16, %o: f32):
    %a = arith.extf %p : f16 to f32
    %b = arith.extf %q : f16 to f32
    %c = arith.mulf %a, %b : f32
    %d = arith.addf %o, %c : f32
    linalg.yield %d : f32
  }} -> tensor<4096x{n}xf32>
  {ending}
}}"""
NARROW = """%g = tensor.empty() : tensor<4096x{n}xf16>
  %s = linalg.generic {{
    indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
    iterator_types = ["parallel", "parallel"]}}
    ins(%r : tensor<4096x{n}xf32>) outs(%g : tensor<4096x{n}xf16>) {{
  ^bb0(%p: f32, %o: f16):
    %t = arith.truncf %p : f32 to f16
    linalg.yield %t : f16
  }} -> tensor<4096x{n}xf16>
  return %s : tensor<4096x{n}xf16>"""


def product(n: int, out: str):
    ending = NARROW.format(n=n) if out == "f16" else f"return %r : tensor<4096x{n}xf32>"
    return compiled(PRODUCT.format(n=n, out=out, ending=ending))


@pytest.mark.parametrize(("n", "out"), [(50257, "f16"), (1001, "f32")])
def test_threads_write_rows_between_multiples_of_16_bytes(n, out, tmp_path):
    image = product(n, out)
    (launch,) = image.launches
    assert "wgmma.mma_async" in image.ptx
    assert [len(each.sizes) for each in launch.maps] == [2, 2]  # of the factors alone
    width = "b16" if out == "f16" else "b32"
    assert re.search(rf"ld\.shared\.{width}", image.ptx)
    assert re.search(rf"st\.global\.{width}", image.ptx)
    report = assemble(image, "sm_90a", tmp_path)
    assert set(re.findall(r"(\d+) bytes spill", report)) == {"0"}


def test_tma_writes_the_others():
    image = product(1024, "f16")
    assert len(image.launches[0].maps) == 3
    assert not re.search(r"st\.global", image.ptx)
