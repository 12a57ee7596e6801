# SPDX-License-Identifier: MIT OR Apache-2.0
"""Functions whose results have 16 bits, for every argument of 16 bits, in the emulator."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from gpu_code import compiled
from scalar_kernels import KERNEL, Array, of_f32, run, worsen

KINDS = {"f16": np.dtype(np.float16), "bf16": np.dtype(ml_dtypes.bfloat16)}
QUOTIENT = "%z = arith.divf %u, %v : f32"
QUOTIENT_OF_F16 = "%d = arith.divf %a, %b : f16\n%z = arith.extf %d : f16 to f32"
SIGMOID = """%n = arith.negf %u : f32
    %p = math.exp %n : f32
    %t = arith.addf %one, %p : f32
    %z = arith.divf %one, %t : f32"""
SOFTPLUS = """%m = arith.maximumf %u, %zero : f32
    %d = math.absf %u : f32
    %n = arith.negf %d : f32
    %p = math.exp %n : f32
    %l = math.log1p %p : f32
    %q = arith.addf %m, %l : f32"""


def _mish(x: Array) -> Array:
    return x * np.tanh(np.logaddexp(0, x))


BODIES: dict[str, tuple[str, Callable[[Array], Array]]] = {
    "exp": ("%z = math.exp %u : f32", np.exp),
    "exp2": ("%z = math.exp2 %u : f32", np.exp2),
    "expm1": ("%z = math.expm1 %u : f32", np.expm1),
    "log": ("%z = math.log %u : f32", np.log),
    "log2": ("%z = math.log2 %u : f32", np.log2),
    "log10": ("%z = math.log10 %u : f32", np.log10),
    "log1p": ("%z = math.log1p %u : f32", np.log1p),
    "tanh": ("%z = math.tanh %u : f32", np.tanh),
    "sigmoid": (SIGMOID, lambda x: 1 / (1 + np.exp(-x))),
    "softplus": (SOFTPLUS + "\n%z = arith.addf %q, %zero : f32", lambda x: np.logaddexp(0, x)),
    "mish": (SOFTPLUS + "\n%h = math.tanh %q : f32\n%z = arith.mulf %u, %h : f32", _mish),
    "share": ("%c = arith.constant 255.0 : f32\n%z = arith.divf %u, %c : f32", lambda x: x / 255),
}


def every(kind: str) -> Array:
    return np.arange(65536, dtype=np.uint16).view(KINDS[kind])


def assert_rounded(found: Array, exact: Array, tolerance: Any, tiny: Any = 2.0**-126) -> None:
    """Check that a number within `tolerance` of the exact one was rounded; tiny ones may be 0."""
    with np.errstate(all="ignore"):
        ends = [(exact * (1 + each)).astype(found.dtype) for each in (-tolerance, tolerance)]
    low, high = (each.astype("f8") for each in (np.minimum(*ends), np.maximum(*ends)))
    wide = found.astype("f8")
    right = (low <= wide) & (wide <= high) & (np.signbit(wide) == np.signbit(exact))
    right |= np.isnan(wide) & np.isnan(exact)
    right |= (np.abs(exact) < tiny) & (wide == 0)
    assert right.all(), (found[~right][:8], exact[~right][:8])


@pytest.mark.parametrize("sign", [-1, 0, 1])
@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("kind", KINDS)
def test_results_are_those_of_a_number_much_closer_than_a_rounding(kind, name, sign, monkeypatch):
    worsen(monkeypatch, sign)
    body, function = BODIES[name]
    x = every(kind)
    with np.errstate(all="ignore"):
        wide = x.astype("f8")
        exact = function(wide)
        # A power of e is less exact where it is large: up to 89 it is 8e-6 off.
        tolerance = 1.5e-6 + 9e-8 * np.minimum(np.abs(wide), 128) * (name != "tanh")
        # What is flushed to zero is the share of x.
        tiny = 2.0**-126 * (np.maximum(np.abs(wide), 1) if name == "mish" else 1)
    assert_rounded(run(KERNEL.format(kind=kind, body=body), x, x), exact, tolerance, tiny)


@pytest.mark.parametrize("body", [QUOTIENT, QUOTIENT_OF_F16])
@pytest.mark.parametrize("kind", KINDS)
def test_quotients_of_any_size(kind, body):
    rng = np.random.default_rng(1)
    x, y = (rng.permutation(every(kind)) for _ in range(2))
    with np.errstate(all="ignore"):
        exact = x.astype("f8") / y.astype("f8")
    assert_rounded(
        run(KERNEL.format(kind=kind, body=body.replace("f16", kind)), x, y), exact, 2.0**-22
    )


def code(body: str, kind: str = "f16") -> str:
    return compiled(KERNEL.format(kind=kind, body=body)).ptx


@pytest.mark.parametrize(
    ("name", "instructions"),
    [
        ("exp", {"ex2.approx.ftz": 1}),
        ("sigmoid", {"ex2.approx.ftz": 1, "rcp.approx.ftz": 1}),
        ("mish", {"ex2.approx.ftz": 1, "rcp.approx.ftz": 1}),
        ("tanh", {"ex2.approx.ftz": 1, "rcp.approx.ftz": 1}),
        ("softplus", {"ex2.approx.ftz": 1, "lg2.approx": 1}),
        ("share", {}),
    ],
)
def test_the_instructions_of_an_element(name: str, instructions: dict[str, int]) -> None:
    ptx = code(BODIES[name][0])
    assert "div." not in ptx
    assert ptx.count(".approx") == 8 * sum(instructions.values())
    for each, count in instructions.items():
        assert ptx.count(each) == 8 * count


THRESHOLD = """%q = arith.truncf %q0 : f32 to f16
    %c = arith.constant {threshold} : f16
    %is = arith.cmpf {predicate}, %a, %c : f16
    %w = arith.select %is, %a, %q : f16
    %w1 = arith.extf %w : f16 to f32
    %z = math.tanh %w1 : f32"""
LOG = """%p = math.exp %u : f32
    %t = arith.addf %p, {one} : f32
    %q = math.log %t : f32
    %z = math.tanh %q : f32"""


@pytest.mark.parametrize(
    ("body", "is_found"),
    [
        (SOFTPLUS + "\n%z = math.tanh %q : f32", True),
        (LOG.format(one="%one"), True),
        (LOG.format(one="%v"), False),
        (SOFTPLUS.replace("%zero", "%one") + "\n%z = math.tanh %q : f32", False),
        (SOFTPLUS.replace("math.absf %u", "math.absf %v") + "\n%z = math.tanh %q : f32", False),
        (SOFTPLUS.replace("negf %d", "negf %u") + "\n%z = math.tanh %q : f32", False),
        ((SOFTPLUS + "\n" + THRESHOLD).replace("%q =", "%q0 =", 1), True),
        ((SOFTPLUS + "\n" + THRESHOLD).replace("%q =", "%q0 =", 1).replace("%is, %a", "%is, %b"),
         False),
    ],
)  # fmt: skip
@pytest.mark.parametrize("threshold", [20.0, 2.0])
def test_where_a_tanh_is_of_a_softplus(body: str, is_found: bool, threshold: float) -> None:
    above = body.replace("{threshold}", str(threshold)).replace("{predicate}", "ogt")
    is_cut = above != body and threshold < 9
    assert ("lg2" not in code(above)) == (is_found and not is_cut)


def test_a_quotient_has_no_branch() -> None:
    for body in (QUOTIENT, QUOTIENT_OF_F16):
        ptx = code(body)
        assert ptx.count("div.full.f32") == ptx.count("div.") == 8
    by_constant = QUOTIENT_OF_F16.replace("%d =", "%c = arith.constant 255.0 : f16\n%d =")
    assert "div." not in code(by_constant.replace("%b", "%c"))


@pytest.mark.parametrize("name", ["exp", "tanh", "sigmoid", "log"])
def test_results_of_f32_are_computed_as_they_stand(name: str) -> None:
    assert "approx" not in compiled(of_f32(BODIES[name][0])).ptx


@pytest.mark.parametrize("sign", [-1, 0, 1])
def test_a_mish_of_f32_has_no_logarithm(sign: int, monkeypatch: pytest.MonkeyPatch) -> None:
    worsen(monkeypatch, sign)
    bits = np.arange(0, 2**32, 65537, dtype=np.uint64).astype(np.uint32)
    x = np.resize(bits, 65536).view(np.float32)
    text = of_f32(BODIES["mish"][0])
    assert "div" not in compiled(text).ptx
    found = run(text, x, x)
    with np.errstate(all="ignore"):
        wide = x.astype("f8")
        power = np.exp(np.minimum(wide, 30))
        share = power * (power + 2) / (power * (power + 2) + 2)
        exact = wide * share
        step = np.spacing(np.abs(exact).astype(np.float32)).astype("f8")
        # The share of x may be subnormal.
        allowed = 4 * step + np.abs(wide) * 2.0**-149 * (share < 2.0**-126)
        is_number = np.isfinite(exact) & (np.abs(exact) < 3e38)
        assert (np.abs(found - exact)[is_number] <= allowed[is_number]).all()
    assert np.isnan(found[np.isnan(wide) | (wide == -math.inf)]).all()
    assert (found[wide == math.inf] == math.inf).all()
