# SPDX-License-Identifier: MIT OR Apache-2.0
"""Functions of f32 that GPUs compute otherwise than CPUs, in the emulator, against float64."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from gpu_code import compiled
from scalar_kernels import KERNEL, Array, of_f32, run, worsen

from xyntra.passes.math.table import MAX_ULP

FUNCTIONS: dict[str, Callable[[Array], Array]] = {
    "sin": np.sin,
    "cos": np.cos,
    "erf": lambda x: np.frompyfunc(math.erf, 1, 1)(x).astype("f8"),
}


def everywhere(step: int, first: int = 0) -> Array:
    """65,536 numbers: every `step`th encoding of f32."""
    bits = (first + np.arange(65536, dtype=np.uint64) * step) % 2**32
    return bits.astype(np.uint32).view(np.float32)


def near_zeros() -> Array:
    """The numbers next to multiples of pi / 2 up to the bound of the short reduction and beyond."""
    near = (np.arange(1, 65536 // 3 + 1) * 2.1 // 1 * math.pi / 2).astype(np.float32)
    ends = [np.nextafter(near, np.float32(end)) for end in (0, np.inf)]
    return np.resize(np.concatenate([near, *ends]), 65536)


SAMPLES = {
    "every exponent": everywhere(65537),
    "one to eight": everywhere(383, 0x3F800000),
    "around the bound": everywhere(997, 0x477F0000 - 997 * 32768),
    "near zeros": near_zeros(),
}


def ulps(found: Array, exact: Array) -> Array:
    with np.errstate(all="ignore"):
        step = np.spacing(np.abs(exact).astype(np.float32)).astype("f8")
        same = np.isnan(found) & np.isnan(exact)
        return np.where(same, 0, np.abs(found - exact) / step)


@pytest.mark.parametrize("sample", SAMPLES)
@pytest.mark.parametrize("sign", [-1, 1])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_errors_are_those_stated(name, sign, sample, monkeypatch):
    worsen(monkeypatch, sign)
    x = np.copysign(SAMPLES[sample], np.float32(sign))
    found = run(of_f32(f"%z = math.{name} %u : f32"), x, x)
    with np.errstate(all="ignore"):
        exact = FUNCTIONS[name](x.astype("f8"))
    error = ulps(found.astype("f8"), exact)
    assert (error <= MAX_ULP[f"math.{name}"]).all(), (x[np.nanargmax(error)], np.nanmax(error))
    assert (np.signbit(found) == np.signbit(exact))[x == 0].all()


@pytest.mark.parametrize("name", ["sin", "cos"])
def test_numbers_one_by_one(name):
    """65,535 have no vectors."""
    x = SAMPLES["every exponent"][1:].copy()
    text = of_f32(f"%z = math.{name} %u : f32").replace("65536", "65535")
    with np.errstate(all="ignore"):
        exact = FUNCTIONS[name](x.astype("f8"))
    assert (ulps(run(text, x, x).astype("f8"), exact) <= MAX_ULP[f"math.{name}"]).all()


def test_large_angles_have_a_branch_that_f16_does_not_need():
    body = "%z = math.sin %u : f32"
    assert "bra" in compiled(of_f32(body)).ptx
    for kind, has in (("f16", False), ("bf16", True)):
        ptx = compiled(KERNEL.format(kind=kind, body=body)).ptx
        assert ("bra" in ptx) == has == ("mul.hi.u32" in ptx)
