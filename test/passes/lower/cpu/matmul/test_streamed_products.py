# SPDX-License-Identifier: MIT OR Apache-2.0
"""Products of a few rows with a matrix that is too large for a cache."""

from __future__ import annotations

import numpy as np
import pytest

RNG = np.random.default_rng(29)


def product(m: int, n: int, k: int, kind: str = "f32", start: str = "0.0", batch: int = 1) -> str:
    a, b, c = (f"tensor<{batch}x{shape}x{kind}>" for shape in (f"{m}x{k}", f"{k}x{n}", f"{m}x{n}"))
    maps = ["(z, m, k)", "(z, k, n)", "(z, m, n)"]
    indexing = ", ".join(f"affine_map<(z, m, n, k) -> {text}>" for text in maps)
    return f"""
    func.func @k(%a: {a}, %b: {b}) -> {c} {{
      %zero = arith.constant {start} : {kind}
      %e = tensor.empty() : {c}
      %f = linalg.fill ins(%zero: {kind}) outs(%e: {c}) -> {c}
      %r = linalg.generic {{indexing_maps = [{indexing}],
        iterator_types = ["parallel", "parallel", "parallel", "reduction"]}}
        ins(%a, %b: {a}, {b}) outs(%f: {c}) {{
      ^bb0(%x: {kind}, %y: {kind}, %o: {kind}):
        %p = arith.mulf %x, %y : {kind}
        %s = arith.addf %o, %p : {kind}
        linalg.yield %s : {kind}
      }} -> {c}
      return %r : {c}
    }}"""


def check(compiled, m, n, k, kind="f32", start=0.0, batch=1):
    dtype, tolerance = (np.float32, 2e-6) if kind == "f32" else (np.float64, 1e-14)
    a, b = (RNG.standard_normal(shape).astype(dtype) for shape in ((batch, m, k), (batch, k, n)))
    result = compiled(product(m, n, k, kind, str(start), batch))(a, b)[0]
    wide = a.astype(np.float64) @ b.astype(np.float64) + start
    scale = np.abs(a) @ np.abs(b) + abs(start)
    assert (np.abs(result - wide) <= tolerance * scale).all()


@pytest.mark.parametrize("m", [1, 2, 7])
@pytest.mark.parametrize(("n", "k"), [(1001, 256), (256, 257), (4100, 131), (4097, 128)])
def test_ragged_sizes(compiled, m, n, k):
    check(compiled, m, n, k)


def test_double_precision(compiled):
    check(compiled, 3, 517, 128, "f64")


def test_a_start_that_is_not_zero_counts_once(compiled):
    check(compiled, 2, 600, 512, start=3.5)


def test_batches(compiled):
    check(compiled, 2, 300, 400, batch=3)


def test_parts_of_the_reduction_wait_in_scratch_memory(compiled):
    assert compiled(product(1, 1024, 1024)).lowered.scratch_bytes >= 8 * 1024 * 4
    assert compiled(product(1, 1024, 1024, batch=2)).lowered.scratch_bytes == 0


def test_nan_and_infinity_stay_in_their_columns(compiled):
    a = RNG.standard_normal((1, 1, 512)).astype(np.float32)
    b = RNG.standard_normal((1, 512, 300)).astype(np.float32)
    b[0, 100, 7], b[0, 511, 299] = np.nan, np.inf
    result = compiled(product(1, 300, 512))(a, b)[0][0, 0]
    assert np.isnan(result[7])
    assert np.isinf(result[299])
    assert np.isfinite(np.delete(result, [7, 299])).all()
