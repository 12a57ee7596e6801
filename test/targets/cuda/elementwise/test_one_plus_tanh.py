# SPDX-License-Identifier: MIT OR Apache-2.0
"""1 + tanh(x) for GPUs: how exact it is, and where it is used."""

from __future__ import annotations

import math

import numpy as np
import pytest
from gpu_code import compiled

GELU = """
func.func @k(%x: tensor<4096xf32>) -> tensor<4096xf32> {{
  %e = tensor.empty() : tensor<4096xf32>
  %r = linalg.generic {{
    indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
    iterator_types = ["parallel"]}}
    ins(%x : tensor<4096xf32>) outs(%e : tensor<4096xf32>) {{
  ^bb0(%u: f32, %o: f32):
    %one = arith.constant {one} : f32
    %t = math.tanh %u : f32
    %w = arith.addf %t, %one : f32
    %y = arith.mulf %w, {factor} : f32
    linalg.yield %y : f32
  }} -> tensor<4096xf32>
  return %r : tensor<4096xf32>
}}"""


def code(one: str = "1.0", factor: str = "%u") -> str:
    return compiled(GELU.format(one=one, factor=factor)).ptx


def test_it_is_one_power_and_one_reciprocal():
    ptx = code()
    powers = ptx.count("ex2.approx.ftz.f32")
    assert powers == ptx.count("rcp.approx.ftz.f32") > 0
    assert "fma" not in ptx
    assert "div" not in ptx


@pytest.mark.parametrize(("one", "factor"), [("0.5", "%u"), ("1.0", "%t")])
def test_other_uses_of_tanh_are_computed_as_they_stand(one, factor):
    ptx = code(one, factor)
    assert "rcp.approx.ftz" not in ptx
    assert "fma" in ptx


def test_it_is_as_exact_as_stated():
    x = np.linspace(-40, 40, 40_001).astype(np.float32)
    scale = np.float32(-2 * math.log2(math.e))
    power = np.exp2((x * scale).astype("f8")).astype(np.float32)
    found = 2 / (np.float32(1) + power).astype("f8")
    wanted = 2 / (1 + np.exp(-2 * x.astype("f8")))
    error = np.abs(found - wanted) + wanted * (2.0**-22.5 + 2.0**-23)  # of the instructions
    assert (error <= np.minimum(7e-7, wanted * (4e-7 + np.abs(x) * 2e-7))).all()
