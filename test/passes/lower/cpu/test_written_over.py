# SPDX-License-Identifier: MIT OR Apache-2.0
"""Kernels that write over what they read: no element is computed twice, whatever the sizes.

A vector at the end of a row may move back to where it fits only where what it reads is still there.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes  # noqa: F401  (NumPy learns bfloat16)
import numpy as np
import pytest

import xyntra

TYPES = {"f32": np.float32, "f16": np.float16, "f64": np.float64}
TEXT = """
#all = affine_map<(d0, d1) -> (d0, d1)>
#other = affine_map<(d0, d1) -> {other}>
func.func @main(%x: tensor<{x}x{t}>, %y: tensor<{y}x{t}>) -> tensor<{x}x{t}> {{
  %empty = tensor.empty() : tensor<{x}x{t}>
  %a = linalg.generic {{indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]}}
      ins(%x : tensor<{x}x{t}>) outs(%empty : tensor<{x}x{t}>) {{
  ^bb0(%in: {t}, %out: {t}):
    %0 = arith.negf %in : {t}
    linalg.yield %0 : {t}
  }} -> tensor<{x}x{t}>
  %b = linalg.generic {{indexing_maps = [#all, #other, #all],
                        iterator_types = ["parallel", "parallel"]}}
      ins(%a, %y : tensor<{x}x{t}>, tensor<{y}x{t}>) outs(%empty : tensor<{x}x{t}>) {{
  ^bb0(%in: {t}, %by: {t}, %out: {t}):
    %0 = arith.divf %in, %by : {t}
    linalg.yield %0 : {t}
  }} -> tensor<{x}x{t}>
  %c = linalg.generic {{indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]}}
      ins(%b : tensor<{x}x{t}>) outs(%empty : tensor<{x}x{t}>) {{
  ^bb0(%in: {t}, %out: {t}):
    %0 = arith.negf %in : {t}
    linalg.yield %0 : {t}
  }} -> tensor<{x}x{t}>
  return %c : tensor<{x}x{t}>
}}
"""


@pytest.mark.parametrize("rows", [1, 3, 5, 7, 12, 33])
@pytest.mark.parametrize("columns", [1, 2, 4, 8, 9])
@pytest.mark.parametrize(
    ("other", "of"), [("(d0, 0)", "{rows}x1"), ("(0, d1)", "1x{columns}"), ("(d0, d1)", "{both}")]
)
def test_a_quotient_in_place(
    rows: int, columns: int, other: str, of: str, settings: dict[str, Any]
) -> None:
    check("f32", rows, columns, other, of, settings)


@pytest.mark.parametrize("dtype", ["f16", "f64"])
@pytest.mark.parametrize("rows", [3, 7, 33])
@pytest.mark.parametrize("columns", [2, 4])
def test_in_other_types(dtype: str, rows: int, columns: int, settings: dict[str, Any]) -> None:
    check(dtype, rows, columns, "(d0, 0)", "{rows}x1", settings)


def check(
    dtype: str, rows: int, columns: int, other: str, of: str, settings: dict[str, Any]
) -> None:
    """Compile three operations as three kernels, of which the second writes over the first's."""
    both = f"{rows}x{columns}"
    shape = of.format(rows=rows, columns=columns, both=both)
    text = TEXT.format(x=both, y=shape, t=dtype, other=other)
    executable = xyntra.compile(text, config={**settings, "fuse": False, "threads": 1})
    assert len(executable.kernels) == 3
    assert "_inplace" in "".join(kernel.name for kernel in executable.kernels)
    rng = np.random.default_rng(rows * 100 + columns)
    x = rng.standard_normal((rows, columns)).astype(TYPES[dtype])
    y = rng.uniform(1.5, 3, [int(each) for each in shape.split("x")]).astype(TYPES[dtype])
    expected = x.astype(np.float64) / y.astype(np.float64)
    found = np.asarray(executable(x, y))
    np.testing.assert_allclose(found, expected, rtol=2e-3 if dtype == "f16" else 1e-6)
