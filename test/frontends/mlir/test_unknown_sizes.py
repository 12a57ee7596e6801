# SPDX-License-Identifier: MIT OR Apache-2.0
"""Functions of MLIR text with `?` dimensions: one size, all sizes of a range, and refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import xyntra
from xyntra.errors import InputError, ModelError, XyntraError

LAYER = b"""
#id = affine_map<(d0, d1) -> (d0, d1)>
#column = affine_map<(d0, d1) -> (d1)>
func.func private @bias(%x: tensor<?x16xf32>, %b: tensor<16xf32>) -> tensor<?x16xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x16xf32>
  %e = tensor.empty(%n) : tensor<?x16xf32>
  %r = linalg.generic {indexing_maps = [#id, #column, #id],
                       iterator_types = ["parallel", "parallel"]}
      ins(%x, %b : tensor<?x16xf32>, tensor<16xf32>) outs(%e : tensor<?x16xf32>) {
  ^bb0(%a: f32, %c: f32, %o: f32):
    %s = arith.addf %a, %c : f32
    linalg.yield %s : f32
  } -> tensor<?x16xf32>
  return %r : tensor<?x16xf32>
}
func.func @main(%x: tensor<?x8xf32> {xyntra.input = "x"}, %w: tensor<8x16xf32>, %b: tensor<16xf32>)
    -> (tensor<?xf32>, tensor<?x?xf32>) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %n = tensor.dim %x, %c0 : tensor<?x8xf32>
  %e = tensor.empty(%n) : tensor<?x16xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?x16xf32>) -> tensor<?x16xf32>
  %p = linalg.matmul ins(%x, %w : tensor<?x8xf32>, tensor<8x16xf32>)
      outs(%f : tensor<?x16xf32>) -> tensor<?x16xf32>
  %y = call @bias(%p, %b) : (tensor<?x16xf32>, tensor<16xf32>) -> tensor<?x16xf32>
  %flat = tensor.collapse_shape %y [[0, 1]] : tensor<?x16xf32> into tensor<?xf32>
  %m = tensor.dim %y, %c0 : tensor<?x16xf32>
  %es = tensor.empty(%m, %m) : tensor<?x?xf32>
  %fs = linalg.fill ins(%zero : f32) outs(%es : tensor<?x?xf32>) -> tensor<?x?xf32>
  %s = linalg.matmul indexing_maps = [affine_map<(i, j, k) -> (i, k)>,
      affine_map<(i, j, k) -> (j, k)>, affine_map<(i, j, k) -> (i, j)>]
      ins(%y, %y : tensor<?x16xf32>, tensor<?x16xf32>)
      outs(%fs : tensor<?x?xf32>) -> tensor<?x?xf32>
  return %flat, %s : tensor<?xf32>, tensor<?x?xf32>
}
"""
BRANCH = b"""
func.func @main(%x: tensor<?x8xf32> {xyntra.dims = ["n", ""]},
    %y: tensor<?x8xf32> {xyntra.dims = ["n", ""]}, %c: i1) -> tensor<?x8xf32> {
  %r = scf.if %c -> tensor<?x8xf32> {
    scf.yield %x : tensor<?x8xf32>
  } else {
    %c0 = arith.constant 0 : index
    %n = tensor.dim %x, %c0 : tensor<?x8xf32>
    %e = tensor.empty(%n) : tensor<?x8xf32>
    %a = linalg.add ins(%x, %y : tensor<?x8xf32>, tensor<?x8xf32>)
        outs(%e : tensor<?x8xf32>) -> tensor<?x8xf32>
    scf.yield %a : tensor<?x8xf32>
  }
  return %r : tensor<?x8xf32>
}
"""


def _compiled(text: bytes, **given: Any) -> xyntra.Executable:
    return xyntra.compile(text, target="cpu", config={"cache": False, "strict": True}, **given)


def _check(exe: xyntra.Executable, rows: int) -> None:
    rng = np.random.default_rng(rows)
    x, w, b = (rng.standard_normal(s).astype(np.float32) for s in ((rows, 8), (8, 16), (16,)))
    expected = x.astype(np.float64) @ w + b
    flat, products = exe(x, w, b)
    np.testing.assert_allclose(flat, expected.ravel(), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(products, expected @ expected.T, rtol=1e-4, atol=1e-4)


def test_one_compilation_takes_all_sizes() -> None:
    exe = _compiled(LAYER, inputs={"x": ("n", 8)}, dims={"n": range(1, 200)})
    for rows in (1, 2, 7, 64, 199):
        _check(exe, rows)
    with pytest.raises(InputError, match="n = 200 is not in its range"):
        _check(exe, 200)


@pytest.mark.parametrize("given", [{"inputs": {"x": (5, 8)}}, {"dims": {"x[0]": 5}}])
def test_a_size_makes_all_shapes_static(given: dict[str, Any]) -> None:
    exe = _compiled(LAYER, **given)
    assert [port.shape for port in exe.outputs] == [(80,), (5, 5)]
    _check(exe, 5)


def test_names_in_the_text_are_those_of_dims() -> None:
    exe = _compiled(BRANCH, dims={"n": range(1, 100)})
    for rows in (1, 13, 99):
        x, y = np.random.default_rng(rows).standard_normal((2, rows, 8)).astype(np.float32)
        np.testing.assert_array_equal(exe(x, y, True), x)
        np.testing.assert_array_equal(exe(x, y, False), x + y)
    with pytest.raises(InputError, match="bound n = 4"):
        exe(x[:4], y[:5], True)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({}, "dims={'x[0]': 128}"),
        ({"dims": {"y": 3}}, "its free dimensions are x[0]"),
        ({"dims": {"y": range(1, 9)}}, "its free dimensions are x[0]"),
        ({"inputs": {"x": (5, 9)}}, "the function declares (5, 8)"),
        ({"inputs": {"x": (5,)}}, "the function declares tensor<?x8xf32>"),
        ({"inputs": {"x": (5, 8)}, "dims": {"x[0]": 3}}, "'x[0]' is 3 by dims=, but 5"),
        ({"dims": {"x[0]": 1 << 40}}, "is out of range"),
    ],
)
def test_sizes_that_do_not_fit_are_refused(given: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError) as caught:
        _compiled(LAYER, **given)
    assert says in str(caught.value)


def test_sizes_that_the_program_contradicts_are_refused() -> None:
    text = BRANCH.replace(b'["n", ""]}, %c', b'["m", ""]}, %c')
    with pytest.raises(ModelError, match="line 10, column") as caught:
        _compiled(text, dims={"n": 4, "m": 5})
    assert "tensor<4x8xf32>, tensor<5x8xf32>" in str(caught.value)


@pytest.mark.parametrize(
    ("old", "new"), [(b'["n", ""]', b'["n"]'), (b'["n", ""]', b"[3, 4]"), (b'["n", ""]', b'"n"')]
)
def test_names_that_are_none_are_refused(old: bytes, new: bytes) -> None:
    with pytest.raises(XyntraError, match="holds no name for each of its 2 dimensions"):
        _compiled(BRANCH.replace(old, new), dims={"n": 4})


def test_results_of_unknown_sizes_are_refused() -> None:
    text = b"""
    func.func @main(%x: tensor<?xf32>, %n: i64) -> tensor<?xf32> {
      %i = arith.index_cast %n : i64 to index
      %r = tensor.extract_slice %x[0] [%i] [1] : tensor<?xf32> to tensor<?xf32>
      return %r : tensor<?xf32>
    }
    """
    with pytest.raises(XyntraError, match="do not decide that of result 0"):
        _compiled(text, dims={"input0[0]": 4})
