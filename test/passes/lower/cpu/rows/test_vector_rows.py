# SPDX-License-Identifier: MIT OR Apache-2.0
"""Rows in vectors: ragged lengths, reductions, forwarded values, stores past the caches."""

from __future__ import annotations

import numpy as np
import pytest

from xyntra.passes.lower.cpu import LoweringOptions

RNG = np.random.default_rng(41)
LENGTHS = [1, 7, 8, 9, 31, 33, 64, 77, 100, 257]
PAST = LoweringOptions(cache_bytes=1)
NARROW, WIDE = LoweringOptions(128, 16), LoweringOptions(512, 32)
CASES = [(n, o) for o in (LoweringOptions(), PAST, NARROW) for n in LENGTHS] + [
    (33, WIDE),
    (257, WIDE),
]


def softmax(rows: int, length: int) -> str:
    """Softmax along the last dimension, as the lowering of the named op writes it."""
    whole, row = f"tensor<{rows}x{length}xf32>", f"tensor<{rows}xf32>"
    ij, i = "affine_map<(i, j) -> (i, j)>", "affine_map<(i, j) -> (i)>"
    both, last = '["parallel", "parallel"]', '["parallel", "reduction"]'
    return f"""
    func.func @k(%x: {whole}) -> {whole} {{
      %low = arith.constant 0xFF800000 : f32
      %zero = arith.constant 0.0 : f32
      %er = tensor.empty() : {row}
      %ew = tensor.empty() : {whole}
      %i0 = linalg.fill ins(%low : f32) outs(%er : {row}) -> {row}
      %i1 = linalg.fill ins(%zero : f32) outs(%er : {row}) -> {row}
      %top = linalg.generic {{indexing_maps = [{ij}, {i}], iterator_types = {last}}}
        ins(%x : {whole}) outs(%i0 : {row}) {{
      ^bb0(%p: f32, %acc: f32):
        %m = arith.maximumf %acc, %p : f32
        linalg.yield %m : f32
      }} -> {row}
      %e = linalg.generic {{indexing_maps = [{ij}, {i}, {ij}], iterator_types = {both}}}
        ins(%x, %top : {whole}, {row}) outs(%ew : {whole}) {{
      ^bb0(%p: f32, %t: f32, %o: f32):
        %d = arith.subf %p, %t : f32
        %v = math.exp %d : f32
        linalg.yield %v : f32
      }} -> {whole}
      %sum = linalg.generic {{indexing_maps = [{ij}, {i}], iterator_types = {last}}}
        ins(%e : {whole}) outs(%i1 : {row}) {{
      ^bb0(%p: f32, %acc: f32):
        %s = arith.addf %acc, %p : f32
        linalg.yield %s : f32
      }} -> {row}
      %y = linalg.generic {{indexing_maps = [{ij}, {i}, {ij}], iterator_types = {both}}}
        ins(%e, %sum : {whole}, {row}) outs(%ew : {whole}) {{
      ^bb0(%p: f32, %s: f32, %o: f32):
        %v = arith.divf %p, %s : f32
        linalg.yield %v : f32
      }} -> {whole}
      return %y : {whole}
    }}"""


def reduction(shape: tuple[int, ...], reduced: str, op: str, first: str, kind: str) -> str:
    """A reduction along the dimensions named in `reduced`."""
    names = "ijk"[: len(shape)]
    kept = [n for n in names if n not in reduced]
    whole = f"tensor<{'x'.join(map(str, shape))}x{kind}>"
    sizes = "".join(f"{shape[names.index(n)]}x" for n in kept)
    dims = ", ".join(names)
    kinds = ", ".join('"reduction"' if n in reduced else '"parallel"' for n in names)
    return f"""
    func.func @k(%x: {whole}) -> tensor<{sizes}{kind}> {{
      %c = arith.constant {first} : {kind}
      %e = tensor.empty() : tensor<{sizes}{kind}>
      %i = linalg.fill ins(%c : {kind}) outs(%e : tensor<{sizes}{kind}>) -> tensor<{sizes}{kind}>
      %y = linalg.generic {{
        indexing_maps = [
          affine_map<({dims}) -> ({dims})>, affine_map<({dims}) -> ({", ".join(kept)})>],
        iterator_types = [{kinds}]}} ins(%x : {whole}) outs(%i : tensor<{sizes}{kind}>) {{
      ^bb0(%p: {kind}, %acc: {kind}):
        %r = arith.{op} %acc, %p : {kind}
        linalg.yield %r : {kind}
      }} -> tensor<{sizes}{kind}>
      return %y : tensor<{sizes}{kind}>
    }}"""


def expected_softmax(x: np.ndarray) -> np.ndarray:
    wide = x.astype(np.float64)
    with np.errstate(invalid="ignore"):
        power = np.exp(wide - wide.max(-1, keepdims=True))
        return power / power.sum(-1, keepdims=True)


@pytest.mark.parametrize(("length", "options"), CASES)
def test_softmax_of_ragged_rows(compiled, length, options):
    x = (10 * RNG.standard_normal((5, length))).astype(np.float32)
    (y,) = compiled(softmax(5, length), options=options)(x)
    np.testing.assert_allclose(y, expected_softmax(x), rtol=3e-6, atol=1e-30)


@pytest.mark.parametrize("length", [9, 77])
def test_softmax_of_what_is_not_finite(compiled, length):
    x = RNG.standard_normal((6, length)).astype(np.float32)
    x[0, 3], x[1, -1], x[2, 0], x[3], x[4, :-1] = np.nan, np.inf, -np.inf, -np.inf, -np.inf
    (y,) = compiled(softmax(6, length))(x)
    np.testing.assert_allclose(y, expected_softmax(x), rtol=3e-6, atol=1e-30)
    assert np.isnan(y[[0, 1, 3]]).any(1).all()
    assert y[4, -1] == 1


@pytest.mark.parametrize("length", [64, 100, 4096 + 13])
@pytest.mark.parametrize("is_aligned", [True, False])
def test_stores_past_the_caches(compiled, elementwise, length, is_aligned):
    text = elementwise("%r = arith.addf %x0, %x1 : f32", "f32", 2, str(length))
    kernel = compiled(text, options=PAST)
    assert "!nontemporal" in kernel.lowered.llvm_ir
    a, b = RNG.standard_normal((2, length)).astype(np.float32)
    (y,) = kernel(a, b, is_aligned=is_aligned)
    np.testing.assert_array_equal(y, a + b)


@pytest.mark.parametrize("is_aligned", [True, False])
def test_results_that_are_read_again(compiled, is_aligned):
    whole = "tensor<4x64xf32>"
    text = softmax(4, 64).replace(f") -> {whole} {{", f") -> ({whole}, {whole}) {{", 1)
    text = text.replace(f"return %y : {whole}", f"return %e, %y : {whole}, {whole}")
    x = RNG.standard_normal((4, 64)).astype(np.float32)
    power, y = compiled(text, options=PAST)(x, is_aligned=is_aligned)
    np.testing.assert_allclose(power, np.exp(x - x.max(-1, keepdims=True)), rtol=1e-6)
    np.testing.assert_allclose(y, expected_softmax(x), rtol=3e-6)


@pytest.mark.parametrize("reduced", ["i", "j", "k", "ij", "jk", "ik", "ijk"])
@pytest.mark.parametrize(
    ("op", "first", "kind", "reference"),
    [
        ("addf", "0.0", "f32", np.add),
        ("mulf", "1.0", "f64", np.multiply),
        ("maximumf", "0xFF800000", "f32", np.maximum),
        ("minimumf", "0x7F800000", "f32", np.minimum),
        ("addi", "0", "i64", np.add),
        ("muli", "1", "i32", np.multiply),
        ("maxsi", "-128", "i8", np.maximum),
        ("minsi", "127", "i8", np.minimum),
        ("andi", "-1", "i16", np.bitwise_and),
        ("ori", "0", "i32", np.bitwise_or),
        ("xori", "0", "i32", np.bitwise_xor),
        ("maxui", "0", "i32", np.maximum),
        ("minui", "-1", "i32", np.minimum),
    ],
)
def test_reductions(compiled, dtypes, reduced, op, first, kind, reference):
    shape = (3, 5, 45)
    kernel = compiled(reduction(shape, reduced, op, first, kind))
    dtype = dtypes[kind]
    if dtype.kind == "f":
        x = (1 + RNG.standard_normal(shape) / 30).astype(dtype)
    else:
        x = RNG.integers(np.iinfo(dtype).min, np.iinfo(dtype).max, shape, dtype, endpoint=True)
    axes = tuple("ijk".index(name) for name in reduced)
    seen = x.view(np.uint32) if op in ("maxui", "minui") else x
    expected = reference.reduce(seen.astype(np.float64) if kind == "f32" else seen, axis=axes)
    (y,) = kernel(x)
    if dtype.kind == "f":
        np.testing.assert_allclose(y, expected, rtol=1e-5)
    else:
        np.testing.assert_array_equal(y, expected.astype(dtype))


@pytest.mark.parametrize("op", ["maximumf", "minimumf"])
@pytest.mark.parametrize("place", [0, 20, 44])
def test_extremes_keep_nan(compiled, op, place):
    first = "0xFF800000" if op == "maximumf" else "0x7F800000"
    x = RNG.standard_normal((3, 5, 45)).astype(np.float32)
    x[1, 2, place] = np.nan
    (y,) = compiled(reduction(x.shape, "k", op, first, "f32"))(x)
    assert np.isnan(y[1, 2])
    assert np.isnan(y).sum() == 1
