# SPDX-License-Identifier: MIT OR Apache-2.0
"""Transpositions in tiles of registers: ragged extents, other operands, several results."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from xyntra.passes.lower.cpu import LoweringOptions

RNG = np.random.default_rng(43)
NARROW, WIDE = LoweringOptions(128, 16), LoweringOptions(512, 32)


def transposition(shape: tuple[int, ...], order: tuple[int, ...], kind: str) -> str:
    """A copy of a tensor of `shape` with its dimensions in `order`."""
    source = f"tensor<{'x'.join(map(str, shape))}x{kind}>"
    target = f"tensor<{'x'.join(str(shape[d]) for d in order)}x{kind}>"
    return f"""
    func.func @k(%x: {source}) -> {target} {{
      %e = tensor.empty() : {target}
      %y = linalg.transpose ins(%x : {source}) outs(%e : {target})
        permutation = [{", ".join(map(str, order))}]
      return %y : {target}
    }}"""


@pytest.mark.parametrize("options", [LoweringOptions(), NARROW, WIDE], ids=["256", "128", "512"])
@pytest.mark.parametrize("kind", ["f32", "i32"])
@pytest.mark.parametrize(
    "shape", [(8, 8), (16, 16), (17, 9), (9, 31), (7, 40), (40, 7), (64, 24), (1024, 16), (33, 50)]
)
def test_matrices(compiled, dtypes, shape, kind, options):
    x = RNG.integers(-(2**20), 2**20, shape).astype(dtypes[kind])
    (y,) = compiled(transposition(shape, (1, 0), kind), options=options)(x)
    np.testing.assert_array_equal(y, x.T)


@pytest.mark.parametrize("order", list(itertools.permutations(range(4))), ids=str)
def test_four_dimensions(compiled, order):
    x = RNG.standard_normal((3, 10, 9, 17)).astype(np.float32)
    (y,) = compiled(transposition(x.shape, order, "f32"))(x)
    np.testing.assert_array_equal(y, x.transpose(order))


@pytest.mark.parametrize("kind", ["f64", "f16", "i8", "i64"])
def test_other_elements_stay_loops(compiled, dtypes, kind):
    x = RNG.integers(-100, 100, (19, 33)).astype(dtypes[kind])
    (y,) = compiled(transposition(x.shape, (1, 0), kind))(x)
    np.testing.assert_array_equal(y, x.T)


@pytest.mark.parametrize("shape", [(16, 24), (19, 45), (130, 8)])
def test_fused_with_arithmetic(compiled, shape):
    rows, columns = shape
    text = f"""
    func.func @k(%x: tensor<{columns}x{rows}xf32>, %b: tensor<{rows}x{columns}xf32>,
                 %r: tensor<{rows}xf32>, %c: tensor<{columns}xf32>)
        -> (tensor<{rows}x{columns}xf32>, tensor<{rows}x{columns}xf32>) {{
      %e = tensor.empty() : tensor<{rows}x{columns}xf32>
      %f = tensor.empty() : tensor<{rows}x{columns}xf32>
      %two = arith.constant 2.0 : f32
      %y:2 = linalg.generic {{indexing_maps = [
          affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>,
          affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
          iterator_types = ["parallel", "parallel"]}}
          ins(%x, %b, %r, %c : tensor<{columns}x{rows}xf32>, tensor<{rows}x{columns}xf32>,
              tensor<{rows}xf32>, tensor<{columns}xf32>)
          outs(%e, %f : tensor<{rows}x{columns}xf32>, tensor<{rows}x{columns}xf32>) {{
      ^bb0(%p: f32, %q: f32, %s: f32, %t: f32, %o0: f32, %o1: f32):
        %0 = arith.mulf %p, %two : f32
        %1 = arith.subf %0, %q : f32
        %2 = arith.addf %s, %t : f32
        linalg.yield %1, %2 : f32, f32
      }} -> (tensor<{rows}x{columns}xf32>, tensor<{rows}x{columns}xf32>)
      return %y#0, %y#1 : tensor<{rows}x{columns}xf32>, tensor<{rows}x{columns}xf32>
    }}"""
    x = RNG.integers(-99, 99, (columns, rows)).astype(np.float32)
    b = RNG.integers(-99, 99, shape).astype(np.float32)
    r, c = (RNG.integers(-99, 99, n).astype(np.float32) for n in shape)
    first, second = compiled(text)(x, b, r, c)
    np.testing.assert_array_equal(first, 2 * x.T - b)
    np.testing.assert_array_equal(second, r[:, None] + c)
