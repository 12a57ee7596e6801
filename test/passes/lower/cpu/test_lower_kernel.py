# SPDX-License-Identifier: MIT OR Apache-2.0
"""Kernels lowered, compiled and run, against numpy."""

from __future__ import annotations

import numpy as np
import pytest

RNG = np.random.default_rng(7)


def normal(*shape: int, dtype: type = np.float32) -> np.ndarray:
    return RNG.standard_normal(shape).astype(dtype)


MATMUL_BIAS = """
func.func @k(%a: tensor<37x50xf32>, %b: tensor<50x41xf32>, %c: tensor<41xf32>)
    -> (tensor<37x41xf32>, tensor<37xf32>) {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<37x41xf32>
  %f = linalg.fill ins(%z: f32) outs(%e: tensor<37x41xf32>) -> tensor<37x41xf32>
  %m = linalg.matmul ins(%a, %b: tensor<37x50xf32>, tensor<50x41xf32>)
    outs(%f: tensor<37x41xf32>) -> tensor<37x41xf32>
  %s = linalg.generic {
    indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>,
                     affine_map<(i, j) -> (i, j)>],
    iterator_types = ["parallel", "parallel"]}
    ins(%m, %c: tensor<37x41xf32>, tensor<41xf32>) outs(%e: tensor<37x41xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %r = arith.addf %x, %y : f32
    linalg.yield %r : f32
  } -> tensor<37x41xf32>
  %e1 = tensor.empty() : tensor<37xf32>
  %f1 = linalg.fill ins(%z: f32) outs(%e1: tensor<37xf32>) -> tensor<37xf32>
  %q = linalg.generic {
    indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
    iterator_types = ["parallel", "reduction"]}
    ins(%s: tensor<37x41xf32>) outs(%f1: tensor<37xf32>) {
  ^bb0(%x: f32, %o: f32):
    %r = arith.addf %x, %o : f32
    linalg.yield %r : f32
  } -> tensor<37xf32>
  return %s, %q : tensor<37x41xf32>, tensor<37xf32>
}"""


def test_matmul_with_bias_and_row_sum(compiled):
    a, b, c = normal(37, 50), normal(50, 41), normal(41)
    product, rows = compiled(MATMUL_BIAS)(a, b, c)
    expected = a.astype(np.float64) @ b + c
    np.testing.assert_allclose(product, expected, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(rows, expected.sum(1), rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("shape", ["1", "7", "1000", "3x5", "2x0x3", "2x3x5x7"])
def test_elementwise_of_any_shape(compiled, elementwise, shape):
    size = [int(n) for n in shape.split("x")]
    x, y = normal(*size), normal(*size)
    kernel = compiled(elementwise("%r = arith.subf %x0, %x1 : f32", "f32", 2, shape))
    np.testing.assert_array_equal(kernel(x, y)[0], x - y)


# A product, whose tiles are written in vectors; a copy of every third element, which is not.
PRODUCT = """
func.func @k(%a: tensor<32x64xf32>, %b: tensor<64x16xf32>) -> tensor<32x16xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<32x16xf32>
  %f = linalg.fill ins(%z: f32) outs(%e: tensor<32x16xf32>) -> tensor<32x16xf32>
  %m = linalg.matmul ins(%a, %b: tensor<32x64xf32>, tensor<64x16xf32>)
    outs(%f: tensor<32x16xf32>) -> tensor<32x16xf32>
  return %m : tensor<32x16xf32>
}"""
THIRDS = """
func.func @k(%a: tensor<300xf32>) -> tensor<100xf32> {
  %e = tensor.empty() : tensor<100xf32>
  %r = tensor.extract_slice %a[1] [100] [3] : tensor<300xf32> to tensor<100xf32>
  %s = linalg.negf ins(%r: tensor<100xf32>) outs(%e: tensor<100xf32>) -> tensor<100xf32>
  return %s : tensor<100xf32>
}"""

# Loops that the kernel comes with: how many elements are below the first one, behind a condition.
GIVEN = """
func.func @k(%a: tensor<1000xf32>) -> tensor<64xi64> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c1000 = arith.constant 1000 : index
  %zero = arith.constant 0 : i64
  %first = tensor.extract %a[%c0] : tensor<1000xf32>
  %e = tensor.empty() : tensor<64xi64>
  %f = linalg.fill ins(%zero: i64) outs(%e: tensor<64xi64>) -> tensor<64xi64>
  %n = scf.for %j = %c0 to %c2 step %c1 iter_args(%s = %f) -> (tensor<64xi64>) {
    %is_first = arith.cmpi eq, %j, %c0 : index
    %m = scf.if %is_first -> (tensor<64xi64>) {
      %count = scf.for %i = %c0 to %c1000 step %c1 iter_args(%t = %zero) -> (i64) {
        %x = tensor.extract %a[%i] : tensor<1000xf32>
        %b = arith.cmpf olt, %x, %first : f32
        %w = arith.extui %b : i1 to i64
        %new = arith.addi %t, %w : i64
        scf.yield %new : i64
      }
      %r = tensor.insert %count into %s[%c0] : tensor<64xi64>
      scf.yield %r : tensor<64xi64>
    } else {
      scf.yield %s : tensor<64xi64>
    }
    scf.yield %m : tensor<64xi64>
  }
  return %n : tensor<64xi64>
}"""


def test_loops_that_a_kernel_comes_with_are_left_to_llvm(compiled):
    kernel = compiled(GIVEN)
    assert kernel.lowered.plain_loops
    x = normal(1000)
    assert kernel(x)[0].tolist() == [np.count_nonzero(x < x[0]), *[0] * 63]


def test_loops_over_single_elements_are_left_to_llvm(compiled):
    a, b = normal(32, 64), normal(64, 16)
    product, thirds = compiled(PRODUCT), compiled(THIRDS)
    assert not product.lowered.plain_loops
    assert thirds.lowered.plain_loops
    expected = a.astype(np.float64) @ b
    np.testing.assert_allclose(product(a, b)[0], expected, rtol=1e-5, atol=1e-5)
    x = normal(300)
    np.testing.assert_array_equal(thirds(x)[0], -x[1::3])
