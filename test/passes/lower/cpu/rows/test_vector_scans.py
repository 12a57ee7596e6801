# SPDX-License-Identifier: MIT OR Apache-2.0
"""Running sums in vectors: lengths that fill none, both directions, dtypes, what is not finite."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from xyntra.passes.lower.cpu import LoweringOptions

RNG = np.random.default_rng(71)
WIDTHS = {
    "128": LoweringOptions(128, 16),
    "256": LoweringOptions(),
    "512": LoweringOptions(512, 32),
    "0": LoweringOptions(0, 16),
}
ADD = {"f16": "addf", "f32": "addf", "f64": "addf", "i32": "addi", "i64": "addi"}


def scan(shape: tuple[int, ...], kind: str, *, reverse: bool, exclusive: bool) -> str:
    """The running sum along the last dimension of two, of twice the elements."""
    rows, length = shape
    tensor = f"tensor<{rows}x{length}x{kind}>"
    add, two = ADD[kind], "2.0" if ADD[kind] == "addf" else "2"
    zero = two.replace("2", "0", 1)
    times = add.replace("add", "mul")
    place = "%r" if reverse else "%j"
    return f"""
    func.func @k(%x: {tensor}) -> {tensor} {{
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %rows = arith.constant {rows} : index
      %length = arith.constant {length} : index
      %last = arith.constant {length - 1} : index
      %zero = arith.constant {zero} : {kind}
      %two = arith.constant {two} : {kind}
      %e = tensor.empty() : {tensor}
      %y = scf.for %i = %c0 to %rows step %c1 iter_args(%a = %e) -> ({tensor}) {{
        %row, %sum = scf.for %j = %c0 to %length step %c1 iter_args(%b = %a, %s = %zero)
            -> ({tensor}, {kind}) {{
          %r = arith.subi %last, %j : index
          %p = tensor.extract %x[%i, {place}] : {tensor}
          %q = arith.{times} %p, %two : {kind}
          %t = arith.{add} %s, %q : {kind}
          %n = tensor.insert {"%s" if exclusive else "%t"} into %b[%i, {place}] : {tensor}
          scf.yield %n, %t : {tensor}, {kind}
        }}
        scf.yield %row : {tensor}
      }} {{xyntra.parallel}}
      return %y : {tensor}
    }}"""


def expected(x: np.ndarray, *, reverse: bool, exclusive: bool) -> np.ndarray:
    wide = x.astype(np.float64 if x.dtype.kind == "f" else np.int64) * 2
    wide = wide[:, ::-1] if reverse else wide
    with np.errstate(all="ignore"):
        sums = np.cumsum(wide, 1)
    if exclusive:
        sums = np.concatenate([np.zeros_like(sums[:, :1]), sums[:, :-1]], 1)
    return (sums[:, ::-1] if reverse else sums).astype(x.dtype)


@pytest.mark.parametrize("options", WIDTHS.values(), ids=WIDTHS)
@pytest.mark.parametrize("length", [7, 16, 45])
def test_lengths_and_directions(compiled, length, options):
    x = RNG.integers(-1000, 1000, (3, length)).astype(np.float32)  # whose sums are exact
    for reverse, exclusive in itertools.product((False, True), repeat=2):
        text = scan(x.shape, "f32", reverse=reverse, exclusive=exclusive)
        (y,) = compiled(text, options=options)(x)
        wanted = expected(x, reverse=reverse, exclusive=exclusive)
        np.testing.assert_array_equal(y, wanted)


@pytest.mark.parametrize("kind", ["f64", "i32", "i64"])
@pytest.mark.parametrize("reverse", [False, True])
def test_dtypes(compiled, dtypes, kind, reverse):
    x = RNG.integers(-(2**30), 2**30, (2, 45)).astype(dtypes[kind])
    (y,) = compiled(scan(x.shape, kind, reverse=reverse, exclusive=False))(x)
    np.testing.assert_array_equal(y, expected(x, reverse=reverse, exclusive=False))


def test_long_rows_are_as_exact_as_sums_one_by_one(compiled):
    x = RNG.standard_normal((1, 100_003)).astype(np.float32)
    (y,) = compiled(scan(x.shape, "f32", reverse=False, exclusive=False))(x)
    right = np.cumsum(x.astype(np.float64) * 2, 1)
    one_by_one = np.abs(np.cumsum(x * 2, 1, dtype=np.float32) - right).max()
    assert np.abs(y - right).max() <= max(one_by_one, 1e-3)


@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("reverse", [False, True])
def test_what_is_not_finite_reaches_what_comes_after_alone(compiled, reverse, exclusive):
    x = RNG.integers(-9, 9, (5, 29)).astype(np.float32)
    x[1, 11], x[2, 3], x[3, 5], x[3, 20], x[4, 28] = np.nan, np.inf, np.inf, -np.inf, np.nan
    (y,) = compiled(scan(x.shape, "f32", reverse=reverse, exclusive=exclusive))(x)
    np.testing.assert_array_equal(y, expected(x, reverse=reverse, exclusive=exclusive))
