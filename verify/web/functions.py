# SPDX-License-Identifier: MIT OR Apache-2.0
"""Measures the errors of functions in a browser, over all f32 and beside their hard points."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import xyntra
from verify.web.running import load_model, run_model
from verify.web.server import served
from xyntra.passes.math.table import MAX_ULP

__all__ = ["FUNCTIONS", "Accuracy", "accuracy", "measure", "module_of", "operands_of"]

Array = np.ndarray[Any, Any]


def _elementwise(function: Callable[[float], float]) -> Callable[[Array], Array]:
    apply = np.frompyfunc(function, 1, 1)
    return lambda x: apply(x).astype(np.float64)


FUNCTIONS: Mapping[str, Callable[..., Array]] = {
    "exp": np.exp,
    "expm1": np.expm1,
    "log": np.log,
    "log1p": np.log1p,
    "tanh": np.tanh,
    "erf": _elementwise(math.erf),
    "powf": np.power,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "exp2": np.exp2,
    "log2": np.log2,
    "log10": np.log10,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "erfc": _elementwise(math.erfc),
    "cbrt": np.cbrt,
    "rsqrt": lambda x: 1.0 / np.sqrt(x),
}
"""The functions that are measured, and what they should be, in f64."""
_LOOSER = {"exp": 1.5, "exp2": 1.5, "log2": 2.0, "log10": 2.0, "atan": 2.0, "cbrt": 4.0}
"""Bounds that are wider than on CPUs, where `fma` rounds once in polynomials, too."""
_HARD = (0.0, 0.34657359, 0.41421356, 0.5, 0.625, 0.69314718, 0.84375, 1.0, 1.25, 2.857, 9.01, 88.7)
"""Points, of either sign, where approximations change over, or lose digits."""
_BESIDE = 2048
_SMALLEST = 2.0**-120
"""Below it, GPUs may take for zero what is on the way to a result."""


@dataclass(frozen=True)
class Accuracy:
    """Errors of a function, in units in the last place of f32.

    Attributes:
        name: of the function in MLIR's dialect `math`.
        bound: what is stated of it.
        worst: the largest error where neither operands nor results are below 2**-120.
        at: operands of that error.
        wrong: how often a result is of another kind: NaN, or finite, where it should not be.
        flushed: how many of the smaller ones became zero, as WGSL allows.
        count: how many were tried.
    """

    name: str
    bound: float
    worst: float
    at: tuple[float, ...]
    wrong: int
    flushed: int
    count: int


def measure(browser: Any, name: str) -> Accuracy:
    """Compile a function, run it in a page, and compare it with f64.

    Raises:
        RuntimeError: it could not be loaded, or failed.
    """
    operands = operands_of(name)
    text = module_of(name, len(operands), operands[0].size)
    with tempfile.TemporaryDirectory() as kept:
        (Path(kept) / "function.mlir").write_text(text, encoding="utf-8")
        executable = xyntra.compile(Path(kept) / "function.mlir", target="webgpu")
        executable.save_web(Path(kept) / "site")
        with served(Path(kept) / "site") as site:
            page = browser.new_page()
            page.set_default_timeout(300_000)
            page.goto(f"{site.address}style.css")
            loaded = load_model(page)
            if "error" in loaded:
                raise RuntimeError(loaded["error"]["text"])
            names = [port.name for port in executable.inputs]
            results, _ = run_model(page, dict(zip(names, operands, strict=True)))
            page.close()
    (result,) = results.values()
    return accuracy(name, operands, result)


def accuracy(name: str, operands: tuple[Array, ...], result: Array) -> Accuracy:
    """Compare the results of a function with f64."""
    with np.errstate(all="ignore"):
        exact = FUNCTIONS[name](*(each.astype(np.float64) for each in operands))
        _, exponent = np.frexp(exact)
        unit = np.ldexp(1.0, np.clip(exponent - 24, -149, 104))
        found = np.clip(result.astype(np.float64), -(2.0**128), 2.0**128)
        error = np.abs(found - np.clip(exact, -(2.0**128), 2.0**128)) / unit
        small = (np.abs(exact) < _SMALLEST) & (exact != 0)
        for each in operands:
            small |= (np.abs(each) < _SMALLEST) & (each != 0)
    wrong = np.isnan(result) != np.isnan(exact)
    normal = ~(small | wrong | np.isnan(exact))
    worst = int(np.argmax(np.where(normal, error, -1)))
    return Accuracy(
        name,
        _LOOSER.get(name, MAX_ULP[f"math.{name}"]),
        float(error[worst]),
        tuple(float(each[worst]) for each in operands),
        int(np.sum(wrong & ~small)),
        int(np.sum(small & (result == 0) & (exact != 0))),
        result.size,
    )


def operands_of(name: str) -> tuple[Array, ...]:
    """Return what a function is tried on: all sizes, and many numbers beside its hard points."""
    rng = np.random.default_rng(5)
    every = np.arange(5461, 2**32, 16383, dtype=np.uint64).astype(np.uint32).view(np.float32)
    scaled = rng.standard_normal(2**17) * np.exp(rng.uniform(-20, 3, 2**17))
    beside = [
        (np.float32(point).view(np.int32) + np.arange(-_BESIDE, _BESIDE)).astype(np.int32)
        for point in _HARD
        if point
    ]
    near = np.concatenate(beside).view(np.float32)
    x = np.concatenate([every, scaled.astype(np.float32), near, -near])
    if name != "powf":
        return (x,)
    x = np.concatenate([np.abs(x), (1 + 1e-3 * rng.standard_normal(2**17)).astype(np.float32)])
    with np.errstate(all="ignore"):
        y = rng.uniform(-155, 130, x.size) / np.log2(np.abs(x.astype(np.float64)))
    whole = rng.random(x.size) < 0.25
    y[whole] = np.rint(y[whole])
    return x, y.astype(np.float32)


def module_of(name: str, operands: int, size: int) -> str:
    """Return MLIR that applies a function to every element of arrays."""
    kind = f"tensor<{size}xf32>"
    arguments = ", ".join(f"%a{number}: {kind}" for number in range(operands))
    maps = ", ".join(["affine_map<(d) -> (d)>"] * (operands + 1))
    given = ", ".join(f"%a{number}" for number in range(operands))
    kinds = ", ".join([kind] * operands)
    scalars = ", ".join(f"%x{number}: f32" for number in range(operands))
    values = ", ".join(f"%x{number}" for number in range(operands))
    return f"""
    func.func @main({arguments}) -> {kind} {{
      %e = tensor.empty() : {kind}
      %r = linalg.generic {{indexing_maps = [{maps}], iterator_types = ["parallel"]}}
          ins({given} : {kinds}) outs(%e : {kind}) {{
        ^bb0({scalars}, %o: f32):
          %y = math.{name} {values} : f32
          linalg.yield %y : f32
      }} -> {kind}
      return %r : {kind}
    }}
    """
