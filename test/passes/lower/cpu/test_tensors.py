# SPDX-License-Identifier: MIT OR Apache-2.0
"""Tensor operations: views, copies, padding, indexing, control flow, empty and scalar tensors."""

from __future__ import annotations

import numpy as np
import pytest

RNG = np.random.default_rng(3)


def normal(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


def function(arguments: str, results: str, body: str, attributes: str = "") -> str:
    extra = f"attributes {{{attributes}}}" if attributes else ""
    return f"func.func @k({arguments}) -> ({results}) {extra} {{\n{body}\n}}"


X = normal(6, 8)
ONE_INPUT = {
    "identity": ("return %a : tensor<6x8xf32>", "6x8", X),
    "slice": (
        "%r = tensor.extract_slice %a[1, 0] [3, 4] [2, 2] : tensor<6x8xf32> to tensor<3x4xf32>",
        "3x4",
        X[1:6:2, 0:8:2],
    ),
    "rank-reducing slice": (
        "%r = tensor.extract_slice %a[0, 3] [6, 1] [1, 1] : tensor<6x8xf32> to tensor<6xf32>",
        "6",
        X[:, 3],
    ),
    "slice then collapse": (
        """%s = tensor.extract_slice %a[1, 0] [3, 4] [2, 2] : tensor<6x8xf32> to tensor<3x4xf32>
        %r = tensor.collapse_shape %s [[0, 1]] : tensor<3x4xf32> into tensor<12xf32>""",
        "12",
        X[1:6:2, 0:8:2].reshape(12),
    ),
    "expand": (
        """%r = tensor.expand_shape %a [[0, 1], [2, 3]] output_shape [2, 3, 4, 2]
        : tensor<6x8xf32> into tensor<2x3x4x2xf32>""",
        "2x3x4x2",
        X.reshape(2, 3, 4, 2),
    ),
    "pad": (
        """%z = arith.constant 1.5 : f32
        %r = tensor.pad %a low[1, 2] high[0, 3] {
        ^bb0(%i: index, %j: index):
          tensor.yield %z : f32
        } : tensor<6x8xf32> to tensor<7x13xf32>""",
        "7x13",
        np.pad(X, ((1, 0), (2, 3)), constant_values=1.5),
    ),
    "pad of computed values": (
        """%e = tensor.empty() : tensor<6x8xf32>
        %n = linalg.abs ins(%a: tensor<6x8xf32>) outs(%e: tensor<6x8xf32>) -> tensor<6x8xf32>
        %z = arith.constant 0.0 : f32
        %r = tensor.pad %n low[1, 1] high[1, 1] {
        ^bb0(%i: index, %j: index):
          tensor.yield %z : f32
        } : tensor<6x8xf32> to tensor<8x10xf32>""",
        "8x10",
        np.pad(np.abs(X), 1),
    ),
    "concat": (
        """%s = tensor.extract_slice %a[0, 0] [6, 3] [1, 1] : tensor<6x8xf32> to tensor<6x3xf32>
        %r = tensor.concat dim(1) %a, %s : (tensor<6x8xf32>, tensor<6x3xf32>) -> tensor<6x11xf32>
        """,
        "6x11",
        np.concatenate([X, X[:, :3]], 1),
    ),
    "insert into a fill": (
        """%z = arith.constant 2.0 : f32
        %e = tensor.empty() : tensor<9x9xf32>
        %f = linalg.fill ins(%z: f32) outs(%e: tensor<9x9xf32>) -> tensor<9x9xf32>
        %r = tensor.insert_slice %a into %f[2, 1] [6, 8] [1, 1]
          : tensor<6x8xf32> into tensor<9x9xf32>""",
        "9x9",
        np.pad(X, ((2, 1), (1, 0)), constant_values=2.0),
    ),
    "transpose": (
        """%e = tensor.empty() : tensor<8x6xf32>
        %r = linalg.transpose ins(%a: tensor<6x8xf32>) outs(%e: tensor<8x6xf32>)
          permutation = [1, 0]""",
        "8x6",
        X.T,
    ),
    "broadcast": (
        """%e = tensor.empty() : tensor<6x4x8xf32>
        %r = linalg.broadcast ins(%a: tensor<6x8xf32>) outs(%e: tensor<6x4x8xf32>)
          dimensions = [1]""",
        "6x4x8",
        np.broadcast_to(X[:, None], (6, 4, 8)),
    ),
    "indices": (
        """%e = tensor.empty() : tensor<6x8xf32>
        %r = linalg.generic {
          indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
          iterator_types = ["parallel", "parallel"]}
          ins(%a: tensor<6x8xf32>) outs(%e: tensor<6x8xf32>) {
        ^bb0(%x: f32, %o: f32):
          %i = linalg.index 0 : index
          %j = linalg.index 1 : index
          %c10 = arith.constant 10 : index
          %t = arith.muli %i, %c10 : index
          %s = arith.addi %t, %j : index
          %n = arith.index_cast %s : index to i32
          %f = arith.sitofp %n : i32 to f32
          linalg.yield %f : f32
        } -> tensor<6x8xf32>""",
        "6x8",
        np.add.outer(10 * np.arange(6), np.arange(8)).astype(np.float32),
    ),
    "column sum": (
        """%z = arith.constant 0.0 : f32
        %e = tensor.empty() : tensor<8xf32>
        %f = linalg.fill ins(%z: f32) outs(%e: tensor<8xf32>) -> tensor<8xf32>
        %r = linalg.reduce { arith.addf } ins(%a: tensor<6x8xf32>) outs(%f: tensor<8xf32>)
          dimensions = [0]""",
        "8",
        X.sum(0),
    ),
    "constant": (
        "%r = arith.constant dense<[[1.0, 2.5], [3.0, 0x7fc00001]]> : tensor<2x2xf32>",
        "2x2",
        np.array([[1, 2.5], [3, np.nan]], np.float32),
    ),
    "large splat": (
        "%r = arith.constant dense<4.25> : tensor<300x300xf32>",
        "300x300",
        np.full((300, 300), 4.25, np.float32),
    ),
    "generate": (
        """%r = tensor.generate {
        ^bb0(%i: index, %j: index):
          %x = tensor.extract %a[%j, %i] : tensor<6x8xf32>
          tensor.yield %x : f32
        } : tensor<8x6xf32>""",
        "8x6",
        X.T,
    ),
    "convolution": (
        """%z = arith.constant 0.0 : f32
        %w = tensor.extract_slice %a[0, 0] [1, 3] [1, 1] : tensor<6x8xf32> to tensor<3xf32>
        %e = tensor.empty() : tensor<6x3xf32>
        %f = linalg.fill ins(%z: f32) outs(%e: tensor<6x3xf32>) -> tensor<6x3xf32>
        %r = linalg.generic {
          indexing_maps = [affine_map<(i, j, k) -> (i, j * 2 + k)>, affine_map<(i, j, k) -> (k)>,
                           affine_map<(i, j, k) -> (i, j)>],
          iterator_types = ["parallel", "parallel", "reduction"]}
          ins(%a, %w: tensor<6x8xf32>, tensor<3xf32>) outs(%f: tensor<6x3xf32>) {
        ^bb0(%x: f32, %y: f32, %o: f32):
          %p = arith.mulf %x, %y : f32
          %s = arith.addf %p, %o : f32
          linalg.yield %s : f32
        } -> tensor<6x3xf32>""",
        "6x3",
        sum(X[:, k : k + 6 : 2] * X[0, k] for k in range(3)),
    ),
}


@pytest.mark.parametrize("name", ONE_INPUT)
def test_tensor_operation(compiled, name):
    body, shape, expected = ONE_INPUT[name]
    if "return" not in body:
        body += f"\nreturn %r : tensor<{shape}xf32>"
    kernel = compiled(function("%a: tensor<6x8xf32>", f"tensor<{shape}xf32>", body))
    np.testing.assert_allclose(kernel(X)[0], expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", ["pad", "concat", "insert into a fill", "large splat"])
def test_parts_are_written_in_their_place(compiled, name):
    body, shape, _ = ONE_INPUT[name]
    body += f"\nreturn %r : tensor<{shape}xf32>"
    kernel = compiled(function("%a: tensor<6x8xf32>", f"tensor<{shape}xf32>", body))
    assert kernel.lowered.scratch_bytes == 0
    assert "memcpy" not in kernel.lowered.llvm_ir


@pytest.mark.parametrize("size", [(128, 128), (33, 600), (600, 33), (150, 131), (3, 9000)])
def test_large_transpositions(compiled, size):
    rows, columns = size
    body = f"""
    %e = tensor.empty() : tensor<{columns}x{rows}xf32>
    %r = linalg.generic {{indexing_maps = [affine_map<(i, j) -> (j, i)>,
        affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]}}
      ins(%a, %b: tensor<{rows}x{columns}xf32>, tensor<{columns}xf32>)
      outs(%e: tensor<{columns}x{rows}xf32>) {{
    ^bb0(%x: f32, %y: f32, %o: f32):
      %s = arith.addf %x, %y : f32
      linalg.yield %s : f32
    }} -> tensor<{columns}x{rows}xf32>
    return %r : tensor<{columns}x{rows}xf32>"""
    arguments = f"%a: tensor<{rows}x{columns}xf32>, %b: tensor<{columns}xf32>"
    x, y = normal(rows, columns), normal(columns)
    text = function(arguments, f"tensor<{columns}x{rows}xf32>", body)
    np.testing.assert_array_equal(compiled(text)(x, y)[0], x.T + y[:, None])


def test_scalar_tensors(compiled):
    body = """
    %x = tensor.extract %a[] : tensor<f32>
    %y = arith.addf %x, %x : f32
    %r = tensor.from_elements %y : tensor<f32>
    return %r, %a : tensor<f32>, tensor<f32>"""
    kernel = compiled(function("%a: tensor<f32>", "tensor<f32>, tensor<f32>", body))
    doubled, same = kernel(np.float32(1.25))
    assert (doubled, same) == (2.5, 1.25)


def test_a_result_that_is_returned_twice(compiled):
    body = """
    %e = tensor.empty() : tensor<9xf32>
    %n = linalg.negf ins(%a: tensor<9xf32>) outs(%e: tensor<9xf32>) -> tensor<9xf32>
    return %n, %n, %a : tensor<9xf32>, tensor<9xf32>, tensor<9xf32>"""
    kinds = "tensor<9xf32>, tensor<9xf32>, tensor<9xf32>"
    x = normal(9)
    for result, expected in zip(
        compiled(function("%a: tensor<9xf32>", kinds, body))(x), (-x, -x, x), strict=True
    ):
        np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("rows", [0, 4])
@pytest.mark.parametrize("columns", [0, 5])
def test_reductions_of_empty_tensors(compiled, rows, columns):
    body = f"""
    %z = arith.constant 3.0 : f32
    %e = tensor.empty() : tensor<{rows}xf32>
    %f = linalg.fill ins(%z: f32) outs(%e: tensor<{rows}xf32>) -> tensor<{rows}xf32>
    %r = linalg.reduce {{ arith.addf }} ins(%a: tensor<{rows}x{columns}xf32>)
      outs(%f: tensor<{rows}xf32>) dimensions = [1]
    return %r : tensor<{rows}xf32>"""
    x = normal(rows, columns)
    text = function(f"%a: tensor<{rows}x{columns}xf32>", f"tensor<{rows}xf32>", body)
    np.testing.assert_allclose(compiled(text)(x)[0], x.sum(1) + 3, rtol=1e-5)


def test_empty_tensors_change_shape(compiled):
    body = """
    %c = tensor.collapse_shape %a [[0, 1]] : tensor<0x4xf32> into tensor<0xf32>
    %r = tensor.concat dim(0) %c, %b : (tensor<0xf32>, tensor<3xf32>) -> tensor<3xf32>
    return %r, %c : tensor<3xf32>, tensor<0xf32>"""
    arguments = "%a: tensor<0x4xf32>, %b: tensor<3xf32>"
    x = normal(3)
    result, empty = compiled(function(arguments, "tensor<3xf32>, tensor<0xf32>", body))(
        normal(0, 4), x
    )
    np.testing.assert_array_equal(result, x)
    assert empty.shape == (0,)


@pytest.mark.parametrize("condition", [True, False])
def test_branches(compiled, condition):
    body = """
    %p = tensor.extract %c[] : tensor<i1>
    %r = scf.if %p -> tensor<5xf32> {
      %e = tensor.empty() : tensor<5xf32>
      %n = linalg.negf ins(%a: tensor<5xf32>) outs(%e: tensor<5xf32>) -> tensor<5xf32>
      scf.yield %n : tensor<5xf32>
    } else {
      scf.yield %a : tensor<5xf32>
    }
    return %r : tensor<5xf32>"""
    x = normal(5)
    kernel = compiled(function("%a: tensor<5xf32>, %c: tensor<i1>", "tensor<5xf32>", body))
    np.testing.assert_array_equal(kernel(x, np.bool_(condition))[0], -x if condition else x)


def test_a_loop_that_replaces_its_tensor(compiled):
    body = """
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c5 = arith.constant 5 : index
    %r = scf.for %i = %c0 to %c5 step %c1 iter_args(%t = %a) -> tensor<7xf32> {
      %e = tensor.empty() : tensor<7xf32>
      %n = linalg.add ins(%t, %a: tensor<7xf32>, tensor<7xf32>) outs(%e: tensor<7xf32>)
        -> tensor<7xf32>
      scf.yield %n : tensor<7xf32>
    }
    return %r : tensor<7xf32>"""
    x = normal(7)
    kernel = compiled(function("%a: tensor<7xf32>", "tensor<7xf32>", body))
    np.testing.assert_allclose(kernel(x)[0], 6 * x, rtol=1e-6)


def test_a_loop_that_swaps_its_tensors(compiled):
    body = """
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %r:2 = scf.for %i = %c0 to %c3 step %c1 iter_args(%s = %a, %t = %b)
        -> (tensor<7xf32>, tensor<7xf32>) {
      scf.yield %t, %s : tensor<7xf32>, tensor<7xf32>
    }
    return %r#0, %r#1 : tensor<7xf32>, tensor<7xf32>"""
    x, y = normal(7), normal(7)
    text = function("%a: tensor<7xf32>, %b: tensor<7xf32>", "tensor<7xf32>, tensor<7xf32>", body)
    first, second = compiled(text)(x, y)
    np.testing.assert_array_equal(first, y)
    np.testing.assert_array_equal(second, x)


def test_a_loop_with_a_condition(compiled):
    body = """
    %limit = arith.constant 100.0 : f32
    %r = scf.while (%t = %a) : (tensor<3xf32>) -> tensor<3xf32> {
      %c0 = arith.constant 0 : index
      %x = tensor.extract %t[%c0] : tensor<3xf32>
      %go = arith.cmpf olt, %x, %limit : f32
      scf.condition(%go) %t : tensor<3xf32>
    } do {
    ^bb0(%t: tensor<3xf32>):
      %e = tensor.empty() : tensor<3xf32>
      %n = linalg.add ins(%t, %t: tensor<3xf32>, tensor<3xf32>) outs(%e: tensor<3xf32>)
        -> tensor<3xf32>
      scf.yield %n : tensor<3xf32>
    }
    return %r : tensor<3xf32>"""
    x = np.array([3, -1, 0.5], np.float32)
    kernel = compiled(function("%a: tensor<3xf32>", "tensor<3xf32>", body))
    np.testing.assert_array_equal(kernel(x)[0], x * 64)


def test_rows_written_one_by_one(compiled):
    body = """
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %e = tensor.empty() : tensor<4x6xf32>
    %r = scf.for %i = %c0 to %c4 step %c1 iter_args(%t = %e) -> tensor<4x6xf32> {
      %row = tensor.extract_slice %a[%i, 0] [1, 6] [1, 1] : tensor<4x6xf32> to tensor<6xf32>
      %o = tensor.empty() : tensor<6xf32>
      %n = linalg.negf ins(%row: tensor<6xf32>) outs(%o: tensor<6xf32>) -> tensor<6xf32>
      %u = tensor.insert_slice %n into %t[%i, 0] [1, 6] [1, 1] : tensor<6xf32> into tensor<4x6xf32>
      scf.yield %u : tensor<4x6xf32>
    }
    return %r : tensor<4x6xf32>"""
    x = normal(4, 6)
    kernel = compiled(function("%a: tensor<4x6xf32>", "tensor<4x6xf32>", body))
    np.testing.assert_array_equal(kernel(x)[0], -x)
    assert kernel.lowered.scratch_bytes == 0


@pytest.mark.parametrize("kind", ["f64", "f32", "f16", "bf16", "i1", "i8", "i16", "i32", "i64"])
def test_every_element_type_moves(compiled, dtypes, kind):
    body = f"""
    %s = tensor.extract_slice %a[0, 1] [5, 3] [1, 2] : tensor<5x7x{kind}> to tensor<5x3x{kind}>
    %r = tensor.concat dim(0) %s, %s
      : (tensor<5x3x{kind}>, tensor<5x3x{kind}>) -> tensor<10x3x{kind}>
    return %r : tensor<10x3x{kind}>"""
    x = RNG.integers(0, 2, (5, 7)).astype(dtypes[kind])
    kernel = compiled(function(f"%a: tensor<5x7x{kind}>", f"tensor<10x3x{kind}>", body))
    part = x[:, 1:6:2]
    np.testing.assert_array_equal(kernel(x)[0], np.concatenate([part, part]))
