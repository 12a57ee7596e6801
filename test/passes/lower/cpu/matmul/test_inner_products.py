# SPDX-License-Identifier: MIT OR Apache-2.0
"""Products whose operands are both contiguous along the reduction, over ragged sizes."""

from __future__ import annotations

import numpy as np
import pytest
from edited_schedules import edited

from xyntra.errors import CompileError
from xyntra.passes.lower.cpu import LoweringOptions

RNG = np.random.default_rng()
WIDE = LoweringOptions(vector_bits=512, vector_registers=32)
OPTIONS = {"narrow": LoweringOptions(), "wide": WIDE}
ADD = "%p = arith.mulf %x, %y : {kind}\n%s = arith.addf %o, %p : {kind}"
LARGEST = "%p = arith.mulf %x, %y : {kind}\n%s = arith.maximumf %o, %p : {kind}"


def product(
    sizes: tuple[int, int, int, int],
    kind: str = "f32",
    start: str = "0.0",
    body: str = ADD,
    turned: bool = False,
) -> str:
    """[z, m, k] by [z, n, k], to [z, m, n] or, `turned`, [z, n, m]."""
    z, m, n, k = sizes
    out = (n, m) if turned else (m, n)
    a, b, c = (f"tensor<{z}x{r}x{s}x{kind}>" for r, s in ((m, k), (n, k), out))
    maps = ["(z, m, k)", "(z, n, k)", "(z, n, m)" if turned else "(z, m, n)"]
    indexing = ", ".join(f"affine_map<(z, m, n, k) -> {text}>" for text in maps)
    return f"""
    func.func @k(%a: {a}, %b: {b}) -> {c} {{
      %first = arith.constant {start} : {kind}
      %e = tensor.empty() : {c}
      %f = linalg.fill ins(%first: {kind}) outs(%e: {c}) -> {c}
      %r = linalg.generic {{indexing_maps = [{indexing}],
        iterator_types = ["parallel", "parallel", "parallel", "reduction"]}}
        ins(%a, %b: {a}, {b}) outs(%f: {c}) {{
      ^bb0(%x: {kind}, %y: {kind}, %o: {kind}):
        {body.format(kind=kind)}
        linalg.yield %s : {kind}
      }} -> {c}
      return %r : {c}
    }}"""


def operands(sizes, kind="f32"):
    z, m, n, k = sizes
    dtype = np.float32 if kind == "f32" else np.float64
    return [RNG.standard_normal((z, rows, k)).astype(dtype) for rows in (m, n)]


def check(kernel, sizes, kind="f32", start=0.0, turned=False):
    assert any(each.startswith("inner-products") for each in kernel.lowered.schedules)
    a, b = operands(sizes, kind)
    result = kernel(a, b)[0]
    turned_b = b.astype(np.float64).transpose(0, 2, 1)
    wide, scale = a @ turned_b + start, np.abs(a) @ np.abs(turned_b) + abs(start)
    found = result.transpose(0, 2, 1) if turned else result
    tolerance = 2e-6 if kind == "f32" else 1e-14
    assert (np.abs(found - wide) <= tolerance * scale).all()


SIZES = [(1, 16, 10, 2048), (1, 2, 3, 300), (1, 5, 2, 77), (3, 4, 5, 131), (1, 33, 2, 64)]


@pytest.mark.parametrize("machine", OPTIONS)
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_ragged_sizes(compiled, sizes, turned, machine):
    check(compiled(product(sizes, turned=turned), options=OPTIONS[machine]), sizes, turned=turned)


@pytest.mark.parametrize("machine", OPTIONS)
def test_double_precision(compiled, machine):
    sizes = (1, 6, 7, 333)
    kernel = compiled(product(sizes, "f64"), options=OPTIONS[machine])
    check(kernel, sizes, "f64")


def test_a_start_that_is_not_zero_counts_once(compiled):
    sizes = (2, 3, 4, 100)
    check(compiled(product(sizes, start="3.5")), sizes, start=3.5)


def test_other_reductions_than_sums(compiled):
    sizes = (1, 5, 3, 203)
    kernel = compiled(product(sizes, start="0.25", body=LARGEST))
    assert any(each.startswith("inner-products") for each in kernel.lowered.schedules)
    a, b = operands(sizes)
    expected = np.maximum((a[0, :, None] * b[0]).max(-1), np.float32(0.25))
    np.testing.assert_array_equal(kernel(a, b)[0][0], expected)


def test_nan_and_infinity_stay_in_their_rows_and_columns(compiled):
    sizes = (1, 9, 6, 205)
    a, b = operands(sizes)
    a[0, 2, 204], b[0, 5, 0] = np.nan, np.inf
    result = compiled(product(sizes), options=WIDE)(a, b)[0][0]
    assert np.isnan(result[2]).all()
    assert not np.isfinite(result[:, 5]).any()
    assert np.isfinite(np.delete(np.delete(result, 2, 0), 5, 1)).all()


@pytest.mark.parametrize("sizes", [(1, 256, 256, 256), (1, 40, 300, 12), (1, 8, 8, 4)], ids=str)
def test_products_of_many_or_short_rows_are_left_to_other_emitters(compiled, sizes):
    kernel = compiled(product(sizes), options=WIDE)
    assert not any(each.startswith("inner-products") for each in kernel.lowered.schedules)


# After loops of one iteration are gone, loop 0 is m, 1 is n and 2 the reduction.
TOLD = {"vector": 8, "tile": (2, 4), "row": 0, "column": 1, "chains": 1}
EDITS = [
    {},
    {"chains": 4},
    {"tile": (1, 1)},
    {"tile": (5, 8)},
    {"row": 1, "column": 0, "tile": (3, 2)},
    {"vector": 2, "tile": (4, 2)},
]


@pytest.mark.parametrize("edit", EDITS, ids=str)
def test_edited_schedules(lowered_by, edit):
    sizes = (1, 7, 9, 110)
    check(lowered_by(product(sizes), edited("inner-products", TOLD | edit), WIDE), sizes)


REFUSED = [
    ({"vector": 3}, "vector = 3: allowed are powers of two from 2 to 110"),
    ({"row": 2}, "row = 2: allowed are [0, 1]"),
    ({"column": 0}, "column = 0: it has the rows"),
    ({"tile": (8, 2)}, "tile = [8, 2]: allowed are 1 to 7 rows, and a power of two up to 8"),
    ({"tile": (2, 3)}, "tile = [2, 3]: allowed are 1 to 7 rows, and a power of two up to 8"),
    ({"chains": 9}, "chains = 9: a tile may hold 1 to 64 vectors"),
]


@pytest.mark.parametrize(("edit", "message"), REFUSED, ids=str)
def test_refused_schedules(lowered_by, edit, message):
    with pytest.raises(CompileError) as caught:
        lowered_by(product((1, 7, 9, 110)), edited("inner-products", TOLD | edit), WIDE)
    assert caught.value.code == "bad-schedule"
    assert message in caught.value.message
