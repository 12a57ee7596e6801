# SPDX-License-Identifier: MIT OR Apache-2.0
"""Kernels that apply scalar code to 65,536 numbers, in the emulator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from emulator import arithmetic, run_image
from gpu_code import compiled

Array = np.ndarray[Any, Any]
# Of the instructions, as PTX ISA states them: relative, but for lg2 near 1.
ERRORS = {"ex2": 2.0**-22.5, "rcp": 2.0**-23, "lg2": 2.0**-22, "div": 2.0**-22.5}
KERNEL = """
func.func @k(%x: tensor<65536x{kind}>, %y: tensor<65536x{kind}>) -> tensor<65536x{kind}> {{
  %e = tensor.empty() : tensor<65536x{kind}>
  %r = linalg.generic {{
    indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
    iterator_types = ["parallel"]}}
    ins(%x, %y : tensor<65536x{kind}>, tensor<65536x{kind}>) outs(%e : tensor<65536x{kind}>) {{
  ^bb0(%a: {kind}, %b: {kind}, %o: {kind}):
    %u = arith.extf %a : {kind} to f32
    %v = arith.extf %b : {kind} to f32
    %zero = arith.constant 0.0 : f32
    %one = arith.constant 1.0 : f32
    {body}
    %s = arith.truncf %z : f32 to {kind}
    linalg.yield %s : {kind}
  }} -> tensor<65536x{kind}>
  return %r : tensor<65536x{kind}>
}}"""


def run(text: str, x: Array, y: Array) -> Array:
    """Results of a kernel for two arrays."""
    image = compiled(text)
    found = np.zeros_like(x)
    run_image(image, [x.view(np.uint8), y.view(np.uint8), found.view(np.uint8)])
    return found


def worsen(monkeypatch: pytest.MonkeyPatch, sign: int) -> None:
    """Let the instructions be off by as much as they may be."""

    def off(name: str, exact: Callable[..., Array]) -> Callable[..., Array]:
        def inexact(*operands: Array) -> Array:
            result, error = exact(*operands), sign * ERRORS[name]
            is_near_one = (name == "lg2") & (np.abs(result) < 1)
            return np.where(is_near_one, result + error, result * (1 + error))

        return inexact

    for name in ("ex2", "rcp", "lg2"):
        monkeypatch.setitem(arithmetic._FUNCTIONS, name, off(name, arithmetic._FUNCTIONS[name]))


def of_f32(body: str) -> str:
    """The same kernel with arguments and results of f32."""
    text = KERNEL.format(kind="f16", body=body).replace("xf16>", "xf32>")
    text = text.replace("%a: f16, %b: f16, %o: f16", "%u: f32, %v: f32, %o: f32")
    lines = (line.replace("%s : f16", "%z : f32") for line in text.splitlines())
    return "\n".join(each for each in lines if "arith.extf" not in each and "truncf" not in each)
