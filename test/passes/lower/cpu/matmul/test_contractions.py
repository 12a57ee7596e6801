# SPDX-License-Identifier: MIT OR Apache-2.0
"""Matrix products and convolutions of any size, layout and element type."""

from __future__ import annotations

import numpy as np
import pytest

from xyntra.dialects import make_context
from xyntra.dialects.mlir import ir
from xyntra.passes.lower.cpu import LoweringOptions, lower_kernel
from xyntra.passes.lower.cpu.matmul.tile_blocking import shared_blocks

RNG = np.random.default_rng(17)

# How the body widens its operands, by their type; then the type of the accumulator.
BODIES = {
    "f32": ("", "f32"),
    "f64": ("", "f64"),
    "i32": ("", "i32"),
    "f16": ("arith.extf", "f32"),
    "bf16": ("arith.extf", "f32"),
    "i8": ("arith.extsi", "i32"),
}
LAYOUTS = {"": ("(m, k)", "(k, n)"), "a": ("(k, m)", "(k, n)"), "b": ("(m, k)", "(n, k)")}


def matmul(
    m: int, n: int, k: int, kind: str = "f32", layout: str = "", batch: int = 0, start: str = ""
) -> str:
    """A product of m by k and k by n; `layout` names the operand that is stored transposed."""
    widen, total = BODIES[kind]
    size = {"m": m, "n": n, "k": k}
    outer, lead, loops = (f"{batch}x", "z, ", "z, ") if batch else ("", "", "")
    maps = [*LAYOUTS[layout], "(m, n)"]
    kinds = []
    for text, element in zip(maps, [kind, kind, total], strict=True):
        shape = "x".join(str(size[name]) for name in text.strip("()").split(", "))
        kinds.append(f"tensor<{outer}{shape}x{element}>")
    a, b, c = kinds
    indexing = ", ".join(f"affine_map<({loops}m, n, k) -> ({lead}{text[1:]}>" for text in maps)
    iterators = ", ".join(['"parallel"'] * (3 if batch else 2) + ['"reduction"'])
    conversions = "".join(
        f"%w{name} = {widen} %{name} : {kind} to {total}\n" if widen else "" for name in "xy"
    )
    x, y = ("%wx", "%wy") if widen else ("%x", "%y")
    suffix = "f" if "f" in total else "i"
    zero = start or ("0.0" if suffix == "f" else "0")
    return f"""
    func.func @k(%a: {a}, %b: {b}) -> {c} {{
      %zero = arith.constant {zero} : {total}
      %e = tensor.empty() : {c}
      %f = linalg.fill ins(%zero: {total}) outs(%e: {c}) -> {c}
      %r = linalg.generic {{indexing_maps = [{indexing}], iterator_types = [{iterators}]}}
        ins(%a, %b: {a}, {b}) outs(%f: {c}) {{
      ^bb0(%x: {kind}, %y: {kind}, %o: {total}):
        {conversions}
        %p = arith.mul{suffix} {x}, {y} : {total}
        %s = arith.add{suffix} %o, %p : {total}
        linalg.yield %s : {total}
      }} -> {c}
      return %r : {c}
    }}"""


def operands(dtype: np.dtype, a: tuple[int, ...], b: tuple[int, ...]) -> list[np.ndarray]:
    if dtype.kind == "i":
        return [RNG.integers(-100, 100, shape).astype(dtype) for shape in (a, b)]
    return [RNG.standard_normal(shape).astype(np.float32).astype(dtype) for shape in (a, b)]


def check(result: np.ndarray, a: np.ndarray, b: np.ndarray, start: float = 0.0) -> None:
    if result.dtype.kind == "i":
        np.testing.assert_array_equal(result, a.astype(np.int32) @ b.astype(np.int32))
        return
    wide = [each.astype(np.float64) for each in (a, b)]
    scale = np.abs(wide[0]) @ np.abs(wide[1]) + abs(start) + 1e-30
    tolerance = 1e-14 if result.dtype == np.float64 else 2e-6
    assert (np.abs(result - (wide[0] @ wide[1] + start)) <= tolerance * scale).all()


SIZES = [
    (1, 1, 1), (1, 64, 64), (2, 7, 5), (3, 4, 4), (5, 8, 33), (6, 16, 4), (7, 17, 9), (8, 12, 12),
    (13, 23, 31), (16, 16, 16), (33, 5, 64), (40, 3, 20), (64, 1, 64), (50, 50, 3), (37, 100, 61),
]  # fmt: skip


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("size", SIZES)
def test_products_of_any_size(compiled, size, layout):
    m, n, k = size
    a, b = operands(np.dtype(np.float32), (m, k), (k, n))
    stored = (a.T if layout == "a" else a, b.T if layout == "b" else b)
    check(compiled(matmul(m, n, k, layout=layout))(*stored)[0], a, b)


@pytest.mark.parametrize("size", [(25, 1000, 40), (17, 540, 33), (9, 333, 70), (200, 2100, 8)])
@pytest.mark.parametrize("layout", ["", "b"])
def test_products_of_blocks_of_different_sizes(compiled, size, layout):
    m, n, k = size
    a, b = operands(np.dtype(np.float32), (m, k), (k, n))
    stored = (a, b.T if layout == "b" else b)
    check(compiled(matmul(m, n, k, layout=layout))(*stored)[0], a, b)


@pytest.mark.parametrize("size", [(20, 19, 3, 33), (16, 10, 2, 64), (9, 50, 5, 17)])
def test_two_sums_along_rows_of_both_factors(compiled, size):
    m, n, j, k = size
    text = f"""
    func.func @kernel(%a: tensor<{m}x{j}x{k}xf32>, %b: tensor<{n}x{j}x{k}xf32>)
        -> tensor<{m}x{n}xf32> {{
      %zero = arith.constant 0.0 : f32
      %e = tensor.empty() : tensor<{m}x{n}xf32>
      %f = linalg.fill ins(%zero : f32) outs(%e : tensor<{m}x{n}xf32>) -> tensor<{m}x{n}xf32>
      %r = linalg.generic {{indexing_maps = [affine_map<(m, n, j, k) -> (m, j, k)>,
          affine_map<(m, n, j, k) -> (n, j, k)>, affine_map<(m, n, j, k) -> (m, n)>],
          iterator_types = ["parallel", "parallel", "reduction", "reduction"]}}
          ins(%a, %b : tensor<{m}x{j}x{k}xf32>, tensor<{n}x{j}x{k}xf32>)
          outs(%f : tensor<{m}x{n}xf32>) {{
      ^bb0(%x: f32, %y: f32, %s: f32):
        %p = arith.mulf %x, %y : f32
        %t = arith.addf %s, %p : f32
        linalg.yield %t : f32
      }} -> tensor<{m}x{n}xf32>
      return %r : tensor<{m}x{n}xf32>
    }}"""
    a, b = operands(np.dtype(np.float32), (m, j, k), (n, j, k))
    result = compiled(text)(a, b)[0]
    check(result, a.reshape(m, j * k), b.reshape(n, j * k).T)


@pytest.mark.parametrize("tiles", range(1, 60))
@pytest.mark.parametrize("width", range(1, 5))
def test_two_threads_share_blocks_evenly(tiles, width):
    least = -(-tiles // width)
    blocks = shared_blocks(least, tiles)
    assert least <= blocks <= min(tiles, least + 3)
    assert blocks in (1, tiles) or blocks % 2 == 0


@pytest.mark.parametrize("bits", [128, 512])
@pytest.mark.parametrize("registers", [16, 32])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_other_registers_give_the_same(compiled, bits, registers, layout):
    a, b = operands(np.dtype(np.float32), (41, 35), (35, 53))
    stored = (a.T if layout == "a" else a, b.T if layout == "b" else b)
    options = LoweringOptions(bits, registers)
    check(compiled(matmul(41, 53, 35, layout=layout), options=options)(*stored)[0], a, b)


@pytest.mark.parametrize("kind", BODIES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_products_of_every_type(compiled, dtypes, kind, layout):
    a, b = operands(dtypes[kind], (19, 21), (21, 37))
    stored = (a.T if layout == "a" else a, b.T if layout == "b" else b)
    check(compiled(matmul(19, 37, 21, kind, layout))(*stored)[0], a, b)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_batches(compiled, layout):
    a, b = operands(np.dtype(np.float32), (3, 9, 11), (3, 11, 14))
    stored = [
        a.swapaxes(1, 2) if layout == "a" else a,
        b.swapaxes(1, 2) if layout == "b" else b,
    ]
    check(compiled(matmul(9, 14, 11, layout=layout, batch=3))(*stored)[0], a, b)


def test_a_start_that_is_not_zero(compiled):
    a, b = operands(np.dtype(np.float32), (9, 10), (10, 33))
    check(compiled(matmul(9, 33, 10, start="2.5"))(a, b)[0], a, b, 2.5)


def test_nan_and_infinity_stay_in_their_rows_and_columns(compiled):
    a, b = operands(np.dtype(np.float32), (13, 16), (16, 21))
    a[4, 3], b[2, 20] = np.nan, np.inf
    (result,) = compiled(matmul(13, 21, 16))(a, b)
    bad = ~np.isfinite(result)
    expected = np.zeros_like(bad)
    expected[4], expected[:, 20] = True, True
    np.testing.assert_array_equal(bad, expected)


def test_a_product_that_adds_to_its_argument(compiled):
    text = """
    func.func @k(%a: tensor<9x8xf32>, %b: tensor<8x21xf32>, %c: tensor<9x21xf32>)
        -> tensor<9x21xf32> attributes {xyntra.inplace = [[0, 2]]} {
      %r = linalg.matmul ins(%a, %b: tensor<9x8xf32>, tensor<8x21xf32>)
        outs(%c: tensor<9x21xf32>) -> tensor<9x21xf32>
      return %r : tensor<9x21xf32>
    }"""
    a, b = operands(np.dtype(np.float32), (9, 8), (8, 21))
    c = RNG.standard_normal((9, 21)).astype(np.float32)
    np.testing.assert_allclose(compiled(text)(a, b, c)[0], a @ b + c, rtol=1e-4, atol=1e-5)


def test_a_product_read_again_between_fill_and_product(compiled):
    text = """
    func.func @k(%a: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
      %one = arith.constant 1.0 : f32
      %e = tensor.empty() : tensor<8x8xf32>
      %f = linalg.fill ins(%one: f32) outs(%e: tensor<8x8xf32>) -> tensor<8x8xf32>
      %s = linalg.add ins(%f, %a: tensor<8x8xf32>, tensor<8x8xf32>)
        outs(%e: tensor<8x8xf32>) -> tensor<8x8xf32>
      %r = linalg.matmul ins(%a, %s: tensor<8x8xf32>, tensor<8x8xf32>)
        outs(%f: tensor<8x8xf32>) -> tensor<8x8xf32>
      return %s, %r : tensor<8x8xf32>, tensor<8x8xf32>
    }"""
    (a,) = operands(np.dtype(np.float32), (8, 8), (0,))[:1]
    first, second = compiled(text)(a)
    np.testing.assert_allclose(first, a + 1, rtol=1e-6)
    np.testing.assert_allclose(second, a @ (a + 1) + 1, rtol=1e-4, atol=1e-5)


def convolution(
    channels: int, filters: int, size: tuple[int, int], kernel: int, stride: int, dilation: int
) -> tuple[str, tuple[int, ...]]:
    reach = dilation * (kernel - 1) + 1
    out = tuple((extent - reach) // stride + 1 for extent in size)
    x = f"tensor<2x{channels}x{size[0]}x{size[1]}xf32>"
    w = f"tensor<{filters}x{channels}x{kernel}x{kernel}xf32>"
    y = f"tensor<2x{filters}x{out[0]}x{out[1]}xf32>"
    text = f"""
    func.func @k(%x: {x}, %w: {w}) -> {y} {{
      %zero = arith.constant 0.0 : f32
      %e = tensor.empty() : {y}
      %f = linalg.fill ins(%zero: f32) outs(%e: {y}) -> {y}
      %r = linalg.conv_2d_nchw_fchw {{strides = dense<{stride}> : tensor<2xi64>,
        dilations = dense<{dilation}> : tensor<2xi64>}} ins(%x, %w: {x}, {w}) outs(%f: {y}) -> {y}
      return %r : {y}
    }}"""
    return text, out


@pytest.mark.parametrize("size", [(9, 9), (7, 12), (16, 30), (5, 5)])
@pytest.mark.parametrize(
    ("kernel", "stride", "dilation"), [(1, 1, 1), (3, 1, 1), (3, 2, 1), (3, 1, 2), (5, 3, 1)]
)
@pytest.mark.parametrize(("channels", "filters"), [(1, 1), (3, 13), (8, 16)])
def test_convolutions(compiled, size, kernel, stride, dilation, channels, filters):
    text, out = convolution(channels, filters, size, kernel, stride, dilation)
    x = RNG.standard_normal((2, channels, *size)).astype(np.float32)
    w = RNG.standard_normal((filters, channels, kernel, kernel)).astype(np.float32)
    expected = np.zeros((2, filters, *out))
    for i in range(kernel):
        for j in range(kernel):
            rows = slice(i * dilation, i * dilation + stride * (out[0] - 1) + 1, stride)
            columns = slice(j * dilation, j * dilation + stride * (out[1] - 1) + 1, stride)
            patch = x[:, :, rows, columns].astype(np.float64)
            expected += np.einsum("nchw,fc->nfhw", patch, w[:, :, i, j].astype(np.float64))
    (result,) = compiled(text)(x, w)
    np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("size", [(9, 9), (20, 6), (14, 37)])
@pytest.mark.parametrize(("kernel", "stride"), [(3, 1), (5, 1), (2, 2), (3, 2)])
@pytest.mark.parametrize("name", ["maximum", "depthwise"])
def test_windows_over_each_channel(compiled, size, kernel, stride, name):
    out = tuple((extent - kernel) // stride + 1 for extent in size)
    x, w = f"tensor<5x{size[0]}x{size[1]}xf32>", f"tensor<5x{kernel}x{kernel}xf32>"
    y = f"tensor<5x{out[0]}x{out[1]}xf32>"
    start = "0xFF800000" if name == "maximum" else "0.0"
    combine = {
        "maximum": "%r = arith.maximumf %o, %a : f32",
        "depthwise": "%p = arith.mulf %a, %b : f32\n%r = arith.addf %o, %p : f32",
    }[name]
    text = f"""
    func.func @k(%x: {x}, %w: {w}) -> {y} {{
      %start = arith.constant {start} : f32
      %e = tensor.empty() : {y}
      %f = linalg.fill ins(%start: f32) outs(%e: {y}) -> {y}
      %y = linalg.generic {{indexing_maps = [
          affine_map<(c, h, w, i, j) -> (c, h * {stride} + i, w * {stride} + j)>,
          affine_map<(c, h, w, i, j) -> (c, i, j)>, affine_map<(c, h, w, i, j) -> (c, h, w)>],
        iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]}}
        ins(%x, %w : {x}, {w}) outs(%f : {y}) {{
      ^bb0(%a: f32, %b: f32, %o: f32):
        {combine}
        linalg.yield %r : f32
      }} -> {y}
      return %y : {y}
    }}"""
    a = RNG.standard_normal((5, *size)).astype(np.float32)
    b = RNG.standard_normal((5, kernel, kernel)).astype(np.float32)
    windows = np.lib.stride_tricks.sliding_window_view(a, (kernel, kernel), (1, 2))
    windows = windows[:, ::stride, ::stride]
    if name == "maximum":
        expected = windows.max((3, 4))
    else:
        expected = np.einsum("chwij,cij->chw", windows.astype(np.float64), b)
    (result,) = compiled(text)(a, b)
    np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("size", [(3, 4), (9, 13)])
@pytest.mark.parametrize("filters", [3, 10])
def test_a_transposed_convolution(compiled, size, filters):
    """Neighbouring outputs come from different weights: the columns are stored one by one."""
    rows, columns = size
    x, w = f"tensor<8x{rows}x{columns}xf32>", f"tensor<8x{filters}x2x2xf32>"
    y = f"tensor<{filters}x{rows}x2x{columns}x2xf32>"
    text = f"""
    func.func @k(%x: {x}, %w: {w}) -> {y} {{
      %zero = arith.constant 0.0 : f32
      %e = tensor.empty() : {y}
      %f = linalg.fill ins(%zero: f32) outs(%e: {y}) -> {y}
      %y = linalg.generic {{indexing_maps = [affine_map<(f, h, i, w, j, c) -> (c, h, w)>,
          affine_map<(f, h, i, w, j, c) -> (c, f, i, j)>,
          affine_map<(f, h, i, w, j, c) -> (f, h, i, w, j)>],
        iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel",
                          "reduction"]}}
        ins(%x, %w : {x}, {w}) outs(%f : {y}) {{
      ^bb0(%a: f32, %b: f32, %o: f32):
        %p = arith.mulf %a, %b : f32
        %s = arith.addf %o, %p : f32
        linalg.yield %s : f32
      }} -> {y}
      return %y : {y}
    }}"""
    a = RNG.standard_normal((8, *size)).astype(np.float32)
    b = RNG.standard_normal((8, filters, 2, 2)).astype(np.float32)
    expected = np.einsum("chw,cfij->fhiwj", a.astype(np.float64), b)
    np.testing.assert_allclose(compiled(text)(a, b)[0], expected, rtol=1e-4, atol=1e-5)


def lowered(text: str, options: LoweringOptions) -> str:
    with make_context():
        return lower_kernel(ir.Module.parse(text), options).llvm_ir


@pytest.mark.parametrize(("bits", "lanes"), [(128, 4), (256, 8), (512, 16)])
def test_tiles_have_the_width_of_the_registers(bits, lanes):
    text = lowered(matmul(64, 64, 64), LoweringOptions(bits, 32))
    assert f"<{lanes} x float>" in text
    assert f"<{2 * lanes} x float>" not in text


@pytest.mark.parametrize("size", [(1, 64, 64), (64, 2, 64), (64, 64, 2)])
def test_products_without_reuse_stay_loops(size):
    assert "llvm.fma" not in lowered(matmul(*size), LoweringOptions())
