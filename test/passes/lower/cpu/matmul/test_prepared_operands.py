# SPDX-License-Identifier: MIT OR Apache-2.0
"""Products with operands that are brought into panels once, before the kernel runs."""

from __future__ import annotations

import numpy as np
import pytest

from xyntra.passes.lower.cpu import LoweringOptions

RNG = np.random.default_rng(23)
LAYOUTS = {"rows": "(k, n)", "transposed": "(n, k)"}


def product(m: int, n: int, k: int, layout: str, kind: str = "f32", batch: int = 0) -> str:
    """A product with a constant second operand, of which there is one for every batch."""
    size = {"m": m, "n": n, "k": k}
    maps = ["(m, k)", LAYOUTS[layout], "(m, n)"]
    outer, lead, loops = (f"{batch}x", "z, ", "z, ") if batch else ("", "", "")
    shapes = ["x".join(str(size[name]) for name in text[1:-1].split(", ")) for text in maps]
    a, b, c = (f"tensor<{outer}{shape}x{kind}>" for shape in shapes)
    indexing = ", ".join(f"affine_map<({loops}m, n, k) -> ({lead}{text[1:]}>" for text in maps)
    iterators = ", ".join(['"parallel"'] * (3 if batch else 2) + ['"reduction"'])
    return f"""
    func.func @k(%a: {a}, %b: {b} {{xyntra.constant}}) -> {c} {{
      %zero = arith.constant 0.0 : {kind}
      %e = tensor.empty() : {c}
      %f = linalg.fill ins(%zero: {kind}) outs(%e: {c}) -> {c}
      %r = linalg.generic {{indexing_maps = [{indexing}], iterator_types = [{iterators}]}}
        ins(%a, %b: {a}, {b}) outs(%f: {c}) {{
      ^bb0(%x: {kind}, %y: {kind}, %o: {kind}):
        %p = arith.mulf %x, %y : {kind}
        %s = arith.addf %o, %p : {kind}
        linalg.yield %s : {kind}
      }} -> {c}
      return %r : {c}
    }}"""


def operands(
    m: int, n: int, k: int, layout: str, dtype: type = np.float32, batch: int = 0
) -> list[np.ndarray]:
    outer = (batch,) if batch else ()
    second = (k, n) if layout == "rows" else (n, k)
    shapes = [(*outer, m, k), (*outer, *second)]
    return [RNG.standard_normal(shape).astype(dtype) for shape in shapes]


def check(result: np.ndarray, a: np.ndarray, b: np.ndarray, layout: str) -> None:
    wide = b.astype(np.float64) if layout == "rows" else b.astype(np.float64).swapaxes(-1, -2)
    scale = np.abs(a) @ np.abs(wide)
    tolerance = 1e-14 if result.dtype == np.float64 else 2e-6
    assert (np.abs(result - a.astype(np.float64) @ wide) <= tolerance * scale).all()


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(
    "size", [(1, 64, 100), (1, 8, 4), (2, 17, 9), (7, 31, 70), (13, 129, 8), (64, 50, 33)]
)
def test_ragged_sizes(compiled, size, layout):
    kernel = compiled(product(*size, layout))
    assert kernel.lowered.prepared_bytes >= size[1] * size[2] * 4
    a, b = operands(*size, layout)
    check(kernel(a, b)[0], a, b, layout)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_batch_has_panels_of_its_own(compiled, layout):
    kernel = compiled(product(9, 20, 30, layout, batch=3))
    assert kernel.lowered.prepared_bytes >= 3 * 20 * 30 * 4
    a, b = operands(9, 20, 30, layout, batch=3)
    check(kernel(a, b)[0], a, b, layout)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(("bits", "registers"), [(128, 16), (512, 32)])
def test_other_registers(compiled, bits, registers, layout):
    kernel = compiled(product(20, 75, 40, layout), options=LoweringOptions(bits, registers))
    a, b = operands(20, 75, 40, layout)
    check(kernel(a, b)[0], a, b, layout)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_double_precision(compiled, layout):
    kernel = compiled(product(11, 23, 37, layout, "f64"))
    a, b = operands(11, 23, 37, layout, np.float64)
    check(kernel(a, b)[0], a, b, layout)


def test_nan_and_infinity_stay_in_their_columns(compiled):
    a, b = operands(5, 40, 24, "transposed")
    b[7, 3], b[39, 23] = np.nan, np.inf
    result = compiled(product(5, 40, 24, "transposed"))(a, b)[0]
    good = np.delete(np.arange(40), [7, 39])
    assert np.isnan(result[:, 7]).all()
    assert np.isinf(result[:, 39]).all()
    assert np.isfinite(result[:, good]).all()


def test_without_the_attribute_nothing_is_prepared(compiled):
    text = product(16, 64, 64, "rows").replace(" {xyntra.constant}", "")
    assert compiled(text).lowered.prepared_bytes == 0


@pytest.mark.parametrize("constant", [True, False])
@pytest.mark.parametrize(("layout", "kind"), [("rows", "f32"), ("transposed", "f64")])
def test_a_long_reduction_in_parts(compiled, layout, kind, constant):
    size = (37, 100, 2101)
    text = product(*size, layout, kind)
    kernel = compiled(text if constant else text.replace(" {xyntra.constant}", ""))
    a, b = operands(*size, layout, np.float32 if kind == "f32" else np.float64)
    check(kernel(a, b)[0], a, b, layout)


@pytest.mark.parametrize("size", [(130, 97, 700), (9, 51, 1300), (200, 24, 401), (517, 33, 96)])
@pytest.mark.parametrize(("bits", "registers"), [(256, 16), (512, 32)])
def test_blocks_of_rows_and_parts_of_panels(compiled, size, bits, registers):
    kernel = compiled(product(*size, "transposed"), options=LoweringOptions(bits, registers))
    a, b = operands(*size, "transposed")
    check(kernel(a, b)[0], a, b, "transposed")
