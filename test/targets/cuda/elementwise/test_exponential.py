# SPDX-License-Identifier: MIT OR Apache-2.0
"""exp(x) of what is at most zero, for GPUs: how exact it is, and where it is used."""

from __future__ import annotations

import math

import numpy as np
from gpu_code import compiled

POWER = """
func.func @k(%x: tensor<4096xf32>) -> tensor<4096x{kind}> {{
  %e = tensor.empty() : tensor<4096x{kind}>
  %r = linalg.generic {{
    indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
    iterator_types = ["parallel"]}}
    ins(%x : tensor<4096xf32>) outs(%e : tensor<4096x{kind}>) {{
  ^bb0(%u: f32, %o: {kind}):
    %y = math.exp %u {mark} : f32
    {end}
  }} -> tensor<4096x{kind}>
  return %r : tensor<4096x{kind}>
}}"""
MARK = "{xyntra.at_most_zero}"
WIDE = {"kind": "f32", "end": "linalg.yield %y : f32"}
NARROW = {"kind": "bf16", "end": "%t = arith.truncf %y : f32 to bf16\n linalg.yield %t : bf16"}


def test_it_is_one_power_where_results_are_narrow() -> None:
    ptx = compiled(POWER.format(mark=MARK, **NARROW)).ptx
    assert "ex2.approx.ftz.f32" in ptx
    assert "fma" not in ptx


def test_it_is_a_power_and_what_is_left_where_they_are_wide() -> None:
    ptx = compiled(POWER.format(mark=MARK, **WIDE)).ptx
    assert ptx.count("fma.rn.f32") == 2 * ptx.count("ex2.approx.ftz.f32") > 0


def test_what_may_be_above_zero_is_no_power_of_f32() -> None:
    assert "ex2" not in compiled(POWER.format(mark="", **WIDE)).ptx


def _error(found: np.ndarray, x: np.ndarray) -> np.ndarray:
    wanted = np.exp(x.astype("f8"))
    return np.abs(found - wanted) / wanted + 2.0**-22.5  # of the instruction


def test_it_is_as_exact_as_stated() -> None:
    x = np.linspace(-87, 0, 80_001).astype(np.float32)
    exponent = x * np.float32(math.log2(math.e))
    power = np.exp2(exponent.astype("f8"))
    rest = (exponent.astype("f8") * -np.float32(math.log(2)).astype("f8") + x).astype(np.float32)
    assert (_error(power * (1 + rest.astype("f8")), x) <= 4.2e-7).all()
    assert (_error(power, x) <= 2.0**-22.4 + 8.7e-8 * np.abs(x)).all()
