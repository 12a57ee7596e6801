# SPDX-License-Identifier: MIT OR Apache-2.0
"""GELU for GPUs: how exact its polynomials are, and where they are used."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from gpu_code import compiled

from xyntra.passes.lower.gpu.math import gelu

GELU = """
func.func @k(%x: tensor<4096x{dtype}>) -> tensor<4096x{dtype}> {{
  %e = tensor.empty() : tensor<4096x{dtype}>
  %r = linalg.generic {{
    indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
    iterator_types = ["parallel"]}}
    ins(%x : tensor<4096x{dtype}>) outs(%e : tensor<4096x{dtype}>) {{
  ^bb0(%in: {dtype}, %o: {dtype}):
    {widen}
    %half = arith.constant 0.5 : f32
    %one = arith.constant 1.0 : f32
    %root = arith.constant {root} : f32
    %s = arith.mulf %u, %root : f32
    %t = math.erf %s : f32
    %w = arith.addf %t, %one : f32
    {ending}
    {narrow}
    linalg.yield %y : {dtype}
  }} -> tensor<4096x{dtype}>
  return %r : tensor<4096x{dtype}>
}}"""
ENDINGS = [
    "%h = arith.mulf %u, %half : f32\n %v = arith.mulf %h, %w : f32",
    "%h = arith.mulf %u, %w : f32\n %v = arith.mulf %h, %half : f32",
    "%h = arith.mulf %w, %half : f32\n %v = arith.mulf %u, %h : f32",
]


def code(dtype: str, ending: str, root: str = "0.707106769") -> str:
    widen = f"%u = arith.extf %in : {dtype} to f32"
    narrow = f"%y = arith.truncf %v : f32 to {dtype}"
    if dtype == "f32":
        widen, narrow, ending = "", "", ending.replace("%u", "%in").replace("%v", "%y")
        text = GELU.replace("mulf %u", "mulf %in")
    else:
        text = GELU
    return compiled(
        text.format(dtype=dtype, widen=widen, narrow=narrow, ending=ending, root=root)
    ).ptx


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize(("dtype", "terms"), [("f32", 8), ("bf16", 8), ("f16", 6)])
def test_a_gelu_is_one_polynomial_one_power_and_one_product(dtype, terms, ending):
    ptx = code(dtype, ending)
    powers = len(re.findall(r"ex2\.approx\.ftz\.f32", ptx))
    assert powers
    assert "ex2.approx.f32" not in ptx
    assert len(re.findall(r"fma\.rn\.f32", ptx)) == terms * powers
    assert len(re.findall(r"mul\.(?:rn\.)?f32", ptx)) == powers


@pytest.mark.parametrize(
    ("ending", "root"),
    [
        (ENDINGS[0], "0.7"),  # not a GELU: another argument
        (ENDINGS[0].replace("%half", "%one"), "0.707106769"),  # another factor
        ("%h = arith.addf %u, %half : f32\n %v = arith.mulf %h, %w : f32", "0.707106769"),
        ("%h = arith.mulf %half, %w : f32\n %v = arith.mulf %h, %t : f32", "0.707106769"),
    ],
)
def test_what_only_looks_like_one_is_computed_as_it_stands(ending, root):
    ptx = code("bf16", ending, root)
    # A share of x, which a GELU is, is chosen from what is above zero and what is below it.
    assert "ex2.approx.ftz" not in ptx or "copysign" in ptx


def below(kind: str, t: np.ndarray) -> np.ndarray:
    """The share of a negative number, every step rounded to f32 as fused multiply-adds are."""
    coefficients = [float(np.float32(each)) for each in gelu._POLYNOMIALS[kind]]
    power = np.full(t.shape, coefficients[-1], np.float32)
    for each in coefficients[-2::-1]:
        power = (power.astype("f8") * t + each).astype(np.float32)
    return np.exp2(-power.astype("f8"))


def exact(t: np.ndarray) -> np.ndarray:
    return np.array([0.5 * math.erfc(each / math.sqrt(2.0)) for each in t])


@pytest.mark.parametrize(
    ("kind", "end", "relative", "absolute"),
    [
        ("bf16", 6.0, 1.4e-4, 0.0),
        ("bf16", 13.2, 2.9e-4, 0.0),
        ("f16", 3.0, 2.4e-5, 0.0),
        ("f16", 4.3, 1.5e-4, 0.0),
        ("f16", 13.5, 1.5e-4, 6e-9),
        ("f32", 13.5, 0.0, 1.1e-7),
    ],
)
def test_polynomials_are_as_exact_as_stated(kind, end, relative, absolute):
    t = np.linspace(0, end, 30_001).astype(np.float32).astype("f8")
    for sign in (-1, 1):
        share = below(kind, t) if sign < 0 else 1 - below(kind, t)
        wanted = sign * t * (exact(t) if sign < 0 else 1 - exact(t))
        error = np.abs(sign * t * share - wanted)
        assert (error <= relative * np.abs(wanted) + absolute).all()


@pytest.mark.parametrize("kind", ["f32", "bf16", "f16"])
def test_the_power_is_zero_at_the_end(kind):
    assert below(kind, np.array([gelu._END]))[0] < 2.0**-127
